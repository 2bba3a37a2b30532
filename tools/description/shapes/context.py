"""Types of what comes with an answer in several protocols."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from tools.description.shapes.parts import ErrorCode, FilterOffsets, FilterResults


class SourceImage(TypedDict):
    """A page of a source as the model was shown it."""

    detail: Literal["auto"]
    url: Annotated[str, Field(description="The image, as a data URL.")]


class DataPoints(TypedDict):
    """What the answer is made from."""

    text: list[Annotated[str, Field(description="A source, as 'sourcepage: text'.")]]
    citations: list[Annotated[str, Field(description="A source's name, as the answer cites it.")]]
    images: NotRequired[list[SourceImage | Annotated[str, Field(description="The image, as a data URL.")]]]


class ThoughtStep(TypedDict):
    """A step on the way to the answer."""

    title: Annotated[str, Field(description="The step's name.")]
    description: Annotated[Any, Field(description="Its input or output.")]
    props: Annotated[dict[str, Any] | None, Field(description="Its details.")]


class TokenUsage(TypedDict):
    """Tokens that the model counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class _Sources(TypedDict, total=False):
    """The context without its thoughts and the end of the answer."""

    data_points: DataPoints
    followup_questions: Annotated[list[str], Field(description="What to ask next, if the request asks for it.")]
    agent: Annotated[str, Field(description="In a team's answer: the agent whose message this is.")]
    answer_id: Annotated[str, Field(description="The id of the answer, for `POST /feedback`.")]
    error: ErrorCode


type Unsupported = Annotated[bool, Field(description="True if no source that was found supports the answer.")]


class _End(TypedDict, total=False):
    """How the answer ended."""

    finish_reason: Annotated[str, Field(description="Why the answer ended: stop, length or content_filter.")]
    model: Annotated[str, Field(description="The model that answered.")]
    usage: TokenUsage
    total_usage: TokenUsage
    prompt_filter_results: FilterResults
    content_filter_results: FilterResults
    content_filter_offsets: FilterOffsets
    unsupported: Unsupported


class RetrievedContext(_Sources, total=False):
    """The part of the context that protocols with metadata of their own use too."""

    thoughts: list[ThoughtStep]


class Context(RetrievedContext, _End, total=False):
    """Where the answer comes from. In a stream its keys come in several records; a later one replaces an earlier."""


class ShownContext(_Sources, _End, total=False):
    """The same, with the thoughts as HTML, which the web component puts into its page."""

    thoughts: Annotated[str, Field(description="The steps on the way to the answer, as HTML.")]
