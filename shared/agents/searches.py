"""An agent's searches, with the same retriever, overrides and rights as single chat, as a tool of Agent Framework."""

from dataclasses import dataclass

import agent_framework as af
from agent_framework import MiddlewareFailure

from shared.agents.lane import Lane
from shared.chat_models import Tool
from shared.chat_types import ChatRequest, Passage, RequestContext
from shared.core.searching import search_query, search_thoughts
from shared.events import DataPoint, Thought
from shared.retrieval import Retriever, SearchQuery, SearchResult

_LONGEST_QUERY = 1_000
"""Characters; a longer text is not a query."""
_MOST_SEARCHES = 20
"""Searches for one message."""

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
    """The searches of one agent in one turn, and what they found."""

    def __init__(self, request: ChatRequest, context: RequestContext, retriever: Retriever, lane: Lane) -> None:
        self._request = request
        self._context = context
        self._retriever = retriever
        self._lane = lane
        self._found: dict[str, Passage] = {}
        self._rarities: dict[str, float] = {}
        self._searches: list[_Search] = []

    def begin(self) -> None:
        """Begin a new message: keep the passages that were found, forget the queries and steps of earlier messages."""
        self._searches = []

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All passages that were found in this turn, each once."""
        return tuple(self._found.values())

    @property
    def rarities(self) -> dict[str, float]:
        """Inverse document frequencies of the words that were searched for in this turn, as in `SearchResult`."""
        return dict(self._rarities)

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries for this message."""
        return tuple(search.query.text for search in self._searches)

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """Thoughts that tell of the searches for this message."""
        overrides = self._request.overrides
        steps = [search_thoughts(one.query, one.found, overrides) for one in self._searches if one.found]
        return tuple(thought for step in steps for thought in step)

    def lines(self) -> str:
        """All passages as a text for a model; empty if there are none."""
        return "\n".join(DataPoint.of(passage).line for passage in self._found.values())

    async def search(self, query: str) -> str:
        """Search, and return a text for the model: the results, or what is wrong with its query.

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
        await self._lane.tell("searching", query=query)
        search.found = await self._retriever.search(search.query, self._context)
        self._rarities |= search.found.rarities
        self._found.update({passage.id: passage for passage in search.found.passages})
        return "\n".join(DataPoint.of(passage).line for passage in search.found.passages) or "(nothing was found)"


def search_tool(searches: Searches) -> af.FunctionTool:
    """Make the function that the model calls. A failed search ends the agent's message, as it ends single chat."""

    async def search(query: str) -> str:
        try:
            return await searches.search(query)
        except Exception as error:
            # Of any other exception the framework would make a text for the model, and go on.
            raise MiddlewareFailure("The search failed.") from error

    return af.FunctionTool(
        name=SEARCH_TOOL.name, description=SEARCH_TOOL.description, func=search, input_model=SEARCH_TOOL.parameters
    )


def cause_of(error: Exception) -> Exception:
    """The error that an agent failed with, taken out of the exception that carried it through the framework."""
    return error.__cause__ if isinstance(error, MiddlewareFailure) and isinstance(error.__cause__, Exception) else error
