"""The typed events that a turn consists of; everything after the turn reads these and nothing else.

The order is: one `Retrieved`, one `CompletionStarted`, then `TextDelta`s, `FilterAnnotation`s and `ThoughtsAdded` where
there is reason, then one `Finished`. A team's turn is one `CompletionStarted`, an `AgentMessage` each time that an
agent is done, then one `Finished`. A turn that fails raises; the outer edge makes one `Failed` of it.
"""

from dataclasses import dataclass
from typing import Literal

from shared.chat_types import ImagePart, Json, Passage
from shared.errors import SwitchboardError


@dataclass(frozen=True, slots=True)
class DataPoint:
    """A source as clients show it."""

    sourcepage: str
    """The name that an answer cites."""
    text: str
    """The text on one line."""

    @classmethod
    def of(cls, passage: Passage) -> "DataPoint":
        """Make the data point of a passage."""
        return cls(passage.sourcepage, " ".join(passage.content.split()))

    @property
    def line(self) -> str:
        """`sourcepage: text`, as protocols and prompts write it; never parse it, a name may hold a colon too."""
        return f"{self.sourcepage}: {self.text}"


@dataclass(frozen=True, slots=True)
class Thought:
    """A step of the turn, for a debug display (rag-chat-http-protocol, 'thoughts')."""

    title: str
    """The step's name, such as 'Original user query'."""
    description: Json
    """What it took or gave."""
    props: dict[str, Json] | None = None
    """Details of how."""
    quotes: tuple[DataPoint, ...] = ()
    """The sources whose text it shows. The guard withholds it when it withholds one of them."""
    degraded: Literal["history", "search"] | None = None
    """The part that the turn had to do without, if this step reports that; `search` means search by vectors."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the model counted."""

    prompt_tokens: int
    """What was read."""
    completion_tokens: int
    """What was written."""

    @property
    def total_tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens

    @staticmethod
    def total(*usages: "Usage | None") -> "Usage | None":
        """What several model calls cost together; None when none was counted."""
        counted = [usage for usage in usages if usage]
        if not counted:
            return None
        return Usage(
            prompt_tokens=sum(usage.prompt_tokens for usage in counted),
            completion_tokens=sum(usage.completion_tokens for usage in counted),
        )


@dataclass(frozen=True, slots=True)
class SourceImage:
    """An image of sources, such as their page. The guard withholds it when it withholds one of its data points."""

    data_points: tuple[DataPoint, ...]
    """The sources on it."""
    image: ImagePart
    """What it looks like."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the answer is made from; the first event of a turn. A later one has more, and replaces it."""

    data_points: tuple[DataPoint, ...]
    """The sources."""
    thoughts: tuple[Thought, ...]
    """The steps so far."""
    generated_query: str | None = None
    """The search query, if a model wrote it: it has to be cleared like what else a model writes."""
    images: tuple[SourceImage, ...] = ()
    """What a model that sees was shown of the sources."""


@dataclass(frozen=True, slots=True)
class CompletionStarted:
    """The model has begun: what its service says of the whole answer (OpenAI API reference, 'chat completion')."""

    id: str
    """The service's id of the answer."""
    created: int
    """When it began, in Unix seconds."""
    model: str
    """The model that answers, by the name its service gives."""
    system_fingerprint: str | None = None
    """The backend's configuration, where the service tells."""
    prompt_filter_results: Json = None
    """What Azure's content filter found in the prompt, as it came."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str
    """Never empty."""


@dataclass(frozen=True, slots=True)
class FilterAnnotation:
    """What Azure's asynchronous filter found in a part of the answer that has gone out already."""

    content_filter_results: Json
    """By category, as it came."""
    content_filter_offsets: Json
    """Which part: `check_offset`, `start_offset` and `end_offset` in characters, as they came."""


@dataclass(frozen=True, slots=True)
class ThoughtsAdded:
    """Steps that are known only after the text."""

    thoughts: tuple[Thought, ...]
    """The new ones."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete; the last event of a turn that went well."""

    reason: str
    """The model's: `stop`, `length`, `content_filter`."""
    usage: Usage | None = None
    """None where the service does not count."""
    content_filter_results: Json = None
    """What Azure's content filter found in the answer, as it came."""
    followup_questions: tuple[str, ...] | None = None
    """None where none were asked for."""
    prompt_filter_results: Json = None
    """What was found in the prompt, where that was not known when the answer began."""


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """What one agent of a team said, whole, or why it could not."""

    agent: str
    """The agent's name."""
    position: int
    """Its place among the messages of the whole answer, from 0."""
    text: str
    """What it said; of one that failed, the sentence for the caller."""
    completion: CompletionStarted | None = None
    """What the model's service said of it; None if the model never began."""
    finished: Finished | None = None
    """How it ended and what it cost; None if it failed."""
    error: SwitchboardError | None = None
    """Why it failed."""
    data_points: tuple[DataPoint, ...] = ()
    """The sources that it found or cites."""
    thoughts: tuple[Thought, ...] = ()
    """Its searches, and what else is worth showing."""
    generated_queries: tuple[str, ...] = ()
    """What its model searched for: to be cleared like the text."""
    total_usage: Usage | None = None
    """On the last one of an answer: what all cost together."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended early; the last event."""

    error: SwitchboardError
    """What the caller is told."""
    invocation_id: str
    """Finds the log entry."""


type ChatEvent = (
    Retrieved | CompletionStarted | TextDelta | FilterAnnotation | ThoughtsAdded | AgentMessage | Finished | Failed
)
