"""The connection to the history's table. Imports `azure.data.tables`: import it late."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError
from azure.data.tables.aio import TableClient

from shared.errors import NotConfigured
from shared.outbound.azure_service.signing_in import app_identity
from shared.outbound.azure_service.storage import TABLES, storage_errors

TABLE = "SwitchboardHistory"
"""The table's name; it is made at the first use."""

_PATIENCE: dict[str, Any] = {
    "retry_total": 3,
    "retry_backoff_factor": 0.2,
    "connection_timeout": 5,
    "read_timeout": 10,
}
"""Seconds, but for the number of tries."""


class HistoryTable:
    """The table, made when it is first needed.

    Args:
        client: Knows the account, and how to sign in.
        credential: What signs the client in, if it is to be closed with it.
    """

    def __init__(self, client: TableClient, credential: AsyncTokenCredential | None = None) -> None:
        self._client = client
        self._credential = credential
        self._made = False

    @classmethod
    def at(cls, endpoint: str) -> "HistoryTable":
        """The table of an account, by its address, with the app's identity."""
        credential = app_identity()
        return cls(TableClient(endpoint, TABLE, credential=credential, **_PATIENCE), credential)

    @classmethod
    def of(cls, connection_string: str) -> "HistoryTable":
        """The table of an account, by its connection string.

        Raises:
            NotConfigured: it is none.
        """
        try:
            return cls(TableClient.from_connection_string(connection_string, TABLE, **_PATIENCE))
        except ValueError as exc:
            raise NotConfigured(
                "AzureWebJobsStorage: should be the connection string of a storage account, or "
                "`UseDevelopmentStorage=true` for Azurite."
            ) from exc

    @asynccontextmanager
    async def ready(self) -> AsyncGenerator[TableClient]:
        """The table, for the use inside.

        Raises:
            Unavailable, RateLimited, TooSlow: it cannot be used; says why.
        """
        with storage_errors(TABLES):
            try:
                if not self._made:
                    await _make(self._client)
                    self._made = True
                yield self._client
            except AzureError as exc:
                if is_without_table(exc):
                    self._made = False  # somebody removed it: the next use makes it again
                raise

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        if self._credential:
            await self._credential.close()


def is_without_table(error: AzureError) -> bool:
    """Whether it is the table that is missing, and not an entity in it."""
    return isinstance(error, HttpResponseError) and getattr(error, "error_code", None) == "TableNotFound"


async def _make(client: TableClient) -> None:
    with suppress(ResourceExistsError):  # as it does every time but the first
        await client.create_table()
