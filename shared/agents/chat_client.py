"""Chat client for Agent Framework that calls our `ChatModel`, so that agents can use every model of ours.

The framework sees only what agents say. The user's conversation, with files and images, is a single message to the
framework, and is replaced by the real messages here. To an agent's model its own messages have the role `assistant`.
Messages of other agents have the role `user` and the author's name: otherwise the model would take them for its own,
and go on writing the last one instead of answering it.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from copy import replace
from dataclasses import dataclass, field
from typing import Any, assert_never, cast
from uuid import uuid4

import agent_framework as af
from agent_framework import BaseChatClient, ChatMiddlewareLayer, FunctionInvocationLayer
from agent_framework.observability import disable_instrumentation
from opentelemetry import metrics

from shared.agents.definitions import AgentDefinition
from shared.agents.lane import Lane
from shared.agents.toolbox import Toolbox
from shared.chat_models import ChatModel, ModelEvent, ModelFinished, ModelRequest, ModelText, ToolDefinition
from shared.chat_types import ChatRequest, Json, Message, RequestContext, Role, ToolCall
from shared.core import prompts
from shared.core.callers_tools import LONGEST_ID, is_object
from shared.errors import Unavailable
from shared.events import CompletionStarted, FilterAnnotation, ReasoningDelta, Usage

# Errors of the framework reach us as exceptions, and we log those that are faults.
logging.getLogger("agent_framework").setLevel(logging.CRITICAL)
# Switch off the framework's traces and metrics, whatever its environment variables say: they can carry what users said.
disable_instrumentation()
# The framework creates meters all the same, some in each turn, and OpenTelemetry keeps every meter until a provider is
# set, so that memory would grow. This provider keeps none. A provider that the host has set before stays.
metrics.set_meter_provider(metrics.NoOpMeterProvider())

HANDOFF = "handoff_to_"
"""Start of the names that the framework gives to its functions for handing over to another agent."""
_MOST_ROUNDS = 6
"""Rounds of function calls for one message; then the model has to answer with what it has."""
_LONGEST_NAME = 64
"""Characters of a function's name that services accept."""


@dataclass(slots=True)
class AgentOutput:
    """What an agent says for one message, over all calls of its model; filled while it works."""

    completion: CompletionStarted | None = None
    """Id and model of the last call."""
    finished: ModelFinished | None = None
    """End of the last call; None while a call runs."""
    usage: Usage | None = None
    """Tokens of all calls together."""
    texts: list[str] = field(default_factory=list[str])
    """The text of each call that has ended."""
    pieces: list[str] = field(default_factory=list[str])
    """Text received so far from the current model call."""
    reasoning: list[str] = field(default_factory=list[str])
    """Reasoning of the model in all calls, in pieces."""
    is_cut_off: bool = False
    """Whether the agent's time was over before its text was complete."""
    is_waiting: bool = False
    """Whether the agent waits until other agents' model calls end."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n\n".join(text for part in self.texts if (text := part.strip()))

    def cut_off(self) -> None:
        """End the text here, without an unfinished citation; later events of the model are ignored."""
        text, self.pieces = "".join(self.pieces), []
        if text.rfind("[") > text.rfind("]"):
            text = text[: text.rfind("[")]
        self.texts.append(text)
        self.is_cut_off = True
        self.finished = ModelFinished("length", None)


@dataclass(frozen=True, slots=True)
class Calls:
    """What all model calls of one agent in one turn have in common."""

    model: ChatModel
    """The model that answers."""
    context: RequestContext
    """The request's context, with the deadline of the agents."""
    request: ModelRequest
    """Template of each call: its `messages` are the user's conversation, without instructions."""
    toolbox: Toolbox
    """The agent's tools in this turn."""
    slots: asyncio.Semaphore
    """Limits how many model calls of the turn run at the same time."""
    lane: Lane
    """Reports what the agent does."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of the other agents, by the names that the framework uses for them."""


def agent_request(
    agent: AgentDefinition, request: ChatRequest, conversation: tuple[Message, ...], *, want_followups: bool = False
) -> ModelRequest:
    """Template for each model call of an agent. The agent's own temperature has priority over the request's.

    Its `tools` are the caller's; those of the agent come with each call.
    """
    made = prompts.model_request(request, conversation, want_followups=want_followups)
    temperature = made.temperature if agent.temperature is None else agent.temperature
    return replace(made, temperature=temperature, model=agent.model)


class AgentChatClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """The model of one agent in one turn."""

    def __init__(self, calls: Calls, hear: Callable[[ModelEvent], Awaitable[None]] | None = None) -> None:
        """Make the client; `hear` is called with each event of the model as it comes."""
        super().__init__(
            function_invocation_configuration={"max_iterations": _MOST_ROUNDS, "include_detailed_errors": True}
        )
        self.calls = calls
        self._hear = hear
        self._beside: dict[str, dict[str, Json]] = {}
        self.output = AgentOutput()
        """Output of the current message. The caller sets a new one for each message."""
        self.most_words: int | None = None
        """Number of words that the agent has time for; None: no limit is known."""
        self.may_hand_over = True
        """Whether the model is offered the functions for handing over, in a team that has them."""

    def name_of(self, framework_name: str) -> str | None:
        """Name of another agent, found by the framework's name for it; None if there is no such agent."""
        return self.calls.names.get(framework_name)

    def _inner_get_response(
        self, *, messages: Sequence[af.Message], stream: bool, options: Mapping[str, Any], **_: object
    ) -> Awaitable[af.ChatResponse]:
        if stream:
            raise NotImplementedError
        return self._response(messages, options)

    async def _response(self, messages: Sequence[af.Message], options: Mapping[str, Any]) -> af.ChatResponse:
        gate = self.calls.toolbox.gate
        request = replace(
            self.calls.request,
            place=gate.next_round(),
            messages=self._prompt(messages, options.get("instructions")),
            sources=self.calls.toolbox.passages,
            rarities=dict(self.calls.toolbox.rarities),
            foreign=self.calls.toolbox.foreign,
            tools=self._tools(options),
        )
        output = self.output
        output.is_waiting = True
        if self.calls.slots.locked():
            await self.calls.lane.tell("waiting")
        async with self.calls.slots:
            output.is_waiting = False
            await self.calls.lane.tell("thinking")
            text, calls = await self._call(request)
        callers = {tool.name for tool in self.calls.request.tools}
        if any(call.name in callers for call in calls):
            calls = []  # the turn ends with those of the caller's tools: after their results the model can call its own
        contents = [af.Content.from_text(text)] if text else []
        # A model that was offered no tools may call some all the same. Such calls are left out: nothing would answer
        # them, and services refuse a conversation with a call that has no result.
        if request.tools:
            asked = [*_repeatable(calls)]
            self._beside |= {one.id: call.beside for one, call in zip(asked, calls, strict=True)}
            await gate.enter(asked)
            contents += [af.Content.from_function_call(call.id, call.name, arguments=call.arguments) for call in asked]
        return af.ChatResponse(messages=[af.Message("assistant", contents)])

    async def _call(self, request: ModelRequest) -> tuple[str, list[ToolCall]]:
        """Call the model once; return its text, and the functions that it wants called."""
        output = self.output
        calls: list[ToolCall] = []
        output.finished, output.pieces = None, []
        async with aclosing(self.calls.model.stream(request, self.calls.context)) as events:
            async for event in events:
                if isinstance(event, ToolCall):
                    calls.append(event)
                await self._take_down(event)
                if self._hear:
                    await self._hear(event)
        if output.finished is None:
            raise Unavailable("The model's service cut its answer off. Try again.")
        text, output.pieces = "".join(output.pieces), []
        output.texts.append(text)
        return text, calls

    async def _take_down(self, event: ModelEvent) -> None:
        """Record an event of the model in the current message."""
        output = self.output
        match event:
            case ModelText():
                if not output.pieces:
                    await self.calls.lane.tell("writing")
                output.pieces.append(event.text)
            case ReasoningDelta():
                output.reasoning.append(event.text)
            case CompletionStarted():
                output.completion = event
            case ModelFinished():
                output.finished = event
                output.usage = Usage.total(output.usage, event.usage)
            case ToolCall() | FilterAnnotation():
                pass  # `ModelFinished` has the filter results
            case _:
                assert_never(event)

    def _prompt(self, messages: Sequence[af.Message], instructions: str | None) -> tuple[Message, ...]:
        if instructions and self.most_words is not None:
            instructions = f"{instructions}\n\n{prompts.PROMPTS['brevity'].format(words=self.most_words)}"
        prompt = [Message(Role.SYSTEM, instructions)] if instructions else []
        for message in messages:
            if message.role == "user":
                prompt.extend(self.calls.request.messages)
            elif message.role == "tool":
                prompt.extend(_results(message))
            elif author := self.name_of(message.author_name or ""):
                prompt.append(Message(Role.USER, message.text, author=author))
            elif message.contents:
                prompt.append(
                    Message(Role.ASSISTANT, message.text, tool_calls=tuple(self._tool_calls(message.contents)))
                )
        return tuple(prompt)

    def _tool_calls(self, contents: Iterable[af.Content]) -> Iterator[ToolCall]:
        for content in contents:
            if content.type == "function_call":
                beside = self._beside.get(content.call_id or "", {})
                yield ToolCall(content.call_id or "", content.name or "", str(content.arguments or "{}"), beside)

    def _tools(self, options: Mapping[str, Any]) -> tuple[ToolDefinition, ...]:
        """The functions that the model may call: the agent's and the caller's; only the caller's if it must call."""
        callers = self.calls.request.tools
        if options.get("tool_choice") == "none" or self.calls.request.tool_choice.must_call:
            return callers
        offered = cast("Sequence[af.FunctionTool]", options.get("tools") or ())
        own = (
            ToolDefinition(tool.name, tool.description, tool.parameters(), query=self.calls.toolbox.query_of(tool.name))
            for tool in offered
            if self.may_hand_over or not tool.name.startswith(HANDOFF)
        )
        return (*own, *callers)


def _results(message: af.Message) -> Iterator[Message]:
    for content in message.contents:
        if content.type == "function_result":
            yield Message(Role.TOOL, str(content.result or ""), tool_call_id=content.call_id)


def _repeatable(calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """The calls of one round, in a form that services accept in the next request.

    They refuse a conversation with broken arguments, a dot in a name, an id that is too long, or an id that is there
    twice.
    """
    ids: set[str] = set()
    for call in calls:
        is_own = call.id not in ids and 0 < len(call.id) <= LONGEST_ID
        call_id = call.id if is_own else uuid4().hex
        ids.add(call_id)
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:_LONGEST_NAME]
        # Without any arguments the framework tells the model what is missing.
        yield ToolCall(call_id, name, call.arguments if is_object(call.arguments) else "{}")
