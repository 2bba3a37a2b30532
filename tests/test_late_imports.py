"""Late imports: whatever asks for them at the same time, one thread imports at a time."""

import asyncio
import threading

import pytest

from shared.late_imports import importing


async def test_one_imports_after_the_other() -> None:
    begun, may_end = threading.Event(), threading.Event()
    steps: list[str] = []

    def first() -> None:
        steps.append("first begins")
        begun.set()
        assert may_end.wait(60)
        steps.append("first ends")

    one = asyncio.create_task(importing(first))
    await asyncio.to_thread(begun.wait, 60)
    other = asyncio.create_task(importing(lambda: steps.append("second")))
    for _ in range(3):
        await asyncio.to_thread(int)  # in this time the second would have its turn
    may_end.set()
    await asyncio.gather(one, other)
    assert steps == ["first begins", "first ends", "second"]


async def test_what_cannot_be_imported_keeps_nobody_from_importing() -> None:
    def fail() -> None:
        raise ImportError

    with pytest.raises(ImportError):
        await importing(fail)
    assert await importing(lambda: "done") == "done"
