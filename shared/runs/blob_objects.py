"""Objects in a container of the app's own storage account. Imports `azure.storage.blob`: import this module late."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient, LinearRetry

from shared.outbound.azure_service.storage import OWN, close_client, made_when_missing, open_client, storage_errors
from shared.runs import NEW, Conflict, New, Stored
from shared.settings import Settings

_NAMES_TOGETHER, _LISTED_TOGETHER = 1000, 100
"""Names, and blobs with their times, of one answer to a list. Either takes 20 to 35 ms on the event loop."""


def open_container(settings: Settings, name: str) -> ContainerClient:
    """Open a container of the app's own storage account.

    Raises:
        NotConfigured: the connection string is none.
    """
    connection = settings.azure_web_jobs_storage
    address = None if connection else settings.azure_web_jobs_storage_blobs
    # Few retries: a heartbeat that takes longer comes too late.
    retries = LinearRetry(backoff=0, random_jitter_range=1, retry_total=2)
    return open_client(
        ContainerClient, connection, address, name, connection_timeout=5, read_timeout=10, retry_policy=retries
    )


class BlobObjects:
    """An `ObjectStore` in a container, which is made when the first object is written.

    A write that is sent again after its answer was lost finds its own blob and is a `Conflict`: callers take what is
    there then, which is what they wrote.

    Args:
        settings: Name the account and the container, and have been checked to be complete.

    Raises:
        NotConfigured: the connection string is none.
    """

    def __init__(self, settings: Settings) -> None:
        self._container = open_container(settings, settings.batch_queue)

    async def read(self, name: str) -> Stored | None:
        """Read an object; None if there is none."""
        with storage_errors(OWN):
            try:
                download = await self._container.download_blob(name)
                data = await download.readall()
            except ResourceNotFoundError:
                return None
            return Stored(data, download.properties.etag)

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        """Write an object whole, if its version is the expected one; see `ObjectStore.write`."""
        condition: dict[str, Any] = {"overwrite": False}
        if not isinstance(etag, New):
            condition = {"overwrite": True, "etag": etag, "match_condition": MatchConditions.IfNotModified}
        with storage_errors(OWN):
            upload = partial(self._upload, name, data, condition)
            if etag is NEW:
                return await made_when_missing(upload, self._container.create_container)
            try:
                return await upload()
            except ResourceNotFoundError:
                raise Conflict from None

    async def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        with storage_errors(OWN), suppress(ResourceNotFoundError):
            await self._container.delete_blob(name)

    async def names(self, prefix: str = "", *, before: float | None = None) -> AsyncGenerator[str]:
        """List the names that begin with `prefix`, of objects that were last written before a Unix time."""
        with storage_errors(OWN), suppress(ResourceNotFoundError):  # no container: no names
            if before is None:
                async for name in self._container.list_blob_names(
                    name_starts_with=prefix, results_per_page=_NAMES_TOGETHER
                ):
                    yield name
            else:
                async for blob in self._container.list_blobs(
                    name_starts_with=prefix, results_per_page=_LISTED_TOGETHER
                ):
                    if blob.last_modified.timestamp() < before:
                        yield blob.name

    async def aclose(self) -> None:
        """Close the connections."""
        await close_client(self._container)

    async def _upload(self, name: str, data: bytes, condition: dict[str, Any]) -> str:
        try:
            done = await self._container.get_blob_client(name).upload_blob(data, **condition)
        except (ResourceExistsError, ResourceModifiedError):
            raise Conflict from None
        return done["etag"]
