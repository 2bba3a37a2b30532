"""The turns of agents, by a framework that takes long to import: in a thread, when the first request needs it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from shared.agents.definitions import AgentDefinition, Agents
from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, RequestContext
from shared.events import ChatEvent
from shared.late_imports import run_import
from shared.retrieval import Retriever
from shared.telemetry import Watch, unwatched


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What agents answer with; the same for all requests."""

    agents: Agents
    """Who they are, and how they work together."""
    model: ChatModel
    """What answers for each of them."""
    retriever: Retriever
    """What their searches search."""
    concurrent_calls: int
    """How many model calls of one request may run at the same time."""
    watch: Watch = unwatched
    """What watches each agent while it makes a message."""


def team_turn(request: ChatRequest, context: RequestContext, parts: AgentParts) -> AsyncGenerator[ChatEvent]:
    """The team's answer: see `team.run_team`."""

    def begin() -> AsyncGenerator[ChatEvent]:
        from shared.agents.team import run_team

        return run_team(request, context, parts)

    return _begun(begin)


def agent_turn(
    request: ChatRequest, context: RequestContext, agent: AgentDefinition, parts: AgentParts
) -> AsyncGenerator[ChatEvent]:
    """One agent's answer: see `single.run_agent`."""

    def begin() -> AsyncGenerator[ChatEvent]:
        from shared.agents.single import run_agent

        return run_agent(request, context, agent, parts)

    return _begun(begin)


async def _begun(begin: Callable[[], AsyncGenerator[ChatEvent]]) -> AsyncGenerator[ChatEvent]:
    async with aclosing(await run_import(begin)) as events:
        async for event in events:
            yield event
