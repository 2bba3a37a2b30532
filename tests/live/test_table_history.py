"""The contract of history stores, with the configured account, in a table that is removed again."""

import os
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from azure.data.tables.aio import TableClient

from shared.history.azure_table import HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from shared.outbound.azure_service.signing_in import app_identity
from shared.settings import Settings
from tests.history.history_contract import HistoryContract
from tests.live.services import own_name

pytestmark = pytest.mark.live


def own_table() -> HistoryTable:
    """A table under a name of its own, reached as the settings say."""
    settings = Settings.read(os.environ)
    if settings.azure_web_jobs_storage_tables:
        identity = app_identity()
        return HistoryTable(TableClient(settings.azure_web_jobs_storage_tables, own_name(), credential=identity))
    connection = settings.azure_web_jobs_storage
    return HistoryTable(
        TableClient.from_connection_string(connection.get_secret_value() if connection else "", own_name())
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made() -> AsyncGenerator[None]:
    """The table is there, and goes at the end."""
    table = own_table()
    async with table.ready() as client:
        yield
        await client.delete_table()
    await table.aclose()


@pytest.mark.usefixtures("made")
class TestLiveTableHistory(HistoryContract):
    @pytest.fixture
    async def history(self) -> AsyncGenerator[AzureTableHistory]:
        store = AzureTableHistory(own_table())
        yield store
        await store.aclose()
