"""A team's answer to one request (DESIGN, 'Multi-agent')."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import agent_framework as af

from shared.agents import AgentParts
from shared.agents.chat_client import AgentChatClient, Calls, model_request
from shared.agents.definitions import AgentDefinition, Agents, Pattern, Team
from shared.agents.instructions import team_instructions
from shared.agents.participant import Participant
from shared.agents.producing import produced
from shared.agents.search_tool import search_tool
from shared.agents.searches import Searches
from shared.agents.transcript import TeamTranscript
from shared.agents.workflows import framework_names, workflow_of
from shared.chat_types import ChatRequest, RequestContext
from shared.core.context_window import fit_history
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Finished

_MARGIN_SECONDS = 1.0
_MARGIN_SHARE = 0.1
"""How long before the team's deadline the agents have to be done: the smaller of the two."""


async def run_team(request: ChatRequest, context: RequestContext, parts: AgentParts) -> AsyncGenerator[ChatEvent]:
    """Answer the request with all agents, by the pattern of their team.

    Yields:
        `CompletionStarted`, an `AgentMessage` as soon as an agent is done, `Finished`.

    Raises:
        SwitchboardError: every agent failed; what the first one failed with.
    """
    yield CompletionStarted(id=f"team-{uuid4().hex}", created=int(time.time()), model="team")
    turn = _Turn(request, context, parts)
    said: list[AgentMessage] = []
    async with aclosing(produced(turn.run)) as messages:
        async for message in messages:
            said.append(message)
            yield message
            if turn.discussion.is_over and len(said) == len(turn.discussion.said):
                break
    errors = [message.error for message in said if message.error]
    if errors and len(errors) == len(said):
        raise errors[0]
    yield Finished("stop", turn.discussion.usage)


class _Turn:
    """One team at work on one request."""

    def __init__(self, request: ChatRequest, context: RequestContext, parts: AgentParts) -> None:
        now = asyncio.get_running_loop().time()
        margin = min(_MARGIN_SECONDS, _MARGIN_SHARE * (context.deadline - now))
        history = () if request.single_turn else fit_history(request.messages[:-1])
        self._request = request
        self._context = replace(context, deadline=context.deadline - margin)
        self._parts = parts
        self._agents = _as_team(parts.agents)
        self._names = framework_names(self._agents.team.pattern, [agent.name for agent in self._agents.agents])
        self._conversation = (*history, request.messages[-1])
        self._slots = asyncio.Semaphore(parts.concurrent_calls)
        files = frozenset(file.name for message in self._conversation for file in message.files)
        self.discussion = TeamTranscript(self._agents, self._context.deadline, files)
        """What is said."""

    async def run(self, put: Callable[[AgentMessage], Awaitable[None]]) -> None:
        """Let the agents speak, and hand over their messages.

        Raises:
            RuntimeError: the framework ended before the agents did.
        """
        members = [self._member(agent, put) for agent in self._agents.agents]
        workflow = workflow_of(self._agents.team.pattern, members, lambda: self.discussion.is_over)
        await workflow.run(af.Message("user", [self._request.question]))
        if not self.discussion.is_over:
            raise RuntimeError("the workflow ended, and the team's turn did not")

    def _member(self, agent: AgentDefinition, put: Callable[[AgentMessage], Awaitable[None]]) -> af.Agent[Any]:
        searches = Searches(self._request, self._context, self._parts.retriever)
        pattern = self._agents.team.pattern
        client = AgentChatClient(
            Calls(
                model=self._parts.model,
                context=self._context,
                request=model_request(agent, self._request, self._conversation),
                searches=searches,
                slots=self._slots,
                names={called: name for name, called in self._names.items() if name != agent.name},
            )
        )
        attached = any(message.files or message.images for message in self._conversation)
        invocation_id = self._context.invocation_id
        return af.Agent(
            client,
            team_instructions(agent, self._agents, self._request, attached=attached),
            name=self._names[agent.name],
            description=_description(agent),
            tools=[search_tool(searches)] if agent.tools else None,
            middleware=[
                Participant(agent.name, invocation_id, client, searches, self.discussion, put, self._parts.watch)
            ],
            require_per_service_call_history_persistence=pattern is Pattern.HANDOFF,
        )


def _as_team(agents: Agents) -> Agents:
    """The team as it works: one alone has nobody to talk with or hand over to."""
    if len(agents.agents) > 1:
        return agents
    return agents.model_copy(update={"team": Team(pattern=Pattern.SEQUENTIAL)})


def _description(agent: AgentDefinition) -> str:
    """What the others are told of an agent that they may hand over to: how its instructions begin."""
    first, _, _ = agent.instructions.partition("\n\n")
    return f"Hand over to {agent.name}, whose instructions begin: {first[:300]}"
