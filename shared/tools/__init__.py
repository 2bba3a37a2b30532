"""Tools that agents can call: what a tool is. `table` lists them by name, and each has a module of its own here.

Nothing here knows the framework that runs the agents: `agents.toolbox` makes its functions of tools.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from shared.chat_models import ToolDefinition
from shared.chat_types import ChatRequest, Json, PartHealth, Passage, RequestContext
from shared.events import Thought
from shared.retrieval import Retriever


class ToolContext(msgspec.Struct, frozen=True):
    """What a tool can use for a call."""

    request: ChatRequest
    """The user's request, with its overrides."""
    context: RequestContext
    """The request's deadline and the caller's rights."""
    retriever: Retriever
    """Finds passages of the documents."""
    source_tokens: int
    """Tokens of sources that an answer is made of."""


class ToolResult(msgspec.Struct, frozen=True):
    """Result of one call."""

    text: str
    """The result, for the model to read."""
    passages: tuple[Passage, ...] = ()
    """Passages of the documents in it: they become sources of the agent's message."""
    rarities: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    """Inverse document frequencies of the words that were searched for, as in `SearchResult`."""
    foreign: str | None = None
    """The language of the query if its words can hardly be found, as in `SearchResult`."""
    thoughts: tuple[Thought, ...] = ()
    """Steps of the call for a debug display; empty: one thought with the tool's name and the arguments."""
    is_error: bool = False
    """Whether the tool says that it failed; the text then says why, for the model."""


class WrongArguments(Exception):
    """What is wrong with the arguments of a call, as a sentence for the model, which can call again."""


class Tool(msgspec.Struct, frozen=True):
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
    server: str = ""
    """Name of its server or API in the agents file; empty: it is built in."""
    name: str = ""
    """Its name there, such as `look`; empty: that of the definition. Models see `crm_look`."""
    needs_consent: bool = False
    """Whether a person has to agree before a call runs."""
    is_repeatable: bool = True
    """Whether a call may run again when nobody knows whether it ran: it changes nothing, or the same once more."""
    digest: str = ""
    """SHA-256 of its server's definition as canonical JSON; empty: it is built in."""
    seconds: float = 30.0
    """Time limit of one call."""

    @property
    def own_name(self) -> str:
        """Its name on its server, such as `look`."""
        return self.name or self.definition.name

    @property
    def title(self) -> str:
        """Its name for people, such as `crm.look`."""
        return f"{self.server}.{self.own_name}" if self.server else self.own_name


class ToolSource(Protocol):
    """Where the tools of servers and APIs come from."""

    async def tools_for(self, patterns: Sequence[str], context: RequestContext, request: ChatRequest) -> Sequence[Tool]:
        """Return the tools that fit patterns of the agents file, such as `crm.*`; of a server that is down, none."""
        ...

    async def check(self) -> PartHealth:
        """Report what each server offers, or what is wrong with it."""
        ...
