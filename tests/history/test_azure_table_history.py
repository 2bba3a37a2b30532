"""History in a table of Azurite, the real service's emulator: the contract, the limits, and the service's faults."""

from collections.abc import AsyncGenerator

import pytest
from azure.data.tables.aio import TableClient

from shared.errors import NotConfigured, TooLarge, Unavailable
from shared.history import Mode, StoredMessage, new_session_id
from shared.history.azure_table import HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from shared.history.azure_table_rows import partition_of
from shared.history.contents import preview
from tests.history.history_contract import HistoryContract
from tests.history.kept_chats import new_owner, said
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


async def rows_of(table: TableClient, conversation_id: str) -> list[str]:
    return [
        row["RowKey"] async for row in table.query_entities("PartitionKey ge ''") if conversation_id in row["RowKey"]
    ]


class TestAzureTableHistory(HistoryContract):
    @pytest.fixture
    async def lone_history(self) -> AsyncGenerator[AzureTableHistory]:
        async with Azurite() as azurite:
            store = AzureTableHistory(HistoryTable.of(azurite.connection_string))
            yield store
            await store.aclose()


async def test_nothing_of_a_deleted_conversation_stays_in_the_table(
    history: AzureTableHistory, table: TableClient
) -> None:
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    for large in (said(0, "x" * 3_000_000), said(1)):
        await history.write(owner, made.id, [large])
    assert len(await rows_of(table, made.id)) > 6
    await history.delete(owner, made.id)
    assert await rows_of(table, made.id) == []


async def test_a_chat_of_one_session_that_is_deleted_and_begun_again_is_a_new_one(history: AzureTableHistory) -> None:
    owner, session = new_owner(), new_session_id()
    for number in range(3):
        await history.create(owner, Mode.STANDARD, "t", session)
        await history.write(owner, session, [said(number)])
        assert list(await history.messages(owner, session)) == [said(number)]
        await history.delete(owner, session)


@pytest.mark.nightly
async def test_a_write_replaces_what_is_there_and_adds_the_rest_however_much_it_is(history: AzureTableHistory) -> None:
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "t")
    kept: dict[int, StoredMessage] = {}
    for numbers, length in ((range(30), 9), (range(25, 400), 9), (range(390, 402), 200_000), ([0, 401, 402], 9)):
        written = {number: said(number, f"{number}{len(kept)}" + "x" * length) for number in numbers}
        kept |= written
        shown = await history.write(owner, made.id, [*written.values()])
        assert list(await history.messages(owner, made.id)) == [*kept.values()]
        assert (shown.message_count, shown.last_message) == (len(kept), preview([*kept.values()][-1].content))


@pytest.mark.nightly
async def test_a_chat_takes_as_many_bytes_as_it_may_whether_in_one_write_or_in_many(
    history: AzureTableHistory,
) -> None:
    owner = new_owner()
    made = [await history.create(owner, Mode.STANDARD, "t") for _ in range(2)]
    for number in range(20):
        await history.write(owner, made[0].id, [said(number, "x" * 400_000)])
    await history.write(owner, made[1].id, [said(number, "x" * 400_000) for number in range(20)])
    for each in made:
        with pytest.raises(TooLarge, match="8,388,608 bytes"):
            await history.write(owner, each.id, [said(20, "x" * 400_000)])
        assert len(await history.messages(owner, each.id)) == 20
        # What is replaced by something shorter makes room.
        await history.write(owner, each.id, [said(0, "short"), said(20, "x" * 300_000)])
        assert len(await history.messages(owner, each.id, 2)) == 2


async def test_the_chats_of_an_owner_are_counted_by_all_processes_together(
    azurite: Azurite, history: AzureTableHistory, table: TableClient
) -> None:
    owner = new_owner()
    other = AzureTableHistory(HistoryTable.of(azurite.connection_string), max_chats=5)
    made = [await store.create(owner, Mode.STANDARD, "t") for store in (history, other, history, other, other)]
    with pytest.raises(TooLarge, match="5 chats"):
        await other.create(owner, Mode.STANDARD, "t")
    await history.delete(owner, made[0].id)
    await other.create(owner, Mode.STANDARD, "t")
    await table.delete_entity({"PartitionKey": partition_of(owner), "RowKey": "n"})
    with pytest.raises(TooLarge, match="5 chats"):
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
        history = AzureTableHistory(HistoryTable.of(None, "https://127.0.0.1:9"))
        with pytest.raises(Unavailable, match="cannot be reached"):
            await history.conversations("o")
        await history.aclose()
    assert asked == ["https://storage.azure.com"]


@pytest.mark.parametrize("text", ["nonsense", "AccountName=a", "AccountName=a;AccountKey", "="])
def test_what_is_no_connection_string_is_named(text: str) -> None:
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        HistoryTable.of(text)
