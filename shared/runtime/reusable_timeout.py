"""Time limits for many waits, one after another, with a single timer.

`asyncio.timeout` creates a timer for each wait. For a token every few milliseconds, this costs more than most of the
work on the token.
"""

import asyncio
import math
from collections.abc import Awaitable
from typing import Self


class ReusableTimeout:
    """A context manager whose `until` waits for one awaitable at a time. Leaving its block cancels the timer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._expired = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    async def until[T](self, limit: float, what: Awaitable[T]) -> T:
        """Wait for an awaitable, until a time.

        Args:
            limit: When to stop waiting, in seconds on the event loop's clock; infinity: never.
            what: The awaitable; it is cancelled at the limit.

        Raises:
            TimeoutError: the limit was reached first.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("Only a task can wait with a limit.")
        self._limit, self._expired = limit, False
        if self._timer is None or limit < self._timer.when():
            self._set_timer()
        self._task, cancelled_before = task, task.cancelling()
        try:
            return await what
        except asyncio.CancelledError as exc:
            # As in `asyncio.Timeout`: if others cancelled the task as well, it stays cancelled.
            if self._expired and task.cancelling() - 1 <= cancelled_before:
                raise TimeoutError from exc
            raise
        finally:
            self._task = None
            if self._expired:
                task.uncancel()

    def _set_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None if self._limit == math.inf else self._loop.call_at(self._limit, self._on_timer)

    def _on_timer(self) -> None:
        """End the wait, or set the timer again if it was set for an earlier wait with an earlier limit."""
        self._timer = None
        if self._task is None:
            return
        if self._loop.time() < self._limit:
            self._set_timer()
        else:
            self._expired = True
            self._task.cancel()
