"""Begins the turns of agents. Their framework takes long to import: a thread does that at the first request."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition
from shared.chat_types import ChatRequest, RequestContext
from shared.events import ChatEvent
from shared.runtime import features, late_imports


async def agents_turn(
    request: ChatRequest, context: RequestContext, agent: AgentDefinition | None, parts: AgentParts
) -> AsyncGenerator[ChatEvent]:
    """Answer with one agent (see `single.run_agent`), or with the team (None; see `team.run_team`)."""

    def begin() -> AsyncGenerator[ChatEvent]:
        if agent is None:
            from shared.agents.team import run_team

            return run_team(request, context, parts)
        from shared.agents.single import run_agent

        return run_agent(request, context, agent, parts)

    features.require("agents")
    async with aclosing(await late_imports.run_import(begin)) as events:
        async for event in events:
            yield event
