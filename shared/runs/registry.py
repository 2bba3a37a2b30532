"""Accepts runs, shows them to their owners, stops and deletes them."""

import asyncio
import time
from contextlib import aclosing, suppress
from copy import replace
from dataclasses import dataclass
from functools import partial

import msgspec

from shared.chat_types import PartHealth
from shared.errors import Decided, KeyReused, NotFound, Stopped, SwitchboardError, Unavailable
from shared.history import owner_of
from shared.runs import NEW, Conflict, Engine, records, write_once
from shared.runs.approvals import close_calls, let_rest
from shared.runs.claim import (
    FAILED,
    Claim,
    change,
    claim_run,
    claimed_by_new_runner,
    enter_going,
    purge,
    read_request,
    read_result,
    read_state,
    read_version,
    settle,
)
from shared.runs.consents import Consents, chat_name
from shared.runs.following import Followers, Standing
from shared.runs.journal import Live
from shared.runs.live import ended_in
from shared.runs.quotas import Quotas
from shared.runs.running import NewTurn, Runner, reported
from shared.runtime.background import in_background
from shared.turns.accept import AcceptedRequest
from shared.wire.request_body import Body

_FIRST_LOOK_SECONDS = 0.05
_LOOK_SECONDS = 0.5
"""How often a run is looked at for somebody who waits for its end."""
_MOST_TRIES = 5


@dataclass(frozen=True, slots=True)
class NewRun:
    """A request that is to be kept. It has been validated."""

    request: records.RunRequest
    """The request."""
    body: Body
    """Its body."""
    owner: str
    """Who may read it."""
    named: str | None = None
    """Its id, if the client has given it one."""
    key: str | None = None
    """The idempotency key, made unique to the caller; None: the request has none."""
    chat: str | None = None
    """The chat that it belongs to, by the client's name for it; None: none."""


