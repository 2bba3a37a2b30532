"""Queue in, queue out over Azurite: the local host's poller, Microsoft's worker, `azure-storage-queue` as client."""

import asyncio
import json
import re
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio
from azure.core.exceptions import ResourceNotFoundError
from azure.core.pipeline import PipelineResponse
from azure.core.rest import HttpRequest
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from shared.chat_types import Caller
from shared.errors import Unavailable
from shared.history import Mode, owner_of
from shared.history.sqlite_history import SqliteHistory
from shared.runs.answer_queue import AnswerQueue
from tests.app import conftest
from tests.app.conftest import NO_VECTORS
from tests.clock import Clock
from tests.local.running_host import REPOSITORY, RunningHost
from tests.runs.acting import crm
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

SOON = {"AzureFunctionsJobHost__extensions__queues__visibilityTimeout": "00:00:00"}
"""What failed is tried again at once."""
QUESTION = "What does the Standard plan pay for dental care?"
BODY = {"messages": [{"role": "user", "content": QUESTION}]}
SEQUENTIAL = """
team: {pattern: sequential}
agents:
  - {name: Alpha, instructions: You are Alpha.}
  - {name: Beta, instructions: You are Beta.}
  - {name: Gamma, instructions: You are Gamma.}
"""


class Queues:
    """Queues of a test's own, and the settings of an app that answers from one into the other."""

    def __init__(self, azurite: Azurite) -> None:
        name, connection = f"q{uuid4().hex}", azurite.connection_string
        self.requests = QueueClient.from_connection_string(connection, f"{name}-in")
        self.answers = QueueClient.from_connection_string(connection, f"{name}-out")
        self.poison = QueueClient.from_connection_string(connection, f"{name}-in-poison")
        self.blobs = ContainerClient.from_connection_string(connection, f"{name}-out")
        self.kept = ContainerClient.from_connection_string(connection, "chat-batches")
        self.settings = {
            "AzureWebJobsStorage": connection,
            "CHAT_REQUESTS_QUEUE": self.requests.queue_name,
            "CHAT_ANSWERS_QUEUE": self.answers.queue_name,
            "HISTORY_BACKEND": "off",
            **SOON,
        }

    async def ask(self, message: object) -> str:
        """Send a message; return the queue's id of it."""
        text = message if isinstance(message, str) else json.dumps(message)
        return str((await self.requests.send_message(text)).id)

    async def answered(self, count: int = 1) -> list[dict[str, Any]]:
        """Wait for answers, and take them out of their queue."""
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(120):
            while len(found) < count:
                try:
                    async for message in self.answers.receive_messages(messages_per_page=32):
                        found.append(json.loads(message.content))
                        await self.answers.delete_message(message)
                except ResourceNotFoundError:
                    pass
                await asyncio.sleep(0.05)
        return found

    async def emptied(self) -> None:
        """Wait until no request is left, visible or not."""
        async with asyncio.timeout(120):
            while True:
                if not (await self.requests.get_queue_properties()).approximate_message_count:
                    return
                await asyncio.sleep(0.05)

    async def aclose(self) -> None:
        for client in (self.requests, self.answers, self.poison, self.blobs, self.kept):
            await client.close()


@pytest_asyncio.fixture(loop_scope="session")
async def queues(azurite: Azurite) -> AsyncGenerator[Queues]:
    made = Queues(azurite)
    await made.requests.create_queue()
    yield made
    await made.aclose()


@asynccontextmanager
async def hosted(data_dir: Path, *settings: Mapping[str, str]) -> AsyncGenerator[RunningHost]:
    merged = {name: value for each in settings for name, value in each.items()}
    async with conftest.hosted(data_dir, merged) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="session")
async def host(queues: Queues, data_dir: Path, openai: OpenAIStandIn) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, queues.settings, openai.settings, NO_VECTORS) as running:
        yield running


async def logged(host: RunningHost, pattern: str) -> None:
    await asyncio.to_thread(host.wait_for, pattern)


async def called(openai: OpenAIStandIn, times: int) -> None:
    """Wait until the model was asked so often; health checks ask it too, in another way."""
    number = 1
    async with asyncio.timeout(60):
        while len(openai.chats) < times:
            await openai.request_number(number)
            number += 1


