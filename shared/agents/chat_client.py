"""Agent Framework's chat client over our `ChatModel`, so that every model of ours can be an agent's.

Only what an agent says goes through the framework. The user's conversation, with its files and images, is one message
to it, and becomes the real ones here. An agent's own messages are the assistant's to its model; those of others come
as the user's with their author, since a model must neither take them for its own nor be asked to go on after one.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, assert_never, cast
from uuid import uuid4

import agent_framework as af
import msgspec
from agent_framework import BaseChatClient, ChatMiddlewareLayer, FunctionInvocationLayer

from shared.agents.definitions import AgentDefinition
from shared.agents.metrics import no_telemetry_of_its_own
from shared.agents.searches import Searches
from shared.agents.speech import Speech
from shared.chat_models import ChatModel, ModelEvent, ModelFinished, ModelRequest, ModelText, Tool
from shared.chat_types import ChatRequest, Message, RequestContext, Role, ToolCall
from shared.errors import Unavailable
from shared.events import CompletionStarted, FilterAnnotation, Usage

logging.getLogger("agent_framework").setLevel(logging.CRITICAL)  # what fails comes to us, and we log what is a fault
no_telemetry_of_its_own()

HANDOFF = "handoff_to_"
"""How the framework begins the names of the functions that pass the user on."""
_MOST_ROUNDS = 6
"""Of calls of functions in one message; then the model has to answer with what it has."""
_LONGEST_ID = 40
"""Characters of a call's id that OpenAI takes back."""
_LONGEST_NAME = 64
"""Characters of a function's name that services take."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What all model calls of an agent in one turn have in common."""

    model: ChatModel
    """What answers."""
    context: RequestContext
    """With the agent's own deadline."""
    request: ModelRequest
    """Its `messages` are the user's conversation, without instructions."""
    searches: Searches
    """What the agent finds."""
    slots: asyncio.Semaphore
    """As many as model calls may run at the same time."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The other agents, from the framework's names to theirs."""


def model_request(
    agent: AgentDefinition, request: ChatRequest, conversation: tuple[Message, ...], *, want_followups: bool = False
) -> ModelRequest:
    """What each model call of an agent starts from. The agent's own temperature goes before the request's."""
    overrides = request.overrides
    return ModelRequest(
        messages=conversation,
        question=request.question,
        want_followups=want_followups,
        temperature=overrides.temperature if agent.temperature is None else agent.temperature,
        seed=overrides.seed,
        model=agent.model,
    )


class AgentChatClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """The model of one agent in one turn."""

    def __init__(self, calls: Calls, hear: Callable[[ModelEvent], Awaitable[None]] | None = None) -> None:
        """Make the client; `hear` takes each of the model's events as it comes."""
        super().__init__(
            function_invocation_configuration={"max_iterations": _MOST_ROUNDS, "include_detailed_errors": True}
        )
        self._calls = calls
        self._hear = hear
        self.speech = Speech()
        """What is said for the message at hand."""
        self.may_hand_over = True
        """Whether the model is offered to pass the user on, where the team does that."""

    def name_of(self, framework_name: str) -> str | None:
        """The name of another agent, of what the framework calls it."""
        return self._calls.names.get(framework_name)

    def _inner_get_response(
        self, *, messages: Sequence[af.Message], stream: bool, options: Mapping[str, Any], **_: object
    ) -> Awaitable[af.ChatResponse]:
        if stream:
            raise NotImplementedError
        return self._response(messages, options)

    async def _response(self, messages: Sequence[af.Message], options: Mapping[str, Any]) -> af.ChatResponse:
        request = replace(
            self._calls.request,
            messages=self._prompt(messages, options.get("instructions")),
            sources=self._calls.searches.passages,
            tools=self._tools(options),
        )
        speech = self.speech
        speech.is_waiting = True
        async with self._calls.slots:
            speech.is_waiting = False
            text, calls = await self._call(request)
        contents = [af.Content.from_text(text)] if text else []
        if request.tools:  # calls of a model that was offered none get no results, and would stand open for ever
            contents += _repeatable(calls)
        return af.ChatResponse(messages=[af.Message("assistant", contents)])

    async def _call(self, request: ModelRequest) -> tuple[str, list[ToolCall]]:
        """One call of the model: its text, and the functions that it wants called."""
        speech = self.speech
        texts: list[str] = []
        calls: list[ToolCall] = []
        speech.finished = None
        async with aclosing(self._calls.model.stream(request, self._calls.context)) as events:
            async for event in events:
                match event:
                    case ModelText():
                        texts.append(event.text)
                    case ToolCall():
                        calls.append(event)
                    case CompletionStarted():
                        speech.completion = event
                    case FilterAnnotation():
                        pass  # the end has what was found in all of it
                    case ModelFinished():
                        speech.finished = event
                        speech.usage = Usage.total(speech.usage, event.usage)
                    case _:
                        assert_never(event)
                if self._hear:
                    await self._hear(event)
        if speech.finished is None:
            raise Unavailable("The model's service cut its answer off. Try again.")
        text = "".join(texts)
        speech.texts.append(text)
        return text, calls

    def _prompt(self, messages: Sequence[af.Message], instructions: str | None) -> tuple[Message, ...]:
        prompt = [Message(Role.SYSTEM, instructions)] if instructions else []
        for message in messages:
            if message.role == "user":
                prompt.extend(self._calls.request.messages)
            elif message.role == "tool":
                prompt.extend(_results(message))
            elif author := self.name_of(message.author_name or ""):
                prompt.append(Message(Role.USER, message.text, author=author))
            elif message.contents:
                prompt.append(Message(Role.ASSISTANT, message.text, tool_calls=tuple(_tool_calls(message))))
        return tuple(prompt)

    def _tools(self, options: Mapping[str, Any]) -> tuple[Tool, ...]:
        if options.get("tool_choice") == "none":
            return ()
        offered = cast("Sequence[af.FunctionTool]", options.get("tools") or ())
        return tuple(
            Tool(tool.name, tool.description, tool.parameters())
            for tool in offered
            if self.may_hand_over or not tool.name.startswith(HANDOFF)
        )


def _results(message: af.Message) -> Iterator[Message]:
    for content in message.contents:
        if content.type == "function_result":
            yield Message(Role.TOOL, str(content.result or ""), tool_call_id=content.call_id)


def _tool_calls(message: af.Message) -> Iterator[ToolCall]:
    for content in message.contents:
        if content.type == "function_call":
            yield ToolCall(content.call_id or "", content.name or "", str(content.arguments or "{}"))


def _repeatable(calls: Sequence[ToolCall]) -> Iterator[af.Content]:
    """The calls of one round, as the model's next call may show them.

    Services refuse a conversation that holds broken arguments, a name with a dot in it, a long id, or one id twice.
    """
    ids: set[str] = set()
    for call in calls:
        is_own = call.id not in ids and 0 < len(call.id) <= _LONGEST_ID
        call_id = call.id if is_own else uuid4().hex
        ids.add(call_id)
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:_LONGEST_NAME]
        yield af.Content.from_function_call(call_id, name, arguments=_object(call.arguments))


def _object(arguments: str) -> str:
    """The arguments, if they are a JSON object; else an empty one, for the framework to say what is missing."""
    try:
        msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "{}"
    return arguments