class Runs:
    """The runs of the app.

    Args:
        runner: Runs them in this process.
        engine: Decides where those run that nobody waits for.
    """

    def __init__(self, runner: Runner, engine: Engine) -> None:
        self._runner = runner
        self.store = runner.store
        self._engine = engine
        self._quotas = Quotas(runner.service.settings, runner.store)
        self.consents = Consents(runner.store, self._start_again, self.stop, runner.service.audit)
        find = partial(self.find, here=True)
        self.followers = Followers(runner.store, runner.service.settings, runner.lives, find, self._mark_followed)

    async def check(self) -> PartHealth:
        """Check whether runs can be kept and started."""
        try:
            await self._engine.check()
            async with aclosing(self.store.names("keys/")) as names:
                await anext(names, None)
        except SwitchboardError as error:
            return PartHealth("azure-storage", ok=False, detail=error.message, needed=False)
        return PartHealth("azure-storage", ok=True, detail="A queue and blobs of AzureWebJobsStorage.", needed=False)

    async def accept(self, new: NewRun) -> tuple[str, records.State | None]:
        """Keep a request and let the engine run it, or find the run that its key or its id names.

        Each step can be done twice, so that a request that comes again goes on where the first one was cut off.

        Returns:
            The run's id, and its state if it has begun with this request.

        Raises:
            KeyReused: the key or the id came with another request before.
            Unavailable, TooSlow: the store or the engine cannot be used.
        """
        run_id, name, _ = await self._enter(new)
        now = time.time()
        state = records.State(records.digest(new.owner), now, now, name)
        if await self._first_etag(run_id, state, new):
            await self._engine.start(run_id, state)
            return run_id, state
        await self._restart_if_stale(run_id, here=False)
        return run_id, None

    async def begin(
        self,
        new: NewRun,
        accepted: AcceptedRequest,
        status_within: float | None,
        until: float | None = None,
        *,
        is_last_try: bool = True,
    ) -> tuple[str, Live | None]:
        """Keep a request and run it here at once.

        Args:
            new: The request.
            accepted: The same, read and checked.
            status_within: As `begin_turn` takes it.
            until: When it must be complete, on the event loop's clock, in seconds; None: when runs have to be that are
                told later.
            is_last_try: Whether an error that another try may mend ends the run. Else the same request comes again.

        Returns:
            The run's id, and the run if it begins or goes on here; None: it has ended, or goes on elsewhere.

        Raises:
            SwitchboardError: it could not begin.
        """
        run_id, name, is_new = await self._enter(new)
        now = time.time()
        state = claimed_by_new_runner(records.State(records.digest(new.owner), now, now, name))
        if etag := await self._first_etag(run_id, state, new):
            claim = Claim(run_id, self.store, state, etag)
        else:
            claim = await claim_run(run_id, self.store)
        if claim is None:
            return run_id, None
        begun: asyncio.Future[Live | None] = asyncio.get_running_loop().create_future()
        # What an earlier request has kept counts, and not what came with this one.
        new_turn = NewTurn(new.request, accepted, status_within, until) if etag and is_new else None
        run = self._runner.run_claimed(claim, new_turn, begun, is_last_try=is_last_try)
        in_background(reported(run)).add_done_callback(lambda _: begun.done() or begun.set_result(None))
        return run_id, await asyncio.shield(begun)

    async def find(self, run_id: str, owner: str | None, *, here: bool = False) -> Standing:
        """Return how a run stands. One whose runner has died goes on: here, or where the engine decides.

        Raises:
            NotFound: there is no such run, or it is another owner's, has expired, or was deleted.
        """
        state = await self._state_of(run_id, owner)
        if not state.is_readable(time.time()):
            raise _not_found()
        if (live := self._runner.lives.get(run_id)) and ended_in(live.turn.log):  # who has read its end may ask at once
            await live.stored()
        result = await read_result(self.store, run_id)
        if result is None and state.is_stale(time.time()):
            with suppress(SwitchboardError):  # the next look tries again
                await self.consents.go_on(run_id, here=here)
                await self._restart_if_stale(run_id, here=here)
        return Standing(run_id, state, result)

    async def request(self, run_id: str, owner: str) -> tuple[records.RunRequest, Body]:
        """Return the request of a run, and its body.

        Raises:
            NotFound, Unavailable, TooSlow: as `find` raises them.
            InternalError: it cannot be read.
        """
        await self.find(run_id, owner)
        return await read_request(self.store, run_id)

    async def ended(self, run_id: str, owner: str, seconds: float) -> Standing:
        """Wait until a run has ended, or for so many seconds; return how it stands then."""
        limit = time.monotonic() + seconds
        # Its runner may be in another process: there is no event to wait for.
        pause = _FIRST_LOOK_SECONDS
        while not (standing := await self.find(run_id, owner)).has_stopped and time.monotonic() < limit:
            await asyncio.sleep(max(0.0, min(pause, limit - time.monotonic())))
            pause = min(2 * pause, _LOOK_SECONDS)
        return standing

    async def running_of(self, owner: str, chat: str, protocol: str) -> str | None:
        """Return the newest run of a chat that has not ended, if there is one in this protocol."""
        names = sorted([name async for name in self.store.names(chat_name(owner, chat))], reverse=True)
        for name in names[:_MOST_TRIES]:
            run_id = name.rpartition("-")[2]
            with suppress(NotFound):
                if (await self.find(run_id, owner)).result is None:
                    request, _ = await read_request(self.store, run_id)
                    return run_id if request.protocol == protocol else None
        return None

    async def stop(self, run_id: str, owner: str | None) -> None:
        """Stop a run; what has come of it stays. Its runner elsewhere sees this within seconds.

        Args:
            run_id: The run.
            owner: Whose it has to be; None: an operator stops it.

        Raises:
            NotFound, Unavailable, TooSlow: as `find` raises them.
        """
        standing = await self.find(run_id, owner)
        if standing.result is None:
            await enter_going(self.store, run_id)
            state = await self._mark(run_id, stopped=True)
            await close_calls(self.store, state.owner, state.waits)
            if run_id in self._runner.lives:
                self._stop_here(run_id)
            elif not state.runner:  # nobody runs it: who claims it ends it
                await self._runner.run(run_id)

    async def retry(self, run_id: str) -> None:
        """Begin a run again that has failed, with the calls that had ended, or let one go on that is stuck.

        Raises:
            NotFound, Unavailable, TooSlow: as `find` raises them.
            Decided: it is under way, or has been answered.
        """
        standing = await self.find(run_id, None)  # which lets a stuck one go on
        result, state = standing.result, standing.state
        if result is None and state.is_stale(time.time()):
            return
        if result is None or result.status < 500:
            raise Decided("Only a run that has failed or is stuck can be tried again.")
        await enter_going(self.store, run_id)
        again = {"runner": "", "runs": 0, "started": 0, "stopped": False, "journal": state.journal + 1}
        state = await self._mark(run_id, beat=time.time(), **again)
        await self.store.delete(f"{run_id}/result")
        await self.store.delete(FAILED + run_id)
        await self._engine.start(run_id, state)

    async def delete(self, run_id: str, owner: str) -> None:
        """Delete a run, and stop it. Its runner elsewhere sees this within seconds.

        Raises:
            NotFound: as `find` raises it. What an earlier call left when it was cut off is deleted all the same.
        """
        state = await self._state_of(run_id, owner)
        was_readable = state.is_readable(time.time())
        await self._mark(run_id, deleted=True)
        await close_calls(self.store, state.owner, state.waits)
        self._stop_here(run_id)
        await purge(self.store, run_id, state=False)
        entered = await self.store.read(state.key) if state.key else None
        if entered and records.decode(entered.data, records.KeyEntry).run_id == run_id:
            await self.store.delete(state.key)
        if not was_readable:
            raise _not_found()

    async def delete_of(self, owner: str, chat: str) -> None:
        """Delete the runs of a chat."""
        now = time.time()
        deleted = msgspec.json.encode(records.State(records.digest(owner), now, now, deleted=True))
        for name in [name async for name in self.store.names(chat_name(owner, chat))]:
            run_id = name.rpartition("-")[2]
            # One that is being accepted at this moment has no state yet: it gets this one.
            await write_once(self.store, f"{run_id}/state", deleted)
            with suppress(NotFound):
                await self.delete(run_id, owner)
            await self.store.delete(name)

    async def run(self, run_id: str) -> None:
        """Run a run that a message of the engine names, unless somebody else does."""
        state = await read_state(self.store, run_id) if records.is_run_id(run_id) else None
        if state:
            await self._engine.take(run_id, state)

    async def look_after(self, run_id: str) -> None:
        """Let a run go on that has not ended and that nobody works on.

        Raises:
            InternalError, Unavailable, TooSlow: this cannot be done now.
        """
        if self._engine.has(run_id) or run_id in self._runner.lives:
            return
        state = await read_state(self.store, run_id)
        if state is None:
            return  # it is being accepted at this moment
        if not state.is_readable(time.time()) or await read_result(self.store, run_id):
            await settle(self.store, run_id, state)
        elif state.waits and not state.stopped:
            state = await let_rest(self.store, run_id)
            if state and not (state.waits or state.deleted):
                await self._engine.start(run_id, state)
        else:
            await self._restart_if_stale(run_id, here=False)

    async def give_up(self, run_id: str) -> None:
        """End a run that the engine could not run, as failed."""
        if records.is_run_id(run_id):
            await self._runner.give_up(run_id)

    async def _enter(self, new: NewRun) -> tuple[str, str, bool]:
        """Keep a request; return the id of its run, the name of its key, and whether no request before has made it."""
        run_id, name = new.named or new.request.turn_id, ""
        request, caller = new.request.encode(new.body), new.request.budget_key
        if new.key is not None:
            name = f"keys/{records.digest(new.key)}"
            same = records.digest(new.request.path, new.request.protocol, request.partition(b"\n")[2])
            entry = records.KeyEntry(run_id, same, time.time())
            run_id = await self._enter_key(name, entry)
        may_be_there = new.named or new.key
        if not (new.request.queued_as or (may_be_there and await self.store.read(f"{run_id}/request"))):
            await self._quotas.count(caller, run_id, len(request))
        try:
            await self.store.write(f"{run_id}/request", request, NEW)
        except Conflict:
            if new.named:
                await self._require_same(run_id, new, request)
            return run_id, name, False
        if new.chat:
            await write_once(self.store, f"{chat_name(new.owner, new.chat)}{new.request.created:012x}-{run_id}")
        return run_id, name, True

    async def _enter_key(self, name: str, entry: records.KeyEntry) -> str:
        """Enter a run under its key; return the id of the run that is entered there."""
        for _ in range(_MOST_TRIES):
            with suppress(Conflict):
                await self.store.write(name, msgspec.json.encode(entry), NEW)
                return entry.run_id
            found = await self.store.read(name)
            if found is None:
                continue
            known = records.decode(found.data, records.KeyEntry)
            state = await read_state(self.store, known.run_id)
            now = time.time()
            if now - known.created > records.RETENTION_SECONDS or (state and not state.is_readable(now)):
                await self.store.delete(name)
            elif known.request != entry.request:
                raise KeyReused(
                    "This Idempotency-Key came with another request before: send each request with a key of its own."
                )
            else:
                return known.run_id
        raise Unavailable("Others use this Idempotency-Key at the same time. Try again.")

    async def _require_same(self, run_id: str, new: NewRun, request: bytes) -> None:
        """Check that a run whose id the client gives is the same request of the same owner."""
        found = await self.store.read(f"{run_id}/request")
        head, _, asked = found.data.partition(b"\n") if found else (b"", b"", b"")
        # Its own state may not be there yet: who wrote the request owns the run.
        if asked == request.partition(b"\n")[2]:
            kept = records.decode(head, records.RunRequest)
            if owner_of(kept.caller) == owner_of(new.request.caller):
                return
        raise KeyReused("This run id came with another request before: give each run an id of its own.")

    async def _first_etag(self, run_id: str, state: records.State, new: NewRun) -> str:
        """Write the first state of a run; return its ETag, or nothing if it has a state."""
        if not new.request.queued_as:  # else the platform looks after it
            await enter_going(self.store, run_id)
        try:
            return await self.store.write(f"{run_id}/state", msgspec.json.encode(state), NEW)
        except Conflict:
            # It is there: this request came before, or the store has answered a write whose answer was lost.
            found, etag = await read_version(self.store, run_id)
            return etag if found == state else ""

    async def _state_of(self, run_id: str, owner: str | None) -> records.State:
        state = await read_state(self.store, run_id) if records.is_run_id(run_id) else None
        if state is None or (owner is not None and state.owner != records.digest(owner)):
            raise _not_found()
        return state

    async def _mark(self, run_id: str, **changes: object) -> records.State:
        name, how = f"{run_id}/state", partial(replace, **changes)
        state = await change(self.store, name, records.State, how)
        if state is None:
            raise _not_found()
        return state

    async def _mark_followed(self, run_id: str) -> None:
        with suppress(SwitchboardError):  # it is gone, or the next look tries again
            await self._mark(run_id, followed=True)

    def _stop_here(self, run_id: str) -> None:
        if live := self._runner.lives.get(run_id):
            live.turn.stop(Stopped())

    async def _restart_if_stale(self, run_id: str, *, here: bool) -> None:
        """Let a run go on if its runner has died, or its message seems lost: here, or where the engine decides."""
        state, etag = await read_version(self.store, run_id)
        is_free = state and ((state.stopped and not state.runner) or state.is_stale(time.time()))
        if not (state and is_free) or await self.store.read(f"{run_id}/result"):
            return
        if here:
            await self._start_again(run_id, here=True)
            return
        free = replace(state, runner="", beat=time.time())
        with suppress(Conflict):  # somebody else does the same
            await self.store.write(f"{run_id}/state", msgspec.json.encode(free), etag)
            await self._engine.start(run_id, free)

    async def _start_again(self, run_id: str, *, here: bool) -> None:
        """Let a run go on that nobody runs: here, or where the engine decides."""
        if not here:
            if state := await read_state(self.store, run_id):
                await self._engine.start(run_id, state)
            return
        if claim := await claim_run(run_id, self.store):
            in_background(reported(self._runner.run_claimed(claim)))


def _not_found() -> NotFound:
    """The error for a run that the caller may not see, whatever the reason."""
    return NotFound("There is no such run, or it has expired or been deleted.")
