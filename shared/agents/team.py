"""A team's answer to one request (DESIGN, 'Multi-agent')."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from copy import replace
from itertools import chain
from typing import Any
from uuid import uuid4

import agent_framework as af
import agent_framework_orchestrations as orchestrations

from shared import events
from shared.agents import AgentParts, run_as_task
from shared.agents.chat_client import AgentChatClient, Calls, agent_request
from shared.agents.definitions import AgentDefinition, Agents, Pattern, Team
from shared.agents.gate import CallServices
from shared.agents.instructions import team_instructions
from shared.agents.lane import Lane
from shared.agents.participant import Participant
from shared.agents.toolbox import Toolbox, call_services, tools_of
from shared.agents.transcript import TeamTranscript
from shared.chat_models import Room
from shared.chat_types import ChatRequest, RequestContext
from shared.citations import citable_in
from shared.core import callers_tools, context_window, prompts
from shared.core.links import KnownLinks
from shared.tools import Tool, ToolContext

_MARGIN_SECONDS = 1.0
_MARGIN_SHARE = 0.1
"""The agents have to be done this long before the turn's deadline: the seconds, or this share of the time that is left
if that is less. So their messages still go out in time."""


async def run_team(
    request: ChatRequest, context: RequestContext, parts: AgentParts
) -> AsyncGenerator[events.ChatEvent]:
    """Answer the request with all agents, by the pattern of their team.

    Yields:
        `CompletionStarted`, an `AgentMessage` as soon as an agent is done, `Finished`; and an `AgentWork` whenever an
        agent begins something else, if the request asks for it. With a call that a person has to agree to,
        `ConsentAsked` before `Finished`.

    Raises:
        SwitchboardError: every agent failed; this is the first one's error.
    """
    yield events.CompletionStarted(id=f"team-{uuid4().hex}", created=int(time.time()), model="team")
    agents = _as_team(parts.agents, request.overrides.team_pattern)
    tools = {agent.name: await tools_of(agent, request, context, parts) for agent in agents.agents}
    turn = _TeamTurn(request, context, replace(parts, agents=agents), tools, await parts.model.room())
    said: list[events.AgentMessage] = []
    async with aclosing(run_as_task(turn.run)) as messages:
        async for message in messages:
            yield message
            if not isinstance(message, events.AgentMessage):
                continue
            said.append(message)
            if turn.transcript.is_over and len(said) == len(turn.transcript.said):
                break
    if opened := tuple(turn.transcript.opened):
        yield events.ConsentAsked(opened)
        yield events.Finished("consent", turn.transcript.usage)
        return
    errors = [message.error for message in said if message.error]
    if errors and len(errors) == len(said):
        raise errors[0]
    yield events.Finished("stop", turn.transcript.usage)


type _Put = Callable[[events.AgentMessage | events.AgentWork | events.ToolStarted | events.ToolEnded], Awaitable[None]]


class _TeamTurn:
    """One team at work on one request."""

    def __init__(
        self,
        request: ChatRequest,
        context: RequestContext,
        parts: AgentParts,
        tools: Mapping[str, Sequence[Tool]],
        room: Room,
    ) -> None:
        now = asyncio.get_running_loop().time()
        margin = min(_MARGIN_SECONDS, _MARGIN_SHARE * (context.deadline - now))
        self._request = request
        self._context = replace(context, deadline=context.deadline - margin)
        self._parts = parts
        self._tools = tools
        self._source_tokens = room.sources
        self._agents = parts.agents
        self._names = _framework_names(self._agents.team.pattern, [agent.name for agent in self._agents.agents])
        self._conversation = (*context_window.history_of(request, room.history), request.messages[-1])
        self._slots = asyncio.Semaphore(parts.concurrent_calls)
        citable = citable_in(self._conversation)
        told = [agent.instructions for agent in self._agents.agents]
        links = KnownLinks(request, context, lambda: self.transcript.found, *told)
        asked = () if callers_tools.brings_tools(request) or not parts.model.takes_tools else self._conversation
        self.transcript = TeamTranscript(
            self._agents, self._context.deadline, citable, links, context.invocation_id, asked
        )
        """The messages of the turn so far."""

    async def run(self, put: _Put) -> None:
        """Let the agents answer, and hand over their messages.

        Raises:
            RuntimeError: the framework ended its workflow before the team was done.
        """
        report = put if self._request.overrides.show_progress else None
        lanes = [Lane(agent.name, report) for agent in self._agents.agents]
        for lane in lanes:
            await lane.tell("waiting")
        services = call_services(self._parts, [*chain(*self._tools.values())], self._context, put)
        members = [
            self._member(agent, lane, put, services) for agent, lane in zip(self._agents.agents, lanes, strict=True)
        ]
        workflow = _workflow_of(self._agents.team.pattern, members, lambda: self.transcript.ends)
        await workflow.run(af.Message("user", [self._request.question]))
        if not self.transcript.ends:
            raise RuntimeError("the workflow ended, and the team's turn did not")

    def _member(self, agent: AgentDefinition, lane: Lane, put: _Put, services: CallServices) -> af.Agent[Any]:
        used = ToolContext(self._request, self._context, self._parts.retriever, self._source_tokens)
        toolbox = Toolbox(agent.name, self._tools[agent.name], used, lane, services)
        pattern = self._agents.team.pattern
        client = AgentChatClient(
            Calls(
                model=self._parts.model,
                context=self._context,
                request=agent_request(agent, self._request, self._conversation),
                toolbox=toolbox,
                slots=self._slots,
                lane=lane,
                names={called: name for name, called in self._names.items() if name != agent.name},
            )
        )
        instructions = team_instructions(
            agent,
            self._tools[agent.name],
            self._agents,
            self._request,
            attached=prompts.has_attachments(self._conversation),
        )
        return af.Agent(
            client,
            instructions,
            name=self._names[agent.name],
            description=_description(agent),
            tools=toolbox.functions(),
            middleware=[Participant(agent.name, client, self.transcript, put, self._parts.watch)],
            require_per_service_call_history_persistence=pattern is Pattern.HANDOFF,
        )


def _as_team(agents: Agents, pattern: str | None) -> Agents:
    """The team with the pattern that is asked for and fits its size: one agent cannot take turns or hand over."""
    if len(agents.agents) == 1:
        return agents.model_copy(update={"team": Team(pattern=Pattern.SEQUENTIAL)})
    if pattern is None:
        return agents
    return agents.model_copy(update={"team": agents.team.model_copy(update={"pattern": Pattern(pattern)})})


def _description(agent: AgentDefinition) -> str:
    """Description of an agent for others that may hand over to it: the beginning of its instructions."""
    first, _, _ = agent.instructions.partition("\n\n")
    return f"Hand over to {agent.name}, whose instructions begin: {first[:300]}"


def _framework_names(pattern: Pattern, names: Sequence[str]) -> dict[str, str]:
    """Names of the agents in the framework's workflow, by their own names.

    They have a prefix, so that none is the name of one of the framework's own executors. In a handoff the names become
    parts of function names, from which the framework drops all letters but a to z. So if a name has other letters, each
    agent's number stands in front.
    """
    if pattern is not Pattern.HANDOFF:
        return {name: f"agent {name}" for name in names}
    if all(name.isascii() for name in names):
        return {name: name for name in names}
    return {name: f"{place} {name}" for place, name in enumerate(names, 1)}


def _workflow_of(pattern: Pattern, agents: Sequence[af.Agent[Any]], is_over: Callable[[], bool]) -> af.Workflow:
    """Build the framework's workflow for a team; it serves one request. `is_over` ends those that have no end."""
    match pattern:
        case Pattern.CONCURRENT:
            concurrent = orchestrations.ConcurrentBuilder(participants=agents)
            return concurrent.with_aggregator(_nothing_more).build()
        case Pattern.SEQUENTIAL:
            return orchestrations.SequentialBuilder(participants=agents).build()
        case Pattern.GROUP_CHAT:
            return orchestrations.GroupChatBuilder(
                participants=agents, selection_func=_in_turns, termination_condition=lambda _: is_over()
            ).build()
        case Pattern.HANDOFF:
            handoff = orchestrations.HandoffBuilder(participants=agents, termination_condition=lambda _: is_over())
            return handoff.with_start_agent(agents[0]).build()


async def _nothing_more(_: list[af.AgentExecutorResponse]) -> None:
    """Ignore the collected messages: each was sent as soon as its agent was done."""


def _in_turns(state: orchestrations.GroupChatState) -> str:
    names = [*state.participants]
    return names[state.current_round % len(names)]
