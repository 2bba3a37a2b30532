"""What a turn and a page of the list take of the table: the same in a long chat and with many chats."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from itertools import batched
from uuid import uuid4

import pytest

from shared.history import Conversation, ListPosition, Mode, Page
from shared.history.azure_table import HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from shared.history.azure_table_rows import Head, commit, partition_of, started
from tests.history.kept_chats import new_owner, said
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import CountedStorage, counted

ALIKE = 1.1


@pytest.fixture
async def relay(azurite: Azurite) -> AsyncGenerator[CountedStorage]:
    async with counted(azurite) as relay:
        yield relay


@pytest.fixture
async def table(relay: CountedStorage) -> AsyncGenerator[HistoryTable]:
    table = HistoryTable.of(relay.connection_string)
    async with table.ready():
        yield table
    await table.aclose()


async def make_chats(table: HistoryTable, owner: str, count: int) -> list[Conversation]:
    """Start chats, many at once; return them, newest first."""
    now = datetime.now(UTC)
    made = [
        Conversation(str(uuid4()), f"Chat {number}", Mode.STANDARD, "x" * 200, now - timedelta(seconds=number), 2)
        for number in range(count)
    ]
    async with table.ready() as client:
        for some in batched(made, 50, strict=False):
            heads = [Head(partition_of(owner), each, "none") for each in some]
            await commit(client, [operation for head in heads for operation in started(head)])
    return made


async def test_a_turn_takes_as_much_in_a_long_chat_as_in_a_new_one(relay: CountedStorage, table: HistoryTable) -> None:
    history, owner = AzureTableHistory(table), new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    taken: list[tuple[int, int]] = []
    for number in (*range(0, 20, 2), *range(800, 820, 2)):
        relay.traffic.take()
        await history.write(owner, made.id, [said(number, "x" * 500), said(number + 1, "y" * 500)])
        taken.append((relay.traffic.requests, relay.traffic.bytes))
        if number == 18:
            await history.write(owner, made.id, [said(each, "z" * 500) for each in range(20, 800)])
    assert {requests for requests, _ in taken} == {2}
    assert max(size for _, size in taken) < ALIKE * min(size for _, size in taken)
    assert list(await history.messages(owner, made.id, 20)) == list(await history.messages(owner, made.id))[-20:]


async def test_an_answer_that_is_replaced_takes_as_much_in_a_long_chat(
    relay: CountedStorage, table: HistoryTable
) -> None:
    history, owner = AzureTableHistory(table), new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    taken: list[int] = []
    for number in (0, 700):
        await history.write(owner, made.id, [said(number), said(number + 1)])
        relay.traffic.take()
        await history.write(owner, made.id, [said(number + 1, "Whole")])
        taken.append(relay.traffic.bytes)
        await history.write(owner, made.id, [said(each) for each in range(2, 700)])
    assert max(taken) < ALIKE * min(taken)


async def test_a_page_of_the_list_takes_as_much_among_many_chats(relay: CountedStorage, table: HistoryTable) -> None:
    history, few, many = AzureTableHistory(table), new_owner(), new_owner()
    made = {few: await make_chats(table, few, 60), many: await make_chats(table, many, 1_050)}
    taken: list[tuple[int, int]] = []
    for owner, chats in made.items():
        relay.traffic.take()
        first = await history.conversations(owner, Page(Mode.STANDARD, 30))
        place = ListPosition(first[-1].last_updated, first[-1].id)
        second = await history.conversations(owner, Page(Mode.STANDARD, 30, place))
        taken.append((relay.traffic.requests, relay.traffic.bytes))
        assert [*first, *second] == chats[:60]
        assert list(await history.conversations(owner, Page(limit=2_000))) == chats
    assert taken[0][0] == taken[1][0]
    assert taken[1][1] < ALIKE * taken[0][1]
    # A chat that is started costs as much as well: the chats are counted once.
    await history.create(many, Mode.STANDARD, "t")
    relay.traffic.take()
    await history.create(many, Mode.STANDARD, "t")
    assert (relay.traffic.requests, relay.traffic.bytes < 8_000) == (2, True)
