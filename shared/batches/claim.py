"""Claims a batch for one runner, which then renews the claim until it has ended, lost or released the batch."""

import asyncio
import logging
import time
from contextlib import suppress
from enum import Enum
from secrets import token_hex

import msgspec

from shared.batches import NEW, Conflict, ObjectStore
from shared.batches.records import HEARTBEAT_SECONDS, Asked, Result, State, decode, label, status_of
from shared.errors import InternalError, SwitchboardError
from shared.wire.framing import encode_json
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS

_log = logging.getLogger("switchboard.batch")


class Outcome(Enum):
    """How a call of `run_batch` ended."""

    DONE = "done"
    """The batch has a result."""
    HELD = "held"
    """Another runner works on it, or did until it died."""
    GONE = "gone"
    """There is no such batch any more, or another runner took it over."""


class Claim:
    """A batch that this runner has claimed."""

    def __init__(self, batch_id: str, store: ObjectStore, state: State, etag: str) -> None:
        self.batch_id = batch_id
        self.state = state
        self.is_lost = False
        """Whether another runner has it now, or its owner has deleted it."""
        self._store = store
        self._etag = etag

    async def asked(self) -> tuple[Asked, bytes]:
        """Read what was asked, and the body.

        Raises:
            InternalError: it is not there, or damaged.
        """
        found = await self._store.read(f"{self.batch_id}/request")
        if found is None:
            raise InternalError
        head, _, body = found.data.partition(b"\n")
        return decode(head, Asked), body

    async def keep(self, runner: asyncio.Task[object]) -> None:
        """Renew the claim until cancelled. Cancel the runner's task when it is lost."""
        while not self.is_lost:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(SwitchboardError):  # the store fails: others cannot take the batch over now either
                await self._renew()
        runner.cancel()

    async def _renew(self) -> None:
        beaten = msgspec.structs.replace(self.state, beat=time.time())
        try:
            self._etag = await self._store.write(f"{self.batch_id}/state", msgspec.json.encode(beaten), self._etag)
        except Conflict:
            found = await self._store.read(f"{self.batch_id}/state")
            state = decode(found.data, State) if found else None
            if found is None or state is None or state.deleted or state.runner not in ("", self.state.runner):
                self.is_lost = True
            else:  # somebody who found it stale has asked the engine for a run, and nobody has begun that yet
                self._etag = found.etag

    async def end(self, result: Result) -> Outcome:
        """Write the result, unless the claim is lost or a result is there already."""
        await self._renew()
        if self.is_lost:
            return await self.leave()
        with suppress(Conflict):
            await self._store.write(f"{self.batch_id}/result", msgspec.json.encode(result), NEW)
        _log.info("batch %s: ended with %d, run %d", label(self.batch_id), result.status, self.state.runs)
        return Outcome.DONE

    async def give_up(self, message: str) -> Outcome:
        """End the batch with an error. What it has done stays readable."""
        try:
            asked, _ = await self.asked()
        except InternalError as error:
            return await self.end(unreadable(error))
        return await self.end(failed(InternalError(message), PROTOCOLS[asked.protocol], asked.invocation_id))

    async def release(self) -> None:
        """Let another runner have the batch at once, if the store allows it now.

        The run does not count: many short faults of the store must not end a batch, as runs that end their process do.
        """
        free = msgspec.structs.replace(self.state, runner="", beat=time.time(), runs=self.state.runs - 1)
        with suppress(Conflict, SwitchboardError):
            await self._store.write(f"{self.batch_id}/state", msgspec.json.encode(free), self._etag)

    async def leave(self) -> Outcome:
        """Leave the batch to who has it now; of a deleted one, delete what this runner may have written since."""
        state = await read_state(self._store, self.batch_id)
        if state is None or state.deleted:
            await purge(self._store, self.batch_id, state=False)
        _log.info("batch %s: left, run %d", label(self.batch_id), self.state.runs)
        return Outcome.GONE


async def claim_batch(batch_id: str, store: ObjectStore) -> Claim | Outcome:
    """Claim a batch, unless it has ended, or another runner that is alive has it."""
    found = await store.read(f"{batch_id}/state")
    state = decode(found.data, State) if found else None
    now = time.time()
    if found is None or state is None or not state.is_readable(now):
        return Outcome.GONE
    if await store.read(f"{batch_id}/result"):
        return Outcome.DONE
    if state.runner and not state.is_stale(now):
        return Outcome.HELD
    claimed = msgspec.structs.replace(
        state, runner=token_hex(8), beat=now, started=state.started or now, runs=state.runs + 1
    )
    try:
        etag = await store.write(f"{batch_id}/state", msgspec.json.encode(claimed), found.etag)
    except Conflict:
        return Outcome.HELD
    return Claim(batch_id, store, claimed, etag)


async def read_state(store: ObjectStore, batch_id: str) -> State | None:
    """Read the state of a batch; None: there is no such batch."""
    found = await store.read(f"{batch_id}/state")
    return decode(found.data, State) if found else None


async def read_result(store: ObjectStore, batch_id: str) -> Result | None:
    """Read the result of a batch; None: it has none yet."""
    found = await store.read(f"{batch_id}/result")
    return decode(found.data, Result) if found else None


async def purge(store: ObjectStore, batch_id: str, *, state: bool) -> None:
    """Delete what a batch holds.

    Args:
        store: The store.
        batch_id: The batch.
        state: Whether to delete its state as well. Without it, a runner that has not seen the end would go on.
    """
    names = [name async for name in store.names(f"{batch_id}/") if name != f"{batch_id}/state"]
    for name in names:
        await store.delete(name)
    if state:
        await store.delete(f"{batch_id}/state")


def failed(error: SwitchboardError, protocol: Protocol, invocation_id: str) -> Result:
    """Make the result of a batch that failed."""
    return Result(status_of(error), msgspec.Raw(encode_json(protocol.error(error, invocation_id))))


def unreadable(error: InternalError) -> Result:
    """Make the result of a batch whose request cannot be read, so that its protocol is not known."""
    return failed(error, PROTOCOLS["semantic-kernel"], "")
