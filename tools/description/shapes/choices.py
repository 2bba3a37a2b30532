"""Types of answers with `choices`: the AI Chat Protocol 2024-01-28."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from tools.description.shapes.context import Context, ShownContext, TokenUsage
from tools.description.shapes.parts import FilterOffsets, FilterResults, SessionState


class ChoiceMessage(TypedDict):
    """The answer's text, in OpenAI's shape, with its context."""

    content: str
    function_call: None
    role: Literal["assistant"]
    tool_calls: None
    context: ShownContext


class ChoiceDelta(TypedDict, total=False):
    """A piece of the answer, in OpenAI's shape."""

    content: Annotated[str | None, Field(description="The next piece of the text.")]
    function_call: None
    role: Literal["assistant"]
    tool_calls: None
    context: ShownContext


class Choice(TypedDict):
    """The answer. There is one choice."""

    message: ChoiceMessage
    finish_reason: str | None
    index: int
    content_filter_results: NotRequired[FilterResults]
    context: Context
    session_state: SessionState


class ChunkChoice(TypedDict):
    """The part of the answer in one record."""

    delta: ChoiceDelta
    finish_reason: str | None
    index: int
    context: NotRequired[Context]
    session_state: NotRequired[SessionState]
    content_filter_results: NotRequired[FilterResults]
    content_filter_offsets: NotRequired[FilterOffsets]


_Created = Annotated[int, Field(description="When the model began, in Unix seconds.")]


class AiChat20240128Answer(TypedDict):
    """A whole answer."""

    choices: list[Choice]
    created: _Created
    id: str
    model: str
    system_fingerprint: str | None
    object: Literal["chat.completion"]
    prompt_filter_results: NotRequired[FilterResults]
    usage: TokenUsage | None
    total_usage: NotRequired[TokenUsage]


class AiChat20240128Chunk(TypedDict):
    """A record of a streamed answer. The model's keys are in those after its start."""

    choices: list[ChunkChoice]
    created: NotRequired[_Created]
    id: NotRequired[str]
    model: NotRequired[str]
    system_fingerprint: NotRequired[str | None]
    object: Literal["chat.completion.chunk"]
    prompt_filter_results: NotRequired[FilterResults]
    usage: NotRequired[TokenUsage]


class AiChat20240128Extras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState
    stream: Annotated[bool | None, Field(description="Whether to stream the answer.")]
