"""A process dies at any point of asking for consent and of acting: an agreed call runs once, or is told as unknown."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from aiohttp import web

from shared.runs import ObjectStore
from shared.runs.blob_objects import BlobObjects
from shared.runs.folder_objects import FolderObjects
from shared.settings import Settings
from tests.kinds import one_in
from tests.runs.acting import Crm, agents_file, crm
from tests.runs.aging import age
from tests.runs.crashing import store_of
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import Exchange, OpenAIStandIn

OPENING = ["approval", "code", "open", *["chat"] * 3]
ASKING = ["request", "chat", "going", "state", "call", "tool", "journal/0-0", *OPENING, "state"]
"""What is written until the call waits for a person, in order. The chat has three names in the next message."""
ACTING = [
    "going",
    "tool",
    "closed",
    "going",
    "journal/1-0",
    *["state"] * 2,
    *["tool"] * 2,
    "call",
    "journal/1-1",
    "result",
]
"""And from the decision on: claimed, not open any more, a new journal, free to go on, taken, executing, executed, …"""
EXECUTED = 8
NOT_YET = (0, 1)
"""Before these writes the decision is not there yet: whoever decides has no answer, and does it again."""


class Processes:
    """Acts in processes of their own."""

    def __init__(self, process: asyncio.subprocess.Process, settings: Mapping[str, str], crm: Crm) -> None:
        self._process = process
        self._settings = settings
        self.crm = crm
        self.run = uuid4().hex
        self.kills_in_call = False

    async def act(self, folder: Path, step: str, **order: Any) -> dict[str, Any]:
        settings = {**self._settings, "DATA_DIR": str(folder)}
        sent = {"kind": "act", "settings": settings, "question": "Drop x.", "run": self.run, "step": step, **order}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(sent).encode() + b"\n")
        if step == "decide":
            pid = int(await asyncio.wait_for(self._process.stdout.readline(), 60))
            self.crm.before = (lambda: os.kill(pid, signal.SIGKILL)) if self.kills_in_call else None
            if self.kills_in_call:
                return {}
        return json.loads(await asyncio.wait_for(self._process.stdout.readline(), 60))


@asynccontextmanager
async def processes(
    folder: Path, openai: OpenAIStandIn | None = None, env: Mapping[str, str] = {}, **team: str
) -> AsyncGenerator[tuple[Processes, OpenAIStandIn]]:
    async with openai or OpenAIStandIn() as openai, crm() as server:
        file = await asyncio.to_thread(partial(agents_file, folder, server.url, **team))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runs.crashing", stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[2]
        )
        named = {"OPENAI_EMBEDDING_MODEL": "", "AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk", **env}
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
        done = await running.act(tmp_path, "decide", approvals=asked["waits"])
    assert (asked["written"], done["written"]) == (ASKING, ACTING)
    assert (done["status"], done["ended"], done["text"]) == (200, ["done"], "crm.drop was done: x is dropped\n\nDone.")
    assert running.crm.dropped == ["x"]


@pytest.mark.nightly
@pytest.mark.parametrize("crash_at", range(4, len(ASKING)))
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
        done = await running.act(tmp_path, "decide", approvals=asked["waits"])
    assert (done["ended"], done["text"], running.crm.dropped) == (
        ["done"],
        "crm.drop was done: x is dropped\n\nDone.",
        ["x"],
    )


@pytest.mark.parametrize("crash_at", one_in(99, [EXECUTED, "in the call", 0, 1, 2, 3, 4, 5, 6, 7, 9, 10]))
async def test_an_agreed_call_runs_once_or_is_told_as_unknown(crash_at: int | str, tmp_path: Path) -> None:
    async with processes(tmp_path) as (running, openai):
        openai.call_tool("crm_drop", {"name": "x"})
        asked = await running.act(tmp_path, "ask")
        openai.reply("Done.")
        openai.reply("Done.")
        running.kills_in_call = crash_at == "in the call"
        at = {} if running.kills_in_call else {"crash_at": crash_at}
        crashed = await running.act(tmp_path, "decide", approvals=asked["waits"], **at)
        while running.kills_in_call and not running.crm.dropped:  # noqa: ASYNC110 (it is in another process)
            await asyncio.sleep(0.01)
        running.kills_in_call = False
        assert crashed.get("crashed_before") == (None if crash_at == "in the call" else ACTING[int(crash_at)])
        await age(FolderObjects(tmp_path / "batches"))
        step = "decide" if crash_at in NOT_YET else "go on"  # nobody asks any more
        done = await running.act(tmp_path, step, approvals=asked["waits"])
        openai.forget_scripts()
    is_unknown = crash_at in ("in the call", EXECUTED)
    assert (done["status"], done["ended"]) == (200, ["unknown" if is_unknown else "done"])
    assert (done["text"].rpartition("\n")[2], running.crm.dropped) == ("Done.", ["x"])


TEAM = """\
  - {name: Clerk, instructions: Be Clerk., tools: [crm.*]}
  - {name: Critic, instructions: Be Critic.}
