"""A retriever that shows people their own documents by the names that they know, and never those of others."""

from collections.abc import Sequence
from copy import replace

from shared.chat_types import Access, Passage, RequestContext
from shared.documents.own import is_of_others, shown_name, stored_name
from shared.retrieval import Retriever, SearchQuery, SearchResult


class OwnDocuments:
    """Wraps a `Retriever`, which filters by `Access.own`; this checks the result once more.

    Args:
        retriever: Searches.
    """

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self.may_see, self.extent, self.check = retriever.may_see, retriever.extent, retriever.check

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        found = await self._retriever.search(query, context)
        return replace(found, passages=tuple(_with_own_names(found.passages, query.access)))

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`."""
        name = stored_name(document, context.access)
        return _with_own_names(await self._retriever.read(name, context), context.access)


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
