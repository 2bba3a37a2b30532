"""A retriever that leaves out some of what it finds, before a model reads it."""

from collections.abc import Awaitable, Callable, Sequence
from copy import replace

from shared.chat_types import Access, Extent, PartHealth, Passage, RequestContext
from shared.retrieval import Retriever, SearchQuery, SearchResult

type Screen = Callable[[Sequence[Passage], RequestContext], Awaitable[tuple[Passage, ...]]]
"""Returns the passages that may be used."""


class Screened:
    """Wraps a `Retriever`.

    Args:
        retriever: Searches.
        screen: Chooses.
    """

    def __init__(self, retriever: Retriever, screen: Screen) -> None:
        self._retriever = retriever
        self._screen = screen

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        found = await self._retriever.search(query, context)
        return replace(found, passages=await self._screen(found.passages, context))

    async def may_see(self, document: str, access: Access) -> bool:
        """See `Retriever.may_see`."""
        return await self._retriever.may_see(document, access)

    async def extent(self, sourcefile: str, access: Access | None) -> Extent | None:
        """See `Retriever.extent`."""
        return await self._retriever.extent(sourcefile, access)

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`."""
        return await self._screen(await self._retriever.read(document, context), context)

    async def check(self) -> PartHealth:
        """See `Retriever.check`."""
        return await self._retriever.check()
