"""Runs batches in processes that end in the middle of one, without a word: `os._exit` before the n-th write.

    python -m tests.runs.crashing

Takes one line of JSON for each run, `{"settings": {…}, "question": "…", "crash_at": 3}`, and prints one:
the names of what was written, and how it ended. With `outage_at` the store fails instead from that write on, for
`outage` writes, and the process lives on. With `"kind": "chat"` it is a run of chat, which writes pieces of its
journal as they come, and prints a line for each write before. All imports are done once: each run is a fork.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Container
from contextlib import suppress
from copy import replace
from importlib import import_module
from typing import Any

from shared import parts
from shared.chat_types import Caller, Decision, Json
from shared.errors import Unavailable
from shared.events import AgentMessage, TextDelta, ToolEnded
from shared.runs import Engine, New, ObjectStore, Stored, claim, journal, records
from shared.runs.approvals import Decider, list_approvals
from shared.runs.blob_objects import BlobObjects
from shared.runs.folder_objects import FolderObjects
from shared.runs.in_process import InProcess
from shared.runs.queue_engine import QueueEngine
from shared.runs.records import RunRequest, decode, digest
from shared.runs.registry import NewRun, Runs
from shared.runs.running import Runner
from shared.runs.upkeep import sweep
from shared.settings import Settings
from shared.tools.calls import KeptCall
from shared.turns.accept import AcceptedRequest, RouteOptions
from shared.web.responses import FIRST_PIECE_TIMEOUT_SECONDS
from shared.wire.request_body import Body

CRASHED = 9
OWNER = "anonymous"


class CrashingStore:
    """A store in whose n-th write the process ends.

    Args:
        store: Does the rest.
        crash_at: The number of the write, from 0, or its name, that is not done any more; None: all are.
        outage: Numbers of the tries to write that fail.
    """

    def __init__(
        self,
        store: ObjectStore,
        crash_at: int | str | None,
        *,
        tells: bool = False,
        outage: Container[int] = (),
    ) -> None:
        self._store = store
        self._crash_at = crash_at
        self._tells = tells
        self._outage = outage
        self._tries = 0
        self.written: list[str] = []

    async def read(self, name: str) -> Stored | None:
        return await self._store.read(name)

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        if self._crash_at in (len(self.written), _part(name)):
            _tell({"crashed_before": _part(name), "written": self.written})
            os._exit(CRASHED)
        self._tries += 1
        if self._tries - 1 in self._outage:
            raise Unavailable("The storage cannot be used.")
        self.written.append(_part(name))
        written = await self._store.write(name, data, etag)
        if self._tells:
            _tell({"wrote": _part(name)})
        return written

    async def delete(self, name: str) -> None:
        await self._store.delete(name)

    async def names(self, prefix: str = "", *, before: float | None = None) -> AsyncGenerator[str]:
        async for name in self._store.names(prefix, before=before):
            yield name


def _part(name: str) -> str:
    """The name without what differs from batch to batch."""
    first, _, rest = name.partition("/")
    if first in ("keys", "chats", "approvals", "codes", "open", "closed", "going", "failed"):
        return first.removesuffix("s")
    if rest.startswith("tools/"):
        return "tool"
    return "call" if rest.startswith("calls/") else rest


async def run(order: dict[str, Any]) -> dict[str, Any]:
    # A slow machine writes no heartbeat among the writes that are counted.
    claim.HEARTBEAT_SECONDS = order.get("heartbeat", 600)
    journal.ALONE_SECONDS = 600  # one piece, at the end
    settings = Settings.read(order["settings"])
    service = parts.build_service(settings)
    store = CrashingStore(FolderObjects(settings.data_dir / "batches"), order.get("crash_at"))
    runner = Runner(store, service, {})
    runs = Runs(runner, InProcess(runner.run))
    state = {"session_state": order["chat"]} if order.get("chat") else {}
    body = Body({"messages": [{"role": "user", "content": order["question"]}], **state})
    asked = RunRequest(
        protocol=order.get("protocol", "semantic-kernel"),
        route=RouteOptions(team=True),
        caller=Caller(),
        budget_key=OWNER,
        invocation_id="invocation-1",
    )
    if order.get("accept", True):
        run_id, _ = await runs.accept(NewRun(asked, body, OWNER, key=order["question"]))
    else:  # the caller had its 202: nobody asks again, and the next process finds the batch
        run_id = next(name.partition("/")[0] for name in [n async for n in store.names()] if name.endswith("/request"))
        await sweep(runs)
        while await claim.read_result(store, run_id) is None:  # noqa: ASYNC110 (maybe another process makes it)
            await asyncio.sleep(0.05)  # a poll of a stale batch would write, and count, at a time of its own
    standing = await runs.ended(run_id, OWNER, 60)
    result = json.loads(bytes(standing.result.body)) if standing.result else None
    said = [event.text for event in await runs.followers.so_far(run_id, OWNER) if isinstance(event, AgentMessage)]
    return {
        "id": run_id,
        "status": standing.result.status if standing.result else None,
        "result": result,
        "messages": said,
        "written": store.written,
    }


def store_of(settings: Settings) -> ObjectStore:
    """Where the runs of these settings are: in blobs, or in a folder."""
    if settings.azure_web_jobs_storage:
        return BlobObjects(settings)
    return FolderObjects(settings.data_dir / "batches")


def chat_run(run_id: str, question: str, *, team: bool = False) -> tuple[NewRun, AcceptedRequest]:
    """What a page asks of chat, with a run id of its own."""
    message: Json = {"id": "1", "role": "user", "content": question}
    body = Body({"threadId": "t1", "runId": run_id, "messages": [message]})
    asked = RunRequest(
        protocol="ag-ui",
        caller=Caller(),
        budget_key=OWNER,
        invocation_id="invocation-1",
        route=RouteOptions(streams=True, team=team),
    )
    return NewRun(asked, body, OWNER, named=run_id, chat="t1"), asked.accepted(body, Settings.read({}))


async def run_chat(order: dict[str, Any]) -> dict[str, Any]:
    claim.HEARTBEAT_SECONDS = 600
    journal.ALONE_SECONDS = journal.PIECE_SECONDS = 0.02
    settings = Settings.read(order["settings"])
    store = CrashingStore(store_of(settings), order.get("crash_at"), tells=True)
    runner = Runner(store, parts.build_service(settings), {})
    runs = Runs(runner, InProcess(runner.run))
    run_id, _ = await runs.begin(*chat_run(order["run"], order["question"]), FIRST_PIECE_TIMEOUT_SECONDS)
    standing = await runs.ended(run_id, OWNER, 60)
    return {"status": standing.result.status if standing.result else None, "written": store.written}


def engine_of(settings: Settings, runner: Runner) -> Engine:
    """The engine of these settings: with a queue, or of this process alone."""
    here = InProcess(runner.run)
    return QueueEngine(settings, here) if settings.azure_web_jobs_storage else here


async def act(order: dict[str, Any]) -> dict[str, Any]:
    """Ask agents that act, or decide about all that is open; or see to it that the run goes on."""
    claim.HEARTBEAT_SECONDS = 600
    journal.ALONE_SECONDS = 600
    settings = Settings.read(order["settings"])
    outage = range(at, at + order["outage"]) if (at := order.get("outage_at")) is not None else ()
    if outage:
        records.STALE_SECONDS = records.QUEUED_SECONDS = 0.2
    store = CrashingStore(store_of(settings), order.get("crash_at"), outage=outage)
    runner = Runner(store, parts.build_service(settings), {})
    runs, run_id = Runs(runner, engine_of(settings, runner)), order["run"]
    acknowledged = True
    if order["step"] == "ask":
        new, accepted = chat_run(run_id, order["question"], team=order.get("team", False))
        await runs.begin(new, replace(accepted, request=replace(accepted.request, is_kept=True)), None)
    elif order["step"] == "decide":
        sys.stdout.write(f"{os.getpid()}\n")
        sys.stdout.flush()
        for one in order["approvals"]:
            try:
                decision, decider = Decision(order.get("approved", True), one), Decider(digest(OWNER), OWNER)
                await runs.consents.decide(decision, decider, here=order.get("here", True))
            except Unavailable:
                acknowledged = False
    else:
        await sweep(runs)
    if not acknowledged:
        return {"acknowledged": False, "written": store.written}
    # Nobody asks for the run: that would let it go on.
    while not ((result := await claim.read_result(store, run_id)) or await _waits(store, run_id)) or (
        result and await store.read(claim.GOING + run_id)
    ):
        await asyncio.sleep(0.02)
        if outage:
            with suppress(Unavailable):
                await sweep(runs)
    events = await runs.followers.so_far(run_id, OWNER)
    return {
        "status": result.status if result else None,
        "approvals": [decode(found.data, KeptCall).state async for found in _calls(store, run_id)],
        "written": store.written,
        "waits": [one.call.approval_id for one in (await list_approvals(store, Decider(digest(OWNER), OWNER)))[0]],
        "ended": [event.status for event in events if isinstance(event, ToolEnded)],
        "text": "".join(event.text for event in events if isinstance(event, TextDelta)),
        "messages": [event.text for event in events if isinstance(event, AgentMessage)],
    }


async def _waits(store: ObjectStore, run_id: str) -> bool:
    """Whether a run waits for a person, and nothing is to be done for it."""
    state = await claim.read_state(store, run_id)
    return bool(state and state.waits) and await store.read(claim.GOING + run_id) is None


async def _calls(store: ObjectStore, run_id: str) -> AsyncGenerator[Stored]:
    for name in sorted([name async for name in store.names(f"{run_id}/tools/")]):
        if (found := await store.read(name)) and decode(found.data, KeptCall).approval_id:
            yield found


def _tell(fact: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


def main() -> None:
    for module in ("shared.agents.team", "shared.agents.single", "shared.tools.tool_servers"):
        import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            order = json.loads(line)
            _tell(asyncio.run({"chat": run_chat, "act": act}.get(order.get("kind"), run)(order)))
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
