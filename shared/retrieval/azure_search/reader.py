"""Reads passages from an index of Azure AI Search. The index may lack any field, and a document any value.

Imports `azure.search.documents`: import it late.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterable, Mapping, Sequence
from copy import replace
from typing import Any, cast

from azure.search.documents.aio import SearchClient

from shared.chat_types import Access, Caption, Extent, Json, PartHealth, Passage, RequestContext
from shared.errors import SwitchboardError
from shared.outbound.asking import CachedHealth
from shared.retrieval import MOST_READ, day_in, whole
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.fields import NOTHING, IndexFields, access_filter, all_of, file_filter, page_filter

_KIND = "azure-ai-search"
_EMPTY = "The index is empty: run `make index DOCS=folder`, or `make sync` for the documents of the container."
_NUMBER = re.compile(r"([0-9]{1,18})")
_ACCESS_TIMEOUT_SECONDS = 10.0
"""Time limit for checking whether a document may be seen."""
_HEALTH_TIMEOUT_SECONDS = 3.0
"""Time limit of a health check."""


class IndexReader:
    """The part of a `Retriever` that needs no question: what an index has, and who may see it.

    Args:
        connection: Connection to the service and its index.
        fields: Names of the index's fields.
    """

    def __init__(self, connection: SearchConnection, fields: IndexFields) -> None:
        self.fields = fields
        self._connection = connection
        self._select: list[str] | None = None
        self._select_of_extent: list[str] | None = None
        self.aclose = connection.aclose
        self.check = CachedHealth(self._ask_health).latest
        """Checks that the index can be searched and is not empty."""

    async def find(self, arguments: Mapping[str, Any], deadline: float) -> list[Passage]:
        """Search, and return the passages in the order of the service. A missing text becomes an empty one.

        Args:
            arguments: Arguments of `SearchClient.search`, without the fields to select.
            deadline: Time by which the answer must be there, in seconds on the event loop's clock.
        """
        try:
            found = await self._search({**arguments, "select": self._select}, deadline)
        except SwitchboardError:
            self._select = None  # the index may have been created again with other fields
            raise
        if found and self._select is None:
            # An index may lack a field, and the service refuses to select a missing field. Without a selection it sends
            # all fields, vectors too. So the first search selects nothing, and later ones select the fields it found.
            self._select = [field for field in self.fields.selected if field in found[0]] or None
        return [passage_of(document, self.fields, place) for place, document in enumerate(found)]

    async def may_see(self, document: str, access: Access) -> bool:
        """See `Retriever.may_see`.

        A `sourcepage` counts only if no file has the same name. Else the name of a page, which may be escaped, could
        open another file of that name to a caller who may only see the page.
        """
        seen = access_filter(access, self.fields)
        if seen == NOTHING:
            return False
        deadline = _deadline_in(_ACCESS_TIMEOUT_SECONDS)
        file, page = file_filter(document, self.fields), page_filter(document, self.fields)
        if await self._exists(all_of(file, seen), deadline):
            return True
        return await self._exists(all_of(page, seen), deadline) and not await self._exists(file, deadline)

    async def extent(self, sourcefile: str, access: Access | None) -> Extent | None:
        """See `Retriever.extent`. The service counts no pages."""
        where = all_of(file_filter(sourcefile, self.fields), access_filter(access, self.fields) if access else None)
        if where == NOTHING:
            return None

        async def count(client: SearchClient) -> Extent | None:
            arguments: dict[str, Any] = {"filter": where, "top": 1, "select": self._select_of_extent}
            found = cast("Any", await client.search(**arguments, include_total_count=True))
            passages = int(await found.get_count() or 0)
            async for document in found:
                self._select_of_extent = [one for one in (self.fields.id, self.fields.left_out) if one in document]
                return Extent(passages, None, _text(document, self.fields.left_out))
            return None

        try:
            return await self._connection.ask(count, deadline=_deadline_in(_ACCESS_TIMEOUT_SECONDS))
        except SwitchboardError:
            self._select_of_extent = None  # as in `find`
            raise

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`."""
        named = f"({file_filter(document, self.fields)} or {page_filter(document, self.fields)})"
        where = all_of(named, access_filter(context.access, self.fields) if context.access else None)
        if where == NOTHING:
            return ()
        found = await self.find({"filter": where, "top": MOST_READ}, context.deadline)
        return whole(sorted(found, key=_place), document)

    async def _exists(self, where: str | None, deadline: float) -> bool:
        return bool(await self._search({"filter": where, "top": 1, "select": [self.fields.id]}, deadline))

    async def _search(self, arguments: Mapping[str, Any], deadline: float) -> list[dict[str, Any]]:
        async def search(client: SearchClient) -> list[dict[str, Any]]:
            found = cast("AsyncIterable[dict[str, Any]]", await client.search(**arguments))
            return [document async for document in found]

        return await self._connection.ask(search, deadline=deadline)

    async def _ask_health(self) -> PartHealth:
        async def count(client: SearchClient) -> int:
            return int(await client.get_document_count())  # the SDK returns a string for an answer that is no number

        try:
            passages = await self._connection.ask(count, deadline=_deadline_in(_HEALTH_TIMEOUT_SECONDS))
        except SwitchboardError as exc:
            return PartHealth(_KIND, False, exc.message)
        facts: dict[str, Json] = {"index": self._connection.index, "passages": passages}
        if not passages:
            return PartHealth(_KIND, False, _EMPTY, facts)
        return PartHealth(_KIND, True, "Azure AI Search.", facts)


