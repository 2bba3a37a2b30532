"""The connection to the table of chats and verdicts. Imports `azure.data.tables`: import it late."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from azure.core.exceptions import AzureError, ResourceExistsError
from azure.data.tables.aio import TableClient
from pydantic import SecretStr

from shared.errors import Unavailable
from shared.history.azure_table_rows import Changed
from shared.outbound.azure_service.storage import TABLES, close_client, is_without_table, open_client, storage_errors
from shared.outbound.azure_service.transport import client_options

TABLE = "SwitchboardHistory"
"""The table's name; it is made at the first use."""

_OPTIONS: dict[str, Any] = {"retry_total": 3, "retry_backoff_factor": 0.2, "read_timeout": 10}
"""Options of the client; times in seconds."""
_TRIES = 60
"""How often a read or a write starts again because another writer was faster."""
_LONGEST_PAUSE_SECONDS = 0.1
"""Longest wait before it starts again; the first waits are shorter."""


class HistoryTable:
    """A table, which is made at the first use.

    Args:
        client: The client of the table.
    """

    def __init__(self, client: TableClient) -> None:
        self._client = client
        self._made = False

    @classmethod
    def of(cls, connection: SecretStr | str | None, address: str | None = None) -> "HistoryTable":
        """Open the table of an account by its connection string, or by its address.

        Raises:
            NotConfigured: the connection string is none.
        """
        return cls(open_client(TableClient, connection, address, TABLE, **client_options(**_OPTIONS)))

    @asynccontextmanager
    async def ready(self) -> AsyncGenerator[TableClient]:
        """Give the table to the block, and make it first if need be.

        Raises:
            Unavailable, RateLimited, TooSlow: the table cannot be used; the message says why.
        """
        with storage_errors(TABLES):
            try:
                if not self._made:
                    with suppress(ResourceExistsError):  # it exists, except at the first use
                        await self._client.create_table()
                    self._made = True
                yield self._client
            except AzureError as exc:
                if is_without_table(exc):
                    self._made = False  # deleted meanwhile: the next use makes it again
                raise

    async def run[T](self, work: Callable[[TableClient], Awaitable[T]]) -> T:
        """Do some work on the table, again if it raises `Changed` because another writer was faster.

        Raises:
            Unavailable, RateLimited, TooSlow: as `ready`, or there are too many writers.
        """
        async with self.ready() as table:
            for attempt in range(_TRIES):
                try:
                    return await work(table)
                except Changed:
                    pause = min(_LONGEST_PAUSE_SECONDS, 0.01 * 2**attempt)
                    await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 (no secret)
        raise Unavailable("The chat is being written to by too many at once. Try again in a moment.")

    async def aclose(self) -> None:
        """Close the connections."""
        await close_client(self._client)
