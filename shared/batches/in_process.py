"""Runs batches in this process: the built-in engine. Batches of a process that has ended are resumed by the next."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from shared.batches.desk import Batches
from shared.batches.records import label
from shared.errors import SwitchboardError

_WORKERS = 4
"""Batches that run at the same time; the others wait."""
_SWEEP_SECONDS = 60 * 60
"""How often old batches are deleted."""

_log = logging.getLogger("switchboard.batch")


class InProcess:
    """An `Engine` that runs batches as tasks on this loop.

    Args:
        run: Runs a batch, or leaves it to a runner that is alive.
        workers: Batches that run at the same time.
    """

    def __init__(self, run: Callable[[str], Awaitable[object]], workers: int = _WORKERS) -> None:
        self._run = run
        self._slots = asyncio.Semaphore(workers)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, batch_id: str) -> None:
        """Run a batch when there is room."""
        if batch_id not in self._tasks:
            task = self._tasks[batch_id] = asyncio.create_task(self._work(batch_id))
            task.add_done_callback(lambda _: self._tasks.pop(batch_id, None))

    def cancel(self, batch_id: str) -> None:
        """Stop a batch at once."""
        if task := self._tasks.get(batch_id):
            task.cancel()

    async def check(self) -> None:
        """Do nothing: this process can always run one."""

    async def _work(self, batch_id: str) -> None:
        async with self._slots:
            try:
                await self._run(batch_id)
            except SwitchboardError as error:  # a poll starts it again
                _log.warning("batch %s: interrupted: %s", label(batch_id), error.message)
            except Exception as error:  # noqa: BLE001 (as above; the message may hold a user's text)
                _log.error("batch %s: interrupted: %s", label(batch_id), type(error).__name__)


async def keep_tidy(batches: Batches, *, resume: bool) -> NoReturn:
    """Delete old batches now and then, and first start those that an earlier process has not ended if `resume`."""
    while True:
        try:
            await batches.tidy(resume=resume)
        except SwitchboardError as error:
            _log.warning("batches were not tidied: %s", error.message)
        except Exception as error:  # noqa: BLE001 (the next time may do)
            _log.error("batches were not tidied: %s", type(error).__name__)
        await asyncio.sleep(_SWEEP_SECONDS)
