"""Documents in a container of Azure Blob Storage. Imports `azure.storage.blob`: import this module late.

Others put documents there too, and may overwrite those of this app. The metadata of a blob say who may see it (`oids`
and `groups`, lists with commas) and whether this app wrote it (`switchboard`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC
from functools import partial
from itertools import batched
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobProperties, BlobType, ContentSettings
from azure.storage.blob.aio import ContainerClient, LinearRetry
from pydantic import SecretStr

from shared.chat_types import PartHealth
from shared.documents import NOBODY, Rights, StoredDocument, conflict, is_name, md5_of
from shared.documents.media_types import media_type
from shared.errors import NotConfigured, SwitchboardError
from shared.outbound.asking import CachedHealth
from shared.outbound.azure_service.storage import BLOBS, close_client, made_when_missing, open_client, storage_errors

_KIND = "azure-blob"
_NO_CONTAINER = "There is no such container yet: run `make index DOCS=folder`, or check CONTENT_CONTAINER."
_KEPT = "switchboard"
"""Name of the metadata that `keep` sets; an upload by others removes it."""
_OIDS, _GROUPS = "oids", "groups"
"""Names of the metadata that say who may see a blob."""
_LISTED_FIRST, _LISTED_TOGETHER = 10, 100
"""Blobs in the first page of a list, and the maximum in a later one. 100 take 25 ms on the event loop."""
_NAMES_TOGETHER = 1000
"""Names of one answer to a list of names. They take 20 ms on the event loop."""
_FOUND_TOGETHER = 8
"""Blobs of a search that are looked at at the same time."""
_READ_BYTES = 512 * 1024
"""Bytes of one read request. A slow reader has about four times as many in memory."""
_CONFLICTS = (409, 412)
"""Statuses of a write under a condition that does not hold."""
_BLOCKS_GONE = "InvalidBlockList"
"""Error code of a write whose blocks were dropped, since somebody else has written the blob meanwhile."""
_WRITE_BYTES = 1024 * 1024
"""Bytes of one write request; larger ones block the event loop. Only the last request makes the document visible."""


def _client_options() -> dict[str, Any]:
    """Timeouts in seconds, retries, and the bytes of a request."""
    return {
        "connection_timeout": 5,
        "read_timeout": 10,
        "retry_policy": LinearRetry(backoff=0, random_jitter_range=1, retry_total=2),
        "max_single_get_size": _READ_BYTES,
        "max_chunk_get_size": _READ_BYTES,
        "max_block_size": _WRITE_BYTES,
    }


class BlobStore:
    """A `DocumentStore` in a container, which is created when the first document is kept.

    Args:
        container: Client of the container.
    """

    is_shared = True

    def __init__(self, container: ContainerClient) -> None:
        self._container = container
        self.check = CachedHealth(self._ask).latest
        """Checks whether the container can be read."""

    @classmethod
    def of(cls, connection: SecretStr | str | None, container: str, address: str | None = None) -> "BlobStore":
        """Use a container of an account, by its connection string or the address of its blobs.

        Raises:
            NotConfigured: the connection string is none.
        """
        options = {"setting": "CONTENT_STORAGE", **_client_options()}
        return cls(open_client(ContainerClient, connection, address, container, **options))

    async def find(self, name: str) -> StoredDocument | None:
        """Find a document; None if there is none."""
        found = await self._properties(name)
        return _described(found, name) if found else None

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield the bytes of a document as they arrive; see `DocumentReader.read`."""
        size = document.size - start if length is None else length
        if not size:
            return
        with storage_errors(BLOBS):
            download = await self._container.get_blob_client(document.name).download_blob(
                start, size, etag=document.etag, match_condition=MatchConditions.IfNotModified
            )
            async for chunk in download.chunks():
                yield chunk

    async def keep(
        self,
        name: str,
        data: bytes,
        replaces: StoredDocument | None = None,
        rights: Rights | None = None,
        *,
        own: bool = True,
    ) -> StoredDocument:
        """See `DocumentStore.keep`. The metadata of the version before stay, but for rights that are given."""
        if not is_name(name):
            raise ValueError("no document can have this name")
        old = await self._properties(name)
        if (old and _quoted(old.etag)) != (replaces and replaces.etag):
            raise conflict(replaces)
        metadata = _metadata(old.metadata if old else None, rights, own=own)
        with storage_errors(BLOBS):
            try:
                upload = partial(self._upload, name, data, metadata, replaces)
                return await made_when_missing(upload, self._container.create_container)
            except HttpResponseError as fault:
                if fault.status_code in _CONFLICTS or getattr(fault, "error_code", "") == _BLOCKS_GONE:
                    raise conflict(replaces) from fault
                raise

    async def remove(self, name: str, etag: str | None = None) -> bool:
        """Remove a document if it exists in this version."""
        if not is_name(name):
            return True
        condition: dict[str, Any] = {"etag": etag, "match_condition": MatchConditions.IfNotModified} if etag else {}
        with storage_errors(BLOBS), suppress(ResourceNotFoundError):
            try:
                await self._container.delete_blob(name, delete_snapshots="include", **condition)
            except ResourceModifiedError:  # the service may answer this for a blob that does not exist, too
                return await self._properties(name) is None
        return True

    async def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """List the names that start with `prefix`."""
        with storage_errors(BLOBS), suppress(ResourceNotFoundError):  # no container: no names
            listed = self._container.list_blob_names(name_starts_with=prefix, results_per_page=_NAMES_TOGETHER)
            async for name in listed:
                yield name

    async def find_all(
        self, after: str = "", wanted: Callable[[str], bool] | None = None
    ) -> AsyncGenerator[StoredDocument]:
        """See `DocumentReader.find_all`. The order of the service is not that of Python for all names."""
        with storage_errors(BLOBS):
            try:
                async with aclosing(self._search(after, wanted) if wanted else self._list(after)) as blobs:
                    async for found in blobs:
                        yield _described(found, found.name)
            except ResourceNotFoundError as exc:
                raise NotConfigured(_NO_CONTAINER) from exc

    async def aclose(self) -> None:
        """Close the connections."""
        await close_client(self._container)

    async def _list(self, after: str) -> AsyncGenerator[BlobProperties]:
        """List what comes behind a name: a few first, since the caller may not take more."""
        is_behind = _behind(after)
        pages: Any = self._container.list_blobs(
            include=["metadata"], results_per_page=_LISTED_FIRST, start_from=after or None
        ).by_page()
        async for page in pages:
            pages.results_per_page = min(5 * pages.results_per_page, _LISTED_TOGETHER)
            async for found in page:
                if is_behind(found.name) and not _is_folder(found):
                    yield found

    async def _search(self, after: str, wanted: Callable[[str], bool]) -> AsyncGenerator[BlobProperties]:
        """List what is wanted behind a name. Names alone take a twentieth of the time."""
        is_behind = _behind(after)
        pages = self._container.list_blob_names(results_per_page=_NAMES_TOGETHER, start_from=after or None).by_page()
        async for page in pages:
            names = [name async for name in page if is_behind(name) and wanted(name)]
            for together in batched(names, _FOUND_TOGETHER, strict=False):
                for found in await asyncio.gather(*map(self._properties, together)):
                    if found:
                        yield found

    async def _properties(self, name: str) -> BlobProperties | None:
        if not is_name(name):
            return None
        with storage_errors(BLOBS):
            try:
                found = await self._container.get_blob_client(name).get_blob_properties()
            except HttpResponseError as exc:
                if exc.status_code in (400, 404):  # the name is invalid, or no blob has it
                    return None
                raise
        return None if _is_folder(found) else found

    async def _upload(
        self, name: str, data: bytes, metadata: dict[str, str], replaces: StoredDocument | None
    ) -> StoredDocument:
        """Write a version in the place of the one that is replaced."""
        md5 = await asyncio.to_thread(md5_of, data)
        condition: dict[str, Any] = (
            {"etag": replaces.etag, "match_condition": MatchConditions.IfNotModified}
            if replaces
            else {"match_condition": MatchConditions.IfMissing}
        )
        async with aclosing(_pieces(data)) as pieces:
            written = await self._container.get_blob_client(name).upload_blob(
                pieces,
                overwrite=True,
                metadata=metadata,
                content_settings=ContentSettings(content_type=media_type(name), content_md5=bytearray.fromhex(md5)),
                **condition,
            )
        modified = written["last_modified"].astimezone(UTC)
        return StoredDocument(
            name, len(data), _quoted(written["etag"]), modified, _KEPT in metadata, _rights(metadata), md5
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


def _behind(after: str) -> Callable[[str], bool]:
    """Return a check that is true for the names of a list that come behind `after`.

    The list is in the service's order. Where it does not start there, because no blob has the name now or the service
    is an Azurite before 3.37 and lists from the beginning, Python's order decides.
    """
    first = ""

    def is_behind(name: str) -> bool:
        nonlocal first
        first = first or name
        return name != after if first == after else name > after

    return is_behind


async def _pieces(data: bytes) -> AsyncGenerator[bytes]:
    """Cut the bytes into blocks. Given all at once, the client would send them in one request."""
    for start in range(0, len(data), _WRITE_BYTES):
        yield data[start : start + _WRITE_BYTES]


def _quoted(etag: str) -> str:
    """An ETag with its quotes, which some answers leave out."""
    return f'"{etag.strip('"')}"'


def _described(found: BlobProperties, name: str) -> StoredDocument:
    """Properties of a document, from a request for one blob or from a listing.

    The MD5 is used for block blobs only: appending to other blobs does not change it.
    """
    md5 = found.content_settings.content_md5 if found.blob_type == BlobType.BLOCKBLOB else None
    return StoredDocument(
        name,
        found.size,
        _quoted(found.etag),
        found.last_modified.astimezone(UTC),
        _KEPT in _lower(found.metadata),
        _rights(found.metadata),
        md5.hex() if md5 else None,
    )


def _is_folder(found: BlobProperties) -> bool:
    """Whether a blob is a folder of a hierarchical namespace."""
    return "hdi_isfolder" in _lower(found.metadata)


def _metadata(old: Mapping[str, str] | None, rights: Rights | None, *, own: bool) -> dict[str, str]:
    """Metadata of a new version."""
    others = {key: value for key, value in (old or {}).items() if key.lower() != _KEPT}
    metadata = {**others, _KEPT: "kept"} if own else others
    if rights is None:
        return metadata
    named = {key: ",".join(names) for key, names in ((_OIDS, rights.oids), (_GROUPS, rights.groups)) if names}
    return {key: value for key, value in metadata.items() if key.lower() not in (_OIDS, _GROUPS)} | named


def _rights(metadata: Mapping[str, str] | None) -> Rights:
    """Rights from metadata. Metadata that are present and name nobody give rights to nobody, not to everybody."""
    lists = _lower(metadata)
    rights = Rights(_listed(lists.get(_OIDS, "")), _listed(lists.get(_GROUPS, "")))
    return NOBODY if rights == Rights() and lists.keys() & {_OIDS, _GROUPS} else rights


def _listed(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in value.split(",") if (name := part.strip())))


def _lower(metadata: Mapping[str, str | None] | None) -> dict[str, str]:
    """Metadata with names in lower case, as they may come in any. In listings, an empty value is None."""
    return {name.lower(): value or "" for name, value in (metadata or {}).items()}
