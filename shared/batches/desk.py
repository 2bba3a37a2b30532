"""Accepts batches, shows them to their owners, and deletes them."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from secrets import token_hex

import msgspec

from shared.batches import NEW, Conflict, Engine, ObjectStore, records
from shared.batches.claim import purge, read_result, read_state
from shared.batches.running import KeptMessage, fail_batch, read_message, run_when_free
from shared.chat_types import PartHealth
from shared.errors import InternalError, KeyReused, NotFound, SwitchboardError, Unavailable
from shared.service import Service

_FIRST_LOOK_SECONDS = 0.05
_LOOK_SECONDS = 0.5
"""How often a batch is looked at for somebody who waits for it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A batch as its owner may see it."""

    batch_id: str
    """Its id."""
    state: records.State
    """Who works on it."""
    result: records.Result | None
    """Its end; None: it has not ended."""


type Look = tuple[Standing, tuple[KeptMessage, ...]]
"""How a batch stands, and its messages from a number on."""


class Batches:
    """The batches of the app.

    Args:
        store: Keeps them.
        engine: Runs them.
        service: Answers them.
    """

    def __init__(self, store: ObjectStore, engine: Engine, service: Service) -> None:
        self._store = store
        self._engine = engine
        self._service = service
        self._looks: dict[tuple[str, str, int, float], asyncio.Task[Look]] = {}

    async def check(self) -> PartHealth:
        """Check whether batches can be kept and started."""
        try:
            await self._engine.check()
            async with aclosing(self._store.names("keys/")) as names:
                await anext(names, None)
        except SwitchboardError as error:
            return PartHealth("azure-storage", ok=False, detail=error.message, needed=False)
        return PartHealth("azure-storage", ok=True, detail="A queue and blobs of AzureWebJobsStorage.", needed=False)

    async def accept(self, asked: records.Asked, body: bytes, owner: str, key: str | None) -> str:
        """Accept a batch, or find the one that this key has made; return its id.

        Each step can be done twice, so that a request that comes again goes on where the first one was cut off.

        Args:
            asked: The request, which has been validated.
            body: Its body.
            owner: Who may read the batch.
            key: The idempotency key, made unique to the caller; None: the request has none.

        Raises:
            KeyReused: the key came with another request before.
            Unavailable, TooSlow: the store or the engine cannot be used.
        """
        batch_id, name = token_hex(16), ""
        if key is not None:
            name = f"keys/{records.digest(key)}"
            batch_id = await self._enter(name, records.KeyEntry(batch_id, _print_of(asked, body), time.time()))
        with suppress(Conflict):
            await self._store.write(f"{batch_id}/request", msgspec.json.encode(asked) + b"\n" + body, NEW)
        now = time.time()
        state = records.State(records.digest(owner), now, now, name)
        try:
            await self._store.write(f"{batch_id}/state", msgspec.json.encode(state), NEW)
        except Conflict:
            # It is there: this request came before, or the store has answered a write whose answer was lost.
            if await read_state(self._store, batch_id) != state:
                await self._restart_if_stale(batch_id)
                return batch_id
        await self._engine.start(batch_id)
        return batch_id

    async def find(self, batch_id: str, owner: str) -> Standing:
        """Return how a batch stands. One whose runner has died is given to the engine again.

        Raises:
            NotFound: there is no such batch, or it is another owner's, has expired, or was deleted.
            Unavailable, TooSlow: the store cannot be used.
        """
        state = await self._state_of(batch_id, owner)
        if not state.is_readable(time.time()):
            raise _not_found()
        result = await read_result(self._store, batch_id)
        if result is None and state.is_stale(time.time()):
            with suppress(SwitchboardError):  # the next poll tries again
                await self._restart_if_stale(batch_id)
        return Standing(batch_id, state, result)

    async def messages(self, batch_id: str, first: int = 0) -> AsyncGenerator[KeptMessage]:
        """Yield the messages of a batch so far, from a number on."""
        while message := await read_message(self._store, batch_id, first):
            yield message
            first += 1

    async def look(self, batch_id: str, owner: str, first: int, *, pause: float = 0.0) -> Look:
        """Return, after a pause, how a batch stands, and its messages from a number on.

        All in this process who wait for the same share one look at the store.

        Raises:
            InternalError: a message is damaged.
            NotFound, Unavailable, TooSlow: as `find` raises them.
        """
        key = batch_id, owner, first, pause
        looking = self._looks.get(key)
        if looking is None:
            looking = self._looks[key] = asyncio.create_task(self._look(*key))
            looking.add_done_callback(_forget)  # all who wait may have left, and asyncio would log its error
        return await asyncio.shield(looking)

    async def _look(self, batch_id: str, owner: str, first: int, pause: float) -> Look:
        try:
            await asyncio.sleep(pause)
            standing = await self.find(batch_id, owner)  # before its messages: with a result, they are all there
            return standing, tuple([message async for message in self.messages(batch_id, first)])
        finally:
            del self._looks[batch_id, owner, first, pause]

    async def ended(self, batch_id: str, owner: str, seconds: float) -> Standing:
        """Wait until a batch has ended, or for so many seconds; return how it stands then."""
        limit = time.monotonic() + seconds
        # Its runner may be in another process: there is no event to wait for.
        pause = _FIRST_LOOK_SECONDS
        while (standing := await self.find(batch_id, owner)).result is None and time.monotonic() < limit:
            await asyncio.sleep(max(0.0, min(pause, limit - time.monotonic())))
            pause = min(2 * pause, _LOOK_SECONDS)
        return standing

    async def delete(self, batch_id: str, owner: str) -> None:
        """Delete a batch, and stop it. Its runner elsewhere sees this within seconds.

        Raises:
            NotFound: as `find` raises it. What an earlier call left when it was cut off is deleted all the same.
            Unavailable, TooSlow: the store cannot be used.
        """
        state = await self._state_of(batch_id, owner)
        was_readable = state.is_readable(time.time())
        while not state.deleted:
            found = await self._store.read(f"{batch_id}/state")
            if found is None:
                raise _not_found()
            state = msgspec.structs.replace(records.decode(found.data, records.State), deleted=True)
            try:
                await self._store.write(f"{batch_id}/state", msgspec.json.encode(state), found.etag)
            except Conflict:
                state = msgspec.structs.replace(state, deleted=False)
        self._engine.cancel(batch_id)
        await purge(self._store, batch_id, state=False)
        entered = await self._store.read(state.key) if state.key else None
        if entered and records.decode(entered.data, records.KeyEntry).batch_id == batch_id:
            await self._store.delete(state.key)
        if not was_readable:
            raise _not_found()

    async def run(self, batch_id: str) -> None:
        """Run a batch to its end, unless somebody else does; for engines.

        Raises:
            Unavailable, TooSlow: the store cannot be used. The batch can be run again.
        """
        if records.is_batch_id(batch_id):
            await run_when_free(batch_id, self._store, self._service)

    async def give_up(self, batch_id: str) -> None:
        """End a batch that the engine could not run, as failed.

        Raises:
            Unavailable, TooSlow: the store cannot be used.
        """
        if records.is_batch_id(batch_id):
            await fail_batch(batch_id, self._store)

    async def tidy(self, *, resume: bool) -> None:
        """Delete old batches, and old objects that belong to none.

        Args:
            resume: Whether to start all batches that have not ended, for an engine that forgets them.
        """
        states, keys, folders = list[str](), list[str](), set[str]()
        async for name in self._store.names():
            folder, _, part = name.partition("/")
            if folder == "keys":
                keys.append(name)
            elif part == "state":
                states.append(folder)
            else:
                folders.add(folder)
        for batch_id in states:
            with suppress(InternalError):  # one that cannot be read must not keep the others
                if state := await read_state(self._store, batch_id):
                    await self._tidy(batch_id, state, resume=resume)
        for name in keys:
            with suppress(InternalError):
                await self._tidy_key(name)
        # What has no state: a batch whose acceptance was cut off, and what a message of the request queue has kept.
        if alone := folders.difference(states):
            async for name in self._store.names(before=time.time() - records.RETENTION_SECONDS):
                if name.partition("/")[0] in alone:
                    await self._store.delete(name)

    async def _tidy_key(self, name: str) -> None:
        if kept := await self._store.read(name):
            entry = records.decode(kept.data, records.KeyEntry)
            if time.time() - entry.created > records.RETENTION_SECONDS:
                await self._store.delete(name)

    async def _tidy(self, batch_id: str, state: records.State, *, resume: bool) -> None:
        if not state.is_readable(time.time()):
            # A runner that has not seen the end yet may write a little more: the next sweep finds that.
            await purge(self._store, batch_id, state=time.time() - state.beat > records.STALE_SECONDS)
        elif resume and await self._store.read(f"{batch_id}/result") is None:
            await self._engine.start(batch_id)

    async def _enter(self, name: str, entry: records.KeyEntry) -> str:
        """Enter a batch under its key; return the id of the batch that is entered there."""
        for _ in range(_MOST_TRIES):
            with suppress(Conflict):
                await self._store.write(name, msgspec.json.encode(entry), NEW)
                return entry.batch_id
            found = await self._store.read(name)
            if found is None:
                continue
            known = records.decode(found.data, records.KeyEntry)
            state = await read_state(self._store, known.batch_id)
            now = time.time()
            if now - known.created > records.RETENTION_SECONDS or (state and not state.is_readable(now)):
                await self._store.delete(name)
            elif known.request != entry.request:
                raise KeyReused(
                    "This Idempotency-Key came with another request before: send each request with a key of its own."
                )
            else:
                return known.batch_id
        raise Unavailable("Others use this Idempotency-Key at the same time. Try again.")

    async def _state_of(self, batch_id: str, owner: str) -> records.State:
        state = await read_state(self._store, batch_id) if records.is_batch_id(batch_id) else None
        if state is None or state.owner != records.digest(owner):
            raise _not_found()
        return state

    async def _restart_if_stale(self, batch_id: str) -> None:
        """Give a batch to the engine again if its runner has died, or its message seems lost."""
        found = await self._store.read(f"{batch_id}/state")
        if found is None:
            return
        state = records.decode(found.data, records.State)
        if not state.is_stale(time.time()) or await self._store.read(f"{batch_id}/result"):
            return
        free = msgspec.structs.replace(state, runner="", beat=time.time())
        with suppress(Conflict):  # somebody else does the same
            await self._store.write(f"{batch_id}/state", msgspec.json.encode(free), found.etag)
            await self._engine.start(batch_id)


_MOST_TRIES = 5


def _print_of(asked: records.Asked, body: bytes) -> str:
    """Hash what makes two requests the same."""
    return records.digest(asked.route, asked.protocol, asked.content_type, body)


def _forget(looking: asyncio.Task[Look]) -> None:
    if not looking.cancelled():
        looking.exception()


def _not_found() -> NotFound:
    """The error for a batch that the caller may not see, whatever the reason."""
    return NotFound("There is no such batch, or it has expired or been deleted.")
