"""Faults of Azure Storage: blobs, queues and tables. Imports `azure.core`: import it late.

The SDKs' own retries stay on for them, few and short.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

from shared.outbound.asking import translated
from shared.outbound.azure_service.asking import STORAGE
from shared.outbound.faults import ErrorTable, Reason

_FAILING = (
    Reason.CUT_OFF,
    Reason.NOT_AN_ANSWER,
    Reason.NOT_ACCEPTED,
    Reason.BUSY,
    Reason.BROKEN,
)
"""Reasons for which there is nothing better to do than to try again."""

_BLOBS_NOT_ALLOWED = (
    "The app may not use the container of documents. Give its identity the role 'Storage Blob Data Reader', or "
    "'Storage Blob Data Contributor' to write, or set the right key; and let its network in."
)
_DOCUMENT_CHANGED = "The document was changed while it was read. Try again."
BLOBS = ErrorTable(
    "The storage account of the documents",
    "CONTENT_STORAGE or CONTENT_STORAGE__blobServiceUri",
    {
        **dict.fromkeys(_FAILING, "{name} failed. Try again in a moment."),
        Reason.UNREACHABLE: "{name} cannot be reached. Check {address}.",
        Reason.TOO_SLOW: "{name} does not answer in time. Try again in a moment.",
        Reason.NO_IDENTITY: _BLOBS_NOT_ALLOWED,
        Reason.CREDENTIALS: _BLOBS_NOT_ALLOWED,
        Reason.NOT_THERE: _DOCUMENT_CHANGED,
        Reason.CHANGED: _DOCUMENT_CHANGED,
    },
)
"""The container of documents."""

_OWN_NOT_ALLOWED = (
    "The app may not use its own storage account. Give its identity the roles 'Storage Blob Data Owner' and 'Storage "
    "Queue Data Contributor', or set the right key; and let its network in."
)
OWN = ErrorTable(
    "The app's own storage account",
    "AzureWebJobsStorage",
    {
        **dict.fromkeys((*_FAILING, Reason.NOT_THERE, Reason.CHANGED), "{name} failed. Try again in a moment."),
        Reason.UNREACHABLE: "{name} cannot be reached. Check {address}.",
        Reason.TOO_SLOW: "{name} does not answer in time. Try again in a moment.",
        Reason.NO_IDENTITY: _OWN_NOT_ALLOWED,
        Reason.CREDENTIALS: _OWN_NOT_ALLOWED,
    },
)
"""The blobs and queues of batches."""
NO_CONNECTION_STRING = (
    "AzureWebJobsStorage: should be the connection string of a storage account, or `UseDevelopmentStorage=true` for "
    "Azurite."
)
"""What to say if the setting is something else."""

_TABLE_NOT_ALLOWED = (
    "The app may not use the history's table. Give it the role 'Storage Table Data Contributor', or the right key."
)
TABLES = ErrorTable(
    "The table of the chat history",
    "AzureWebJobsStorage",
    {
        **dict.fromkeys((*_FAILING, Reason.NOT_THERE, Reason.CHANGED), "{name} failed. Try again in a moment."),
        Reason.UNREACHABLE: "{name} cannot be reached. Check {address}.",
        Reason.CUT_OFF: "{name} does not answer. Try again in a moment.",
        Reason.TOO_SLOW: "{name} does not answer. Try again in a moment.",
        Reason.NO_IDENTITY: _TABLE_NOT_ALLOWED,
        Reason.CREDENTIALS: _TABLE_NOT_ALLOWED,
    },
)
"""The table of the history."""


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
