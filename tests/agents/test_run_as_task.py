import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from shared.agents import run_as_task

type Put = Callable[[int], Awaitable[None]]


async def test_results_come_in_order_and_then_what_the_work_failed_with() -> None:
    async def work(put: Put) -> None:
        await put(1)
        await put(2)
        raise ZeroDivisionError

    results = run_as_task(work)
    assert [await anext(results), await anext(results)] == [1, 2]
    with pytest.raises(ZeroDivisionError):
        await anext(results)


async def test_who_stops_early_stops_the_work_and_awaits_its_end() -> None:
    ended = False

    async def work(put: Put) -> None:
        nonlocal ended
        await put(1)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended = True

    async with aclosing(run_as_task(work)) as results:
        assert await anext(results) == 1
    assert ended


async def test_work_does_not_run_far_ahead_of_who_takes_its_results() -> None:
    made = 0

    async def work(put: Put) -> None:
        nonlocal made
        while True:
            await put(made)
            made += 1

    async with aclosing(run_as_task(work)) as results:
        await anext(results)
        for _ in range(10):
            await asyncio.sleep(0)
        assert made < 2_000
