"""What one turn reads and writes in Azure Storage: the table of docs/scale.md, counted again on the running app."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from azure.storage.queue.aio import QueueClient

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import QUESTION, body
from tests.local.running_host import REPOSITORY, RunningHost
from tests.runs.acting import agents_file, crm
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.recorded_storage import RecordedStorage, recorded

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.nightly]
"""At night: how often a busy machine reads and writes depends on how long a turn takes there."""

KINDS = ("table read", "table list", "table write", "blob read", "blob list", "blob write", "queue write")
PAGE = REPOSITORY / "docs" / "scale.md"
SAID = [{"role": "user", "content": QUESTION}]
TRIES = 3
"""How often a turn is counted: on a busy machine one takes so long that it writes its answer in parts."""


class Counting:
    """Turns of an app, each with what it reads and writes."""

    def __init__(self, host: RunningHost, relay: RecordedStorage, http: aiohttp.ClientSession) -> None:
        self.host, self._relay, self._http = host, relay, http

    async def send(self, method: str, path: str, sent: Any = None) -> Any:
        async with self._http.request(method, self.host.url + path, json=sent) as response:
            assert response.status < 300, await response.text()
            return (
                await response.json(content_type=None)
                if response.content_type == "application/json"
                else await response.text()
            )

    async def during(self, turn: Callable[[], Awaitable[object]]) -> tuple[int, ...]:
        """Count what passes during a turn and behind it, until nothing does any more."""
        await self._settled()
        self._relay.passed.clear()
        await turn()
        await self._settled()
        return tuple(self._relay.passed[kind] for kind in KINDS)

    async def _settled(self) -> None:
        before: Counter[str] | None = None
        async with asyncio.timeout(60):
            while before != self._relay.passed:
                before = self._relay.passed.copy()
                await asyncio.sleep(0.4)  # longer than the app waits between two parts of a journal


@asynccontextmanager
async def counting(
    azurite: Azurite, data_dir: Path, http: aiohttp.ClientSession, settings: dict[str, str]
) -> AsyncGenerator[Counting]:
    async with recorded(azurite) as relay:
        storage = {"HISTORY_BACKEND": "azure-table", "AzureWebJobsStorage": relay.connection_string}
        async with hosted(data_dir, NO_VECTORS | settings | storage | {"BATCH_QUEUE": f"b{uuid4().hex}"}) as host:
            yield Counting(host, relay, http)


def documented(turn: str) -> tuple[int, ...]:
    """Read a row of the table."""
    (row,) = re.findall(rf"^\| {re.escape(turn)} \|(.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return tuple(int(cell) for cell in row.split("|"))


async def check(app: Counting, name: str, turn: Callable[[], Awaitable[object]]) -> None:
    """Compare a turn with its row. The first one makes what is missing, and reads what is kept then."""
    await turn()
    counted = [await app.during(turn)]
    while counted[-1] != documented(name) and len(counted) < TRIES:
        counted.append(await app.during(turn))
    assert counted[-1] == documented(name), f"| {name} | {' | '.join(map(str, min(counted)))} |"


async def test_the_turns_of_an_app_without_tools_read_and_write_what_the_page_says(
    azurite: Azurite, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession, concurrent: dict[str, str]
) -> None:
    async with counting(azurite, data_dir, http, openai.settings | concurrent) as app:
        chat = (await app.send("POST", "/chat-history", {}))["id"]
        made: list[str] = []

        async def delete() -> None:
            await app.send("DELETE", f"/chat-history/{made.pop()}")

        resumable = body() | {"context": {"overrides": {"resumable": True}}}
        await check(app, "a question", lambda: app.send("POST", "/chat", body()))
        await check(
            app,
            "a question in a kept chat",  # another one each time, since the same one would be asked again
            lambda: app.send("POST", "/chat", body(f"{QUESTION} {uuid4()}", session_state=chat)),
        )
        await check(
            app, "a question to a team", lambda: app.send("POST", "/multi-agent-chat/batch", {"messages": SAID})
        )
        await check(app, "a question that can be resumed", lambda: app.send("POST", "/chat/stream", resumable))
        for _ in range(TRIES + 1):
            made.append((await app.send("POST", "/chat-history", {}))["id"])
            await app.send("POST", "/chat", body(session_state=made[-1]))
        await check(app, "deleting a chat of one question", delete)


async def test_a_call_that_needs_consent_reads_and_writes_what_the_page_says(
    azurite: Azurite, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with crm() as server:
        file = await asyncio.to_thread(agents_file, tmp_path, server.url)
        settings = openai.settings | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        async with counting(azurite, data_dir, http, settings) as app:

            async def ask() -> None:
                openai.call_tool("crm_drop", {"name": "x"})
                await app.send("POST", "/chat", body(f"Drop it. {uuid4()}"))

            async def decide() -> None:
                asked = len(openai.chats)
                await app.send("POST", f"/approvals/{waiting.pop()}", {"approved": True})
                async with asyncio.timeout(60):
                    while len(openai.chats) == asked:  # noqa: ASYNC110 (another process)
                        await asyncio.sleep(0.05)

            await check(app, "a question to an agent with tools", lambda: app.send("POST", "/chat", body(f"{uuid4()}")))
            await check(app, "a question that waits for consent", ask)
            for _ in range(TRIES + 1):
                await ask()
            waiting = [one["id"] for one in (await app.send("GET", "/approvals"))["approvals"]]
            await check(app, "the decision, and the rest of its answer", decide)


async def test_a_message_of_a_queue_reads_and_writes_what_the_page_says(
    azurite: Azurite, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    name = f"q{uuid4().hex}"
    queues = {"CHAT_REQUESTS_QUEUE": f"{name}-in", "CHAT_ANSWERS_QUEUE": f"{name}-out"}
    async with (
        QueueClient.from_connection_string(azurite.connection_string, f"{name}-in") as requests,
        QueueClient.from_connection_string(azurite.connection_string, f"{name}-out") as answers,
        counting(azurite, data_dir, http, openai.settings | queues) as app,
    ):
        await requests.create_queue()
        await answers.create_queue()

        async def ask() -> None:
            await requests.send_message(json.dumps({"id": str(uuid4()), "body": {"messages": SAID}}))
            async with asyncio.timeout(60):
                while not [await answers.delete_message(one) async for one in answers.receive_messages()]:  # noqa: ASYNC110 (another process)
                    await asyncio.sleep(0.05)

        await check(app, "a message of a queue", ask)