"""
IN_THE_CALL = "in the call"
ENDS = (("executed", 1), ("unknown", 1), ("not_run", 0))
"""How an agreed call may stand after an outage, and how often it ran."""
NEVER = 1_000_000
"""A write that does not come: the process only sweeps."""
APPROVAL_OF = {"done": "executed", "unknown": "unknown", "denied": "denied"}
"""How an approval stands whose call has ended so."""


class Models(OpenAIStandIn):
    """The models of the team: Clerk looks, drops and tells, Critic agrees. The same when they are asked again."""

    async def _reply_by_default(self, exchange: Exchange) -> web.StreamResponse:
        messages = exchange.chat.messages if exchange.chat else []
        has_tools = bool(exchange.chat and exchange.chat.tools)
        match sum(message.role == "tool" for message in messages) if has_tools else None:
            case 0:
                self.call_tool("crm_look", {"number": 7}, call_id="c1")
            case 1:
                self.call_tool("crm_drop", {"name": "x"}, call_id="c2")
            case _:
                self.reply("Done.")
        return await self._script("/chat/completions", None).pop()(exchange)


class Told(NamedTuple):
    """What came of one run of the team, which was killed once."""

    killed: str
    """In which step, and before which write."""
    dropped: int
    """How often the gated call ran."""
    ended: list[str]
    """The ends of both calls as the user is told them."""


class Lives:
    """Runs of the team whose processes end."""

    def __init__(
        self, running: Processes, store: ObjectStore, folder: Path, *, approved: bool = True, here: bool = True
    ) -> None:
        self._here = here
        self._running = running
        self._store = store
        self._folder = folder
        self._approved = approved

    async def killed_once(self, step: str, at: int | str) -> Told:
        """Ask and decide; the process of one of these steps ends before its n-th write, and what follows goes on."""
        asked = await self._ask(at if step == "ask" else None)
        killed = asked.get("crashed_before")
        if killed:
            await age(self._store)
            asked = await self._running.act(self._folder, "go on")
        if step == "decide":
            killed = await self._decide_and_die(asked, at)
            await age(self._store)
        assert killed
        if step == "ask" or at in NOT_YET:
            done = await self._decide(asked)
        else:
            done = await self._running.act(self._folder, "go on")
        assert done["approvals"] == [APPROVAL_OF[done["ended"][-1]]]
        assert (done["status"], [text.rpartition("\n")[2] for text in done["messages"]]) == (200, ["Done.", "Done."])
        return Told(f"{step} {at}: before {killed}", len(self._running.crm.dropped), done["ended"])

    async def cut_off(self, at: int, writes: int) -> None:
        """Ask and decide; the store fails from the n-th write of the decision on, and nobody asks again."""
        outage = {"outage_at": at, "outage": writes}
        asked = await self._ask(None)
        order = {"approvals": asked["waits"], "here": self._here, **outage}
        done = await self._running.act(self._folder, "decide", **order)
        if not done.get("acknowledged", True):  # whoever decides has an error, and decides again
            done = await self._running.act(self._folder, "decide", **order | {"outage_at": NEVER})
        assert (*done["approvals"], len(self._running.crm.dropped)) in ENDS

    async def written(self) -> dict[str, list[str]]:
        """What is written in each step if nothing ends."""
        asked = await self._ask(None)
        return {"ask": asked["written"], "decide": (await self._decide(asked))["written"]}

    async def _ask(self, at: int | str | None) -> dict[str, Any]:
        self._running.run = uuid4().hex
        self._running.crm.dropped.clear()
        asked = await self._running.act(self._folder, "ask", team=True, crash_at=at)
        assert self._running.crm.dropped == []
        return asked

    async def _decide(self, asked: dict[str, Any], at: int | str | None = None) -> dict[str, Any]:
        order = {"approvals": asked["waits"], "approved": self._approved, "crash_at": at, "here": self._here}
        return await self._running.act(self._folder, "decide", **order)

    async def _decide_and_die(self, asked: dict[str, Any], at: int | str) -> str:
        if at != IN_THE_CALL:
            return (await self._decide(asked, at))["crashed_before"]
        self._running.kills_in_call = True
        await self._decide(asked)
        while not self._running.crm.dropped:  # noqa: ASYNC110 (it is in another process)
            await asyncio.sleep(0.01)
        self._running.kills_in_call = False
        return "its answer"


@asynccontextmanager
async def living(kind: str, folder: Path, azurite: Azurite, **how: bool) -> AsyncGenerator[Lives]:
    """The lives of a team: in a folder, or by Azurite's queue and blobs."""
    named = {"AzureWebJobsStorage": azurite.connection_string, "BATCH_QUEUE": f"b{uuid4().hex}"}
    env = named if kind == "queue" else {}
    store = store_of(Settings.read({"DATA_DIR": str(folder), **env}))
    async with processes(folder, Models(), env, agents=TEAM) as (running, _), AsyncExitStack() as stack:
        if isinstance(store, BlobObjects):
            stack.push_async_callback(store.aclose)
        yield Lives(running, store, folder, **how)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("kind", "approved", "here"),
    [("folder", True, True), ("folder", False, False), ("queue", True, False), ("queue", True, True)],
)
async def test_a_teams_call_runs_once_or_never_wherever_its_process_ended(
    kind: str, approved: bool, here: bool, tmp_path: Path, azurite: Azurite
) -> None:
    async with living(kind, tmp_path, azurite, approved=approved, here=here) as lives:
        written = await lives.written()
        first_state = written["ask"].index("state") + 1
        points = [("ask", at) for at in range(first_state, len(written["ask"]))]
        points += [("decide", at) for at in range(len(written["decide"]))]
        told = [await lives.killed_once(*point) for point in points]
        if approved:
            told.append(await lives.killed_once("decide", IN_THE_CALL))
    if approved:
        assert {one.dropped for one in told} == {1}
        unknown = [one.killed for one in told if one.ended != ["done", "done"]]
        executed = [place for place, name in enumerate(written["decide"]) if name == "tool"][2]
        assert unknown == [f"decide {executed}: before tool", f"decide {IN_THE_CALL}: before its answer"]
        assert {one.ended[-1] for one in told} == {"done", "unknown"}
    else:
        assert {(one.dropped, one.ended[-1]) for one in told} == {(0, "denied")}


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("kind", "here"), [("folder", True), ("queue", False)])
async def test_a_teams_call_runs_once_wherever_the_store_fails_for_a_moment(
    kind: str, here: bool, tmp_path: Path, azurite: Azurite
) -> None:
    async with living(kind, tmp_path, azurite, here=here) as lives:
        points = range(len((await lives.written())["decide"]))
        for at in points:
            for writes in (1, 4):
                await lives.cut_off(at, writes)
