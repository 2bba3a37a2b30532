"""Azure AI Search as a `PassageIndex`. Imports `azure.search.documents`: import it late.

Each passage of a file is a document, and the first one holds the file's fingerprint. A file is written in three steps:
all passages, with a fingerprint marked as unfinished; then the file's old passages are deleted; then the first passage
is written again with the final fingerprint. If this is interrupted, the fingerprint stays unfinished, so the next run
writes the file again.

The service shows written documents in searches only after a second or so. Before it reads a file that it has written,
this class waits that long. Two processes that write the same file within that time can leave passages of the first
version behind, until the file is written again.
"""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence, Set
from contextlib import aclosing
from itertools import repeat
from typing import Any, cast

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchIndex

from shared.chat_types import Json, Passage
from shared.errors import NotConfigured
from shared.retrieval import FileEntry, searched_name
from shared.retrieval.azure_search.connection import MANAGE, WRITE, SearchConnection
from shared.retrieval.azure_search.fields import file_filter, literal
from shared.retrieval.azure_search.schema import ExistingIndex, IndexPlan
from shared.retrieval.azure_search.writer import Action, Bounds, Document, DocumentWriter

_log = logging.getLogger("switchboard.retrieval")

_REQUEST_TIMEOUT_SECONDS = 120.0
"""Time limit of one request, retries included."""
_REFRESH_SECONDS = 2.0
"""Time until searches show what was written."""
_UNFINISHED = " (unfinished)"
"""Suffix of a fingerprint while its file is being written."""


