"""Azure AI Search as a `PassageIndex`. Imports `azure.search.documents`: import it late.

A file's passages are documents, and its first one holds its fingerprint, which is written when all else is done: first
all passages, with a fingerprint that says so, then what is left of the file's old state goes, then the first passage
again with the real one. What is interrupted or fails half way leaves a file that is known, and to be written again.

The service shows what was written after a second or so, and who looks at a file earlier sees its old state. So this
waits that long before it looks at a file that it has written; two processes that write the same file within that time
can leave passages of the first version behind, until the file is written again.
"""

import asyncio
import math
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import Any, cast

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchIndex

from shared.chat_types import Json, Passage
from shared.errors import NotConfigured
from shared.retrieval.azure_search.connection import MANAGE, WRITE, SearchConnection
from shared.retrieval.azure_search.fields import file_filter, literal
from shared.retrieval.azure_search.schema import ExistingIndex, IndexPlan
from shared.retrieval.azure_search.writer import Action, Bounds, Document, DocumentWriter

_SECONDS = 120.0
"""For one request, its retries included."""
_SETTLING = 2.0
"""Seconds until searches show what was written."""
_UNFINISHED = " (unfinished)"
"""What a fingerprint ends in while its file is written."""


class AzureSearchIndex:
    """A `PassageIndex` over an index of Azure AI Search, which is made when there is none.

    Args:
        connection: To the service; closed with this.
        plan: The index.
        bounds: What the service takes at once.
        settling: Seconds until searches show what was written.
    """

    def __init__(
        self,
        connection: SearchConnection,
        plan: IndexPlan,
        bounds: Bounds | None = None,
        *,
        settling: float = _SETTLING,
    ) -> None:
        self._connection = connection
        self._plan = plan
        self._fields = plan.fields
        self._bounds = bounds or Bounds()
        self._writer = DocumentWriter(connection, self._fields.id, self._bounds, _SECONDS)
        self._existing: ExistingIndex | None = None
        self._settling = settling
        self._settled: dict[str, float] = {}
        """Of files that were written lately: when searches show that, on the event loop's clock."""

    async def fingerprints(self, sourcefile: str | None = None) -> Mapping[str, str]:
        """The fingerprint that each source file was indexed with, or that one only; none where there is no index yet.

        Raises:
            NotConfigured: the service refuses us, or the index has no room for fingerprints; says what to do.
            Unavailable, RateLimited, TooSlow: the service's faults.
        """
        if await self._look() is None:
            return {}
        if sourcefile is not None:
            await self._settle(sourcefile)
        file, mark = self._fields.sourcefile, self._fields.fingerprint
        that_one = f" and {file_filter(sourcefile, self._fields)}" if sourcefile is not None else ""
        found: dict[str, str] = {}
        where = f"{mark} ne null"
        while True:
            window = await self._window(where + that_one, [file, mark], order=[mark])
            found |= {str(one[file]): str(one[mark]) for one in window}
            if len(window) < self._bounds.window:
                return found
            # The service skips no further, so the next window begins where this one ends, with the files of one state
            # that it may have cut apart. What fills a window all alone is left behind.
            last = literal(str(window[-1][mark]))
            where = f"{mark} ge {last}" if where != f"{mark} ge {last}" else f"{mark} gt {last}"

    async def replace(
        self,
        sourcefile: str,
        fingerprint: str,
        passages: Sequence[Passage],
        vectors: Sequence[Sequence[float]] | None,
        image_vectors: Sequence[Sequence[float] | None] | None = None,
    ) -> None:
        """Put a file's passages in place of its old ones; searches may see some of both in between.

        Raises:
            ValueError: there is not one vector a passage.
            NotConfigured: the service refuses us, or the index has no room for what a passage has; says what to do.
            Unavailable, RateLimited, TooSlow: the service's faults; the file is to be written again.
        """
        if any(given is not None and len(given) != len(passages) for given in (vectors, image_vectors)):
            raise ValueError("there must be one vector a passage")
        documents = [
            self._document(
                sourcefile,
                passage,
                vectors[place] if vectors else None,
                image_vectors[place] if image_vectors else None,
            )
            for place, passage in enumerate(passages)
        ]
        try:
            await self._make_room(documents)
            await self._put(sourcefile, fingerprint, documents)
        except NotConfigured:
            self._existing = None  # whoever mends the index need not restart the app
            raise

    async def remove(self, sourcefile: str) -> None:
        """Forget a file; one that is not there is no error.

        Raises:
            NotConfigured: the service refuses us; says what to do.
            Unavailable, RateLimited, TooSlow: the service's faults; some passages may be gone.
        """
        if await self._look() is not None:
            await self._settle(sourcefile)
            await self._remove_all_but(set(), sourcefile)

    async def aclose(self) -> None:
        """Close the connections to the service."""
        await self._connection.aclose()

    async def _put(self, sourcefile: str, fingerprint: str, documents: Sequence[Document]) -> None:
        await self._settle(sourcefile)
        mark = self._fields.fingerprint
        unfinished = {**documents[0], mark: f"{fingerprint}{_UNFINISHED}"}
        await self._write("upload", [unfinished, *documents[1:]], sourcefile)
        await self._remove_all_but({str(one[self._fields.id]) for one in documents}, sourcefile)
        await self._write("upload", [{**documents[0], mark: fingerprint}], sourcefile)

    async def _write(self, action: Action, documents: Sequence[Document], sourcefile: str) -> None:
        """Write of a file; whatever comes of it, what was shown of it until now may be old."""
        if not documents:
            return
        try:
            await self._writer.write(action, documents)
        finally:
            now = asyncio.get_running_loop().time()
            lately = {name: when for name, when in self._settled.items() if when > now}
            self._settled = {**lately, sourcefile: now + self._settling}

    async def _settle(self, sourcefile: str) -> None:
        """Wait until searches show what was written of a file."""
        await asyncio.sleep(self._settled.get(sourcefile, 0) - asyncio.get_running_loop().time())

    async def _remove_all_but(self, kept: set[str], sourcefile: str) -> None:
        """Remove a file's other passages; the one with the fingerprint last, so that the file is known until then."""
        key, mark = self._fields.id, self._fields.fingerprint
        there = await self._window(file_filter(sourcefile, self._fields), [key, mark])
        gone = {str(one[key]): one[mark] is not None for one in there}
        for with_fingerprint in (False, True):
            ids = [one for one, holds in gone.items() if holds is with_fingerprint and one not in kept]
            await self._write("delete", [{key: one} for one in ids], sourcefile)

    async def _window(self, where: str, select: list[str], *, order: list[str] | None = None) -> list[dict[str, Any]]:
        """The documents that pass a filter, as far as the service skips; of each these fields."""
        found: list[dict[str, Any]] = []
        for skip in range(0, self._bounds.window, self._bounds.page):
            page = await self._page(where, select, order, skip)
            found += page
            if len(page) < self._bounds.page:
                break
        return found

    async def _page(self, where: str, select: list[str], order: list[str] | None, skip: int) -> list[dict[str, Any]]:
        async def search(client: SearchClient) -> list[dict[str, Any]]:
            hits = cast(
                "AsyncIterable[dict[str, Any]]",
                await client.search(filter=where, select=select, order_by=order, top=self._bounds.page, skip=skip),
            )
            return [{name: hit[name] for name in select} async for hit in hits]

        return await self._connection.ask(search, deadline=_soon(), right=WRITE)

    def _document(
        self, sourcefile: str, passage: Passage, vector: Sequence[float] | None, image: Sequence[float] | None
    ) -> Document:
        """A passage with what it has; an upload empties the other fields."""
        fields = self._fields
        values: dict[str, Json] = {
            fields.id: passage.id,
            fields.content: passage.content,
            fields.sourcepage: passage.sourcepage,
            fields.sourcefile: sourcefile,
            fields.category: passage.category,
            fields.oids: [*passage.oids] or None,
            fields.groups: [*passage.groups] or None,
            fields.embedding: _direction(vector),
            fields.image_embedding: _direction(image),
        }
        return {name: value for name, value in values.items() if value is not None}

    async def _make_room(self, documents: Iterable[Document]) -> None:
        """Make the index if there is none, and look whether it has room for these.

        Raises:
            NotConfigured: it has not.
        """
        used: set[str] = set()
        lengths: dict[str, int] = {}
        for document in documents:
            used |= document.keys()
            for name in (self._fields.embedding, self._fields.image_embedding):
                if isinstance(vector := document.get(name), list):
                    lengths[name] = len(vector)
        existing = await self._look() or await self._make(lengths.get(self._fields.embedding))
        existing.check_room_for(used, lengths)

    async def _look(self) -> ExistingIndex | None:
        """The index, looked at once.

        Raises:
            NotConfigured: ingestion cannot keep its books there.
        """

        async def get(client: SearchIndexClient) -> SearchIndex | None:
            try:
                return await client.get_index(self._plan.name)
            except ResourceNotFoundError:
                return None

        if self._existing is None:
            index = await self._connection.ask_indexes(get, deadline=_soon())
            if index is not None:
                existing = ExistingIndex(index, self._fields)
                existing.check()
                self._existing = existing
        return self._existing

    async def _make(self, dimensions: int | None) -> ExistingIndex:
        wanted = self._plan.new_index(dimensions)

        async def create(client: SearchIndexClient) -> None:
            try:
                await client.create_index(wanted)
            except ResourceExistsError:  # another one was faster, or so was an earlier try whose answer was lost
                return

        await self._connection.ask_indexes(create, deadline=_soon(), right=MANAGE)
        return await self._look() or ExistingIndex(wanted, self._fields)


def _direction(vector: Sequence[float] | None) -> list[Json] | None:
    """A vector as the service takes it; None without a direction (zeros, infinities, NaN): it has no cosine."""
    return [*vector] if vector and 0 < math.hypot(*vector) < math.inf else None


def _soon() -> float:
    return asyncio.get_running_loop().time() + _SECONDS
