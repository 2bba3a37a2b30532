"""Runs runs in this process: the built-in engine. Those of a process that has ended are resumed by the next."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from shared.runs.records import State
from shared.runs.running import reported

SHARE = 8
"""Runs of one caller that nobody waits for and that go on at the same time; the others wait."""
_WORKERS = 32
"""The same of all callers. What people have decided has as many slots of its own, and waits behind no question."""


class InProcess:
    """An `Engine` that runs runs as tasks on this loop, so many of each caller.

    Args:
        run: Runs a run, or leaves it to a runner that is alive.
    """

    def __init__(self, run: Callable[[str], Awaitable[object]]) -> None:
        self._run = run
        self._waiting: dict[str, tuple[bool, str]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._taken = Counter[tuple[bool, str]]()

    async def start(self, run_id: str, state: State) -> None:
        """Run a run when there is room."""
        if not self.has(run_id):
            self._waiting[run_id] = (state.decided, state.owner)
            self._fill()

    async def take(self, run_id: str, state: State) -> None:
        """Run a run when there is room, and wait for its end."""
        await self.start(run_id, state)
        if task := self._tasks.get(run_id):
            await asyncio.shield(task)

    def has(self, run_id: str) -> bool:
        """Whether a run goes on here, or waits for room."""
        return run_id in self._tasks or run_id in self._waiting

    def has_room(self, state: State) -> bool:
        """Whether a run would begin at once."""
        return self._is_free((state.decided, state.owner))

    async def check(self) -> None:
        """Do nothing: this process can always run one."""

    def _is_free(self, slot: tuple[bool, str]) -> bool:
        taken = sum(count for (decided, _), count in self._taken.items() if decided == slot[0])
        return self._taken[slot] < SHARE and taken < _WORKERS

    def _fill(self) -> None:
        for run_id, slot in [*self._waiting.items()]:
            if self._is_free(slot):
                del self._waiting[run_id]
                self._taken[slot] += 1
                self._tasks[run_id] = asyncio.create_task(self._work(run_id, slot))

    async def _work(self, run_id: str, slot: tuple[bool, str]) -> None:
        try:
            await reported(self._run(run_id))
        finally:
            del self._tasks[run_id]
            self._taken[slot] -= 1
            self._taken += Counter()  # forget callers without any
            self._fill()
