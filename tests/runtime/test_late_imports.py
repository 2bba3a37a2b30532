"""Late imports: whatever asks for them at the same time, one thread imports at a time."""

import asyncio
import threading

import pytest

from shared.errors import NotConfigured
from shared.runtime.late_imports import Late, run_import


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


async def test_what_is_late_is_made_when_it_is_first_needed_and_then_once() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    late = Late(make)
    assert made == []
    assert [await late.get(), await late.get()] == [made[0], made[0]]


async def test_what_cannot_be_made_now_is_tried_again() -> None:
    stores: list[str] = []

    def make() -> str:
        if not stores:
            raise NotConfigured("not yet")
        return stores[0]

    late = Late(make)
    with pytest.raises(NotConfigured, match="not yet"):
        await late.get()
    stores.append("store")
    assert await late.get() == "store"
