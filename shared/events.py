"""The typed events that a turn consists of; everything after the turn reads these and nothing else.

The order is: one `Retrieved`, one `CompletionStarted`, then `TextDelta`s, `ThoughtsAdded` where there is
reason, then one `Finished`. A turn that fails raises; the outer edge makes one `Failed` of it.
"""

from dataclasses import dataclass

from shared.chat_types import Json
from shared.errors import SwitchboardError


@dataclass(frozen=True, slots=True)
class Thought:
    """A step of the turn, for a debug display (rag-chat-http-protocol, 'thoughts')."""

    title: str
    """The step's name, such as 'Original user query'."""
    description: Json
    """What it took or gave."""
    props: dict[str, Json] | None = None
    """Details of how."""


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


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the answer is made from; the first event of a turn."""

    data_points: tuple[str, ...]
    """Each source as `sourcepage: text`."""
    thoughts: tuple[Thought, ...]
    """The steps so far."""


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


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended early; the last event."""

    error: SwitchboardError
    """What the caller is told."""
    invocation_id: str
    """Finds the log entry."""


type ChatEvent = Retrieved | CompletionStarted | TextDelta | ThoughtsAdded | Finished | Failed
