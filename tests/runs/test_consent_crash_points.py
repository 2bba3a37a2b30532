"""A process dies at any point of asking for consent and of acting: an agreed call runs once, or is told as unknown."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from shared.runs.folder_objects import FolderObjects
from tests.kinds import one_in
from tests.runs.acting import Crm, agents_file, crm
from tests.runs.aging import age
from tests.stand_ins.openai_service import OpenAIStandIn

ASKING = ["request", "chat", "state", "call", "tool", "journal/0-0", "approval", "open", "state"]
"""What is written until the call waits for a person, in order."""
ACTING = ["tool", "journal/1-0", "state", "state", "tool", "tool", "call", "journal/1-1", "result"]
"""And from the decision on: claimed, the beginning of a journal, free to go on, taken, executing, executed, …"""
EXECUTED = 5


class Processes:
    """Acts in processes of their own."""

    def __init__(self, process: asyncio.subprocess.Process, settings: dict[str, str], crm: Crm) -> None:
        self._process = process
        self._settings = settings
        self.crm = crm
        self.run = uuid4().hex
        self.kills_in_call = False

    async def act(self, folder: Path, step: str, **order: Any) -> dict[str, Any]:
        settings = self._settings | {"DATA_DIR": str(folder)}
        sent = {"kind": "act", "settings": settings, "question": "Drop x.", "run": self.run, "step": step, **order}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(sent).encode() + b"\n")
        if step == "approve":
            pid = int(await asyncio.wait_for(self._process.stdout.readline(), 60))
            self.crm.before = (lambda: os.kill(pid, signal.SIGKILL)) if self.kills_in_call else None
            if self.kills_in_call:
                return {}
        return json.loads(await asyncio.wait_for(self._process.stdout.readline(), 60))


@asynccontextmanager
async def processes(folder: Path) -> AsyncGenerator[tuple[Processes, OpenAIStandIn]]:
    async with OpenAIStandIn() as openai, crm() as server:
        file = await asyncio.to_thread(agents_file, folder, server.url)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runs.crashing", stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[2]
        )
        named = {"OPENAI_EMBEDDING_MODEL": "", "AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        try:
            yield Processes(process, openai.settings | named, server), openai
        finally:
            assert process.stdin
            process.stdin.close()
            await process.wait()


@pytest.mark.nightly
async def test_what_is_written_is_what_the_crash_points_are(tmp_path: Path) -> None:
    async with processes(tmp_path) as (running, openai):
        openai.call_tool("crm_drop", {"name": "x"})
        asked = await running.act(tmp_path, "ask")
        openai.reply("Done.")
        done = await running.act(tmp_path, "approve", approvals=asked["waits"])
    assert (asked["written"], done["written"]) == (ASKING, ACTING)
    assert (done["status"], done["ended"], done["text"]) == (200, ["done"], "Done.")
    assert running.crm.dropped == ["x"]


@pytest.mark.nightly
@pytest.mark.parametrize("crash_at", range(3, len(ASKING)))
async def test_a_call_is_asked_for_once_wherever_the_process_ended(crash_at: int, tmp_path: Path) -> None:
    async with processes(tmp_path) as (running, openai):
        for _ in range(2 if ASKING[crash_at] == "call" else 1):  # a model call whose answer was not kept is made again
            openai.call_tool("crm_drop", {"name": "x"})
        crashed = await running.act(tmp_path, "ask", crash_at=crash_at)
        assert crashed["crashed_before"] == ASKING[crash_at]
        await age(FolderObjects(tmp_path / "batches"))
        asked = await running.act(tmp_path, "go on")
        assert len(asked["waits"]) == 1
        assert running.crm.dropped == []
        openai.reply("Done.")
        done = await running.act(tmp_path, "approve", approvals=asked["waits"])
    assert (done["ended"], done["text"], running.crm.dropped) == (["done"], "Done.", ["x"])


@pytest.mark.parametrize("crash_at", one_in(99, [EXECUTED, "in the call", 0, 1, 2, 3, 4, 6, 7]))
async def test_an_agreed_call_runs_once_or_is_told_as_unknown(crash_at: int | str, tmp_path: Path) -> None:
    async with processes(tmp_path) as (running, openai):
        openai.call_tool("crm_drop", {"name": "x"})
        asked = await running.act(tmp_path, "ask")
        openai.reply("Done.")
        openai.reply("Done.")
        running.kills_in_call = crash_at == "in the call"
        at = {} if running.kills_in_call else {"crash_at": crash_at}
        crashed = await running.act(tmp_path, "approve", approvals=asked["waits"], **at)
        while running.kills_in_call and not running.crm.dropped:  # noqa: ASYNC110 (it is in another process)
            await asyncio.sleep(0.01)
        running.kills_in_call = False
        assert crashed.get("crashed_before") == (None if crash_at == "in the call" else ACTING[int(crash_at)])
        await age(FolderObjects(tmp_path / "batches"))
        done = await running.act(tmp_path, "approve", approvals=asked["waits"])  # the client sends it again
        openai.forget_scripts()
    is_unknown = crash_at in ("in the call", EXECUTED)
    assert (done["status"], done["ended"]) == (200, ["unknown" if is_unknown else "done"])
    assert (done["text"], running.crm.dropped) == ("Done.", ["x"])
