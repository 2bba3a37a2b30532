"""The history's table."""

from collections.abc import AsyncGenerator

import pytest
from azure.data.tables.aio import TableClient

from shared.history.azure_table import TABLE
from tests.stand_ins.azurite import Azurite


@pytest.fixture
async def table(azurite: Azurite) -> AsyncGenerator[TableClient]:
    """The table itself; a store makes it at its first use."""
    async with TableClient.from_connection_string(azurite.connection_string, TABLE) as client:
        yield client
