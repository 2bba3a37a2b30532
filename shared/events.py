"""The typed events of a turn: the only data that the guard, the recorder, the traces and the encoders read.

The order is: one `Retrieved`, one `CompletionStarted`, `ReasoningDelta`s, then `TextDelta`s with `FilterAnnotation`s
and `ThoughtsAdded` among them, one `ToolsCalled` if the model calls tools of the caller, then one `Finished`. A team's
turn is one `CompletionStarted`, one `AgentMessage` when an agent is done, then one `Finished`. `ToolStarted` and
`ToolEnded` come among them for each call of a server's tool. A turn that pauses until a person agrees ends with one
`ConsentAsked` and a `Finished`. A turn that fails raises an exception, of which `RunningTurn` makes one last `Failed`.
`AgentWork` comes anywhere before the last event, and only if the request asks for it (`show_progress`).
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from shared.chat_types import ImagePart, Json, Passage, ToolCall
from shared.errors import SwitchboardError


class DataPoint(msgspec.Struct, frozen=True):
    """A source as clients show it."""

    sourcepage: str
    """The name that an answer cites."""
    text: str
    """The text, with its lines."""
    section: str = ""
    """The title of its document and the headings above it."""
    sensitivity: str = ""
    """The name of its document's sensitivity label; empty: none is known."""

    @classmethod
    def of(cls, passage: Passage) -> "DataPoint":
        """Make the data point of a passage."""
        return cls(passage.sourcepage, passage.whole, " > ".join(passage.path), passage.sensitivity)

    @property
    def line(self) -> str:
        """`sourcepage: text` on one line, as protocols write it; never parse it, a name may hold a colon too."""
        return f"{self.sourcepage}: {' '.join(self.text.split())}"


class Thought(msgspec.Struct, frozen=True):
    """A step of the turn, for a debug display (rag-chat-http-protocol, 'thoughts')."""

    title: str
    """Name of the step, such as 'Original user query'."""
    description: Json
    """The input or the result of the step."""
    props: dict[str, Json] | None = None
    """Options and details of the step."""
    quotes: tuple[DataPoint, ...] = ()
    """The sources whose text it shows. The guard withholds it when it withholds one of them."""
    degraded: Literal["history", "search"] | None = None
    """The part that the turn had to do without, if this step reports that; `search` means search by vectors."""


class Usage(msgspec.Struct, frozen=True):
    """Tokens of a model call."""

    prompt_tokens: int
    """Tokens read."""
    completion_tokens: int
    """Tokens written."""
    reasoning_tokens: int = 0
    """Those of them that the model thought."""

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    @staticmethod
    def total(*usages: "Usage | None") -> "Usage | None":
        """Add up the tokens of several model calls; None if none were counted."""
        counted = [usage for usage in usages if usage]
        if not counted:
            return None
        return Usage(
            prompt_tokens=sum(usage.prompt_tokens for usage in counted),
            completion_tokens=sum(usage.completion_tokens for usage in counted),
            reasoning_tokens=sum(usage.reasoning_tokens for usage in counted),
        )


class SourceImage(msgspec.Struct, frozen=True):
    """An image of sources, such as their page. The guard withholds it when it withholds one of its data points."""

    data_points: tuple[DataPoint, ...]
    """The sources on it."""
    image: ImagePart
    """The image."""


class Retrieved(msgspec.Struct, frozen=True):
    """The sources and the steps so far; the first event of a turn. A later `Retrieved` replaces the earlier one."""

    data_points: tuple[DataPoint, ...]
    """The sources."""
    thoughts: tuple[Thought, ...]
    """The steps so far."""
    tool_inputs: tuple[str, ...] = ()
    """What a model wrote into calls of tools, such as the search query: the guard checks it like its text."""
    images: tuple[SourceImage, ...] = ()
    """Images of the sources that the model was given."""
    prompt_version: str = ""
    """The version of the system prompt, see `core.prompts.version_of`; empty: not told."""


class CompletionStarted(msgspec.Struct, frozen=True):
    """The model has started: the metadata of the answer (OpenAI API reference, 'chat completion')."""

    id: str
    """The id that the service gave the answer."""
    created: int
    """Start time in Unix seconds."""
    model: str
    """The model's name, as its service gives it."""
    system_fingerprint: str | None = None
    """The service's fingerprint of its configuration, if it sends one."""
    prompt_filter_results: Json = None
    """Results of Azure's content filter for the prompt, unchanged."""
    address: str = ""
    """URL of the endpoint that answers, for traces; empty: not known."""


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str
    """Never empty."""


class ToolsCalled(msgspec.Struct, frozen=True):
    """The model calls tools that the caller brought and answers itself: all calls of the turn, after its text."""

    calls: tuple[ToolCall, ...]
    """The calls, at least one; their ids are unique since the question, and their arguments are JSON objects."""


class ServerCall(msgspec.Struct, frozen=True):
    """A call of a server's tool."""

    call_id: str
    """Id of the call; no other call of the chat has it."""
    agent: str
    """Name of the agent that calls."""
    server: str
    """Name of the tool's server or API in the agents file."""
    tool: str
    """The tool's name there."""
    arguments: str
    """All arguments, as canonical JSON: a model wrote them."""


class ToolStarted(ServerCall, frozen=True):
    """A call of a server's tool begins. `search` has none: its wires have thoughts and sources."""


