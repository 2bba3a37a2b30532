"""What works in a task of its own, and is stopped with whoever waits for its results."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress

_AHEAD = 1_000
"""Results that may wait before the work waits too."""


async def produced[T](
    work: Callable[[Callable[[T], Awaitable[None]]], Coroutine[None, None, None]],
) -> AsyncGenerator[T]:
    """Yield what the work hands over, as it comes; closing the iterator early stops the work and awaits its end.

    Raises:
        Exception: what the work failed with, after what it handed over before.
    """
    results = asyncio.Queue[T](_AHEAD)
    task = asyncio.create_task(work(results.put))
    task.add_done_callback(lambda _: results.shutdown())
    try:
        with suppress(asyncio.QueueShutDown):
            while True:
                yield await results.get()
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
