"""Documents in a store that is opened when the first of them is needed.

The SDK of a store takes a tenth of a start to import, and most answers need no document.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from shared.chat_types import PartHealth
from shared.documents import DocumentReader, StoredDocument
from shared.runtime.late_imports import Late


class LateDocuments:
    """A `DocumentReader` over another one. Each method raises `NotConfigured` if that cannot be opened.

    Args:
        open_store: Imports and opens the other one; called again if it failed.
    """

    def __init__(self, open_store: Callable[[], DocumentReader]) -> None:
        self._store = Late(open_store)

    async def find(self, name: str) -> StoredDocument | None:
        """Find a document; see `DocumentReader.find`."""
        return await (await self._store.get()).find(name)

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield the bytes of a document; see `DocumentReader.read`."""
        async with aclosing((await self._store.get()).read(document, start, length)) as pieces:
            async for piece in pieces:
                yield piece

    async def find_all(
        self, after: str = "", wanted: Callable[[str], bool] | None = None
    ) -> AsyncGenerator[StoredDocument]:
        """List the documents; see `DocumentReader.find_all`."""
        async with aclosing((await self._store.get()).find_all(after, wanted)) as documents:
            async for document in documents:
                yield document

    async def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """List the names that begin with a text; see `DocumentReader.names`."""
        async with aclosing((await self._store.get()).names(prefix)) as names:
            async for name in names:
                yield name

    async def check(self) -> PartHealth:
        """Check whether documents can be read now."""
        return await (await self._store.get()).check()