class ToolEnded(ServerCall, frozen=True):
    """A call of a server's tool has ended, or a person has decided that it does not run."""

    text: str
    """What the model is told."""
    status: Literal["done", "failed", "denied", "expired", "unknown"]
    """`failed`: the tool says so. `unknown`: the process died while it ran, and it was not run again."""
    milliseconds: float = 0
    """How long it took; 0 if it did not run."""
    approval_id: str = ""
    """Id of the approval that was decided; empty: it needed none."""


class OpenCall(msgspec.Struct, frozen=True):
    """A call that waits for a person's consent."""

    approval_id: str
    """Its id: 32 hexadecimal digits."""
    code: str
    """A short name for it in a phrase such as `approve K7QX`; unique among what its owner has open."""
    call_id: str
    """Id of the call."""
    agent: str
    """Name of the agent that wants to call."""
    server: str
    """Name of the tool's server or API in the agents file."""
    tool: str
    """The tool's name there."""
    description: str
    """What the tool does, by its definition."""
    arguments: str
    """All arguments, as canonical JSON."""
    expires: float
    """When it can no longer be decided, in Unix seconds."""
    origins: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Where values of arguments come from that the user has not written, by their keys; see `Toolbox.origins`."""


class ConsentAsked(msgspec.Struct, frozen=True):
    """The turn pauses: none of these calls has run. `Finished` comes next, with the reason `consent`."""

    calls: tuple[OpenCall, ...]
    """The calls, at least one."""


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of what a model thinks before it answers. It is no part of the answer."""

    text: str
    """Never empty."""


class FilterAnnotation(msgspec.Struct, frozen=True):
    """Results of Azure's filter for the pieces of text that follow, or for a part that has already been sent."""

    content_filter_results: Json
    """Results by category, unchanged."""
    content_filter_offsets: Json
    """Of the asynchronous filter, the part: `check_offset`, `start_offset` and `end_offset` in characters, unchanged.
    None: the pieces that follow, until other results come."""


class ThoughtsAdded(msgspec.Struct, frozen=True):
    """Steps that are known only after the text."""

    thoughts: tuple[Thought, ...]
    """The new steps."""
    unseen: str = ""
    """What they show of a model's words that no other event has: the guard checks it like the text."""


class Finished(msgspec.Struct, frozen=True):
    """The answer is complete; the last event of a successful turn."""

    reason: str
    """The model's finish reason: `stop`, `length` or `content_filter`, or `tool_calls` after `ToolsCalled`, or
    `consent` after `ConsentAsked`."""
    usage: Usage | None = None
    """Tokens; None if the service does not count them."""
    content_filter_results: Json = None
    """Results of Azure's content filter for the answer, unchanged."""
    followup_questions: tuple[str, ...] | None = None
    """Follow-up questions; None if the request does not ask for them."""
    prompt_filter_results: Json = None
    """Filter results for the prompt, if they were not known when the answer started."""
    is_unsupported: bool = False
    """Whether nothing that was found supports the answer, as far as its figures and words tell."""
    ended: int = 0
    """When the turn ended, in Unix seconds; `RunningTurn` sets it, so that each reader is told the same."""


class AgentMessage(msgspec.Struct, frozen=True):
    """The whole message of one agent of a team, or its error."""

    agent: str
    """Name of the agent."""
    position: int
    """Position among the messages of the whole answer, from 0."""
    text: str
    """The text; if the agent failed, the error message for the caller."""
    completion: CompletionStarted | None = None
    """Metadata of the model's answer; None if the model never started."""
    finished: Finished | None = None
    """Finish reason and tokens; None if the agent failed."""
    error: SwitchboardError | None = None
    """The error, if the agent failed."""
    data_points: tuple[DataPoint, ...] = ()
    """The sources that it found or cites."""
    thoughts: tuple[Thought, ...] = ()
    """The agent's steps, such as its searches."""
    tool_inputs: tuple[str, ...] = ()
    """What its model wrote into calls of tools, such as search queries: the guard checks it like the text."""
    reasoning: str = ""
    """What its model thought, which is one of the thoughts too: the guard checks it like the text."""
    total_usage: Usage | None = None
    """On the last message of an answer: the tokens of all agents together."""


class Failed(msgspec.Struct, frozen=True):
    """The turn failed; the last event."""

    error: SwitchboardError
    """The error for the caller."""
    invocation_id: str
    """Invocation id, to find the log entry."""


class AgentWork(msgspec.Struct, frozen=True):
    """What an agent does now, for whoever waits for its answer. Nothing else may depend on it."""

    agent: str
    """Name of the agent."""
    state: Literal["waiting", "thinking", "searching", "calling", "writing", "handed_over", "done", "failed"]
    """`waiting`: for its turn, or for a free model call. `thinking`: its model is asked, and writes no text yet."""
    query: str | None = None
    """With `searching`: what it searches for; None if that is not cleared."""
    tool: str | None = None
    """With `calling`: name of the tool."""
    to: str | None = None
    """With `handed_over`: the agent that goes on."""
    usage: Usage | None = None
    """When the message is complete: the tokens of all its model calls."""
    milliseconds: float | None = None
    """When the message is complete: how long it took."""
    error: str | None = None
    """With `failed`: the error's code."""


type ChatEvent = (
    Retrieved
    | CompletionStarted
    | ReasoningDelta
    | TextDelta
    | ToolsCalled
    | ToolStarted
    | ToolEnded
    | ConsentAsked
    | FilterAnnotation
    | ThoughtsAdded
    | AgentMessage
    | AgentWork
    | Finished
    | Failed
)
