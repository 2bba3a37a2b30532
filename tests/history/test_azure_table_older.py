"""Chats that the table has from before are listed, read, changed and deleted like all others."""

from collections.abc import AsyncGenerator

import pytest
from azure.data.tables.aio import TableClient

from shared.errors import NotFound
from shared.history import Mode
from shared.history.azure_table import HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from shared.history.azure_table_rows import partition_of
from tests.history.history_contract import new_owner, said
from tests.history.older_table import write_older
from tests.stand_ins.azurite import Azurite


@pytest.fixture
async def history(azurite: Azurite) -> AsyncGenerator[AzureTableHistory]:
    store = AzureTableHistory(HistoryTable.of(azurite.connection_string))
    await store.check()  # makes the table
    yield store
    await store.aclose()


async def row_keys(table: TableClient, owner: str) -> list[str]:
    return [row["RowKey"] async for row in table.query_entities(f"PartitionKey eq '{partition_of(owner)}'")]


async def test_they_are_listed_among_the_others_in_order(history: AzureTableHistory, table: TableClient) -> None:
    owner = new_owner()
    older = [await write_older(table, owner, f"older {number}", [said(0)]) for number in range(40)]
    new = await history.create(owner, Mode.STANDARD, "new")
    await history.write(owner, older[0], [said(1)])
    for _ in range(2):
        listed = await history.conversations(owner)
        assert [chat.id for chat in listed] == [older[0], new.id, *older[:0:-1]]
        assert [chat.message_count for chat in listed] == [2, 0, *[1] * 39]
    assert not [key for key in await row_keys(table, owner) if key.startswith("c-")]


@pytest.mark.parametrize("is_listed", [False, True])
async def test_they_are_read_renamed_and_go_on(
    history: AzureTableHistory, table: TableClient, *, is_listed: bool
) -> None:
    owner = new_owner()
    messages = [said(number, f"{number} " + "x" * 9_000) for number in range(300)]
    chat = await write_older(table, owner, "Title", messages)
    empty = await write_older(table, owner, "Empty", [])
    await table.create_entity({"PartitionKey": partition_of(owner), "RowKey": f"m-{chat}-interrupted-000"})
    if is_listed:
        await history.conversations(owner)
    assert list(await history.messages(owner, chat)) == messages
    assert list(await history.messages(owner, chat, 3)) == messages[-3:]
    assert (await history.write(owner, chat, [], "Renamed")).message_count == 300
    assert list(await history.messages(owner, chat)) == messages
    written = await history.write(owner, chat, [said(0, "Changed"), said(300)])
    assert (written.title, written.message_count) == ("Renamed", 301)
    assert list(await history.messages(owner, chat)) == [said(0, "Changed"), *messages[1:], said(300)]
    assert not [key for key in await row_keys(table, owner) if key.startswith("m-")]
    assert (await history.write(owner, empty, [said(0)])).message_count == 1
    for each in (chat, empty):
        await history.delete(owner, each)
    assert await row_keys(table, owner) == []


async def test_they_are_deleted_also_if_an_earlier_deletion_broke_off(
    history: AzureTableHistory, table: TableClient
) -> None:
    owner = new_owner()
    whole, half, unseen = [
        await write_older(table, owner, "t", [said(0)], deleted=deleted) for deleted in (False, True, True)
    ]
    await history.delete(owner, whole)
    for _ in range(2):
        with pytest.raises(NotFound):
            await history.delete(owner, half)
    assert list(await history.conversations(owner)) == []
    assert list(await history.conversations(owner)) == []
    assert not [key for key in await row_keys(table, owner) if unseen in key or half in key or whole in key]


async def test_they_are_nobody_elses(history: AzureTableHistory, table: TableClient) -> None:
    owner, other = new_owner(), new_owner()
    chat = await write_older(table, owner, "t", [said(0)])
    for asked in (history.messages(other, chat), history.write(other, chat, [said(1)]), history.delete(other, chat)):
        with pytest.raises(NotFound):
            await asked
    assert list(await history.conversations(other)) == []
    assert list(await history.messages(owner, chat)) == [said(0)]
