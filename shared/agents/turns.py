"""Begins the turns of agents. Their framework takes long to import: a thread does that at the first request."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition
from shared.chat_types import ChatRequest, RequestContext
from shared.events import ChatEvent
from shared.runtime.features import require
from shared.runtime.late_imports import run_import


def team_turn(request: ChatRequest, context: RequestContext, parts: AgentParts) -> AsyncGenerator[ChatEvent]:
    """Answer with the team: see `team.run_team`."""

    def begin() -> AsyncGenerator[ChatEvent]:
        from shared.agents.team import run_team

        return run_team(request, context, parts)

    return _begun(begin)


def agent_turn(
    request: ChatRequest, context: RequestContext, agent: AgentDefinition, parts: AgentParts
) -> AsyncGenerator[ChatEvent]:
    """Answer with one agent: see `single.run_agent`."""

    def begin() -> AsyncGenerator[ChatEvent]:
        from shared.agents.single import run_agent

        return run_agent(request, context, agent, parts)

    return _begun(begin)


async def _begun(begin: Callable[[], AsyncGenerator[ChatEvent]]) -> AsyncGenerator[ChatEvent]:
    require("agents")
    async with aclosing(await run_import(begin)) as events:
        async for event in events:
            yield event
