"""The tools of an agent, as functions of Agent Framework, and what their calls found."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import agent_framework as af
import msgspec
from agent_framework import MiddlewareFailure

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition
from shared.agents.gate import CallServices, Gate
from shared.agents.lane import Lane
from shared.chat_types import ChatRequest, Json, Passage, RequestContext, Role, as_data
from shared.core.sources import source_text
from shared.events import Thought, ToolEnded, ToolStarted
from shared.tools import Tool, ToolContext, ToolResult, WrongArguments
from shared.tools.table import TOOLS

_SHORTEST_TOLD = 4
"""Characters of a value of which is told where it comes from; shorter ones are in any text."""
_MOST_COMPARED = 30_000_000
"""Characters that the values of a call are compared with, each value for itself; of an argument at least one is."""
_call_id = ContextVar[str]("call_id")
"""Id of the call that a function runs for, which the framework gives to no function."""


async def tools_of(
    agent: AgentDefinition, request: ChatRequest, context: RequestContext, parts: AgentParts
) -> list[Tool]:
    """Return the tools of an agent: those that are built in, and those that servers offer now."""
    built_in = [TOOLS[name] for name in dict.fromkeys(agent.tools) if name in TOOLS]
    patterns = [name for name in agent.tools if name not in TOOLS]
    if not (patterns and parts.tool_servers):
        return built_in
    return [*built_in, *await parts.tool_servers.tools_for(patterns, context, request)]


def call_services(
    parts: AgentParts,
    tools: Sequence[Tool],
    context: RequestContext,
    tell: Callable[[ToolStarted | ToolEnded], Awaitable[None]],
) -> CallServices:
    """Return what the calls of a turn use. If all tools are built in, no call is stored."""
    book = parts.book if any(tool.server for tool in tools) else None
    return CallServices(tell, book, parts.clear, context.meter, parts.watch_call, parts.screen)


@dataclass(slots=True, eq=False)
class _Call:
    tool: Tool
    input: str
    """The search query, or else all arguments: a model wrote them."""
    result: ToolResult | None = None


class Toolbox:
    """The tools of one agent in one turn, and what they found.

    Args:
        agent: Name of the agent.
        tools: Its tools.
        context: What the tools can use.
        lane: Reports each call.
        services: What the calls of the turn use.
    """

    def __init__(
        self, agent: str, tools: Sequence[Tool], context: ToolContext, lane: Lane, services: CallServices
    ) -> None:
        self._tools = {tool.definition.name: tool for tool in tools}
        self.gate = Gate(agent, self._tools, services, self.origins)
        """Runs its calls."""
        self._context = context
        self._lane = lane
        self._read = services.read
        self._passages: dict[str, Passage] = {}
        self.rarities: dict[str, float] = {}
        """Inverse document frequencies of the words that were searched for in this turn, as in `SearchResult`."""
        self._calls: list[_Call] = []

    @property
    def done(self) -> list[str]:
        """Sentences on what came of the calls for this message that a person agreed to, in their order."""
        return self.gate.outcomes

    def begin(self) -> None:
        """Begin a new message: keep the passages that were found, forget the calls of earlier messages."""
        self._calls, self.gate.outcomes = [], []

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All passages that were found in this turn, each once."""
        return tuple(self._passages.values())

    @property
    def foreign(self) -> str | None:
        """The language of a query for this message whose words can hardly be found, as in `SearchResult`."""
        return next((call.result.foreign for call in self._calls if call.result and call.result.foreign), None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of the calls for this message, such as search queries."""
        return tuple(call.input for call in self._calls)

    @property
    def results(self) -> int:
        """Number of the calls for this message that have ended."""
        return sum(call.result is not None for call in self._calls)

    @property
    def has_only_searched(self) -> bool:
        """Whether there were calls for this message, and each was a search of the documents."""
        return bool(self._calls) and all(call.tool.definition.query and not call.tool.server for call in self._calls)

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """Thoughts that describe the calls for this message."""
        ended = ((call, call.result) for call in self._calls if call.result)
        named = (result.thoughts or (Thought(f"Tool: {call.tool.title}", call.input),) for call, result in ended)
        return tuple(chain.from_iterable(named))

    def origins(self, arguments: Mapping[str, Json]) -> dict[str, str]:
        """Tell where a call's arguments come from: a person who agrees sees what a document or a tool has put in.

        Returns:
            By the keys of arguments, the source, file or tool that has a value word for word, where no message of the
            user has it. In a team another agent may have read it.
        """
        request = self._context.request
        said = "\n".join(message.content for message in request.messages if message.role is Role.USER).casefold()
        files = [(file.name, file.text) for message in request.messages for file in message.files]
        texts = [(name, text.casefold()) for name, text in (*self._read, *files)]
        size = len(said) + sum(len(text) for _, text in texts)
        most = max(_MOST_COMPARED // max(size * len(arguments), 1), 1)
        found: dict[str, str] = {}
        for key, argument in arguments.items():
            for value in islice(dict.fromkeys(map(str.casefold, _values(argument))), most):
                if len(value) >= _SHORTEST_TOLD and value not in said:
                    found |= dict[str, str]([(key, name) for name, text in texts if value in text][:1])
        return found

    def lines(self) -> str:
        """All passages as a text for a model; empty if there are none."""
        return "\n".join(map(source_text, self._passages.values()))

    def query_of(self, name: str) -> str | None:
        """Name of the argument with which a tool takes a search query; None if it takes none."""
        tool = self._tools.get(name)
        return tool.definition.query if tool else None

    def functions(self) -> list[af.FunctionTool]:
        """Make the functions that the model calls. A failed call ends the agent's message."""
        return [self._function(tool) for tool in self._tools.values()]

    def _function(self, tool: Tool) -> af.FunctionTool:
        async def run(**arguments: Json) -> str:
            try:
                return await self._run(tool, arguments)
            except Exception as error:
                # Of any other exception the framework would make a text for the model, and go on.
                raise MiddlewareFailure("A tool failed.") from error

        described = tool.definition
        return _ToolFunction(
            name=described.name, description=described.description, func=run, input_model=described.parameters
        )

    async def _run(self, tool: Tool, arguments: Mapping[str, Json]) -> str:
        """Run one call, and return a text for the model: the result, or what is wrong with the call."""
        name, query = tool.definition.name, tool.definition.query
        if sum(call.tool is tool for call in self._calls) >= tool.most_calls:
            return f"Error: too many calls of {name}. Answer with what you have."
        call = _Call(tool, str(arguments[query]).strip() if query else msgspec.json.encode(arguments).decode())
        self._calls.append(call)
        if query:
            await self._lane.tell("searching", query=call.input)
        else:
            await self._lane.tell("calling", tool=name)
        try:
            call.result = await self.gate.run(
                _call_id.get(), tool, arguments, lambda: tool.call(arguments, self._context)
            )
        except WrongArguments as wrong:
            self._calls.remove(call)
            return f"Error: {wrong}"
        self.rarities |= call.result.rarities
        self._passages.update({passage.id: passage for passage in call.result.passages})
        self._read += [(passage.sourcepage, passage.whole) for passage in call.result.passages]
        if tool.server:
            self._read.append((tool.title, call.result.text))
        return as_data("result", call.result.text) if tool.server else call.result.text


def _values(argument: Json) -> Iterator[str]:
    """Yield the texts and numbers in an argument."""
    match argument:
        case dict():
            for item in argument.values():
                yield from _values(item)
        case list():
            for item in argument:
                yield from _values(item)
        case bool() | None:
            pass
        case _:
            yield str(argument).strip()


class _ToolFunction(af.FunctionTool):
    """A function that finds out which call it runs for."""

    async def invoke(self, *, tool_call_id: str | None = None, **options: Any) -> Any:  # noqa: ANN401 (as the base class)
        _call_id.set(tool_call_id or "")
        return await super().invoke(tool_call_id=tool_call_id, **options)


def cause_of(error: Exception) -> Exception:
    """The error that an agent failed with, taken out of the exception that carried it through the framework."""
    return error.__cause__ if isinstance(error, MiddlewareFailure) and isinstance(error.__cause__, Exception) else error
