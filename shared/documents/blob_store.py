"""Documents in a container of Azure Blob Storage. Imports `azure.storage.blob`: import it late.

Others put documents there too, and write over ours. A blob's metadata `oids` and `groups`, each with commas between,
say who may see it; `switchboard` says that it was put there by `keep`.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from datetime import UTC
from pathlib import Path
from typing import Any

from azure.core import MatchConditions
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob import BlobProperties, BlobType, ContentSettings
from azure.storage.blob.aio import BlobClient, ContainerClient, LinearRetry

from shared.chat_types import PartHealth
from shared.documents import Rights, StoredDocument, md5_of
from shared.documents.media_types import media_type
from shared.documents.names import is_name
from shared.errors import NotConfigured, SwitchboardError, Unavailable
from shared.outbound.azure_service.signing_in import app_identity
from shared.outbound.azure_service.storage import BLOBS, storage_errors
from shared.outbound.cached_health import CachedHealth
from shared.settings import Settings

_KIND = "azure-blob"
_NO_CONTAINER = "There is no such container yet: run `make index DOCS=folder`, or check CONTENT_CONTAINER."
_KEPT = "switchboard"
"""The metadata of what `keep` has put there; an upload by others takes it away."""
_OIDS, _GROUPS = "oids", "groups"
"""The metadata that say who may see it."""
_NOBODY = "nobody"
"""The id that nobody has."""
_READ = 512 * 1024
"""Bytes of a request that reads: of each answer that is read slowly there are some four times as many in memory."""
_WRITTEN = 1024 * 1024
"""Bytes of a request that writes; more at once would hold up the event loop. The last one makes the document."""


def _patience() -> dict[str, Any]:
    """How long to wait for what, in seconds, and how often to try; how many bytes to hold at once."""
    return {
        "connection_timeout": 5,
        "read_timeout": 10,
        "retry_policy": LinearRetry(backoff=0, random_jitter_range=1, retry_total=2),
        "max_single_get_size": _READ,
        "max_chunk_get_size": _READ,
        "max_block_size": _WRITTEN,
    }


class BlobStore:
    """A `DocumentStore` in a container, which is made when the first document is kept.

    Args:
        container: Knows the account, and how to sign in.
        credential: What signs the client in, if it is to be closed with it.
    """

    is_shared = True

    def __init__(self, container: ContainerClient, credential: AsyncTokenCredential | None = None) -> None:
        self._container = container
        self._credential = credential
        self._health = CachedHealth(self._ask)

    @classmethod
    def from_settings(cls, settings: Settings, container: str) -> "BlobStore":
        """A container of the account that the settings name, which have been checked to be complete.

        Raises:
            NotConfigured: the connection string is none.
        """
        if settings.content_storage_blobs:
            return cls.at(settings.content_storage_blobs, container)
        connection = settings.content_storage
        return cls.of(connection.get_secret_value() if connection else "", container)

    @classmethod
    def at(cls, address: str, container: str) -> "BlobStore":
        """A container of an account, by the address of its blobs, with the app's identity."""
        credential = app_identity()
        return cls(ContainerClient(address, container, credential=credential, **_patience()), credential)

    @classmethod
    def of(cls, connection_string: str, container: str) -> "BlobStore":
        """A container of an account, by its connection string.

        Raises:
            NotConfigured: it is none.
        """
        try:
            return cls(ContainerClient.from_connection_string(connection_string, container, **_patience()))
        except ValueError as exc:
            raise NotConfigured(
                "CONTENT_STORAGE: should be the connection string of a storage account, or "
                "`UseDevelopmentStorage=true` for Azurite."
            ) from exc

    async def find(self, name: str) -> StoredDocument | None:
        """The document, or None."""
        found = await self._properties(name)
        return _described(found, name) if found else None

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield its bytes, as they come.

        Raises:
            Unavailable: it is another by now, or cannot be read.
        """
        size = document.size - start if length is None else length
        if not size:
            return
        with storage_errors(BLOBS):
            download = await self._container.get_blob_client(document.name).download_blob(
                start, size, etag=document.etag, match_condition=MatchConditions.IfNotModified
            )
            async for chunk in download.chunks():
                yield chunk

    async def keep(self, name: str, file: Path, rights: Rights | None = None) -> None:
        """Put a copy in place; the metadata of an older one stays, but for rights that are given.

        Raises:
            Unavailable: it was changed at the same time, or cannot be written.
        """
        if not is_name(name):
            raise ValueError("no document can have this name")
        blob = self._container.get_blob_client(name)
        with storage_errors(BLOBS):
            try:
                await self._upload(blob, file, rights)
            except ResourceNotFoundError:
                with suppress(ResourceExistsError):
                    await self._container.create_container()
                await self._upload(blob, file, rights)
            except (ResourceModifiedError, ResourceExistsError) as exc:
                raise Unavailable("The document was changed by somebody else at the same time. Try again.") from exc

    async def remove(self, name: str, etag: str | None = None) -> bool:
        """Remove it if it is there and of this version."""
        if not is_name(name):
            return True
        condition: dict[str, Any] = {"etag": etag, "match_condition": MatchConditions.IfNotModified} if etag else {}
        with storage_errors(BLOBS), suppress(ResourceNotFoundError):
            try:
                await self._container.delete_blob(name, delete_snapshots="include", **condition)
            except ResourceModifiedError:  # the service may say so of none as well
                return await self._properties(name) is None
        return True

    async def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """Yield the names that begin so."""
        with storage_errors(BLOBS), suppress(ResourceNotFoundError):  # a container that is not there has none
            async for name in self._container.list_blob_names(name_starts_with=prefix):
                yield name

    async def find_all(self) -> AsyncGenerator[StoredDocument]:
        """Yield each document, by a listing.

        Raises:
            NotConfigured: there is no such container.
        """
        with storage_errors(BLOBS):
            try:
                async for found in self._container.list_blobs(include=["metadata"]):
                    if not _is_folder(found):
                        yield _described(found, found.name)
            except ResourceNotFoundError as exc:
                raise NotConfigured(_NO_CONTAINER) from exc

    async def check(self) -> PartHealth:
        """Whether the container can be read, as of at most half a minute ago."""
        return await self._health.latest()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._container.close()
        if self._credential:
            await self._credential.close()

    async def _properties(self, name: str) -> BlobProperties | None:
        if not is_name(name):
            return None
        with storage_errors(BLOBS):
            try:
                found = await self._container.get_blob_client(name).get_blob_properties()
            except HttpResponseError as exc:
                if exc.status_code in (400, 404):  # no blob can have such a name, or none has it
                    return None
                raise
        return None if _is_folder(found) else found

    async def _upload(self, blob: BlobClient, file: Path, rights: Rights | None) -> None:
        """Write a version in place of the one that the metadata is of, and of no other."""
        old = await self._properties(blob.blob_name)
        md5 = await asyncio.to_thread(md5_of, file)
        condition: dict[str, Any] = (
            {"etag": old.etag, "match_condition": MatchConditions.IfNotModified}
            if old
            else {"match_condition": MatchConditions.IfMissing}
        )
        async with aclosing(_pieces(file)) as pieces:
            await blob.upload_blob(
                pieces,
                overwrite=True,
                metadata=_metadata(old.metadata if old else None, rights),
                content_settings=ContentSettings(
                    content_type=media_type(blob.blob_name), content_md5=bytearray.fromhex(md5)
                ),
                **condition,
            )

    async def _ask(self) -> PartHealth:
        facts = {"container": self._container.container_name}
        try:
            with storage_errors(BLOBS):
                try:
                    await self._container.get_container_properties()
                except ResourceNotFoundError:
                    raise NotConfigured(_NO_CONTAINER) from None
        except SwitchboardError as error:
            return PartHealth(_KIND, ok=False, detail=error.message, facts=facts, needed=False)
        return PartHealth(_KIND, ok=True, detail="Azure Blob Storage", facts=facts, needed=False)


async def _pieces(file: Path) -> AsyncGenerator[bytes]:
    with await asyncio.to_thread(file.open, "rb") as opened:
        while piece := await asyncio.to_thread(opened.read, _WRITTEN):
            yield piece


def _described(found: BlobProperties, name: str) -> StoredDocument:
    """A document, by what the service says when it is asked for one, or lists it: without the etag's quotes then.

    Only block blobs have an MD5 to go by: of others it stays as it was when bytes are added.
    """
    md5 = found.content_settings.content_md5 if found.blob_type == BlobType.BLOCKBLOB else None
    return StoredDocument(
        name,
        found.size,
        f'"{found.etag.strip('"')}"',
        found.last_modified.astimezone(UTC),
        _KEPT in _lower(found.metadata),
        _rights(found.metadata),
        md5.hex() if md5 else None,
    )


def _is_folder(found: BlobProperties) -> bool:
    """With a hierarchical namespace, folders are blobs too."""
    return "hdi_isfolder" in _lower(found.metadata)


def _metadata(old: Mapping[str, str] | None, rights: Rights | None) -> dict[str, str]:
    """The metadata of a new version."""
    metadata = {**(old or {}), _KEPT: "kept"}
    if rights is None:
        return metadata
    named = {key: ",".join(names) for key, names in ((_OIDS, rights.oids), (_GROUPS, rights.groups)) if names}
    return {key: value for key, value in metadata.items() if key.lower() not in (_OIDS, _GROUPS)} | named


def _rights(metadata: Mapping[str, str] | None) -> Rights:
    """Whom metadata name. Where they are to name somebody and are empty, that is no invitation to everybody."""
    lists = _lower(metadata)
    rights = Rights(_listed(lists.get(_OIDS, "")), _listed(lists.get(_GROUPS, "")))
    return Rights((_NOBODY,)) if rights == Rights() and lists.keys() & {_OIDS, _GROUPS} else rights


def _listed(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in value.split(",") if (name := part.strip())))


def _lower(metadata: Mapping[str, str | None] | None) -> dict[str, str]:
    """Metadata by names in lower case: they come with any. A listing has None where a value is empty."""
    return {name.lower(): value or "" for name, value in (metadata or {}).items()}
