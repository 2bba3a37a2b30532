"""Runs runs in this process: the built-in engine. Those of a process that has ended are resumed by the next."""

import asyncio
from collections.abc import Awaitable, Callable

from shared.runs.running import reported

_WORKERS = 4
"""Runs that nobody waits for and that go on at the same time; the others wait."""


class InProcess:
    """An `Engine` that runs runs as tasks on this loop.

    Args:
        run: Runs a run, or leaves it to a runner that is alive.
        workers: Runs that go on at the same time.
    """

    def __init__(self, run: Callable[[str], Awaitable[object]], workers: int = _WORKERS) -> None:
        self._run = run
        self._workers = workers
        self._slots = asyncio.Semaphore(workers)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, run_id: str) -> None:
        """Run a run when there is room."""
        if run_id not in self._tasks:
            task = self._tasks[run_id] = asyncio.create_task(self._work(run_id))
            task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    @property
    def has_room(self) -> bool:
        """Whether a run would begin at once."""
        return len(self._tasks) < self._workers

    async def watch(self, run_id: str) -> None:
        """Do nothing: at the start of a process, runs go on that an earlier one has not ended."""

    async def check(self) -> None:
        """Do nothing: this process can always run one."""

    async def _work(self, run_id: str) -> None:
        async with self._slots:
            await reported(self._run(run_id))
