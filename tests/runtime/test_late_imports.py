"""Late imports: whatever asks for them at the same time, one thread imports at a time."""

import asyncio
import threading

import pytest

from shared.runtime.late_imports import run_import


async def test_one_imports_after_the_other() -> None:
    begun, may_end = threading.Event(), threading.Event()
    steps: list[str] = []

    def first() -> None:
        steps.append("first begins")
        begun.set()
        assert may_end.wait(60)
        steps.append("first ends")

    one = asyncio.create_task(run_import(first))
    await asyncio.to_thread(begun.wait, 60)
    other = asyncio.create_task(run_import(lambda: steps.append("second")))
    for _ in range(3):
        await asyncio.to_thread(int)  # in this time the second would have its turn
    may_end.set()
    await asyncio.gather(one, other)
    assert steps == ["first begins", "first ends", "second"]


async def test_what_cannot_be_imported_keeps_nobody_from_importing() -> None:
    def fail() -> None:
        raise ImportError

    with pytest.raises(ImportError):
        await run_import(fail)
    assert await run_import(lambda: "done") == "done"
