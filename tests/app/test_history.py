"""Chat history over HTTP, and turns that are recorded in it, with both stores behind the running app."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio
from azure.data.tables.aio import TableServiceClient
from yarl import URL

from shared.history.azure_table import TABLE
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import QUESTION, body, read_lines
from tests.local.running_host import RunningHost
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import CountedStorage, counted
from tests.stand_ins.openai_service import OpenAIStandIn

UNKNOWN_ID = "5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a"

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

GONE = "There is no such chat"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def relay() -> AsyncGenerator[CountedStorage]:
    """The tables of a storage account."""
    async with Azurite() as azurite, counted(azurite) as relay:
        yield relay


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def in_table(openai: OpenAIStandIn, data_dir: Path, relay: CountedStorage) -> AsyncGenerator[RunningHost]:
    """The app in front of the scripted model, with its history in a table."""
    settings = {"HISTORY_BACKEND": "azure-table", "AzureWebJobsStorage": relay.connection_string}
    async with hosted(data_dir, openai.settings | NO_VECTORS | settings) as host:
        yield host


@pytest.fixture(params=["app", "in_table"])
def host(request: pytest.FixtureRequest) -> RunningHost:
    """The app with each of the stores."""
    return request.getfixturevalue(request.param)


class Chats:
    """A client of the history routes."""

    def __init__(self, host: RunningHost, http: aiohttp.ClientSession) -> None:
        self._url = host.url + "/chat-history"
        self._http = http

    async def send(self, method: str, path: str = "", sent: Any = None, **query: str) -> tuple[int, Any]:
        data = sent if isinstance(sent, bytes) else b"" if sent is None else json.dumps(sent).encode()
        async with self._http.request(method, self._url + path, data=BytesIO(data), params=query) as response:
            text = await response.text()
            return response.status, json.loads(text) if text else None

    async def start(self, mode: str = "standard", title: str = "T") -> str:
        status, entry = await self.send("POST", sent={"mode": mode, "title": title})
        assert status == 201
        return entry["id"]

    async def messages(self, chat: str) -> list[dict[str, Any]]:
        status, messages = await self.send("GET", f"/{chat}/messages")
        assert status == 200
        return messages


@pytest.fixture
def chats(host: RunningHost, http: aiohttp.ClientSession) -> Chats:
    return Chats(host, http)


def said(number: int, **more: Any) -> dict[str, Any]:
    role = "assistant" if number % 2 else "user"
    return {"id": f"m{number}", "role": role, "content": f"Message {number} 👩‍👩‍👧", "timestamp": "02:15 PM", **more}


async def ask(
    host: RunningHost, http: aiohttp.ClientSession, path: str, question: str = "How much for dental care?", **more: Any
) -> str:
    """Ask, and return the whole of what came back."""
    async with http.post(host.url + path, json=body(question, **more)) as response:
        assert response.status == 200
        return await response.text()


async def test_a_chat_is_started_filled_listed_read_and_deleted_as_chatui_does_it(chats: Chats) -> None:
    status, entry = await chats.send("POST", sent={"mode": "multiAgent", "title": "Reise 🧳"})
    assert status == 201
    assert entry == entry | {"title": "Reise 🧳", "lastMessage": "", "messageCount": 0, "mode": "multiAgent"}
    assert entry["lastUpdated"].endswith("Z")
    sent = [said(0), said(1, agentName="Anna", agentIdentifier="a1", toolCall={"name": "f"}, toolCallId="c1")]
    status, updated = await chats.send("PUT", f"/{entry['id']}", {"messages": sent})
    assert status == 200
    assert updated == entry | {
        "lastMessage": sent[1]["content"],
        "messageCount": 2,
        "lastUpdated": updated["lastUpdated"],
    }
    status, listed = await chats.send("GET", mode="multiAgent")
    assert (status, listed[0]) == (200, updated)
    assert await chats.messages(entry["id"]) == sent
    status, nothing = await chats.send("DELETE", f"/{entry['id']}", mode="multiAgent")
    assert (status, nothing) == (204, None)
    assert entry["id"] not in [chat["id"] for chat in (await chats.send("GET"))[1]]


async def test_lists_are_of_one_mode_and_newest_first(chats: Chats) -> None:
    first, other, last = [await chats.start(mode) for mode in ("standard", "multiAgent", "standard")]
    await chats.send("PUT", f"/{first}", {"messages": [said(0)]})
    ids = [chat["id"] for chat in (await chats.send("GET", mode="standard"))[1]]
    assert ids[:2] == [first, last]
    assert other not in ids


async def test_a_list_is_read_page_after_page(host: RunningHost, chats: Chats, http: aiohttp.ClientSession) -> None:
    made = [await chats.start("multiAgent") for _ in range(5)]
    listed: list[str] = []
    url: str | URL | None = f"{host.url}/chat-history?mode=multiAgent&limit=2"
    while url and len(listed) < 6:
        async with http.get(url) as response:
            page = await response.json()
            url = response.links["next"]["url"] if "next" in response.links else None
        assert 0 < len(page) <= 2
        listed += [chat["id"] for chat in page]
    assert listed[:5] == made[::-1]


WRONG_PAGES = [
    *(({"limit": wrong}, "limit: ") for wrong in ("0", "501", "-1", "1.5", "ten", "9" * 5_000, "¹")),
    *(({"cursor": wrong}, "cursor: ") for wrong in ("1", "x" * 5_000, f"1{'0' * 16}-{UNKNOWN_ID}", "1-%00")),
]


@pytest.mark.parametrize(("query", "says"), WRONG_PAGES)
async def test_a_page_that_does_not_exist_is_a_400(chats: Chats, query: dict[str, str], says: str) -> None:
    status, error = await chats.send("GET", **query)
    assert (status, error["error"].startswith(says)) == (400, True)


async def test_a_thousand_messages_are_put_and_read_back(chats: Chats) -> None:
    chat = await chats.start()
    sent = [said(number, content=f"{number} 🇩🇪" * 50) for number in range(1_000)]
    status, entry = await chats.send("PUT", f"/{chat}", {"messages": sent})
    assert (status, entry["messageCount"]) == (200, 1_000)
    assert await chats.messages(chat) == sent
    status, error = await chats.send("PUT", f"/{chat}", {"messages": [said(1_000)]})
    assert status == 413
    assert "1,000 messages" in error["error"]


async def test_a_body_over_the_limit_is_a_413(chats: Chats) -> None:
    chat = await chats.start()
    status, error = await chats.send("PUT", f"/{chat}", b" " * (8 * 1024 * 1024 + 1))
    assert status == 413
    assert "8,388,608 bytes" in error["error"]


async def test_writers_at_the_same_time_lose_nothing(chats: Chats) -> None:
    chat = await chats.start()
    await chats.send("PUT", f"/{chat}", {"messages": [said(0)]})
    done = await asyncio.gather(
        *(chats.send("PUT", f"/{chat}", {"messages": [said(0), said(n)]}) for n in range(1, 13))
    )
    assert {status for status, _ in done} == {200}
    assert {message["id"] for message in await chats.messages(chat)} == {f"m{n}" for n in range(13)}


BAD_MESSAGES: list[tuple[Any, str]] = [
    (b"", "no body"),
    (b"{", "not JSON"),
    ([], "no object"),
    ({}, "messages: is missing"),
    ({"messages": {}}, "messages: "),
    ({"messages": [said(0, role="robot")]}, "messages[0].role: should be 'user', 'assistant', 'system' or 'tool'"),
    ({"messages": [said(0), said(1, role="USER")]}, "messages[1].role"),
    ({"messages": [said(0, content=None)]}, "messages[0].content"),
    ({"messages": [said(0, id="")]}, "messages[0].id"),
    ({"messages": [{"role": "user", "content": "x"}]}, "messages[0].id: is missing"),
    ({"messages": [said(0, timestamp=5)]}, "messages[0].timestamp"),
]


@pytest.mark.parametrize(("sent", "says"), BAD_MESSAGES, ids=[says for _, says in BAD_MESSAGES])
async def test_messages_that_cannot_be_kept_are_named(app: RunningHost, http: Any, sent: Any, says: str) -> None:
    chats = Chats(app, http)
    chat = await chats.start()
    status, error = await chats.send("PUT", f"/{chat}", sent)
    assert status == 400
    assert says in error["error"]
    assert "(invocation " in error["error"]
    assert await chats.messages(chat) == []


async def test_who_sends_nothing_is_shown_an_example_that_works(app: RunningHost, http: Any) -> None:
    chats = Chats(app, http)
    chat = await chats.start()
    for method, path, fine in (("POST", "", 201), ("PUT", f"/{chat}", 200)):
        status, error = await chats.send(method, path)
        assert status == 400
        example = error["error"].partition("JSON such as ")[2].partition(". (invocation ")[0]
        assert (await chats.send(method, path, json.loads(example)))[0] == fine
    assert [message["content"] for message in await chats.messages(chat)] == ["…"]


async def test_an_unknown_mode_is_told_the_known_ones(chats: Chats) -> None:
    chat = await chats.start()
    for answer in (
        await chats.send("GET", mode="group"),
        await chats.send("POST", sent={"mode": "group", "title": "T"}),
        await chats.send("DELETE", f"/{chat}", mode="group"),
    ):
        status, error = answer
        assert status == 400
        assert "mode: should be 'standard' or 'multiAgent'" in error["error"]
    assert await chats.messages(chat) == []


async def test_a_chat_that_was_deleted_or_never_was_is_a_404_of_one_sentence(chats: Chats) -> None:
    deleted = await chats.start()
    await chats.send("DELETE", f"/{deleted}")
    for chat in (deleted, str(uuid4()), "nonsense", "%F0%9F%98%80", "a%20b"):
        for status, error in (
            await chats.send("GET", f"/{chat}/messages"),
            await chats.send("PUT", f"/{chat}", {"messages": [said(0)]}),
            await chats.send("DELETE", f"/{chat}"),
        ):
            assert status == 404
            assert error["error"].startswith(GONE)


async def test_a_delete_that_breaks_off_is_finished_when_it_is_sent_again(
    in_table: RunningHost, relay: CountedStorage, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    """What is kept of an answer beside its chat, so that it can be judged (`a-`), must not outlive the chat."""
    chats = Chats(in_table, http)
    made = [await chats.start() for _ in range(2)]
    for chat, word in zip(made, ("apricot", "walnut"), strict=True):
        openai.reply(f"It is {word}.")
        await ask(in_table, http, "/chat", session_state=chat)
    relay.traffic.take()
    assert (await chats.send("DELETE", f"/{made[0]}"))[0] == 204
    last = relay.traffic.writes
    relay.traffic.take()
    relay.on_write = lambda number, _is_done: number < last
    assert (await chats.send("DELETE", f"/{made[1]}"))[0] in (204, 503)
    relay.on_write = lambda _number, _is_done: True
    assert (await chats.send("DELETE", f"/{made[1]}"))[0] in (204, 404)
    async with TableServiceClient.from_connection_string(relay.connection_string) as tables:
        table = tables.get_table_client(TABLE)
        kept = [row async for row in table.query_entities("RowKey ge 'a-' and RowKey lt 'a.'")]
    assert not [row for row in kept if "apricot" in str(row) or "walnut" in str(row)]


async def test_a_chat_that_nobody_named_has_a_title_and_a_mode(chats: Chats) -> None:
    status, entry = await chats.send("POST", sent={"title": "  "})
    assert (status, entry["title"], entry["mode"]) == (201, "New Chat", "standard")


def naming(chat: str) -> list[tuple[str, dict[str, Any]]]:
    """Every way to name a conversation: a route and what goes into the body."""
    return [
        ("/chat", {"session_state": chat}),
        ("/chat/stream", {"session_state": {"id": chat}}),
        ("/ai-chat-2024-05-29/chat/stream", {"sessionState": {"conversationId": chat}}),
        ("/chat", {"session_state": {"conversation_id": chat}, "stream": True}),
        ("/semantic-kernel/chat", {"ConversationId": chat}),
        ("/semantic-kernel/chat/stream", {"conversationId": chat}),
    ]


@pytest.mark.parametrize("way", range(6))
async def test_a_turn_is_recorded_in_the_conversation_that_it_names(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, chats: Chats, way: int
) -> None:
    chat = await chats.start()
    path, named = naming(chat)[way]
    openai.reply("It pays", " well 🦷.")
    assert "🦷" in await ask(host, http, path, **named)
    question, answer = await chats.messages(chat)
    assert (question["role"], question["content"]) == ("user", "How much for dental care?")
    assert (answer["role"], answer["content"]) == ("assistant", "It pays well 🦷.")
    assert question["timestamp"] <= answer["timestamp"]
    assert "finishReason" not in answer


async def test_turns_at_the_same_time_are_all_recorded_as_pairs(
    host: RunningHost, http: aiohttp.ClientSession, chats: Chats
) -> None:
    chat = await chats.start()
    asked = [f"How much for {what}?" for what in ("glasses", "a crown", "a scan", "a bed", "an X-ray", "a cold", "tea")]
    await asyncio.gather(*(ask(host, http, "/chat/stream", question, session_state=chat) for question in asked))
    assert [message["role"] for message in await chats.messages(chat)] == ["user", "assistant"] * 7


@pytest.mark.parametrize("state", [UNKNOWN_ID, "not an id", {"id": 7}, False, [], {"id": UNKNOWN_ID}])
async def test_a_conversation_that_is_not_ours_is_nobodys_business(
    host: RunningHost, http: aiohttp.ClientSession, state: Any
) -> None:
    answer = json.loads(await ask(host, http, "/chat", session_state=state))
    assert answer["session_state"] == state
    assert "History" not in [thought["title"] for thought in answer["context"]["thoughts"]]


async def test_an_answer_that_was_cut_short_is_recorded_as_one(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, chats: Chats
) -> None:
    chat = await chats.start()
    openai.reply("It pays", finish_reason="length")
    await ask(host, http, "/chat", session_state=chat)
    assert (await chats.messages(chat))[1]["finishReason"] == "length"


async def test_a_turn_that_fails_records_what_was_shown(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, chats: Chats
) -> None:
    chat = await chats.start()
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    async with http.post(host.url + "/chat/stream", json=body(session_state=chat)) as response:
        assert "error" in (await read_lines(response))[-1]
    await broken_off(chats, chat, "unavailable")


async def test_a_turn_that_the_caller_leaves_records_what_was_shown(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, chats: Chats
) -> None:
    chat = await chats.start()
    openai.reply("Half", asyncio.Event())
    number = len(openai.requests) + 1
    async with http.post(host.url + "/chat/stream", json=body(session_state=chat)) as response:
        await response.content.readline()
        await response.content.readline()
    received = await openai.request_number(number)
    async with asyncio.timeout(60):
        await received.disconnected.wait()
    await broken_off(chats, chat, "stopped")


async def broken_off(chats: Chats, chat: str, reason: str) -> None:
    """Wait for the answer that broke off, which is written in the background, and compare it."""
    async with asyncio.timeout(30):
        while len(kept := await chats.messages(chat)) < 2:  # noqa: ASYNC110 (in another process)
            await asyncio.sleep(0.05)
    assert [(one["content"], one.get("finishReason")) for one in kept] == [(QUESTION, None), ("Half", reason)]


async def test_a_turn_for_a_full_conversation_is_answered_and_told(
    host: RunningHost, http: aiohttp.ClientSession, chats: Chats
) -> None:
    chat = await chats.start()
    await chats.send("PUT", f"/{chat}", {"messages": [said(number) for number in range(1_000)]})
    answer = json.loads(await ask(host, http, "/chat", session_state=chat))
    assert "1,000 messages" in thought_of(answer["context"])
    assert len(await chats.messages(chat)) == 1_000


def thought_of(context: dict[str, Any]) -> str:
    return next(thought["description"] for thought in context["thoughts"] if thought["title"] == "History")


async def test_a_broken_file_fails_no_answer_is_told_in_it_logged_and_degrades_health(
    openai: OpenAIStandIn, http: aiohttp.ClientSession, data_dir: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "data"
    shutil.copytree(data_dir, broken)
    await asyncio.to_thread((broken / "history.sqlite").write_bytes, b"no database at all " * 500)
    async with hosted(broken, openai.settings | NO_VECTORS) as host:
        openai.reply("Zebrafish")
        async with http.post(host.url + "/chat/stream", json=body("Quagga", session_state=str(uuid4()))) as response:
            lines = await read_lines(response)
        assert response.status == 200
        assert lines[-1]["context"]["finish_reason"] == "stop"
        assert "damaged" in thought_of(lines[-2]["context"])
        assert lines[-2]["context"]["thoughts"][0]["title"] == "Original user query"
        assert "turn not recorded: The chat history is damaged" in await asyncio.to_thread(
            host.wait_for, "turn not recorded.*"
        )
        assert not [word for word in ("Zebrafish", "Quagga") if word in host.log()]
        status, error = await Chats(host, http).send("GET")
        assert status == 503
        assert "damaged" in error["error"]
        async with http.get(host.url + "/health") as response:
            health = await response.json()
        assert (response.status, health["status"]) == (200, "degraded")
        assert health["parts"]["history"]["ok"] is False


async def test_a_table_that_is_gone_fails_no_answer_and_is_told_in_it(
    openai: OpenAIStandIn, http: aiohttp.ClientSession, data_dir: Path
) -> None:
    async with Azurite() as azurite:
        settings = {"HISTORY_BACKEND": "azure-table", "AzureWebJobsStorage": azurite.connection_string}
        async with hosted(data_dir, openai.settings | NO_VECTORS | settings) as host:
            chat = await Chats(host, http).start()
            await azurite.stop()
            answer = json.loads(await ask(host, http, "/chat", session_state=chat))
            assert "not recorded" in thought_of(answer["context"]) or "not have been" in thought_of(answer["context"])
            assert answer["message"]["content"]


async def test_without_a_history_the_routes_say_so_and_answers_do_not(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with hosted(data_dir, {"HISTORY_BACKEND": "off"}) as host:
        status, error = await Chats(host, http).send("GET")
        assert status == 404
        assert "HISTORY_BACKEND" in error["error"]
        answer = json.loads(await ask(host, http, "/chat", session_state=str(uuid4())))
        assert "History" not in [thought["title"] for thought in answer["context"]["thoughts"]]
        async with http.get(host.url + "/health") as response:
            assert (await response.json())["parts"]["history"]["kind"] == "off"


async def test_a_history_configured_by_half_is_named(data_dir: Path, http: aiohttp.ClientSession) -> None:
    async with hosted(data_dir, {"HISTORY_BACKEND": "azure-table"}) as host:
        assert "AzureWebJobsStorage is missing: HISTORY_BACKEND=azure-table" in host.log()
        status, error = await Chats(host, http).send("GET")
    assert status == 503
    assert "AzureWebJobsStorage is missing: HISTORY_BACKEND=azure-table" in error["error"]


async def test_all_chats_of_a_caller_are_deleted_at_once(chats: Chats) -> None:
    made = [await chats.start(mode) for mode in ("standard", "multiAgent", "standard")]
    await chats.send("PUT", f"/{made[0]}", {"messages": [said(0)]})
    assert await chats.send("DELETE") == (204, None)
    assert await chats.send("GET") == (200, [])
    status, error = await chats.send("GET", f"/{made[0]}/messages")
    assert (status, GONE in error["error"]) == (404, True)
    assert await chats.send("DELETE") == (204, None)
