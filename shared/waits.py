"""The limits of many waits, one after the other, with one timer for all of them.

`asyncio.timeout` sets a timer for each wait. Where a token comes every few milliseconds, that costs more than most of
what is done with the token.
"""

import asyncio
import math
from collections.abc import Awaitable
from typing import Self


class Waits:
    """Waits for one thing at a time. Leaving the `with` block ends the timer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._timeout: asyncio.Timeout | None = None

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
        self._limit = limit
        if self._timer is None or limit < self._timer.when():
            self._set_timer()
        async with asyncio.timeout(None) as timeout:
            self._timeout = timeout
            try:
                return await what
            finally:
                self._timeout = None

    def _set_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None if self._limit == math.inf else self._loop.call_at(self._limit, self._look)

    def _look(self) -> None:
        """The timer may have been set for an earlier wait: then it is set again, for the one at hand."""
        self._timer = None
        if self._timeout is None:
            return
        if self._loop.time() < self._limit:
            self._set_timer()
        else:
            self._timeout.reschedule(self._limit)
