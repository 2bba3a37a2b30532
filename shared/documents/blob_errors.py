"""What the errors of Azure Blob Storage mean to a caller. Imports `azure.core`: import it late."""

from collections.abc import Generator
from contextlib import contextmanager

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceModifiedError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)

from shared.errors import SwitchboardError, TooSlow, Unavailable

NOT_ALLOWED = (
    "The app may not use the container of documents. Give its identity the role 'Storage Blob Data Reader', or "
    "'Storage Blob Data Contributor' to write, or set the right key; and let its network in."
)
_CHANGED = "The document was changed while it was read. Try again."
_UNREACHABLE = (
    "The storage account of the documents cannot be reached. Check CONTENT_STORAGE or CONTENT_STORAGE__blobServiceUri."
)
_SLOW = "The storage account of the documents does not answer in time. Try again in a moment."
_FAILED = "The storage account of the documents failed. Try again in a moment."

_ERRORS: tuple[tuple[type[AzureError], type[SwitchboardError], str], ...] = (
    (ClientAuthenticationError, Unavailable, NOT_ALLOWED),
    (ResourceModifiedError, Unavailable, _CHANGED),
    (ResourceNotFoundError, Unavailable, _CHANGED),
    (ServiceRequestTimeoutError, TooSlow, _SLOW),
    (ServiceResponseTimeoutError, TooSlow, _SLOW),
    (ServiceRequestError, Unavailable, _UNREACHABLE),
    (ServiceResponseError, Unavailable, _FAILED),
    (AzureError, Unavailable, _FAILED),
)
"""The first that fits counts; the last fits all."""


@contextmanager
def translated() -> Generator[None]:
    """Raise what is told to a caller in place of the SDK's errors."""
    try:
        yield
    except AzureError as exc:
        raise _translation(exc) from exc


def _translation(error: AzureError) -> SwitchboardError:
    if isinstance(error, HttpResponseError) and error.status_code in (401, 403):
        return Unavailable(NOT_ALLOWED)
    return next(ours(message) for kind, ours, message in _ERRORS if isinstance(error, kind))