class AzureSearchIndex:
    """A `PassageIndex` in an index of Azure AI Search. It creates the index if there is none.

    Args:
        connection: Connection to the service; closed by `aclose`.
        plan: The index to write, or to create.
        bounds: Limits of the service for one request; None: the default.
        settling: Seconds until searches show what was written.
    """

    stores_terms = False  # the service makes them

    def __init__(
        self,
        connection: SearchConnection,
        plan: IndexPlan,
        bounds: Bounds | None = None,
        *,
        settling: float = _REFRESH_SECONDS,
    ) -> None:
        self._connection = connection
        self.aclose = connection.aclose
        self._plan = plan
        self._fields = plan.fields
        self._bounds = bounds or Bounds()
        self._writer = DocumentWriter(connection, self._fields.id, self._bounds, _REQUEST_TIMEOUT_SECONDS)
        self._existing: ExistingIndex | None = None
        self._settling = settling
        self._visible_at: dict[str, float] = {}
        """For each file written lately: when searches will show it, in seconds on the event loop's clock."""

    async def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
        """See `PassageIndex.fingerprints`. There are none if there is no index yet."""
        if await self._get_existing() is None:
            return
        if sourcefile is not None:
            await self._wait_until_visible(sourcefile)
        file, mark = self._fields.sourcefile, self._fields.fingerprint
        that_one = f" and {file_filter(sourcefile, self._fields)}" if sourcefile is not None else ""
        where = f"{mark} ne null"
        while True:
            last, count = "", 0
            async with aclosing(self._window(where + that_one, [file, mark], order=[mark])) as window:
                async for one in window:
                    last, count = literal(str(one[mark])), count + 1
                    yield str(one[file]), str(one[mark])
            if count < self._bounds.window:
                return
            # The service cannot skip further. So the next window begins at the last fingerprint of this one, which the
            # end of the window may have cut off from others of the same value. If one value fills a whole window, the
            # next window begins after it, and the rest of that value is missed.
            where = f"{mark} ge {last}" if where != f"{mark} ge {last}" else f"{mark} gt {last}"

    async def replace(self, *entries: FileEntry) -> None:
        """See `PassageIndex.replace`. Files are written one after the other; searches may find old and new passages."""
        for entry in entries:
            await self._replace_file(entry)

    async def _replace_file(self, entry: FileEntry) -> None:
        given = entry.vectors, entry.image_vectors
        if any(vectors is not None and len(vectors) != len(entry.passages) for vectors in given):
            raise ValueError("there must be one vector a passage")
        every = zip(entry.passages, *(vectors or repeat(None) for vectors in given), strict=False)
        documents = [self._document(entry, *one) for one in every]
        try:
            left_out = await self._ensure_index(documents)
            kept = [{name: value for name, value in one.items() if name not in left_out} for one in documents]
            await self._replace(entry.sourcefile, entry.fingerprint, kept)
        except NotConfigured:
            self._existing = None  # read it again next time: it may be repaired without a restart of the app
            raise

    async def remove(self, sourcefile: str) -> None:
        """See `PassageIndex.remove`. After an error, some passages may be gone."""
        if await self._get_existing() is not None:
            await self._wait_until_visible(sourcefile)
            await self._remove_except(set(), sourcefile)

    async def _replace(self, sourcefile: str, fingerprint: str, documents: Sequence[Document]) -> None:
        await self._wait_until_visible(sourcefile)
        mark = self._fields.fingerprint
        unfinished = {**documents[0], mark: f"{fingerprint}{_UNFINISHED}"}
        await self._write("upload", [unfinished, *documents[1:]], sourcefile)
        await self._remove_except({str(one[self._fields.id]) for one in documents}, sourcefile)
        await self._write("upload", [{**documents[0], mark: fingerprint}], sourcefile)

    async def _write(self, action: Action, documents: Sequence[Document], sourcefile: str) -> None:
        """Write documents of a file. Even after an error, searches may show its old state for a while."""
        if not documents:
            return
        try:
            await self._writer.write(action, documents)
        finally:
            now = asyncio.get_running_loop().time()
            lately = {name: when for name, when in self._visible_at.items() if when > now}
            self._visible_at = {**lately, sourcefile: now + self._settling}

    async def _wait_until_visible(self, sourcefile: str) -> None:
        """Wait until searches show what was last written of a file."""
        await asyncio.sleep(self._visible_at.get(sourcefile, 0) - asyncio.get_running_loop().time())

    async def _remove_except(self, kept: set[str], sourcefile: str) -> None:
        """Remove a file's passages except `kept`. The fingerprint goes last: until then the file is listed."""
        key, mark = self._fields.id, self._fields.fingerprint
        async with aclosing(self._window(file_filter(sourcefile, self._fields), [key, mark])) as there:
            gone = {str(one[key]): one[mark] is not None async for one in there}
        for with_fingerprint in (False, True):
            ids = [one for one, holds in gone.items() if holds is with_fingerprint and one not in kept]
            await self._write("delete", [{key: one} for one in ids], sourcefile)

    async def _window(
        self, where: str, select: list[str], *, order: list[str] | None = None
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield these fields of the documents that pass a filter, up to the number that the service can skip."""
        for skip in range(0, self._bounds.window, self._bounds.page):
            page = await self._page(where, select, order, skip)
            for one in page:
                yield one
            if len(page) < self._bounds.page:
                return

    async def _page(self, where: str, select: list[str], order: list[str] | None, skip: int) -> list[dict[str, Any]]:
        async def search(client: SearchClient) -> list[dict[str, Any]]:
            hits = cast(
                "AsyncIterable[dict[str, Any]]",
                await client.search(filter=where, select=select, order_by=order, top=self._bounds.page, skip=skip),
            )
            return [{name: hit[name] for name in select} async for hit in hits]

        return await self._connection.ask(search, deadline=_deadline(), right=WRITE)

    def _document(
        self, entry: FileEntry, passage: Passage, vector: Sequence[float] | None, image: Sequence[float] | None
    ) -> Document:
        """Make a document of the fields that have a value. An upload empties the others."""
        fields = self._fields
        values: dict[str, Json] = {
            fields.id: passage.id,
            fields.content: passage.content,
            fields.sourcepage: passage.sourcepage,
            fields.sourcefile: entry.sourcefile,
            fields.category: passage.category,
            fields.name: searched_name(entry.sourcefile),
            fields.title: passage.title or None,
            fields.headings: [*passage.headings] or None,
            fields.table_head: passage.table_head or None,
            fields.date: f"{passage.date}T00:00:00Z" if passage.date else None,
            fields.sensitivity: passage.sensitivity or None,
            fields.left_out: entry.left_out or None,
            fields.oids: [*passage.oids] or None,
            fields.groups: [*passage.groups] or None,
            fields.embedding: _usable_vector(vector),
            fields.image_embedding: _usable_vector(image),
        }
        return {name: value for name, value in values.items() if name and value is not None}

    async def _ensure_index(self, documents: Iterable[Document]) -> Set[str]:
        """Create the index if there is none, and return the fields of these documents that it lacks and can do without.

        Raises NotConfigured if it lacks a field that it needs, or takes vectors of another length.
        """
        used: set[str] = set()
        lengths: dict[str, int] = {}
        for document in documents:
            used |= document.keys()
            for name in (self._fields.embedding, self._fields.image_embedding):
                if isinstance(vector := document.get(name), list):
                    lengths[name] = len(vector)
        existing = await self._get_existing() or await self._create(lengths.get(self._fields.embedding))
        existing.check_fields(used - existing.lacking, lengths)
        return existing.lacking

    async def _get_existing(self) -> ExistingIndex | None:
        """The index as it exists in the service, read once; None if there is none.

        Raises NotConfigured if the index cannot keep what ingestion needs.
        """

        async def get(client: SearchIndexClient) -> SearchIndex | None:
            try:
                return await client.get_index(self._plan.name)
            except ResourceNotFoundError:
                return None

        if self._existing is None:
            index = await self._connection.ask_indexes(get, deadline=_deadline())
            if index is not None:
                existing = ExistingIndex(index, self._fields)
                existing.check()
                self._existing = await self._extended(existing)
        return self._existing

    async def _extended(self, existing: ExistingIndex) -> ExistingIndex:
        """Add the fields that an earlier version of this app did not make. Without the right to, it stays as it is."""
        wanted = existing.with_place()
        if wanted is None:
            return existing
        try:
            await self._connection.ask_indexes(
                lambda client: client.create_or_update_index(wanted), deadline=_deadline(), right=MANAGE
            )
        except NotConfigured as refused:
            _log.warning("The index '%s' stays without %s: %s", self._plan.name, existing.lacking, refused.message)
            return existing
        return ExistingIndex(wanted, self._fields)

    async def _create(self, dimensions: int | None) -> ExistingIndex:
        wanted = self._plan.new_index(dimensions)

        async def create(client: SearchIndexClient) -> None:
            try:
                await client.create_index(wanted)
            except ResourceExistsError:  # created by another process, or by an earlier try whose answer was lost
                return

        await self._connection.ask_indexes(create, deadline=_deadline(), right=MANAGE)
        return await self._get_existing() or ExistingIndex(wanted, self._fields)


def _usable_vector(vector: Sequence[float] | None) -> list[Json] | None:
    """The vector as a list; None if it has no direction (zeros, infinities, NaN) and therefore no cosine."""
    return [*vector] if vector and 0 < math.hypot(*vector) < math.inf else None


def _deadline() -> float:
    return asyncio.get_running_loop().time() + _REQUEST_TIMEOUT_SECONDS
