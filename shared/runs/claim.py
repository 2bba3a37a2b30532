"""Claims a run for one runner, which then renews the claim until it has ended, lost or released the run."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import replace
from secrets import token_hex

import msgspec

from shared.errors import InternalError, SwitchboardError
from shared.runs import Conflict, ObjectStore, kept_tools, write_once
from shared.runs.records import HEARTBEAT_SECONDS, UNREADABLE, Result, RunRequest, State, decode, label, status_of
from shared.tools.calls import CallState, KeptCall
from shared.wire import framing, table
from shared.wire.protocol import Protocol
from shared.wire.request_body import Body

GOING, FAILED = "going/", "failed/"
"""Begin the names of objects: of runs that have neither ended nor wait for a person, and that ended with a fault."""

_log = logging.getLogger("switchboard.run")


class Claim:
    """A run that this runner has claimed."""

    def __init__(self, run_id: str, store: ObjectStore, state: State, etag: str) -> None:
        self.run_id = run_id
        self.state = state
        self.is_lost = False
        """Whether another runner has it now, or its owner has deleted it."""
        self.followed = asyncio.Event()
        """Set when somebody follows it in another process."""
        if state.followed:
            self.followed.set()
        self._store = store
        self._etag = etag
        self._renewed = time.monotonic()

    async def keep(self, stop: Callable[[], object], leave: Callable[[], object]) -> None:
        """Renew the claim until cancelled; call `stop` when the run is to end, `leave` when another runner has it."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(SwitchboardError):  # the store fails: others cannot take the run over now either
                await self._renew()
            if self.state.stopped or self.state.deleted:
                stop()
                return
            if self.is_lost:
                leave()
                return

    async def begin_journal(self) -> int:
        """Let another journal count from now on; return its number."""
        self.state = replace(self.state, journal=self.state.journal + 1)
        await self._renew()
        return self.state.journal

    async def _renew(self) -> None:
        while not self.is_lost:
            beaten = replace(self.state, beat=time.time())
            try:
                self._etag = await self._store.write(f"{self.run_id}/state", msgspec.json.encode(beaten), self._etag)
            except Conflict:
                await self._look_again()
            else:
                self._renewed = time.monotonic()
                return

    async def _look_again(self) -> None:
        """See what somebody else has written: the end of this claim, a wish to stop, or that the run seemed stale."""
        state, etag = await read_version(self._store, self.run_id)
        if state is None or state.deleted or state.runner not in ("", self.state.runner):
            self.is_lost = True
        else:
            self._etag = etag
        if state:
            if state.followed:
                self.followed.set()
            self.state = replace(self.state, followed=state.followed, stopped=state.stopped, deleted=state.deleted)

    async def end(self, result: Result) -> None:
        """Write the result, unless the claim is lost or a result is there already."""
        if time.monotonic() - self._renewed > 2 * HEARTBEAT_SECONDS:  # else nobody can have taken it over
            await self._renew()
        if self.is_lost:
            await self.leave()
            return
        if result.status >= 500:
            await write_once(self._store, FAILED + self.run_id)
        await write_once(self._store, f"{self.run_id}/result", msgspec.json.encode(result))
        state = await read_state(self._store, self.run_id)
        if state is None or state.deleted:
            await self.leave()
            return
        await settle(self._store, self.run_id, state)
        _log.info("run %s: ended with %d, time %d", label(self.run_id), result.status, self.state.runs)

    async def wait(self, calls: Mapping[str, KeptCall]) -> bool:
        """Let the run wait for calls, by their objects; return whether it does: it may be lost or stopped meanwhile."""
        until = min(call.expires for call in calls.values())
        while not (self.is_lost or self.state.stopped or self.state.deleted):
            paused = replace(self.state, runner="", beat=time.time(), waits=tuple(calls), waits_until=until)
            try:
                self._etag = await self._store.write(f"{self.run_id}/state", msgspec.json.encode(paused), self._etag)
            except Conflict:
                await self._look_again()
            else:
                _log.info("run %s: waits for consent, time %d", label(self.run_id), self.state.runs)
                return True
        return False

    async def release(self) -> None:
        """Let another runner have the run at once, if the store allows it now.

        The run does not count: many short faults of the store must not end one, as runs that end their process do.
        """
        free = replace(self.state, runner="", beat=0, runs=self.state.runs - 1)
        with suppress(Conflict, SwitchboardError):
            await self._store.write(f"{self.run_id}/state", msgspec.json.encode(free), self._etag)

    async def leave_to_next_try(self) -> None:
        """Let the next try of the same request have the run from its beginning, with what is kept of finished calls."""
        again = {"runner": "", "runs": 0, "started": 0, "journal": self.state.journal + 1}
        free = replace(self.state, beat=time.time(), **again)
        with suppress(Conflict):
            await self._store.write(f"{self.run_id}/state", msgspec.json.encode(free), self._etag)
        _log.info("run %s: left to the next try", label(self.run_id))

    async def leave(self) -> None:
        """Leave the run to who has it now; of a deleted one, delete what this runner may have written since."""
        state = await read_state(self._store, self.run_id)
        if state is None or state.deleted:
            await purge(self._store, self.run_id, state=False)
        _log.info("run %s: left, time %d", label(self.run_id), self.state.runs)


