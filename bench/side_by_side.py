"""Measures pieces of work by turns, so that what the machine does meanwhile hits all of them alike."""

import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median


async def medians(works: Mapping[str, Callable[[], Awaitable[None]]], rounds: int) -> dict[str, float]:
    """The median of each work's times in seconds, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            begun = time.perf_counter()
            await work()
            if number:
                times[name].append(time.perf_counter() - begun)
    return {name: median(taken) for name, taken in times.items()}


def compared(what: str, value: float, base: str, base_value: float) -> str:
    """A line for people: both times, and the ratio."""
    return f"{what}: {value * 1000:.0f} ms; {base}: {base_value * 1000:.0f} ms; ratio {value / base_value:.2f}"
