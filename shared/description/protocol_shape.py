"""What there is to say of a protocol's shape, and the schemas that several of them use."""

from dataclasses import dataclass, field

from shared.chat_types import Json
from shared.description.schemas import (
    ANYTHING,
    INTEGER,
    STRING,
    Schema,
    any_of,
    constant,
    described,
    list_of,
    nullable,
    record,
    ref,
)

QUESTION: dict[str, Json] = {
    "messages": [{"role": "user", "content": "What does the Standard plan pay for dental care?"}]
}
"""The example of a request."""

FILTER_RESULTS = described(ANYTHING, "What a content filter found, in the shape of Azure OpenAI's.")
FILTER_OFFSETS = described(ANYTHING, "In a stream: which part of the text a filter found it in, as Azure OpenAI says.")
STATE = described(ANYTHING, "The client's own memory, as it sent it.")

SHARED: dict[str, Schema] = {
    "Thought": record(
        {
            "title": described(STRING, "The step's name."),
            "description": described(ANYTHING, "What it took or gave."),
            "props": described(nullable({"type": "object"}), "Details of how."),
        },
        description="A step on the way to the answer.",
    ),
    "SourceImage": record(
        {"detail": constant("auto"), "url": described(STRING, "The image, as a data URL.")},
        description="What the model was shown of a source, such as its page.",
    ),
    "Usage": record(
        {"prompt_tokens": INTEGER, "completion_tokens": INTEGER, "total_tokens": INTEGER},
        description="Tokens that the model counted.",
    ),
    "Context": record(
        {},
        {
            "data_points": record(
                {
                    "text": list_of(described(STRING, "A source, as 'sourcepage: text'.")),
                    "citations": list_of(described(STRING, "A source's name, as the answer cites it.")),
                },
                {"images": list_of(ref("SourceImage"))},
                description="What the answer is made from.",
            ),
            "thoughts": list_of(ref("Thought")),
            "followup_questions": described(list_of(STRING), "What to ask next, if that was asked for."),
            "finish_reason": described(STRING, "Why the answer ended: stop, length or content_filter."),
            "model": described(STRING, "The model that answered."),
            "usage": ref("Usage"),
            "agent": described(STRING, "In a team's answer: which agent said it."),
            "error": ref("ErrorCode"),
            "total_usage": ref("Usage"),
            "prompt_filter_results": FILTER_RESULTS,
            "content_filter_results": FILTER_RESULTS,
            "content_filter_offsets": FILTER_OFFSETS,
        },
        "Where the answer comes from. In a stream its keys come in several records; a later one replaces.",
    ),
    "ErrorText": record({"error": described(STRING, "What the caller can do, and the invocation id for the logs.")}),
}
"""Schemas that several protocols and routes use."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One protocol."""

    name: str
    """What its schemas' names begin with."""
    answer: Schema
    """A whole answer."""
    record: Schema
    """A record of a stream that is no error."""
    agent: Schema | None = None
    """What one agent of a team says, whole and streamed; None: as a whole answer, and as records of a stream."""
    error: str = "ErrorText"
    """The name of its error's schema."""
    own: dict[str, Schema] = field(default_factory=dict[str, Schema])
    """Schemas that only it uses, by name."""
    reads: dict[str, Schema] = field(default_factory=dict[str, Schema])
    """What a request may have beyond the body that all share."""
    message: Schema | None = None
    """A second way to write a message in a request."""
    streams_on_demand: bool = False
    """Whether `stream` in the body asks for a stream."""
    example: dict[str, Json] = field(default_factory=lambda: QUESTION)
    """A request; on a bare route it is inferred to be this protocol's, if any body is."""

    def schemas(self) -> dict[str, Schema]:
        """All that it adds to the document but the request, by name."""
        line = any_of([self.record, ref(self.error)])
        message = ref(f"{self.name}AgentMessage" if self.agent else f"{self.name}Answer")
        return {
            **self.own,
            f"{self.name}Answer": self.answer,
            f"{self.name}Record": line,
            f"{self.name}TeamAnswer": list_of(message),
            f"{self.name}TeamRecord": any_of([message, ref(self.error)]) if self.agent else ref(f"{self.name}Record"),
            **({f"{self.name}AgentMessage": self.agent} if self.agent else {}),
        }
