"""An agent's searches as a function of Agent Framework's."""

import agent_framework as af
from agent_framework import MiddlewareFailure

from shared.agents.searches import SEARCH_TOOL, Searches
from shared.errors import SwitchboardError


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


def failure_behind(error: Exception) -> SwitchboardError | None:
    """What an agent failed with, if it is one of ours."""
    cause = error.__cause__ if isinstance(error, MiddlewareFailure) else error
    return cause if isinstance(cause, SwitchboardError) else None