async def claim_run(run_id: str, store: ObjectStore) -> Claim | None:
    """Claim a run; None: it is gone, has ended, waits for a person, or another runner that is alive has it."""
    state, etag = await read_version(store, run_id)
    now = time.time()
    if state is None or not state.is_readable(now) or await store.read(f"{run_id}/result"):
        return None
    if (state.waits and not state.stopped) or (state.runner and not state.is_stale(now)):
        return None
    claimed = claimed_by_new_runner(state)
    with suppress(Conflict):
        etag = await store.write(f"{run_id}/state", msgspec.json.encode(claimed), etag)
        return Claim(run_id, store, claimed, etag)
    return None


def claimed_by_new_runner(state: State) -> State:
    """Return the state with a claim of its own."""
    now = time.time()
    return replace(state, runner=token_hex(8), beat=now, started=state.started or now, runs=state.runs + 1, waits=())


async def read_request(store: ObjectStore, run_id: str) -> tuple[RunRequest, Body]:
    """Read the request of a run.

    Raises:
        InternalError: it is not there, or damaged.
    """
    found = await store.read(f"{run_id}/request")
    if found is None:
        raise InternalError(UNREADABLE)
    return RunRequest.decode(found.data)


async def read_state(store: ObjectStore, run_id: str) -> State | None:
    """Read the state of a run; None: there is no such run."""
    return (await read_version(store, run_id))[0]


async def read_version(store: ObjectStore, run_id: str) -> tuple[State | None, str]:
    """Read the state of a run, and the ETag of its object."""
    found = await store.read(f"{run_id}/state")
    return (decode(found.data, State), found.etag) if found else (None, "")


async def change[Record](
    store: ObjectStore, name: str, kind: type[Record], how: Callable[[Record], Record | None]
) -> Record | None:
    """Change an object, whoever else changes it at the same time; return what it holds then, or None if it is gone.

    Args:
        store: The store.
        name: Its name.
        kind: The type of what it holds.
        how: Makes what it holds next of what it holds; None: it stays as it is.
    """
    while found := await store.read(name):
        known = decode(found.data, kind)
        changed = how(known)
        if changed is None:
            return known
        with suppress(Conflict):
            await store.write(name, msgspec.json.encode(changed), found.etag)
            return changed
    return None


async def read_result(store: ObjectStore, run_id: str) -> Result | None:
    """Read the result of a run; None: it has none yet."""
    found = await store.read(f"{run_id}/result")
    return decode(found.data, Result) if found else None


async def enter_going(store: ObjectStore, run_id: str) -> None:
    """Enter a run among those that are looked after."""
    await write_once(store, GOING + run_id)


async def settle(store: ObjectStore, run_id: str, state: State) -> None:
    """Give the calls of a run that has ended their ends, and look after it no longer."""
    if state.decided or state.stopped or state.runs > 1:  # else it has asked nobody for consent
        for name in [name async for name in store.names(kept_tools.tools_of(run_id))]:
            await change(store, name, KeptCall, _ended)
    await store.delete(GOING + run_id)


def _ended(call: KeptCall) -> KeptCall | None:
    ends: Mapping[CallState, CallState] = {"open": "abandoned", "claimed": "not_run", "executing": "unknown"}
    return replace(call, state=ends[call.state]) if call.state in ends else None


async def purge(store: ObjectStore, run_id: str, *, state: bool) -> None:
    """Delete what a run holds. Without its state a runner that has not seen the end would go on."""
    names = [name async for name in store.names(f"{run_id}/") if name != f"{run_id}/state"]
    for name in names:
        if name.startswith(kept_tools.tools_of(run_id)) and (found := await store.read(name)):
            with suppress(InternalError):  # a damaged call has an approval that leads to nothing
                if approval_id := decode(found.data, KeptCall).approval_id:
                    await store.delete(f"approvals/{approval_id}")
        await store.delete(name)
    await store.delete(GOING + run_id)
    await store.delete(FAILED + run_id)
    if state:
        await store.delete(f"{run_id}/state")


def failed(error: SwitchboardError, protocol: Protocol, invocation_id: str) -> Result:
    """Make the result of a run that failed."""
    return Result(status_of(error), msgspec.Raw(framing.encode_json(protocol.error(error, invocation_id))))


def unreadable(error: InternalError) -> Result:
    """Make the result of a run whose request cannot be read, so that its protocol is not known."""
    return failed(error, table.PROTOCOLS["semantic-kernel"], "")
