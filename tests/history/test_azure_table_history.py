"""History in a table of Azurite, the real service's emulator: the contract, the limits, and the service's faults."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import uuid4

import pytest
from azure.data.tables import TableEntity
from azure.data.tables.aio import TableClient

from shared.errors import NotConfigured, TooLarge, Unavailable
from shared.history import Mode
from shared.history.azure_table import TABLE, HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from tests.history.history_contract import HistoryContract, new_owner, said
from tests.stand_ins.azurite import KEY, Azurite
from tests.stand_ins.identity_endpoint import identity_endpoint


@pytest.fixture
async def history(azurite: Azurite) -> AsyncGenerator[AzureTableHistory]:
    store = AzureTableHistory(HistoryTable.of(azurite.connection_string))
    yield store
    await store.aclose()


@pytest.fixture
async def history_of_three(azurite: Azurite) -> AsyncGenerator[AzureTableHistory]:
    store = AzureTableHistory(HistoryTable.of(azurite.connection_string), max_chats=3)
    yield store
    await store.aclose()


@pytest.fixture
async def table(azurite: Azurite) -> AsyncGenerator[TableClient]:
    client = TableClient.from_connection_string(azurite.connection_string, TABLE)
    yield client
    await client.close()


async def entities(table: TableClient) -> list[TableEntity]:
    return [entity async for entity in table.query_entities("PartitionKey ge ''")]


async def head_of(table: TableClient, conversation_id: str) -> TableEntity:
    return next(entity for entity in await entities(table) if entity["RowKey"] == f"c-{conversation_id}")


class TestAzureTableHistory(HistoryContract):
    pass


async def test_nothing_of_a_deleted_conversation_stays_in_the_table(
    history: AzureTableHistory, table: TableClient
) -> None:
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    await history.write(owner, made.id, [said(0, "x" * 3_000_000)])
    rows = [entity["RowKey"] for entity in await entities(table) if made.id in entity["RowKey"]]
    assert len(rows) == 1 + 5
    await history.delete(owner, made.id)
    assert not [entity for entity in await entities(table) if made.id in entity["RowKey"]]


async def test_a_write_leaves_only_its_own_rows(history: AzureTableHistory, table: TableClient) -> None:
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    await asyncio.gather(*(history.write(owner, made.id, [said(n)]) for n in range(8)))
    assert len([entity for entity in await entities(table) if made.id in entity["RowKey"]]) == 2
    await history.delete(owner, made.id)


@pytest.mark.parametrize(("hours", "uncounted"), [(-1, 0), (1, 1)], ids=["an interrupted write", "another writer"])
async def test_a_write_removes_what_interrupted_writes_have_left_but_no_row_of_another_writer(
    azurite: Azurite, table: TableClient, hours: int, uncounted: int
) -> None:
    history = AzureTableHistory(HistoryTable.of(azurite.connection_string), leftover_age=timedelta(hours=hours))
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    for number in range(2):
        row = f"m-{made.id}-{number:016}-000"  # a process that is killed before it changes the head leaves this
        await table.create_entity({"PartitionKey": (await head_of(table, made.id))["PartitionKey"], "RowKey": row})
        await history.write(owner, made.id, [said(number)])
        rows = [entity for entity in await entities(table) if made.id in entity["RowKey"]]
        assert len(rows) == 2 + uncounted * (number + 1)
    assert len(await history.messages(owner, made.id)) == 2
    await history.delete(owner, made.id)
    await history.aclose()


async def test_a_delete_that_broke_off_is_seen_by_nobody_and_can_be_completed(
    history: AzureTableHistory, table: TableClient
) -> None:
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    await history.write(owner, made.id, [said(0)])
    await table.update_entity({**await head_of(table, made.id), "deleted": True})
    assert list(await history.conversations(owner)) == []
    await history.delete(owner, made.id)
    assert not [entity for entity in await entities(table) if made.id in entity["RowKey"]]


async def test_many_conversations_are_listed_and_counted_page_after_page(
    azurite: Azurite, history: AzureTableHistory, table: TableClient
) -> None:
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    head = next(entity for entity in await entities(table) if entity["RowKey"] == f"c-{made.id}")
    ids = [made.id, *(str(uuid4()) for _ in range(1_049))]
    for start in range(1, len(ids), 100):  # as many as a transaction takes
        await table.submit_transaction(
            [("create", {**head, "RowKey": f"c-{each}"}) for each in ids[start : start + 100]]
        )
    listed = await history.conversations(owner, limit=2_000)
    assert [found.id for found in listed] == sorted(ids)  # all of the same moment
    full = AzureTableHistory(HistoryTable.of(azurite.connection_string), max_chats=1_050)
    with pytest.raises(TooLarge, match="1,050 chats"):
        await full.create(owner, Mode.STANDARD, "one too many")
    await full.aclose()


async def test_the_conversations_of_an_owner_are_counted_only_now_and_then(
    azurite: Azurite, history: AzureTableHistory
) -> None:
    owner = new_owner()
    other = AzureTableHistory(HistoryTable.of(azurite.connection_string), max_chats=102)
    for _ in range(2):
        await other.create(owner, Mode.STANDARD, "t")
    for _ in range(98):
        await history.create(owner, Mode.STANDARD, "t")
    for _ in range(98):
        await other.create(owner, Mode.STANDARD, "t")
    with pytest.raises(TooLarge, match="102 chats"):
        await other.create(owner, Mode.STANDARD, "t")
    await other.aclose()


@pytest.mark.nightly
async def test_a_service_that_is_gone_is_named_and_used_again_when_it_is_back() -> None:
    async with Azurite() as service:
        history = AzureTableHistory(HistoryTable.of(service.connection_string))
        made = await history.create("o", Mode.STANDARD, "t")
        await service.stop()
        with pytest.raises(Unavailable, match="cannot be reached"):
            await history.messages("o", made.id)
        assert not (await history.check()).ok
        await service.start()
        with pytest.raises(Unavailable):  # the table went with the service's memory, and is not taken for an empty one
            await history.messages("o", made.id)
        assert (await history.check()).ok
        await history.create("o", Mode.STANDARD, "t")
        await history.aclose()


# The package reads Azurite's error, which is XML, in a way that Python warns of.
@pytest.mark.filterwarnings("ignore:Testing an element's truth value:DeprecationWarning")
async def test_a_key_that_is_not_the_accounts_is_named(azurite: Azurite) -> None:
    history = AzureTableHistory(HistoryTable.of(azurite.connection_string.replace(KEY, "d3Jvbmc=")))
    with pytest.raises(Unavailable, match="Storage Table Data Contributor") as raised:
        await history.conversations("o")
    await history.aclose()
    assert "d3Jvbmc" not in raised.value.message


async def test_an_address_is_used_with_the_apps_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    async with identity_endpoint("token") as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        history = AzureTableHistory(HistoryTable.at("https://127.0.0.1:9"))
        with pytest.raises(Unavailable, match="cannot be reached"):
            await history.conversations("o")
        await history.aclose()
    assert asked == ["https://storage.azure.com"]


@pytest.mark.parametrize("text", ["nonsense", "AccountName=a", "AccountName=a;AccountKey", "="])
def test_what_is_no_connection_string_is_named(text: str) -> None:
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        HistoryTable.of(text)
