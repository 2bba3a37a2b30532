"""An agent's searches as a function of Agent Framework's."""

import agent_framework as af
from agent_framework import MiddlewareFailure

from shared.agents.searches import SEARCH_TOOL, Searches


def search_tool(searches: Searches) -> af.FunctionTool:
    """The function that the model calls. What the search cannot do ends the agent's message, as it does single chat."""

    async def search(query: str) -> str:
        try:
            return await searches.search(query)
        except Exception as error:
            # Any other exception the framework would tell the model of.
            raise MiddlewareFailure("The search failed.") from error

    return af.FunctionTool(
        name=SEARCH_TOOL.name, description=SEARCH_TOOL.description, func=search, input_model=SEARCH_TOOL.parameters
    )


def cause_of(error: Exception) -> Exception:
    """What an agent failed with, without what it took to get it through the framework."""
    return error.__cause__ if isinstance(error, MiddlewareFailure) and isinstance(error.__cause__, Exception) else error