def _deadline_in(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


def _place(passage: Passage) -> tuple[int, list[str | int]]:
    """The place of a passage in its file: its page, then the numbers in its id, as numbers.

    The fields of an index need not be sortable, so the service cannot sort.
    """
    parts = _NUMBER.split(passage.id)  # texts and numbers, in turn
    return passage.page or 0, [int(part) if place % 2 else part for place, part in enumerate(parts)]


_BETWEEN_CAPTIONS = " . "
"""Joins the captions of a passage, as in azure-search-openai-demo."""


def passage_of(document: Mapping[str, object], fields: IndexFields, place: int) -> Passage:
    """Make a passage of a search result.

    Args:
        document: The result; scores and captions have the names of `azure-search-documents`.
        fields: Names of the index's fields.
        place: Position among the results, from 0, for the id of a passage that has none.
    """
    sourcefile, sourcepage = _text(document, fields.sourcefile), _text(document, fields.sourcepage)
    id_ = _text(document, fields.id) or sourcepage or f"result-{place + 1}"
    return Passage(
        id=id_,
        content=_text(document, fields.content),
        sourcepage=sourcepage or sourcefile or id_,
        sourcefile=sourcefile or sourcepage.partition("#")[0] or id_,
        category=_text(document, fields.category) or None,
        oids=_texts(document, fields.oids),
        groups=_texts(document, fields.groups),
        score=_number(document, "@search.score"),
        reranker_score=_number(document, "@search.reranker_score"),
        captions=_captions(document.get("@search.captions")),
        title=_text(document, fields.title),
        headings=_texts(document, fields.headings) or tuple(filter(None, [_text(document, fields.headings)])),
        table_head=_text(document, fields.table_head),
        date=day_in(_text(document, fields.date)),
        sensitivity=_text(document, fields.sensitivity),
    )


def readable(passages: Sequence[Passage], advice: str) -> tuple[list[Passage], str | None]:
    """Keep the passages that have a text. If some have none, also return a note that ends in the advice."""
    with_text = [passage for passage in passages if passage.content]
    missing = len(passages) - len(with_text)
    return with_text, f"{missing} passages without a text were left out: {advice}" if missing else None


def with_captions(passage: Passage) -> Passage:
    """Replace the passage's text by its captions, if it has any."""
    if not passage.captions:
        return passage
    return replace(passage, content=_BETWEEN_CAPTIONS.join(caption.text for caption in passage.captions))


def _captions(found: object) -> tuple[Caption, ...]:
    """The captions that have a text. The SDK returns each as a mapping."""
    mappings = [cast("Mapping[str, object]", one) for one in _items(found) if isinstance(one, Mapping)]
    captions = [Caption(_text(one, "text"), _text(one, "highlights")) for one in mappings]
    return tuple(caption for caption in captions if caption.text)


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(document: Mapping[str, object], field: str) -> str:
    value = document.get(field)
    return _encodable(value) if isinstance(value, str) else ""


def _texts(document: Mapping[str, object], field: str) -> tuple[str, ...]:
    return tuple(_encodable(value) for value in _items(document.get(field)) if isinstance(value, str))


def _encodable(text: str) -> str:
    """Replace each lone surrogate by `?`: JSON can contain one, but UTF-8, which is sent, cannot."""
    return text.encode(errors="replace").decode()


def _number(document: Mapping[str, object], field: str) -> float | None:
    """The number as a float; None if it is missing or, as JSON allows, too large for a float."""
    value = document.get(field)
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None
