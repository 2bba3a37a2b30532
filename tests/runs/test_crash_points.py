"""A process ends between any two writes of a batch: the next one finishes it, and repeats no call that was kept."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shared.history import Mode
from shared.history.sqlite_history import SqliteHistory
from shared.runs import NEW
from shared.runs.folder_objects import FolderObjects
from tests.kinds import one_in
from tests.runs.aging import age
from tests.small_index import PASSAGES, write_index
from tests.stand_ins.openai_service import OpenAIStandIn

TEAM = """
team: {pattern: sequential}
agents:
  - {name: Alpha, instructions: Be Alpha., tools: [search]}
  - {name: Beta, instructions: Be Beta.}
"""
QUESTION = "What does the plan pay for dental care?"
WRITES = [
    *("key", "request", "going", "state"),  # the request is accepted
    "state",  # a runner claims it
    *("call", "call"),  # Alpha searches, and answers
    "call",  # Beta
    "journal/0-0",  # its events
    "result",
]
"""In order."""
ACCEPTED = 4
"""After so many, the caller has its 202."""


class Processes:
    """Runs batches, each in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, settings: dict[str, str]) -> None:
        self._process = process
        self._settings = settings

    async def run(self, folder: Path, **order: Any) -> dict[str, Any]:
        settings = self._settings | {"DATA_DIR": str(folder)}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"settings": settings, "question": QUESTION, **order}).encode() + b"\n")
        return json.loads(await asyncio.wait_for(self._process.stdout.readline(), 120))


@asynccontextmanager
async def processes(tmp_path: Path, openai: OpenAIStandIn) -> AsyncGenerator[Processes]:
    (tmp_path / "agents.yaml").write_text(TEAM, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runs.crashing", stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[2]
    )
    settings = openai.settings | {"OPENAI_EMBEDDING_MODEL": "", "AGENTS_FILE": str(tmp_path / "agents.yaml")}
    try:
        yield Processes(process, settings)
    finally:
        assert process.stdin
        process.stdin.close()
        assert await process.wait() == 0


def contents(result: Any) -> list[tuple[str, str]]:
    return [(message["AuthorName"], message["Content"]) for message in result]


def prompts(openai: OpenAIStandIn) -> Counter[str]:
    """How often the model was given each prompt."""
    return Counter(json.dumps(request.body["messages"]) for request in openai.chats)


async def test_a_batch_is_finished_wherever_its_process_ended(tmp_path: Path) -> None:
    async with OpenAIStandIn() as openai, processes(tmp_path, openai) as running:
        await write_index(tmp_path, PASSAGES)
        whole = await running.run(tmp_path)
        assert whole["written"] == WRITES
        assert whole["status"] == 200
        assert [agent for agent, _ in contents(whole["result"])] == ["Alpha", "Beta"]
        for crash_at, write in enumerate(WRITES):
            folder = tmp_path / str(crash_at)
            await write_index(folder, PASSAGES)
            history = SqliteHistory(folder / "history.sqlite")
            chat = await history.create("anonymous", Mode.MULTI_AGENT, "T")
            openai.requests.clear()
            crashed = await running.run(folder, chat=chat.id, crash_at=crash_at)
            assert (crashed["crashed_before"], crashed["written"]) == (write, WRITES[:crash_at])
            await age(FolderObjects(folder / "batches"))
            accepted = crash_at >= ACCEPTED
            ended = await running.run(folder, chat=chat.id, accept=not accepted)
            assert ended["status"] == 200
            assert contents(ended["result"]) == contents(whole["result"])
            assert ended["messages"] == whole["messages"]
            # The one call whose answer was not kept yet is made again, and no other.
            asked = prompts(openai)
            assert len(asked) == 3
            assert sum(asked.values()) == 3 + (write == "call")
            recorded = await history.messages("anonymous", chat.id)
            assert [message.content for message in recorded] == [QUESTION, *ended["messages"]]


