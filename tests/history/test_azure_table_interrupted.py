"""A change of a chat in the table may break off at each of its writes: it is made or not made, and nothing is lost."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from azure.data.tables.aio import TableClient

from shared.errors import Unavailable
from shared.history.azure_table import TABLE, HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from tests.history.interrupted import CHANGES, assert_whole, begin
from tests.history.kept_chats import new_owner
from tests.kinds import one_in
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import CountedStorage, counted

ROOT = Path(__file__).parents[2]
MOST_WRITES = 40

type Interrupted = Callable[[CountedStorage, str, str, str, tuple[int, bool]], Awaitable[bool]]
"""Makes a change that ends at a write, before or after it is done; returns whether it came so far."""


@asynccontextmanager
async def opened(azurite: Azurite) -> AsyncGenerator[tuple[AzureTableHistory, TableClient]]:
    """A store to which all that is interrupted is a leftover, and its table."""
    store = AzureTableHistory(HistoryTable.of(azurite.connection_string), leftover_age=timedelta(hours=-1))
    async with TableClient.from_connection_string(azurite.connection_string, TABLE) as table:
        yield store, table
    await store.aclose()


async def cut_off(relay: CountedStorage, name: str, owner: str, chat: str, point: tuple[int, bool]) -> bool:
    """Answer nothing from a point on: all that a process that ends leaves behind is what it had written before."""

    def on_write(*now: int | bool) -> bool:
        relay.is_gone = relay.is_gone or now == point
        return not relay.is_gone

    relay.on_write, relay.is_gone = on_write, False
    client = TableClient.from_connection_string(relay.connection_string, TABLE, retry_total=0)
    store = AzureTableHistory(HistoryTable(client))
    try:
        await CHANGES[name].run(store, owner, chat)
    except Unavailable:
        assert relay.is_gone
    finally:
        await store.aclose()
    return relay.is_gone


async def killed(relay: CountedStorage, name: str, owner: str, chat: str, point: tuple[int, bool]) -> bool:
    """Kill the process that makes the change, as `kill -9` does."""
    arguments = ("-m", "tests.history.interrupted", relay.connection_string, name, owner, chat)
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)

    def on_write(*now: int | bool) -> bool:
        if now == point:
            process.kill()
        return now != point

    relay.on_write = on_write
    return await process.wait() != 0


async def interrupt(azurite: Azurite, name: str, how: Interrupted, *points: tuple[int, bool]) -> int:
    """Make a change that breaks off at a point, and check what is left; return at how many points it did."""
    reached = 0
    async with counted(azurite) as relay, opened(azurite) as (store, table):
        for point in points:
            owner = new_owner()
            chat = await begin(store, owner, CHANGES[name])
            relay.traffic.take()
            is_reached = await how(relay, name, owner, chat, point)
            await assert_whole(store, table, owner, chat, CHANGES[name])
            if not is_reached:
                break
            reached += 1
    return reached


ALL = [(number, is_done) for number in range(1, MOST_WRITES) for is_done in (False, True)]
POINTS = {
    "turn": 4,
    "update": 6,
    "rename": 4,
    "take back": 10,
    "many": 12,
    "large": 12,
    "delete": 8,
}
"""At how many points each change can break off: before and after each of its writes. The first makes the table."""


RARE = ("many", "rename", "take back", "large")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in RARE else name for name in CHANGES]
)
async def test_a_connection_that_ends_at_any_write_leaves_a_whole_chat(azurite: Azurite, name: str) -> None:
    assert await interrupt(azurite, name, cut_off, *ALL) == POINTS[name]


async def test_a_process_that_is_killed_between_two_writes_leaves_a_whole_chat(azurite: Azurite) -> None:
    assert await interrupt(azurite, "many", killed, (4, True)) == 1


def _losing(number: int) -> Callable[[int, bool], bool]:
    return lambda now, is_done: (now, is_done) != (number, True)


@pytest.mark.parametrize("name", one_in(3, ["turn", "many", "delete"]))
async def test_a_change_whose_answer_is_lost_is_made_once(azurite: Azurite, name: str) -> None:
    change = CHANGES[name]
    async with counted(azurite) as relay, opened(azurite) as (store, table):
        for number in range(1, POINTS[name] // 2):
            owner = new_owner()
            chat = await begin(store, owner, change)
            changing = AzureTableHistory(HistoryTable.of(relay.connection_string))
            await changing.check()
            relay.traffic.take()
            relay.on_write = _losing(number)
            await change.run(changing, owner, chat)
            await changing.aclose()
            if change.after:
                assert list(await store.messages(owner, chat)) == list(change.after)
            await assert_whole(store, table, owner, chat, change)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHANGES)
async def test_a_process_that_is_killed_at_any_write_leaves_a_whole_chat(azurite: Azurite, name: str) -> None:
    assert await interrupt(azurite, name, killed, *ALL) == POINTS[name]
