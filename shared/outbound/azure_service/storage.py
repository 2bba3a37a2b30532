"""Clients of Azure Storage and their faults: blobs, queues and tables. Imports `azure.core`: import it late.

The SDKs' own retries stay on for them, few and short.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from pydantic import SecretStr

from shared.errors import NotConfigured
from shared.outbound.asking import translated
from shared.outbound.azure_service.asking import STORAGE
from shared.outbound.azure_service.signing_in import app_identity, close
from shared.outbound.faults import ErrorTable, errors_of

if TYPE_CHECKING:
    from azure.data.tables import TableEntity
    from azure.data.tables.aio import TableClient

BLOBS = errors_of("documents")
"""The container of documents."""
OWN = errors_of("own storage")
"""The blobs and queues of batches."""
TABLES = errors_of("history")
"""The table of the history."""


class _Client(Protocol):
    async def close(self) -> None: ...


def open_client[C: _Client](
    client: type[C],
    connection: SecretStr | str | None,
    address: str | None,
    *names: str,
    setting: str = "AzureWebJobsStorage",
    **options: Any,  # noqa: ANN401  (the SDK's own)
) -> C:
    """Make a client of a storage account, which `close_client` closes.

    Args:
        client: Its class.
        connection: Connection string of the account.
        address: Address of the account's service, to sign in there with the app's identity; None or empty: the
            connection string is used.
        names: The name of the table, the container or the queue.
        setting: Name of the setting with the connection string.
        options: Further options of the client.

    Raises:
        NotConfigured: the connection string is none.
    """
    kind: Any = client  # the classes of the SDKs have no common one
    if address:
        return kind(address, *names, credential=app_identity(), **options)
    text = connection.get_secret_value() if isinstance(connection, SecretStr) else connection
    try:
        return kind.from_connection_string(text or "", *names, **options)
    except ValueError as exc:
        raise NotConfigured(
            f"{setting}: should be the connection string of a storage account, or `UseDevelopmentStorage=true` for "
            "Azurite."
        ) from exc


async def close_client(client: _Client) -> None:
    """Close the connections of a client, and those by which the app's identity gets its tokens."""
    await client.close()
    await close(getattr(client, "credential", None))


def storage_errors(table: ErrorTable) -> AbstractContextManager[None]:
    """Turn what the SDKs of blobs, queues and tables raise inside the block into our errors.

    Args:
        table: `BLOBS`, `OWN` or `TABLES`.

    Raises:
        Unavailable, RateLimited, TooSlow: says what to do.
    """
    return translated(STORAGE, table.error, table.name)


async def made_when_missing[T](use: Callable[[], Awaitable[T]], make: Callable[[], Awaitable[object]]) -> T:
    """Use a queue or a container, and make it first if it is missing.

    Args:
        use: Uses it.
        make: Makes it.
    """
    try:
        return await use()
    except ResourceNotFoundError:
        with suppress(ResourceExistsError):
            await make()
        return await use()


async def found(table: "TableClient", partition: str, row: str) -> "TableEntity | None":
    """Read an entity of a table; None if there is none."""
    try:
        return await table.get_entity(partition, row)
    except ResourceNotFoundError as error:
        if is_without_table(error):
            raise
        return None


def is_without_table(error: AzureError) -> bool:
    """Whether an error says that the table is missing, not an entity in it."""
    return getattr(error, "error_code", None) == "TableNotFound"
