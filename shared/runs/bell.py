"""A bell, by which a process lets a runner in another one look at the state of its run at once.

Somebody follows the run, or has stopped it: without the bell the runner would see that at its next heartbeat.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress

import msgspec

from shared.errors import SwitchboardError
from shared.runs import NEW, Conflict, ObjectStore
from shared.runs.records import decode

_NAME = "bell/rung"
_LISTEN_SECONDS = 0.2
"""How often a process that runs any run looks at the bell: one read of the store, however many runs it has."""
_MOST_RUNS = 200
"""Runs that are rung for between two looks; those beyond are seen by the heartbeat."""
_MOST_TRIES = 5


class _Rung(msgspec.Struct, frozen=True):
    """What the object of the bell holds."""

    times: int = 0
    """How often it was rung."""
    run_ids: tuple[str, ...] = ()
    """For which runs, the last ones."""


class Bell:
    """The bell of a store.

    Args:
        store: The store.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._rung: dict[str, asyncio.Event] = {}
        self._listening: asyncio.Task[None] | None = None

    @contextmanager
    def heard(self, run_id: str) -> Generator[asyncio.Event]:
        """Listen for a run that goes on in this process; the event is set when somebody rings for it."""
        event = self._rung[run_id] = asyncio.Event()
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen())
        try:
            yield event
        finally:
            self._rung.pop(run_id, None)

    async def ring(self, run_id: str) -> None:
        """Ring for a run that goes on in another process.

        Raises:
            Unavailable, TooSlow: the store cannot be used.
        """
        for _ in range(_MOST_TRIES):
            found = await self._store.read(_NAME)
            rung = decode(found.data, _Rung) if found else _Rung()
            rung = _Rung(rung.times + 1, (*rung.run_ids[1 - _MOST_RUNS :], run_id))
            with suppress(Conflict):
                await self._store.write(_NAME, msgspec.json.encode(rung), found.etag if found else NEW)
                return

    async def _listen(self) -> None:
        seen = 0
        while self._rung:
            await asyncio.sleep(_LISTEN_SECONDS)
            with suppress(SwitchboardError):  # the next look tries again, and heartbeats see it too
                found = await self._store.read(_NAME)
                rung = decode(found.data, _Rung) if found else _Rung()
                new = rung.run_ids[-(rung.times - seen) :] if rung.times > seen else ()
                seen = rung.times
                for run_id in self._rung.keys() & new:
                    self._rung[run_id].set()
