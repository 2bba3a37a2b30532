"""What is kept of a turn's calls, so that none runs twice, and none runs that a person has not agreed to."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from shared.chat_types import Json
from shared.errors import NotFound
from shared.events import OpenCall
from shared.tools import Tool, ToolResult

type CallState = Literal[
    "open", "claimed", "executing", "executed", "failed", "denied", "expired", "abandoned", "unknown", "not_run"
]
"""`open`: waits for a person. `claimed`: a person has agreed. `executing`: runs, or its process has ended meanwhile.
The others are ends. `unknown`: it may have run. `not_run`: a person has agreed, and it did not run all the same."""


class Place(NamedTuple):
    """Where in a turn a call is: the same when the turn runs again."""

    agent: str
    """Name of the agent that calls."""
    round: int
    """Number of its model's call in the turn, from 1."""
    position: int
    """Position among the calls of one message of the model, from 0."""


class KeptCall(msgspec.Struct, frozen=True):
    """A call as it is kept."""

    call_id: str
    """Its id in events."""
    agent: str
    """Name of the agent that calls."""
    server: str
    """Name of the tool's server; empty: it is built in."""
    tool: str
    """The tool's name there."""
    arguments: str
    """Canonical JSON of the arguments."""
    state: CallState
    """State of the call."""
    digest: str = ""
    """SHA-256 of the tool's definition when the model made the call."""
    description: str = ""
    """What the tool does, for the person who decides."""
    approval_id: str = ""
    """Id of its approval; empty: it needs none."""
    code: str = ""
    """Short name of the approval."""
    expires: float = 0
    """When it can no longer be decided, in Unix seconds."""
    origins: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Where values of arguments come from, as `OpenCall` has it."""
    decided_by: str = ""
    """Id of the person who has decided."""
    reason: str = ""
    """Reason of a refusal, for the model to read."""
    result: ToolResult | None = None
    """Result of the call; None: there is none yet."""

    def is_same(self, tool: Tool, arguments: str) -> bool:
        """Whether a call of the same place is this one."""
        return (self.server, self.tool, self.arguments) == (tool.server, tool.own_name, arguments)

    @property
    def opened(self) -> OpenCall:
        """The call as a person is shown it."""
        return OpenCall(*(getattr(self, name) for name in OpenCall.__struct_fields__))


class CallBook(Protocol):
    """Keeps the calls of one turn. Every method raises `Unavailable` or `TooSlow` if it cannot."""

    @property
    def asks(self) -> bool:
        """Whether a person can be asked for consent."""
        ...

    @property
    def expires(self) -> float:
        """Time until which a call that is made now can be decided, in Unix seconds."""
        ...

    async def find(self, place: Place) -> KeptCall | None:
        """Return the call of a place; None: none is kept."""
        ...

    async def put(self, place: Place, call: KeptCall) -> None:
        """Keep a call in place of the version that was found, before anything else is done.

        Raises:
            Conflict: somebody else has changed it.
        """
        ...

    def call_id(self, place: Place) -> str:
        """Return the id of a call in events: always the same for a place."""
        ...

    async def left(self) -> Sequence[KeptCall]:
        """Return the calls that a person agreed to and that have not run."""
        ...

    async def new_code(self) -> str:
        """Make a short name that no other open call of the same owner has."""
        ...


def canonical(arguments: Mapping[str, Json]) -> str:
    """Write arguments as canonical JSON: sorted keys, no spaces."""
    return msgspec.json.encode(arguments, order="sorted").decode()


def no_such_approval() -> NotFound:
    """Make the error for an approval that the caller may not see, whatever the reason."""
    return NotFound("There is no such approval, or it is not yours to see.")
