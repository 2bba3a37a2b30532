"""Timer triggers: a schedule becomes invocations, as the Functions host does it.

Of several hosts that share a `DATA_DIR`, one has the timer: the first to be due, until it ends. A host that was down
when its timer was due does not make up for it.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

from croniter import CroniterError, croniter
from filelock import FileLock, Timeout

from local import HostError
from local.invocation import TIMER_DATA, Call, Function, succeeds

LONGEST_SLEEP_SECONDS = 60.0
"""Until the clock is read again: it stands still for a sleep while a laptop is closed."""

_log = logging.getLogger(__name__)


class TimerTrigger:
    """Invokes one function by its schedule; an invocation that takes longer than that holds up the next.

    Args:
        function: has a `timerTrigger`.
        folder: where the hosts that share a timer find its lock.
        invoke: starts an invocation in the worker, and tells whether it succeeded.

    Raises:
        HostError: the schedule is none.
    """

    def __init__(self, function: Function, folder: Path, invoke: Callable[[Call], Future[bool]]) -> None:
        self._function = function
        self._schedule = function.text("schedule")
        self._invoke = invoke
        self._lock = FileLock(folder / f"{function.name}.timer.lock", timeout=0, thread_local=False)
        next_time(self._schedule, datetime.now(UTC))

    async def run(self) -> NoReturn:
        """Invoke it each time until cancelled."""
        try:
            due = next_time(self._schedule, datetime.now(UTC))
            while True:
                wait = (due - datetime.now(UTC)).total_seconds()
                await asyncio.sleep(max(0, min(wait, LONGEST_SLEEP_SECONDS)))
                if wait > LONGEST_SLEEP_SECONDS:
                    continue
                if await asyncio.to_thread(self._is_ours):
                    await succeeds(Call(str(uuid4()), self._function, TIMER_DATA), self._invoke)
                due = next_time(self._schedule, datetime.now(UTC))
        finally:
            self._lock.release()

    def _is_ours(self) -> bool:
        if not self._lock.is_locked:
            Path(self._lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except Timeout:
                _log.info("%s: not run here, another host has its timer", self._function.name)
                return False
        return True


def next_time(schedule: str, after: datetime) -> datetime:
    """The next time of a schedule, in UTC as in Azure.

    Args:
        schedule: NCRONTAB: seconds, minutes, hours, days, months and weekdays; five fields have no seconds. A day
            counts if it is one of the days and one of the weekdays.
        after: from when on; it does not count itself.

    Raises:
        HostError: it is no such schedule, or never comes.
    """
    try:
        return croniter(schedule, after, datetime, day_or=False, second_at_beginning=True).get_next()
    except CroniterError:
        raise HostError(
            f"'{schedule}' is no schedule of a timer: it has six fields such as '0 30 2 * * *', every day at 2:30 UTC."
        ) from None
