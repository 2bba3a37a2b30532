"""The tool `search`: the same retriever, overrides and rights as in single chat."""

from collections.abc import Mapping
from copy import replace

from shared.chat_types import Json
from shared.core.prompts import PROMPTS, SEARCH_OF_AGENTS
from shared.core.searching import LONGEST_QUERY, search_query, search_thoughts
from shared.core.sources import fitting, nearest, source_text
from shared.tools import Tool, ToolContext, ToolResult, WrongArguments

_CALLS = 3
"""Calls whose sources fit together into the tokens that an answer has for sources."""


async def _search(arguments: Mapping[str, Json], context: ToolContext) -> ToolResult:
    """Search the documents.

    Raises:
        WrongArguments: the query is empty or too long.
        SwitchboardError: the search is not allowed, or the retriever has a fault.
    """
    text = str(arguments["query"]).strip()
    if not text:
        raise WrongArguments("the query is empty. Write what to search for.")
    if len(text) > LONGEST_QUERY:
        raise WrongArguments(f"the query is too long, at most {LONGEST_QUERY:,} characters. Write a few words.")
    query = search_query(context.request, context.context, text)
    found = await context.retriever.search(query, context.context)
    if context.request.overrides.top is None:
        found = replace(found, passages=fitting(nearest(found).passages, context.source_tokens // _CALLS))
    return ToolResult(
        "\n".join(map(source_text, found.passages)) or "(nothing was found)",
        passages=found.passages,
        rarities=found.rarities,
        foreign=found.foreign,
        thoughts=search_thoughts([query], found, context.request.overrides),
    )


SEARCH = Tool(SEARCH_OF_AGENTS, _search, PROMPTS["search"])