async def test_a_batch_begins_one_chat_however_often_it_is_run(tmp_path: Path) -> None:
    protocol = "ai-chat-2024-05-29"  # the app keeps the chats of its clients
    async with OpenAIStandIn() as openai, processes(tmp_path, openai) as running:
        await write_index(tmp_path, PASSAGES)
        history = SqliteHistory(tmp_path / "history.sqlite")
        crashed = await running.run(tmp_path, protocol=protocol, crash_at=7)
        assert crashed["written"] == [*WRITES[:5], "chat", "call"]
        (chat,) = await history.conversations("anonymous")
        await age(FolderObjects(tmp_path / "batches"))
        ended = await running.run(tmp_path, accept=False)
        assert [message["sessionState"] for message in ended["result"]] == [chat.id, chat.id]
        assert [one.id for one in await history.conversations("anonymous")] == [chat.id]
        recorded = await history.messages("anonymous", chat.id)
        assert [message.content for message in recorded] == [QUESTION, *ended["messages"]]


@pytest.mark.parametrize(("part", "status"), [("request", 500), pytest.param("calls", 200, marks=pytest.mark.nightly)])
async def test_a_damaged_object_neither_stops_a_batch_nor_repeats_it_for_ever(
    tmp_path: Path, part: str, status: int
) -> None:
    async with OpenAIStandIn() as openai, processes(tmp_path, openai) as running:
        await write_index(tmp_path, PASSAGES)
        await running.run(tmp_path, crash_at=9)
        store = FolderObjects(tmp_path / "batches")
        await age(store)
        for name in [name async for name in store.names() if f"/{part}" in name]:
            found = await store.read(name)
            assert found
            await store.write(name, found.data[:9], found.etag)
        ended = await running.run(tmp_path, accept=False)
    assert ended["status"] == status
    assert ("cannot be read" in json.dumps(ended["result"])) == (status == 500)
    assert len(ended["messages"]) == 2


async def test_a_damaged_batch_keeps_no_other_from_being_resumed(tmp_path: Path) -> None:
    async with OpenAIStandIn() as openai, processes(tmp_path, openai) as running:
        await write_index(tmp_path, PASSAGES)
        crashed = await running.run(tmp_path, crash_at=7)
        assert crashed["crashed_before"] == "call"
        store = FolderObjects(tmp_path / "batches")
        await age(store)
        for other in ("0" * 32, "f" * 32):
            await store.write(f"{other}/state", b'{"owner":', NEW)
        ended = await running.run(tmp_path, accept=False)
    assert ended["status"] == 200


async def test_a_batch_that_ends_its_process_each_time_is_given_up(tmp_path: Path) -> None:
    async with OpenAIStandIn() as openai, processes(tmp_path, openai) as running:
        await write_index(tmp_path, PASSAGES)
        await running.run(tmp_path, crash_at=9)
        for _ in range(4):
            await age(FolderObjects(tmp_path / "batches"))
            await running.run(tmp_path, accept=False, crash_at=2)
        await age(FolderObjects(tmp_path / "batches"))
        ended = await running.run(tmp_path, accept=False)
    assert ended["status"] == 500
    assert "interrupted too often" in ended["result"]["error"]
    assert len(ended["messages"]) == 2  # what was done stays readable


@pytest.mark.parametrize("crash_at", one_in(2, [5, 7]))
async def test_of_two_processes_that_run_a_batch_at_once_one_does(tmp_path: Path, crash_at: int) -> None:
    async with OpenAIStandIn() as openai, processes(tmp_path, openai) as one, processes(tmp_path, openai) as other:
        await write_index(tmp_path, PASSAGES)
        await one.run(tmp_path, crash_at=crash_at)
        await age(FolderObjects(tmp_path / "batches"))
        openai.requests.clear()
        ends = await asyncio.gather(*(each.run(tmp_path, accept=False, heartbeat=2) for each in (one, other)))
        assert ends[0]["status"] == 200
        assert ends[0]["result"] == ends[1]["result"]
        assert sum(prompts(openai).values()) == {5: 3, 7: 1}[crash_at]
