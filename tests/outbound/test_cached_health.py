"""Health that is kept for a while."""

import asyncio

from shared.chat_types import PartHealth
from shared.outbound.asking import CachedHealth


async def test_a_service_is_asked_once_for_all_who_want_to_know() -> None:
    asked: list[None] = []
    answers = asyncio.Event()

    async def ask() -> PartHealth:
        asked.append(None)
        await answers.wait()
        return PartHealth("service", ok=True, detail="It is well")

    health = CachedHealth(ask)
    waiting = [asyncio.create_task(health.latest()) for _ in range(3)]
    await asyncio.sleep(0)
    answers.set()
    told = {(await each).detail for each in waiting}
    assert told == {(await health.latest()).detail} == {"It is well"}
    assert len(asked) == 1


async def test_who_stops_waiting_keeps_nobody_from_asking() -> None:
    async def never() -> PartHealth:
        await asyncio.Event().wait()
        raise AssertionError

    health = CachedHealth(never)
    for _ in range(2):
        waiting = asyncio.create_task(health.latest())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
