"""An agent's searches: with the same retriever, overrides and rights as single chat."""

from dataclasses import dataclass

from shared.chat_models import Tool
from shared.chat_types import ChatRequest, Passage, RequestContext
from shared.core.searching import search_query, search_thoughts
from shared.events import DataPoint, Thought
from shared.retrieval import Retriever, SearchQuery, SearchResult

_LONGEST_QUERY = 1_000
"""Characters; who writes more did not write a query."""
_MOST_SEARCHES = 20
"""In one message."""

SEARCH_TOOL = Tool(
    name="search",
    description="Search the organization's documents. Returns passages, each after the name of its source.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to search for, as a stand-alone query."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


@dataclass(slots=True)
class _Search:
    query: SearchQuery
    found: SearchResult | None = None


class Searches:
    """What one agent searches for and finds in one turn."""

    def __init__(self, request: ChatRequest, context: RequestContext, retriever: Retriever) -> None:
        self._request = request
        self._context = context
        self._retriever = retriever
        self._found: dict[str, Passage] = {}
        self._searches: list[_Search] = []

    def begin(self) -> None:
        """A new message begins: what was found for the earlier ones stays, how it was found went with them."""
        self._searches = []

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All that was found in this turn, each once."""
        return tuple(self._found.values())

    @property
    def queries(self) -> tuple[str, ...]:
        """What was searched for in this message."""
        return tuple(search.query.text for search in self._searches)

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """The steps of this message's searches."""
        overrides = self._request.overrides
        steps = [search_thoughts(one.query, one.found, overrides) for one in self._searches if one.found]
        return tuple(thought for step in steps for thought in step)

    async def search(self, query: str) -> str:
        """Search, and return what the model reads of the results, or what is wrong with its query.

        Raises:
            SwitchboardError: the search is not allowed, or the retriever has a fault.
        """
        query = query.strip()
        if not query:
            return "Error: the query is empty. Write what to search for."
        if len(query) > _LONGEST_QUERY:
            return f"Error: the query is too long, at most {_LONGEST_QUERY:,} characters. Write a few words."
        if len(self._searches) >= _MOST_SEARCHES:
            return "Error: too many searches. Answer with what was found."
        search = _Search(search_query(self._request, self._context, query))
        self._searches.append(search)
        search.found = await self._retriever.search(search.query, self._context)
        self._found.update({passage.id: passage for passage in search.found.passages})
        return "\n".join(DataPoint.of(passage).line for passage in search.found.passages) or "(nothing was found)"
