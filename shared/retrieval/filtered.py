"""Retrievers that show some of what another one finds: never the documents of others, and nothing withheld."""

from collections.abc import Awaitable, Callable, Sequence
from copy import replace

from shared.chat_types import Access, Passage, RequestContext
from shared.documents.own import is_of_others, shown_name, stored_name
from shared.retrieval import Retriever, SearchQuery, SearchResult

type Screen = Callable[[Sequence[Passage], RequestContext], Awaitable[tuple[Passage, ...]]]
"""Returns the passages that may be used."""

_WITHHELD = "(This part is withheld: it holds orders to a model.)"


class _Wrapper:
    """Wraps a `Retriever`, and changes nothing.

    Args:
        retriever: Searches.
    """

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self.may_see, self.extent, self.check = retriever.may_see, retriever.extent, retriever.check


class OwnDocuments(_Wrapper):
    """Shows people their own documents by the names that they know, and never those of others.

    The retriever filters by `Access.own`; this checks the result once more.
    """

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        found = await self._retriever.search(query, context)
        return replace(found, passages=tuple(_with_own_names(found.passages, query.access)))

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`."""
        name = stored_name(document, context.access)
        return _with_own_names(await self._retriever.read(name, context), context.access)


class Screened(_Wrapper):
    """Leaves out some of what is found, before a model reads it.

    Args:
        retriever: Searches.
        screen: Chooses.
    """

    def __init__(self, retriever: Retriever, screen: Screen) -> None:
        super().__init__(retriever)
        self._screen = screen

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        found = await self._retriever.search(query, context)
        return replace(found, passages=await self._screen(found.passages, context))

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`. A note stands for what is left out, so that nobody takes the rest for the whole."""
        found = await self._retriever.read(document, context)
        used = {passage.id for passage in await self._screen(found, context)}
        return [one if one.id in used else Passage(one.id, _WITHHELD, one.sourcepage, one.sourcefile) for one in found]


def _with_own_names(passages: Sequence[Passage], access: Access | None) -> list[Passage]:
    folder = access.own if access else ""
    return [
        replace(
            passage,
            sourcefile=shown_name(passage.sourcefile, folder),
            sourcepage=shown_name(passage.sourcepage, folder),
            oids=(),
        )
        if folder and passage.sourcefile.startswith(folder)
        else passage
        for passage in passages
        if not is_of_others(passage.sourcefile, folder)
    ]
