"""Reads passages from an index of Azure AI Search, which may lack any field, and a document of it any value.

Imports `azure.search.documents`: import it late.
"""

import asyncio
import sys
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from azure.search.documents.aio import SearchClient

from shared.chat_types import Access, Caption, Json, PartHealth, Passage
from shared.errors import SwitchboardError
from shared.outbound.asking import CachedHealth
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.fields import NOTHING, IndexFields, access_filter, both, file_filter, pages_filter

_KIND = "azure-ai-search"
_EMPTY = "The index is empty: run `make index DOCS=folder`, or `make sync` for the documents of the container."
_LOOK_SECONDS = 10.0
"""How long it may take to look whether a document may be seen."""
_CHECK_SECONDS = 3.0
"""How long a health check may take."""


class IndexReader:
    """What every retriever over an index does.

    Args:
        connection: To the service and its index.
        fields: What the index calls its fields.
    """

    def __init__(self, connection: SearchConnection, fields: IndexFields) -> None:
        self.fields = fields
        self._connection = connection
        self._select: list[str] | None = None
        self._health = CachedHealth(self._ask_health)

    async def find(self, arguments: Mapping[str, Any], deadline: float) -> list[Passage]:
        """Search, and return what is found in its order; a passage whose text the index lacks has none.

        Args:
            arguments: What `SearchClient.search` is called with, but for the fields to select.
            deadline: On the event loop's clock, in seconds.

        Raises:
            NotConfigured: the service refuses us, or what we ask of its index.
            Unavailable, RateLimited, TooSlow: the service's faults.
        """
        try:
            found = await self._found({**arguments, "select": self._select}, deadline)
        except SwitchboardError:
            self._select = None  # in case that the index was made anew with other fields
            raise
        if found and self._select is None:
            # An index may lack a field, and the service refuses to select what is not there. Without a selection it
            # sends all that there is, vectors too: so the first answer tells what to select from then on.
            self._select = [field for field in self.fields.shown if field in found[0]] or None
        return [passage_of(document, self.fields, place) for place, document in enumerate(found)]

    async def may_see(self, document: str, access: Access) -> bool:
        """Whether a passage of this document, by its `sourcefile` or `sourcepage`, may be seen so.

        A `sourcepage` counts only where no file is called so: it may be escaped, or name a page, and be the name of
        another file, which is not for those who may see the page.

        Raises:
            NotConfigured: the service refuses us, or what we ask of its index.
            Unavailable, RateLimited, TooSlow: the service's faults.
        """
        seen = access_filter(access, self.fields)
        if seen == NOTHING:
            return False
        deadline = _in(_LOOK_SECONDS)
        file, page = file_filter(document, self.fields), pages_filter([document], self.fields)
        if await self._is_any(both(file, seen), deadline):
            return True
        return await self._is_any(both(page, seen), deadline) and not await self._is_any(file, deadline)

    async def check(self) -> PartHealth:
        """Whether the index can be searched and has something in it; asked at most every 30 seconds."""
        return await self._health.latest()

    async def aclose(self) -> None:
        """Close the connections to the service."""
        await self._connection.aclose()

    async def _is_any(self, where: str | None, deadline: float) -> bool:
        return bool(await self._found({"filter": where, "top": 1, "select": [self.fields.id]}, deadline))

    async def _found(self, arguments: Mapping[str, Any], deadline: float) -> list[dict[str, Any]]:
        async def search(client: SearchClient) -> list[dict[str, Any]]:
            found = cast("AsyncIterable[dict[str, Any]]", await client.search(**arguments))
            return [document async for document in found]

        return await self._connection.ask(search, deadline=deadline)

    async def _ask_health(self) -> PartHealth:
        async def count(client: SearchClient) -> int:
            return int(await client.get_document_count())  # of what is no number the SDK makes a string

        try:
            passages = await self._connection.ask(count, deadline=_in(_CHECK_SECONDS))
        except SwitchboardError as exc:
            return PartHealth(_KIND, False, exc.message)
        facts: dict[str, Json] = {"index": self._connection.index, "passages": passages}
        if not passages:
            return PartHealth(_KIND, False, _EMPTY, facts)
        return PartHealth(_KIND, True, "Azure AI Search.", facts)


def _in(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


_BETWEEN_CAPTIONS = " . "
"""As azure-search-openai-demo puts the captions of a passage together."""


def passage_of(document: Mapping[str, object], fields: IndexFields, place: int) -> Passage:
    """A passage, as it is in the index.

    Args:
        document: What was found; scores and captions as `azure-search-documents` names them.
        fields: What the index calls its fields.
        place: Its place among what was found, from 0: names what has no name.
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
    )


def readable(passages: Sequence[Passage], advice: str) -> tuple[list[Passage], str | None]:
    """The passages that have a text, and a note with the advice if not all have one."""
    with_text = [passage for passage in passages if passage.content]
    missing = len(passages) - len(with_text)
    return with_text, f"{missing} passages without a text were left out: {advice}" if missing else None


def with_captions(passage: Passage) -> Passage:
    """The passage with its captions in place of its text, if it has any."""
    if not passage.captions:
        return passage
    return replace(passage, content=_BETWEEN_CAPTIONS.join(caption.text for caption in passage.captions))


def _captions(found: object) -> tuple[Caption, ...]:
    """Those that have a text; of the SDK each is a mapping."""
    mappings = [cast("Mapping[str, object]", one) for one in _items(found) if isinstance(one, Mapping)]
    captions = [Caption(_text(one, "text"), _text(one, "highlights")) for one in mappings]
    return tuple(caption for caption in captions if caption.text)


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(document: Mapping[str, object], field: str) -> str:
    value = document.get(field)
    return _sendable(value) if isinstance(value, str) else ""


def _texts(document: Mapping[str, object], field: str) -> tuple[str, ...]:
    return tuple(_sendable(value) for value in _items(document.get(field)) if isinstance(value, str))


def _sendable(text: str) -> str:
    """The text with `?` for each half of a character: JSON can hold one, and nothing that is sent can."""
    return text.encode(errors="replace").decode()


def _number(document: Mapping[str, object], field: str) -> float | None:
    """A number that can be compared: JSON can hold others, too large for any."""
    value = document.get(field)
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None
