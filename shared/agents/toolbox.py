"""The tools of an agent, as functions of Agent Framework, and what their calls found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import agent_framework as af
import msgspec
from agent_framework import MiddlewareFailure

from shared.agents.lane import Lane
from shared.chat_types import Json, Passage
from shared.core.sources import source_text
from shared.events import Thought
from shared.tools import Tool, ToolContext, ToolResult, WrongArguments
from shared.tools.table import TOOLS


@dataclass(slots=True, eq=False)
class _Call:
    tool: Tool
    input: str
    """The search query, or else all arguments: a model wrote them."""
    result: ToolResult | None = None


class Toolbox:
    """The tools of one agent in one turn, and what they found.

    Args:
        names: Of the tools.
        context: What the tools can use.
        lane: Told of each call.
    """

    def __init__(self, names: Sequence[str], context: ToolContext, lane: Lane) -> None:
        self._tools = {name: TOOLS[name] for name in names}
        self._context = context
        self._lane = lane
        self._passages: dict[str, Passage] = {}
        self._rarities: dict[str, float] = {}
        self._calls: list[_Call] = []

    def begin(self) -> None:
        """Begin a new message: keep the passages that were found, forget the calls of earlier messages."""
        self._calls = []

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All passages that were found in this turn, each once."""
        return tuple(self._passages.values())

    @property
    def rarities(self) -> dict[str, float]:
        """Inverse document frequencies of the words that were searched for in this turn, as in `SearchResult`."""
        return dict(self._rarities)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of the calls for this message, such as search queries."""
        return tuple(call.input for call in self._calls)

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """Thoughts that tell of the calls for this message."""
        return tuple(thought for call in self._calls if call.result for thought in _thoughts(call, call.result))

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

        told = tool.definition
        return af.FunctionTool(name=told.name, description=told.description, func=run, input_model=told.parameters)

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
            call.result = await tool.call(arguments, self._context)
        except WrongArguments as wrong:
            self._calls.remove(call)
            return f"Error: {wrong}"
        self._rarities |= call.result.rarities
        self._passages.update({passage.id: passage for passage in call.result.passages})
        return call.result.text


def _thoughts(call: _Call, result: ToolResult) -> tuple[Thought, ...]:
    return result.thoughts or (Thought(f"Tool: {call.tool.definition.name}", call.input),)


def cause_of(error: Exception) -> Exception:
    """The error that an agent failed with, taken out of the exception that carried it through the framework."""
    return error.__cause__ if isinstance(error, MiddlewareFailure) and isinstance(error.__cause__, Exception) else error
