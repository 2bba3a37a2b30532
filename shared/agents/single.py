"""Single chat through one agent of the team (`CHAT_AGENT`): the same events as the turn of a model."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from copy import replace
from typing import assert_never

import agent_framework as af
from agent_framework import MiddlewareFailure

from shared import events
from shared.agents import AgentParts, run_as_task
from shared.agents.chat_client import AgentChatClient, Calls, agent_request
from shared.agents.definitions import AgentDefinition
from shared.agents.gate import Paused
from shared.agents.instructions import single_instructions
from shared.agents.lane import Lane
from shared.agents.toolbox import Toolbox, call_services, cause_of, tools_of
from shared.chat_models import ModelEvent, ModelFinished, ModelText, Room
from shared.chat_types import ChatRequest, Passage, RequestContext, ToolCall
from shared.citations import citable_in
from shared.core.answering import Answering
from shared.core.attachments import attached_thoughts
from shared.core.callers_tools import brings_tools
from shared.core.context_window import history_of
from shared.core.links import KnownLinks
from shared.core.prompts import has_attachments, today, version_of
from shared.tools import Tool, ToolContext

type _Put = Callable[
    [ModelEvent | events.Retrieved | events.AgentWork | events.ToolStarted | events.ToolEnded], Awaitable[None]
]


async def run_agent(
    request: ChatRequest, context: RequestContext, agent: AgentDefinition, parts: AgentParts
) -> AsyncGenerator[events.ChatEvent]:
    """Answer the request with one agent.

    Yields:
        `Retrieved`, again if the agent searches once more after it began to answer, `CompletionStarted`, `TextDelta`s,
        `ToolStarted` and `ToolEnded`, `ThoughtsAdded` if there is reason, `ConsentAsked` if it pauses, `Finished`.

    Raises:
        SwitchboardError: the error of the model or the retriever.
    """
    tools = await tools_of(agent, request, context, parts)
    turn = _AgentTurn(request, context, agent, parts, tools, await parts.model.room())
    known = KnownLinks(request, context, lambda: turn.toolbox.passages, agent.instructions)
    answering = Answering(request, known, turn.known, want_followups=request.overrides.suggest_followup_questions)
    async with aclosing(run_as_task(turn.run)) as said:
        async for event in said:
            if shown := answering.take(event):
                yield shown
    for event in answering.end(turn.compared()):
        if isinstance(event, events.Finished) and (done := turn.toolbox.done):  # after the text that says it: checked
            yield events.ThoughtsAdded(tuple(events.Thought("Approved call", sentence) for sentence in done))
        if turn.opened and isinstance(event, events.Finished):
            yield events.ConsentAsked(turn.opened)
        yield event


async def _before_run(_: object) -> None:
    """Send nothing: no agent works yet."""


class _AgentTurn:
    """One agent at work on one request."""

    def __init__(
        self,
        request: ChatRequest,
        context: RequestContext,
        agent: AgentDefinition,
        parts: AgentParts,
        tools: Sequence[Tool],
        room: Room,
    ) -> None:
        self._conversation = (*history_of(request, room.history), request.messages[-1], *request.steps)
        self._request = request
        self._context = context
        self._agent = agent
        self._model = parts.model
        self._watch = parts.watch
        self._book = parts.book
        self._lane = Lane(agent.name, None)
        self._callers_tools = {tool.name for tool in request.tools}
        used = ToolContext(request, context, parts.retriever, room.sources)
        self.toolbox = Toolbox(agent.name, tools, used, self._lane, call_services(parts, tools, context, self._tell))
        self.opened: tuple[events.OpenCall, ...] = ()
        """The calls that need a person's consent, if the turn pauses."""
        self._put: _Put = _before_run
        """Sends the events."""
        self._instructions = single_instructions(agent, tools, request, attached=has_attachments(self._conversation))
        self._prompt_version = version_of(self._instructions)
        self._started: events.CompletionStarted | None = None
        self._calls_told: tuple[int, int] | None = None
        """Number of tool calls and of results that the last `Retrieved` listed; None before the first."""
        self._done_told = 0
        self._calls_with_text = 0
        self._is_in_text = False

    def known(self) -> set[str]:
        """Names of the sources and files that the answer may cite."""
        return {passage.sourcepage for passage in self.toolbox.passages} | citable_in(self._conversation)

    def compared(self) -> Sequence[Passage] | None:
        """The sources that the answer is compared with; None: it did not search alone, or cites by itself."""
        is_search = self.toolbox.has_only_searched and not (brings_tools(self._request) or self._request.form)
        return self.toolbox.passages if is_search and self._model.takes_tools else None

    async def run(self, put: _Put) -> None:
        """Let the agent answer, and send its events. Errors are those of `run_agent`."""
        self._put = put
        if self._request.overrides.show_progress:
            self._lane.put = put
        self._lane.begin()
        client = AgentChatClient(
            Calls(
                model=self._model,
                context=self._context,
                request=agent_request(
                    self._agent,
                    self._request,
                    self._conversation,
                    want_followups=self._request.overrides.suggest_followup_questions,
                ),
                toolbox=self.toolbox,
                slots=asyncio.Semaphore(),
                lane=self._lane,
            ),
            hear=self._hear,
        )
        agent = af.Agent(
            client,
            f"{self._instructions}\n\n{today()}",
            name=self._agent.name,
            tools=self.toolbox.functions(),
        )
        with self._watch(self._agent.name) as tell:
            try:
                await agent.run(af.Message("user", [self._request.question]))
            except Paused as pause:
                self.opened = pause.calls
            except MiddlewareFailure as error:
                raise cause_of(error) from error
            tell(client.output.usage, None)
        await self._lane.end(client.output.usage)
        if self._book and not self.opened:
            self.toolbox.gate.tell_left(await self._book.left())
        await self._open()
        await self._tell_done()
        if finished := client.output.finished:
            reason = "consent" if self.opened else finished.reason
            await put(replace(finished, reason=reason, usage=client.output.usage))

    async def _tell(self, event: events.ToolStarted | events.ToolEnded) -> None:
        await self._open()
        await self._put(event)

    async def _hear(self, event: ModelEvent) -> None:
        match event:
            case events.CompletionStarted():
                self._started = self._started or event
                self._is_in_text = False
            case ModelText():
                await self._open()
                await self._tell_done()
                if not self._is_in_text and self._calls_with_text:
                    await self._put(ModelText("\n\n"))
                self._calls_with_text += not self._is_in_text
                self._is_in_text = True
                await self._put(event)
            case events.ReasoningDelta() | events.FilterAnnotation(content_filter_offsets=None):
                await self._open()
                await self._put(event)
            case events.FilterAnnotation():
                if self._calls_told is not None:
                    await self._put(event)
            case ToolCall():
                if event.name in self._callers_tools:
                    await self._put(event)
            case ModelFinished():
                pass  # `run` hands over the last one, which ends the answer
            case _:
                assert_never(event)

    async def _tell_done(self) -> None:
        """Say what was done before the model says anything of it: whatever it makes of that, the user has read it."""
        for sentence in self.toolbox.done[self._done_told :]:
            await self._put(ModelText(f"\n\n{sentence}" if self._calls_with_text else sentence))
            self._calls_with_text += 1
            self._is_in_text = False
        self._done_told = len(self.toolbox.done)

    async def _open(self) -> None:
        """Send `Retrieved` before the text, and again after more calls; the first time also `CompletionStarted`."""
        count = len(self.toolbox.inputs), self.toolbox.results
        if count == self._calls_told:
            return
        await self._put(self._retrieved())
        if self._calls_told is None and self._started:
            await self._put(self._started)
        self._calls_told = count

    def _retrieved(self) -> events.Retrieved:
        return events.Retrieved(
            data_points=tuple(map(events.DataPoint.of, self.toolbox.passages)),
            thoughts=(
                events.Thought("Original user query", self._request.question),
                *attached_thoughts(self._request),
                events.Thought("Agent", self._agent.name, {"version": self._prompt_version}),
                *self.toolbox.thoughts,
            ),
            tool_inputs=self.toolbox.inputs,
            prompt_version=self._prompt_version,
        )
