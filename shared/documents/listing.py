"""The documents that a caller may see, as `GET /documents` lists them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from itertools import batched

from shared.chat_types import Access, Extent
from shared.documents import DocumentReader, StoredDocument, is_hidden, is_name
from shared.errors import TooLarge

MOST_LISTED = 20_000
"""Documents of a store that are listed; their properties are in memory together."""
_ASKED_TOGETHER = 8
"""Documents about which the index is asked at the same time."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document of the list."""

    document: StoredDocument
    """Its properties in the store."""
    extent: Extent | None
    """What the index has of it; None: nothing, yet or ever."""


async def list_documents(
    store: DocumentReader,
    access: Access | None,
    extent: Callable[[str, Access | None], Awaitable[Extent | None]],
    *,
    search: str,
    after: str,
    limit: int,
) -> list[ListedDocument]:
    """List the documents by name.

    Args:
        store: Where the documents are.
        access: What the caller may see; None: everything.
        extent: Asks the index what it has of a document that this access allows. With an access, only what the index
            has is listed: the rights of other documents are not known for certain.
        search: A part of the name, in any case; empty: all.
        after: Only names behind this one.
        limit: The most documents to list.

    Raises:
        TooLarge: the store has more than `MOST_LISTED` documents.
        SwitchboardError: the store or the index fails now.
    """
    wanted: list[StoredDocument] = []
    async with aclosing(store.find_all()) as documents:
        count = 0
        async for document in documents:
            count += 1
            if count > MOST_LISTED:
                raise TooLarge(f"There are more than {MOST_LISTED:,} documents, too many to list here.")
            if _is_wanted(document, access, search, after):
                wanted.append(document)
    wanted.sort(key=lambda document: document.name)
    found: list[ListedDocument] = []
    for together in batched(wanted, _ASKED_TOGETHER, strict=False):
        extents = await asyncio.gather(*(extent(document.name, access) for document in together))
        found += [
            ListedDocument(document, indexed)
            for document, indexed in zip(together, extents, strict=True)
            if indexed or not access
        ]
        if len(found) >= limit:
            break
    return found[:limit]


def _is_wanted(document: StoredDocument, access: Access | None, search: str, after: str) -> bool:
    name = document.name
    if not is_name(name) or is_hidden(name) or name <= after or search.casefold() not in name.casefold():
        return False
    return not (access and document.rights.forbid(access))
