"""Parts that take their time by the clock and no work, so that what stands around them is measured."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, Room
from shared.chat_types import Access, PartHealth, Passage, RequestContext, RetrievalMode
from shared.events import CompletionStarted, Usage
from shared.retrieval import Extent, SearchQuery, SearchResult


class TimedModel:
    """Says the same to everything.

    Args:
        tokens: What it says.
        first: Seconds to the first token.
        gap: Seconds after each token.
    """

    takes_images = False
    takes_tools = True

    async def room(self) -> Room:
        return Room(1_500)

    def __init__(self, tokens: Sequence[str], *, first: float = 0.3, gap: float = 0) -> None:
        self._tokens = tokens
        self._first = first
        self._gap = gap

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the tokens in time."""
        del request, context
        await asyncio.sleep(self._first)
        yield CompletionStarted("bench", 0, "bench")
        for token in self._tokens:
            yield ModelText(token)
            await asyncio.sleep(self._gap)
        yield ModelFinished("stop", Usage(1, 1))

    async def check(self) -> PartHealth:
        return PartHealth("bench", ok=True, detail="")


class InstantRetriever:
    """Finds the same for everything, at once.

    Args:
        passages: What it finds.
    """

    def __init__(self, *passages: Passage) -> None:
        self._passages = passages

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        del query, context
        return SearchResult(self._passages, RetrievalMode.TEXT)

    async def may_see(self, document: str, access: Access) -> bool:
        del document, access
        return True

    async def extent(self, sourcefile: str, access: Access | None) -> Extent | None:
        del sourcefile, access

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        del document, context
        return self._passages

    async def check(self) -> PartHealth:
        return PartHealth("bench", ok=True, detail="")