def team(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "agents.yaml"
    file.write_text(SEQUENTIAL, encoding="utf-8")
    return {"AGENTS_FILE": str(file)}


async def test_each_route_answers_as_over_http_and_the_protocol_can_be_named(
    queues: Queues, data_dir: Path, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """With the extractive model, whose answers are the same each time."""
    asked: dict[str, tuple[dict[str, str], str]] = {
        "a": ({}, "chat"),
        "b": ({"route": "ask"}, "ask"),
        "c": ({"route": "multi-agent-chat/batch"}, "multi-agent-chat/batch"),
        "d": ({"route": "chat", "protocol": "openai"}, "openai/chat"),
        "e": ({"protocol": "semantic-kernel-python"}, "semantic-kernel-python/chat"),
        "f": ({"route": "multi-agent-chat/batch", "protocol": "ai-chat"}, "ai-chat/multi-agent-chat/batch"),
    }
    async with hosted(data_dir, queues.settings, team(tmp_path)) as host:
        await logged(host, f"chat_request +queueTrigger, queue {queues.requests.queue_name}")
        for name, (keys, _) in asked.items():
            await queues.ask({"id": name, "body": BODY, **keys})
        answers = {one["id"]: one for one in await queues.answered(len(asked))}
        for name, (_, route) in asked.items():
            async with http.post(f"{host.url}/{route}", json=BODY) as response:
                # Without PUBLIC_URL links have a path only: a message was sent to no host.
                expected = json.loads((await response.text()).replace(host.url.removesuffix("/api"), ""))
            assert answers[name]["status"] == 200
            assert without_ids(answers[name]["body"]) == without_ids(expected), route
        await queues.emptied()
        assert QUESTION not in host.log()
    assert "80 %" in answers["a"]["body"]["message"]["content"]


async def test_a_message_goes_on_with_the_chat_that_it_names_and_begins_none(queues: Queues, data_dir: Path) -> None:
    owner = owner_of(Caller(key=f"queue {queues.requests.queue_name}"))
    history = SqliteHistory(data_dir / "history.sqlite")
    chat = await history.create(owner, Mode.STANDARD, "T")
    message = {"protocol": "ai-chat-2024-05-29"}  # the app keeps the chats of its clients
    async with hosted(data_dir, queues.settings, {"HISTORY_BACKEND": "sqlite"}):
        await queues.ask({"id": "names none", **message, "body": BODY})
        await queues.ask({"id": "names one", **message, "body": BODY | {"sessionState": chat.id}})
        answers = {one["id"]: one["body"] for one in await queues.answered(2)}
    assert "sessionState" not in answers["names none"]
    assert answers["names one"]["sessionState"] == chat.id
    assert [one.id for one in await history.conversations(owner)] == [chat.id]
    question, _ = await history.messages(owner, chat.id)
    assert question.content == QUESTION


def without_ids(answer: Any) -> str:
    """An answer without what is another each time: ids and times."""
    changing = r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:]+|\b1\d{9}\b"
    return re.sub(changing, "…", json.dumps(answer))


BAD: Sequence[tuple[str, str | None, int, str]] = [
    ("hello", None, 400, "not JSON"),
    ("", None, 400, "no body"),
    ("[1]", None, 400, "no object"),
    ("{", None, 400, "not JSON"),
    ('"text"', None, 400, "no object"),
    (b64encode(b'{"id": "\xff"}').decode(), None, 400, "not UTF-8"),
    (b64encode(b"\xff\xfe{\0}\0").decode(), None, 400, "not UTF-8"),
    ("[" * 5000, None, 400, "not JSON"),
    ('{"n": ' + "9" * 500 + "}", None, 400, "digits"),
    (json.dumps({"body": BODY}), None, 400, "id: is missing"),
    (json.dumps({"id": 5, "body": BODY}), None, 400, "id:"),
    (json.dumps({"id": "", "body": BODY}), None, 400, "id:"),
    (json.dumps({"id": "x" * 257, "body": BODY}), None, 400, "id:"),
    (json.dumps({"id": "1"}), "1", 400, "body: is missing"),
    (json.dumps({"id": "1", "body": "text"}), "1", 400, "body:"),
    (json.dumps({"id": "1", "body": {}}), "1", 400, "messages: is missing"),
    (json.dumps({"id": "1", "body": BODY, "route": "../chat"}), "1", 400, "route:"),
    (json.dumps({"id": "1", "body": BODY, "route": "chat/stream"}), "1", 400, "route:"),
    (json.dumps({"id": "1", "body": BODY, "protocol": 5}), "1", 400, "protocol:"),
    (json.dumps({"id": "1", "body": BODY, "protocol": "nonsense"}), "1", 404, "no protocol of that name"),
    (json.dumps({"id": "1", "body": BODY, "protocol": "ag-ui"}), "1", 400, "ag-ui"),
    (json.dumps({"id": "1", "body": {"messages": [{"role": "user", "content": "long " * 8000}]}}), "1", 413, "tokens"),
]


async def test_bad_input_is_told_in_the_answers_once_and_nothing_is_tried_again(
    queues: Queues, host: RunningHost, openai: OpenAIStandIn
) -> None:
    before = len(openai.chats)
    sent = {await queues.ask(message): (named, status, words) for message, named, status, words in BAD}
    answers = await queues.answered(len(sent))
    told = Counter((one["id"], one["status"]) for one in answers)
    assert told == Counter((named or message_id, status) for message_id, (named, status, _) in sent.items())
    for message_id, (named, _, words) in sent.items():
        texts = [json.dumps(one["body"]) for one in answers if one["id"] == (named or message_id)]
        assert any(words in text for text in texts), (words, texts)
    await queues.emptied()
    assert len(openai.chats) == before
    assert "try 2" not in host.log()
    assert "long long" not in host.log()
    with pytest.raises(ResourceNotFoundError):
        await queues.poison.get_queue_properties()


@pytest.mark.usefixtures("host")
async def test_a_message_in_base64_is_read_and_a_large_answer_lies_in_a_blob(
    queues: Queues, openai: OpenAIStandIn
) -> None:
    long = "Grüße \ufffe\u0001\U0001f48e " * 6000
    for text in (long, "Short \ufffe\uffff\u0001\U0001f48e."):
        openai.reply(text)
        await queues.ask(b64encode(json.dumps({"id": text[:5], "body": BODY}).encode()).decode())
        (answer,) = await queues.answered()
        assert answer["status"] == 200
        if "blob" in answer:
            assert "body" not in answer
            answer["body"] = json.loads(await (await queues.blobs.download_blob(answer["blob"])).readall())
        assert answer["body"]["message"]["content"].strip() == text.strip()
        assert answer["id"] == text[:5]
    assert len([name async for name in queues.blobs.list_blob_names()]) == 1


async def test_a_fault_of_the_moment_is_tried_again_and_the_last_try_answers_with_it(
    queues: Queues, host: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.fail(401, times=2)
    await queues.ask({"id": "mended", "body": BODY})
    (answer,) = await queues.answered()
    assert (answer["id"], answer["status"]) == ("mended", 200)
    openai.fail(401, times=5)
    await queues.ask({"id": "lasting", "body": BODY})
    (answer,) = await queues.answered()
    assert (answer["id"], answer["status"]) == ("lasting", 503)
    assert "OPENAI_API_KEY" in answer["body"]["error"]
    await queues.emptied()
    assert host.log().count("try 4 failed: ") == 1
    assert "try 5 failed" not in host.log()
    assert QUESTION not in host.log()


NOT_REPEATABLE = """
team: {{pattern: sequential}}
tool_servers:
  - name: crm
    url: {url}
    tools:
      drop: {{approval: never, read_only: false}}
agents:
  - {{name: Clerk, instructions: Be Clerk., tools: [crm.drop]}}
"""


async def test_a_message_that_comes_again_repeats_no_call_of_a_tool(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn, tmp_path: Path
) -> None:
    async with crm() as server:
        file = tmp_path / "agents.yaml"
        file.write_text(NOT_REPEATABLE.format(url=server.url), encoding="utf-8")
        env = openai.settings | NO_VECTORS | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        openai.call_tool("crm_drop", {"name": "x"})
        openai.fail(401, times=2)
        openai.reply("x is dropped.")
        async with hosted(data_dir, queues.settings, env):
            await queues.ask({"id": "once", "body": BODY})
            (answer,) = await queues.answered()
    assert (answer["status"], answer["body"]["message"]["content"]) == (200, "x is dropped.")
    assert server.dropped == ["x"]


@pytest.mark.nightly
async def test_a_host_that_is_killed_in_the_middle_loses_no_message_and_no_finished_call_is_made_twice(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn, tmp_path: Path
) -> None:
    env = {"DATA_DIR": str(data_dir), **queues.settings, **openai.settings, **NO_VECTORS, **team(tmp_path)}
    before = len(openai.chats)
    openai.reply("First.")
    openai.hang()
    await queues.ask({"id": "survivor", "route": "multi-agent-chat/batch", "body": BODY})
    first = RunningHost(REPOSITORY, env, ("--port", "0"))
    try:
        await called(openai, before + 2)
    finally:
        first.process.kill()
        await asyncio.to_thread(first.wait)
    openai.reply("Second.")
    openai.reply("Third.")
    async with hosted(data_dir, env) as host:
        (answer,) = await queues.answered()
        await queues.emptied()
        assert QUESTION not in host.log()
    assert answer["id"] == "survivor"
    assert [one["Content"] for one in answer["body"]] == ["First.", "Second.", "Third."]
    assert len(openai.chats) == before + 4  # of the second agent one hung


@pytest.mark.parametrize(("error", "shown_in"), [(None, None), (Unavailable("Not now."), "120"), (KeyError(), "0")])
async def test_a_message_is_held_for_a_minute_at_a_time_and_then_deleted_or_shown_again(
    azurite: Azurite, queues: Queues, error: Exception | None, shown_in: str | None
) -> None:
    """If the process dies it comes again after that minute; the Functions host's own lease would be ten."""
    await queues.ask({"id": "held", "body": BODY})
    taken = await anext(queues.requests.receive_messages(visibility_timeout=600))
    changes, clock = asyncio.Queue[tuple[str, str | None]](), Clock()

    def note(response: PipelineResponse[HttpRequest, object]) -> None:
        request = response.http_request
        changes.put_nowait((request.method, dict(parse_qsl(urlsplit(request.url).query)).get("visibilitytimeout")))

    async with QueueClient.from_connection_string(
        azurite.connection_string, queues.requests.queue_name, raw_response_hook=note
    ) as watched:
        with suppress(Unavailable, KeyError):
            async with AnswerQueue(queues.answers, queues.blobs, watched).held(taken.id, taken.pop_receipt or ""):
                assert await changes.get() == ("PUT", "60")
                await asyncio.sleep(0)  # the task that renews it takes its first step, to the timer
                clock.forward(20)
                assert await changes.get() == ("PUT", "60")
                if error:
                    raise error
        assert await changes.get() == (("PUT", shown_in) if shown_in else ("DELETE", None))


async def test_a_message_that_comes_again_after_its_answer_gets_the_same_one_without_the_model(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn
) -> None:
    """As if the host had died between the answer and the end of the message: in a last try it is the host's."""
    env = {"DATA_DIR": str(data_dir), **queues.settings, **openai.settings, **NO_VECTORS}
    await queues.ask({"id": "twice", "body": BODY})
    taken = await anext(queues.requests.receive_messages(visibility_timeout=600))
    program = (
        "import asyncio, sys; from shared.triggers.chat_requests import answer; "
        "asyncio.run(answer(sys.argv[1].encode(), sys.argv[2], '', 5, 'i', None))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, str(taken.content), str(taken.id)), cwd=REPOSITORY, env=env
    )
    assert await process.wait() == 0
    (one,) = await queues.answered()
    calls = len(openai.chats)
    await queues.requests.update_message(taken, visibility_timeout=0)
    async with hosted(data_dir, env) as host:
        (other,) = await queues.answered()
        await queues.emptied()
        await logged(host, "answered with 200, try 2")
    assert one == other
    assert len(openai.chats) == calls


async def test_an_operator_who_tries_a_failed_message_again_has_its_answer_sent(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    once = {"AzureFunctionsJobHost__extensions__queues__maxDequeueCount": "1"}
    keys = {"AUTH_MODE": "api-key", "API_KEYS": f"boss:{sha256(b'secret').hexdigest()}", "OPERATORS": "boss"}
    openai.fail(401)
    async with hosted(data_dir, queues.settings, openai.settings, NO_VECTORS, once, keys) as host:
        await queues.ask({"id": "again", "body": BODY})
        (answer,) = await queues.answered()
        assert (answer["id"], answer["status"]) == ("again", 503)
        openai.reply("It pays.")
        boss = {"Authorization": "Bearer secret"}
        async with http.get(f"{host.url}/runs?state=failed", headers=boss) as response:
            (failed,) = [
                run for run in (await response.json())["runs"] if run["owner"].endswith(queues.requests.queue_name)
            ]
        async with http.post(f"{host.url}/runs/{failed['id']}/retry", headers=boss) as response:
            assert response.status == 204
        (answer,) = await queues.answered()
    assert (answer["id"], answer["status"]) == ("again", 200)
    assert answer["body"]["message"]["content"] == "It pays."


async def test_a_message_that_ends_the_process_each_time_goes_to_the_poison_queue(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn
) -> None:
    """Five taken_messages without an end, here by a client that takes the message and never comes back."""
    await queues.ask({"id": "deadly", "body": BODY})
    for _ in range(5):
        message = await anext(queues.requests.receive_messages(visibility_timeout=1))
        await queues.requests.update_message(message, visibility_timeout=0)
    async with hosted(data_dir, queues.settings, openai.settings, NO_VECTORS) as host:
        await logged(host, "went to queue .*-poison: it was tried 5 times")
    (given_up,) = await queues.poison.peek_messages(32)
    assert json.loads(given_up.content)["id"] == "deadly"


async def test_what_the_guard_blocks_is_answered_as_blocked_and_released_nowhere(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn
) -> None:
    async with RaiStandIn() as rai:
        rai.find("Zebrafish")
        async with hosted(data_dir, queues.settings, openai.settings, NO_VECTORS, rai.settings) as host:
            openai.reply("A Zebrafish says so.")
            await queues.ask({"id": "blocked", "body": BODY})
            (answer,) = await queues.answered()
            await queues.emptied()
            assert "Zebrafish" not in host.log()
    assert answer["status"] == 400
    assert "Zebrafish" not in json.dumps(answer)


async def test_a_queue_has_one_budget_and_what_finds_no_room_in_it_is_told(
    queues: Queues, data_dir: Path, openai: OpenAIStandIn
) -> None:
    limits = {"LIMIT_CALLER_REQUESTS_PER_MINUTE": "2", "BATCH_DEADLINE_SECONDS": "30"}
    async with hosted(data_dir, queues.settings, openai.settings, NO_VECTORS, limits) as host:
        for name in "abc":
            await queues.ask({"id": name, "body": BODY})
        answers = {one["id"]: one["status"] for one in await queues.answered(3)}
        assert sorted(answers.values()) == [200, 200, 429]
        assert "try 4 failed: rate_limited" in host.log()


@pytest.mark.nightly
@pytest.mark.nightly
async def test_200_messages_are_each_answered_once(queues: Queues, data_dir: Path) -> None:
    many = {"AzureFunctionsJobHost__extensions__queues__batchSize": "16"}
    async with hosted(data_dir, queues.settings, many), hosted(data_dir, queues.settings, many):
        for number in range(200):
            await queues.ask({"id": str(number), "body": BODY})
        answers = await queues.answered(200)
        await queues.emptied()
    assert sorted(int(one["id"]) for one in answers) == [*range(200)]
    assert {one["status"] for one in answers} == {200}


async def test_half_a_configuration_is_an_error_of_the_settings_and_binds_no_trigger(
    queues: Queues, data_dir: Path
) -> None:
    for missing in ("CHAT_REQUESTS_QUEUE", "CHAT_ANSWERS_QUEUE"):
        async with hosted(data_dir, queues.settings, {missing: ""}) as host:
            await asyncio.to_thread(host.wait_for, f"{missing} is missing, though")
            assert "chat_request " not in host.log()
