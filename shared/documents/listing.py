"""The documents that a caller may see, as `GET /documents` lists them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from itertools import count

import msgspec

from shared.chat_types import Access, Extent
from shared.documents import DocumentReader, StoredDocument, is_hidden, is_name
from shared.errors import TooLarge

MOST_LISTED = 20_000
"""Names that are looked at for one page of the list."""
_ASKED_TOGETHER = 8
"""Maximum number of questions to the index at the same time."""


class ListedDocument(msgspec.Struct, frozen=True):
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
    """List the documents in the store's order of names.

    Args:
        store: Where the documents are.
        access: What the caller may see; None: everything.
        extent: Asks the index what it has of a document that this access allows. With an access, only what the index
            has is listed: the rights of other documents are not known for certain.
        search: A part of the name, in any case; empty: all.
        after: Only names behind this one.
        limit: The most documents to list.

    Raises:
        TooLarge: there is less than a page among the next `MOST_LISTED` names.
        SwitchboardError: the store or the index fails now.
    """
    part, looked_at = search.casefold(), count(1)

    def is_wanted(name: str) -> bool:
        if next(looked_at) > MOST_LISTED:
            raise TooLarge(f"There are more than {MOST_LISTED:,} documents, too many to list here.")
        return part in name.casefold() and is_name(name) and not is_hidden(name)

    found: list[ListedDocument] = []
    # Without a search nearly all are wanted: a container then lists their properties with their names.
    in_store, here = (is_wanted, bool) if part else (None, is_wanted)
    async with aclosing(store.find_all(after, in_store)) as documents:
        while len(found) < limit and (together := await _some(documents, here, access, limit - len(found))):
            extents = await asyncio.gather(*(extent(document.name, access) for document in together))
            found += [
                ListedDocument(document, indexed)
                for document, indexed in zip(together, extents, strict=True)
                if indexed or not access
            ]
    return found


async def _some(
    documents: AsyncGenerator[StoredDocument], is_wanted: Callable[[str], bool], access: Access | None, most: int
) -> list[StoredDocument]:
    """Return the next wanted documents that the caller may see; none at the end."""
    found: list[StoredDocument] = []
    async for document in documents:
        if is_wanted(document.name) and not (access and document.rights.forbid(access)):
            found.append(document)
            if len(found) == min(most, _ASKED_TOGETHER):
                break
    return found
