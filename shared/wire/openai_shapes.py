"""The types of the JSON that `openai` writes, for the OpenAPI document."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.context import FilterResults, Thought, Usage


class OpenaiUrlCitation(TypedDict):
    """A source that the text names."""

    url: str
    title: str
    start_index: Annotated[int, Field(description="Where its name in brackets begins in the text, in characters.")]
    end_index: Annotated[int, Field(description="Where that ends.")]


class OpenaiAnnotation(TypedDict):
    """A place in the text that names a source."""

    type: Literal["url_citation"]
    url_citation: OpenaiUrlCitation


class OpenaiCitation(TypedDict):
    """A source that was found."""

    content: str
    title: str
    url: str
    filepath: str
    chunk_id: Annotated[str, Field(description="Its number among the sources, from 0.")]


class OpenaiContext(TypedDict, total=False):
    """Where the answer comes from."""

    citations: list[OpenaiCitation]
    intent: Annotated[str, Field(description="The search queries, as JSON.")]
    followup_questions: Annotated[list[str], Field(description="What to ask next, if the request asks for it.")]
    thoughts: Annotated[list[Thought], Field(description="The steps, if the request has a `context`.")]


class OpenaiFunctionCall(TypedDict):
    """What is called."""

    name: str
    arguments: Annotated[str, Field(description="The arguments, a JSON object.")]


class OpenaiToolCall(TypedDict):
    """A call of a tool of the request, which the caller answers with a message of the role `tool`."""

    id: str
    type: Literal["function"]
    function: OpenaiFunctionCall


class OpenaiAnswerMessage(TypedDict):
    """The answer's text."""

    role: Literal["assistant"]
    content: Annotated[str | None, Field(description="The text; null if there are calls of tools alone.")]
    refusal: None
    reasoning_content: NotRequired[Annotated[str, Field(description="What the model thought before.")]]
    tool_calls: NotRequired[list[OpenaiToolCall]]
    annotations: list[OpenaiAnnotation]
    context: OpenaiContext


class OpenaiChoice(TypedDict):
    """The answer. There is one choice."""

    index: int
    message: OpenaiAnswerMessage
    finish_reason: str
    logprobs: None
    content_filter_results: NotRequired[FilterResults]


class OpenaiCompletion(TypedDict):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[OpenaiChoice]
    usage: NotRequired[Usage]
    prompt_filter_results: NotRequired[FilterResults]


class OpenaiErrorObject(TypedDict):
    """What went wrong."""

    message: Annotated[str, Field(description="What the caller can do, and the invocation id for the logs.")]
    type: str
    param: Annotated[str | None, Field(description="The key of the request that is wrong, if it is one.")]
    code: str
    innererror: NotRequired[dict[str, Any]]


class OpenaiError(TypedDict):
    """An error."""

    error: OpenaiErrorObject
