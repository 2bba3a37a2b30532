"""A retriever that leaves out some of what it finds, before a model reads it."""

from collections.abc import Awaitable, Callable, Sequence
from copy import replace

from shared.chat_types import Passage, RequestContext
from shared.retrieval import Retriever, SearchQuery, SearchResult

type Screen = Callable[[Sequence[Passage], RequestContext], Awaitable[tuple[Passage, ...]]]
"""Returns the passages that may be used."""

_WITHHELD = "(This part is withheld: it holds orders to a model.)"


class Screened:
    """Wraps a `Retriever`.

    Args:
        retriever: Searches.
        screen: Chooses.
    """

    def __init__(self, retriever: Retriever, screen: Screen) -> None:
        self._retriever = retriever
        self._screen = screen
        self.may_see, self.extent, self.check = retriever.may_see, retriever.extent, retriever.check

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        found = await self._retriever.search(query, context)
        return replace(found, passages=await self._screen(found.passages, context))

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`. A note stands for what is left out, so that nobody takes the rest for the whole."""
        found = await self._retriever.read(document, context)
        used = {passage.id for passage in await self._screen(found, context)}
        return [one if one.id in used else Passage(one.id, _WITHHELD, one.sourcepage, one.sourcefile) for one in found]
