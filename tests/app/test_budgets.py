"""Budgets of the running app: how many requests pass, what they are told, and what is counted."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.batches import BATCH, accepted, until
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body
from tests.app.test_hostile_files import readers_below
from tests.app.test_multipart import ROUTE, form
from tests.hostile.files import HOSTILE_FILES
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

EARLIER = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]


@asynccontextmanager
async def limited(openai: OpenAIStandIn, data_dir: Path, **settings: str) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, openai.settings | NO_VECTORS | settings) as host:
        yield host


async def post(http: aiohttp.ClientSession, url: str, asked: Any = None) -> tuple[aiohttp.ClientResponse, bytes]:
    async with http.post(url, json=asked or body()) as response:
        return response, await response.read()


async def test_of_300_at_once_just_as_many_pass_as_may(
    openai: OpenAIStandIn, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with limited(openai, data_dir, LIMIT_CALLER_REQUESTS_PER_MINUTE="7") as app:
        asked = len(openai.chats)
        answers = await asyncio.gather(*(post(http, app.url + "/chat") for _ in range(300)))
        statuses = [response.status for response, _ in answers]
        assert (statuses.count(200), statuses.count(429)) == (7, 293)
        assert len(openai.chats) - asked == 7
        for response, _ in answers:
            assert ("x-should-retry" in response.headers) is (response.status == 429)  # the wait is some 60 seconds
            assert response.headers["x-ratelimit-limit-requests"] == "7"
            assert '"requests";q=7;w=60' in response.headers["ratelimit-policy"]


ADDRESSES = ("X-Forwarded-For", "X-Real-IP", "X-Client-IP", "X-Azure-ClientIP", "True-Client-IP", "CF-Connecting-IP")
"""Headers in which proxies name the caller."""


def forged(number: int) -> dict[str, str]:
    """What a caller writes to be another one each time."""
    return dict.fromkeys(ADDRESSES, f"10.0.0.{number}") | {"Forwarded": f"for=10.0.0.{number}"}


def through_proxy(address: str, number: int) -> dict[str, str]:
    """The same behind Front Door, which says what it sees in a header of its own."""
    return forged(number) | {"X-Azure-SocketIP": address}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def behind_proxy(
    openai: OpenAIStandIn, data_dir: Path, concurrent: dict[str, str]
) -> AsyncGenerator[RunningHost]:
    """An app with a proxy that it trusts."""
    settings = concurrent | {"LIMIT_CALLER_REQUESTS_PER_MINUTE": "3", "CLIENT_ADDRESS_HEADER": "X-Azure-SocketIP"}
    async with limited(openai, data_dir, **settings) as app:
        yield app


async def test_behind_a_proxy_an_address_has_one_budget_for_all_that_it_asks(
    behind_proxy: RunningHost, http: aiohttp.ClientSession
) -> None:
    async def status_of(method: str, path: str, number: int, address: str = "203.0.113.1") -> int:
        headers = through_proxy(address, number)
        asked = body() if method == "POST" else None
        async with http.request(method, behind_proxy.url + path, json=asked, headers=headers) as response:
            return response.status

    assert [await status_of("POST", "/chat", number) for number in range(3)] == [200, 200, 200]
    for number, path in enumerate(("/documents", "/chat-history", "/multi-agent-chat/batches/none"), 3):
        assert await status_of("GET", path, number) == 429
        assert await status_of("GET", path, number, "203.0.113.2") in (200, 404)
    assert await status_of("POST", "/chat", 9) == 429


async def test_behind_a_proxy_an_idempotency_key_belongs_to_an_address(
    behind_proxy: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    all_asked, before = asyncio.Event(), len(openai.requests)
    for _ in range(4):  # two agents of two batches, none of which ends before it is asked for again
        openai.reply(all_asked, "It pays 80 %.")
    batches = [
        await accepted(
            http,
            behind_proxy.url + BATCH,
            body(),
            **{"Idempotency-Key": "1"},
            **through_proxy(address, number),
        )
        for number, address in enumerate(("203.0.113.3", "203.0.113.3", "203.0.113.4"))
    ]
    all_asked.set()
    await openai.request_number(before + 4)
    assert batches[0] == batches[1] != batches[2]


async def test_behind_a_proxy_an_address_does_not_take_all_readers_of_attachments(
    behind_proxy: RunningHost, http: aiohttp.ClientSession
) -> None:
    async def attach(media_type: str, data: bytes, headers: dict[str, str]) -> int:
        sent = form(("messages[0].files[0]", media_type, data))
        async with http.post(behind_proxy.url + ROUTE, data=sent, headers=headers) as response:
            return response.status

    async def two_read() -> bool:
        return len(await asyncio.to_thread(readers_below, behind_proxy.process.pid)) >= 2

    slow = HOSTILE_FILES["nested-lists.html"]()
    taking = [
        asyncio.create_task(attach("text/html", slow, through_proxy("203.0.113.5", number))) for number in range(3)
    ]
    try:
        await until(two_read)
        assert await attach("text/plain", b"Short.", through_proxy("203.0.113.6", 3)) == 200
        assert not any(task.done() for task in taking)
    finally:
        for task in taking:
            task.cancel()


async def test_polls_and_followers_of_a_batch_count(behind_proxy: RunningHost, http: aiohttp.ClientSession) -> None:
    batch = behind_proxy.url + "/multi-agent-chat/batches/none"
    headers = through_proxy("203.0.113.7", 0)
    for url in (batch, batch, batch + "/stream"):
        async with http.get(url, headers=headers) as response:
            assert response.status == 404
    for method, url in (("GET", batch), ("GET", batch + "/stream"), ("DELETE", batch)):
        async with http.request(method, url, headers=headers) as response:
            assert (response.status, response.headers["x-should-retry"]) == (429, "false")


async def test_a_caller_chooses_no_address_by_a_header(
    openai: OpenAIStandIn, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with limited(openai, data_dir, LIMIT_CALLER_REQUESTS_PER_MINUTE="3") as app:
        statuses: list[int] = []
        for number in range(6):
            async with http.post(app.url + "/chat", json=body(), headers=forged(number)) as response:
                statuses.append(response.status)
        assert statuses == [200, 200, 200, 429, 429, 429]
        for number, path in enumerate(("/documents", "/chat-history"), 6):
            async with http.get(app.url + path, headers=forged(number)) as response:
                assert response.status == 429


async def test_the_tokens_of_a_day_are_those_of_a_caller_whatever_it_writes(
    used_up: RunningHost, http: aiohttp.ClientSession
) -> None:
    for number in range(3):
        async with http.post(used_up.url + "/chat", json=body(), headers=forged(number)) as response:
            assert response.status == 429


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/chat", ("error",)),
        ("/chat/stream", ("error",)),
        ("/ask", ("error",)),
        ("/ai-chat-2024-05-29/chat", ("error", "message")),
        ("/rag-chat/chat/stream", ("error",)),
        ("/semantic-kernel/multi-agent-chat/batch", ("error",)),
        ("/semantic-kernel-python/multi-agent-chat/stream", ("error",)),
        ("/rai/analyze", ("error",)),
        ("/chat-history", ("error",)),
    ],
)
async def test_every_route_refuses_in_the_shape_of_its_protocol(
    used_up: RunningHost, http: aiohttp.ClientSession, path: str, error: tuple[str, ...]
) -> None:
    response, received = await post(http, used_up.url + path)
    assert response.status == 429
    assert "retry-after" not in response.headers  # clients would obey it for a day
    assert response.headers["x-should-retry"] == "false"
    assert response.headers["x-ratelimit-remaining-tokens"] == "0"
    told = json.loads(received)
    for key in error:
        told = told[key]
    assert "10 tokens a day (UTC) from each caller" in told


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def used_up(openai: OpenAIStandIn, data_dir: Path) -> AsyncGenerator[RunningHost]:
    """An app whose caller has used up the tokens of the day."""
    async with (
        limited(openai, data_dir, LIMIT_CALLER_TOKENS_PER_DAY="10") as app,
        aiohttp.ClientSession() as http,
    ):
        response, _ = await post(http, app.url + "/chat")
        assert response.status == 200
        yield app


async def test_who_has_used_up_the_tokens_may_still_read_a_batch(
    used_up: RunningHost, http: aiohttp.ClientSession
) -> None:
    for path in ("/multi-agent-chat/batches/none", "/multi-agent-chat/batches/none/stream"):
        async with http.get(used_up.url + path) as response:
            assert response.status == 404


async def test_a_body_is_not_needed_to_be_refused(used_up: RunningHost) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", used_up.port)
    writer.write(b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n")
    async with asyncio.timeout(60):
        assert b" 429 " in await reader.readline()
    writer.close()


@pytest.mark.parametrize("path", ["/health", "/openapi.json", "/content/plan.pdf"])
async def test_what_asks_no_model_is_not_counted(used_up: RunningHost, http: aiohttp.ClientSession, path: str) -> None:
    async with http.get(used_up.url + path) as response:
        assert response.status == 200
        assert "x-ratelimit-limit-tokens" not in response.headers


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def counting(openai: OpenAIStandIn, data_dir: Path, concurrent: dict[str, str]) -> AsyncGenerator[RunningHost]:
    """An app that counts, and refuses nothing."""
    async with limited(openai, data_dir, LIMIT_TOKENS_PER_DAY="1000000", **concurrent) as app:
        yield app


async def left(http: aiohttp.ClientSession, app: RunningHost) -> int:
    """How many tokens are left, as a route says that spends none."""
    async with http.get(app.url + "/chat-history") as response:
        return int(response.headers["x-ratelimit-remaining-tokens"])


@pytest.mark.parametrize(
    ("path", "messages", "calls"),
    [
        ("/chat", [], 1),
        ("/chat/stream", [], 1),
        ("/chat", EARLIER, 2),
        ("/multi-agent-chat/batch", [], 2),
    ],
)
async def test_every_call_of_a_turn_is_counted_as_its_service_counts(
    counting: RunningHost,
    openai: OpenAIStandIn,
    http: aiohttp.ClientSession,
    path: str,
    messages: list[dict[str, str]],
    calls: int,
) -> None:
    before, asked = await left(http, counting), len(openai.chats)
    response, _ = await post(http, counting.url + path, {"messages": [*messages, *body()["messages"]]})
    assert response.status == 200
    assert len(openai.chats) - asked == calls
    assert before - await left(http, counting) == 12 * calls


async def test_a_turn_whose_caller_leaves_is_counted(
    counting: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    before = await left(http, counting)
    openai.reply("four" * 1_000, asyncio.Event())
    number = len(openai.requests) + 1
    async with http.post(counting.url + "/chat/stream", json=body()) as response:
        await response.content.readline()
        assert b"four" in await response.content.readline()
    received = await openai.request_number(number)
    async with asyncio.timeout(60):
        await received.disconnected.wait()
        while before - await left(http, counting) < 1_000:  # the turn's end comes when it comes
            pass


async def test_without_limits_nothing_is_said_of_them(app: RunningHost, http: aiohttp.ClientSession) -> None:
    response, _ = await post(http, app.url + "/chat")
    assert response.status == 200
    assert not [name for name in response.headers if "ratelimit" in name.lower()]


async def test_a_question_of_a_megabyte_costs_nothing(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    asked = len(openai.requests)
    for path in ("/chat", "/chat/stream", "/multi-agent-chat/batch"):
        response, received = await post(http, app.url + path, body("word " * 200_000))
        assert response.status == 413
        assert b"this app takes 8,000" in received
    assert len(openai.requests) == asked


async def test_a_prompt_that_is_too_long_keeps_its_status(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    asked = len(openai.requests)
    system = {"role": "system", "content": "word " * 100_000}
    for path in ("/chat", "/chat/stream"):
        response, received = await post(http, app.url + path, {"messages": [system, *body()["messages"]]})
        assert response.status == 413
        assert b"this app takes 100,000" in received
    assert len(openai.requests) == asked


@pytest.mark.parametrize("path", ["/chat", "/multi-agent-chat/batch"])
async def test_every_answer_has_a_longest_length_for_the_model(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    asked = len(openai.chats)
    await post(http, team.url + path, {"messages": [*EARLIER, *body()["messages"]]})
    assert len(openai.chats) - asked == 2
    assert all(chat.body.get("max_tokens") in (4_000, 4_096) for chat in openai.chats[asked:])


async def test_an_answer_that_was_cut_says_so(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("It pays", finish_reason="length")
    _, received = await post(http, app.url + "/chat")
    assert json.loads(received)["context"]["finish_reason"] == "length"
    openai.reply(finish_reason="length")
    response, received = await post(http, app.url + "/chat")
    assert response.status == 503
    assert b"CHAT_MAX_TOKENS" in received


async def test_in_azure_an_anonymous_caller_brings_no_prompt_and_is_known_by_what_the_host_writes(
    openai: OpenAIStandIn, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with limited(openai, data_dir, LIMIT_CALLER_REQUESTS_PER_MINUTE="2", WEBSITE_SITE_NAME="func-contoso") as app:
        prompted = body(context={"overrides": {"prompt_template": "You are a pirate."}})
        for number, (asked, status) in enumerate([(body(), 200), (prompted, 403), (body(), 429)]):
            async with http.post(app.url + "/chat", json=asked, headers=forged(number)) as response:
                assert response.status == status
                if status == 403:
                    assert "CHAT_CALLER_PROMPTS" in (await response.json())["error"]
        async with http.get(app.url + "/health", headers=forged(9)) as response:
            assert (await response.json())["caller"] == {"address": "127.0.0.1", "header": "X-Forwarded-For"}


async def test_health_shows_the_address_that_the_named_header_says(
    behind_proxy: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.get(behind_proxy.url + "/health", headers=through_proxy("2001:db8:1:2::9", 9)) as response:
        assert (await response.json())["caller"] == {"address": "2001:db8:1:2::/64", "header": "X-Azure-SocketIP"}
