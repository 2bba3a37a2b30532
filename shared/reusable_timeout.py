"""The limits of many waits, one after the other, with one timer for all of them.

`asyncio.timeout` sets a timer for each wait. Where a token comes every few milliseconds, that costs more than most of
what is done with the token.
"""

import asyncio
import math
from collections.abc import Awaitable
from typing import Self


class ReusableTimeout:
    """ReusableTimeout for one thing at a time. Leaving the `with` block ends the timer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    async def until[T](self, limit: float, what: Awaitable[T]) -> T:
        """Wait for something.

        Args:
            limit: On the event loop's clock, in seconds; infinite for none.
            what: What is waited for; cancelled when the limit is over.

        Raises:
            TimeoutError: the limit was over first.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("Only a task can wait with a limit.")
        self._limit, self._is_over = limit, False
        if self._timer is None or limit < self._timer.when():
            self._set_timer()
        self._task, cancelled_before = task, task.cancelling()
        try:
            return await what
        except asyncio.CancelledError as exc:
            # As in `asyncio.Timeout`: who is cancelled by others as well is cancelled.
            if self._is_over and task.cancelling() - 1 <= cancelled_before:
                raise TimeoutError from exc
            raise
        finally:
            self._task = None
            if self._is_over:
                task.uncancel()

    def _set_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None if self._limit == math.inf else self._loop.call_at(self._limit, self._look)

    def _look(self) -> None:
        """The timer may have been set for an earlier wait: then it is set again, for the one at hand."""
        self._timer = None
        if self._task is None:
            return
        if self._loop.time() < self._limit:
            self._set_timer()
        else:
            self._is_over = True
            self._task.cancel()
