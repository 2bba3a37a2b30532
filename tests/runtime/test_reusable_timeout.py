"""ReusableTimeout share a timer, and each keeps its own limit."""

import asyncio
import math

import pytest

from shared.runtime.reusable_timeout import ReusableTimeout


def in_seconds(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_what_comes_in_time_is_returned() -> None:
    with ReusableTimeout() as waits:
        assert await waits.until(in_seconds(60), asyncio.sleep(0, "here")) == "here"


async def test_a_wait_over_its_limit_ends() -> None:
    with ReusableTimeout() as waits, pytest.raises(TimeoutError):
        await waits.until(in_seconds(0.01), asyncio.Event().wait())


async def test_a_limit_that_was_over_before_the_wait_ends_it() -> None:
    with ReusableTimeout() as waits, pytest.raises(TimeoutError):
        await waits.until(in_seconds(-1), asyncio.Event().wait())


async def test_a_wait_may_last_past_the_limits_of_those_before_it() -> None:
    with ReusableTimeout() as waits:
        await waits.until(in_seconds(0.01), asyncio.sleep(0))
        assert await waits.until(in_seconds(60), asyncio.sleep(0.03, "late")) == "late"


async def test_a_wait_may_have_less_time_than_those_before_it() -> None:
    with ReusableTimeout() as waits:
        await waits.until(in_seconds(60), asyncio.sleep(0))
        with pytest.raises(TimeoutError):
            await waits.until(in_seconds(0.01), asyncio.Event().wait())


async def test_the_time_between_two_waits_is_nobodys() -> None:
    with ReusableTimeout() as waits:
        await waits.until(in_seconds(0.01), asyncio.sleep(0))
        await asyncio.sleep(0.03)
        assert await waits.until(in_seconds(60), asyncio.sleep(0, "here")) == "here"


async def test_after_one_that_took_too_long_others_can_be_waited_for() -> None:
    with ReusableTimeout() as waits:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await waits.until(in_seconds(0.01), asyncio.Event().wait())
        assert await waits.until(in_seconds(60), asyncio.sleep(0.01, "here")) == "here"


async def test_without_a_limit_a_wait_has_all_the_time() -> None:
    with ReusableTimeout() as waits:
        await waits.until(in_seconds(0.01), asyncio.sleep(0))
        assert await waits.until(math.inf, asyncio.sleep(0.03, "late")) == "late"


async def test_who_is_cancelled_while_waiting_is_cancelled() -> None:
    waiting = asyncio.Event()

    async def wait() -> None:
        with ReusableTimeout() as waits:
            waiting.set()
            await waits.until(in_seconds(60), asyncio.Event().wait())

    task = asyncio.create_task(wait())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_a_wait_raises_is_raised() -> None:
    async def fail() -> None:
        raise ValueError

    with ReusableTimeout() as waits, pytest.raises(ValueError):  # noqa: PT011 (its type alone is meant)
        await waits.until(in_seconds(60), fail())


async def test_who_is_cancelled_in_the_moment_that_the_limit_is_over_is_cancelled() -> None:
    ended = asyncio.Event()

    async def end_late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
            await asyncio.sleep(0)

    async def wait() -> None:
        with ReusableTimeout() as waits:
            await waits.until(in_seconds(0.01), end_late())

    task = asyncio.create_task(wait())
    await ended.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_comes_although_the_limit_is_over_leaves_nothing_cancelled() -> None:
    async def come_late() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late"
        return ""

    with ReusableTimeout() as waits:
        assert await waits.until(in_seconds(0.01), come_late()) == "late"
        assert await waits.until(in_seconds(60), asyncio.sleep(0, "here")) == "here"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
