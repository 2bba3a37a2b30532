"""Tools that agents can call: what a tool is. `table` lists them by name, and each has a module of its own here.

Nothing here knows the framework that runs the agents: `agents.toolbox` makes its functions of tools.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from shared.chat_models import ToolDefinition
from shared.chat_types import ChatRequest, Json, Passage, RequestContext
from shared.events import Thought
from shared.retrieval import Retriever


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool can use for a call."""

    request: ChatRequest
    """The user's request, with its overrides."""
    context: RequestContext
    """The request's deadline and the caller's rights."""
    retriever: Retriever
    """Finds passages of the documents."""
    source_tokens: int
    """Tokens of sources that an answer is made of."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of one call."""

    text: str
    """The result, for the model to read."""
    passages: tuple[Passage, ...] = ()
    """Passages of the documents in it: they become sources of the agent's message."""
    rarities: Mapping[str, float] = field(default_factory=dict[str, float])
    """Inverse document frequencies of the words that were searched for, as in `SearchResult`."""
    thoughts: tuple[Thought, ...] = ()
    """Steps of the call for a debug display; empty: one thought with the tool's name and the arguments."""


class WrongArguments(Exception):
    """What is wrong with the arguments of a call, as a sentence for the model, which can call again."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that an agent can call."""

    definition: ToolDefinition
    """Its name, and what the model has to know to call it."""
    call: Callable[[Mapping[str, Json], ToolContext], Awaitable[ToolResult]]
    """Runs one call, with arguments whose names and types fit the definition.

    Raises `WrongArguments` for others that make no sense. Any other exception ends the agent's message: an error of
    `shared.errors` is shown to the caller, and what else is raised is logged as a fault.
    """
    instructions: str = ""
    """Text for the system prompt of agents that have the tool; empty: the description says all."""
    most_calls: int = 20
    """Calls for one message, at most."""
