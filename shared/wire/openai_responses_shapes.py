"""The types of the JSON that `openai-responses` writes, for the OpenAPI document."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.context import FilterResults
from shared.wire.openai_parts import OpenaiContext


class OpenaiResponsesCitation(TypedDict):
    """A place in the text that names a source."""

    type: Literal["url_citation"]
    url: str
    title: str
    start_index: Annotated[int, Field(description="Where the source's name in brackets begins, in characters.")]
    end_index: Annotated[int, Field(description="Where that ends.")]


class OpenaiOutputText(TypedDict):
    """The text of a message."""

    type: Literal["output_text"]
    text: str
    annotations: list[OpenaiResponsesCitation]
    logprobs: Annotated[list[str], Field(max_length=0)]


class OpenaiOutputMessage(TypedDict):
    """A message of the answer. A team's answer has one for each agent."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    status: Literal["in_progress", "completed", "incomplete"]
    content: list[OpenaiOutputText]


class OpenaiFunctionCallItem(TypedDict):
    """A call of a tool of the request, which the caller answers with a `function_call_output`."""

    id: str
    type: Literal["function_call"]
    status: Literal["in_progress", "completed"]
    call_id: str
    name: str
    arguments: Annotated[str, Field(description="The arguments, a JSON object.")]


class OpenaiSummaryText(TypedDict):
    """A text of what the model thought."""

    type: Literal["summary_text"]
    text: str


class OpenaiReasoning(TypedDict):
    """What the model thought, before the message."""

    id: str
    type: Literal["reasoning"]
    summary: list[OpenaiSummaryText]


class OpenaiMcpCall(TypedDict):
    """A call of a tool of an MCP server or an API, which the app has run itself."""

    id: str
    type: Literal["mcp_call"]
    status: Literal["in_progress", "completed", "failed"]
    server_label: Annotated[str, Field(description="The tool's server.")]
    name: Annotated[str, Field(description="The tool's name there.")]
    arguments: Annotated[str, Field(description="The arguments, a JSON object.")]
    output: str | None
    error: Annotated[str | None, Field(description="What went wrong, or why it was not run.")]
    approval_request_id: Annotated[str | None, Field(description="The question for consent that was answered.")]


class OpenaiMcpApprovalRequest(TypedDict):
    """A question for consent to a call, which the caller answers with an `mcp_approval_response`."""

    id: str
    type: Literal["mcp_approval_request"]
    server_label: str
    name: str
    arguments: Annotated[str, Field(description="All arguments, a JSON object.")]


type OpenaiOutputItem = (
    OpenaiReasoning | OpenaiOutputMessage | OpenaiFunctionCallItem | OpenaiMcpCall | OpenaiMcpApprovalRequest
)


class OpenaiIncomplete(TypedDict):
    """Why an answer is not complete."""

    reason: Literal["max_output_tokens", "content_filter"]


class OpenaiInputTokens(TypedDict):
    """What is known of the tokens read."""

    cached_tokens: Literal[0]
    cache_write_tokens: Literal[0]


class OpenaiOutputTokens(TypedDict):
    """What is known of the tokens written."""

    reasoning_tokens: Literal[0]


class OpenaiResponsesUsage(TypedDict):
    """Tokens that the model counted."""

    input_tokens: int
    input_tokens_details: OpenaiInputTokens
    output_tokens: int
    output_tokens_details: OpenaiOutputTokens
    total_tokens: int


class OpenaiResponsesContext(OpenaiContext, total=False):
    """Where the answer comes from, and what content filters found."""

    prompt_filter_results: FilterResults
    content_filter_results: FilterResults


class OpenaiFailure(TypedDict):
    """Why there is no answer."""

    code: Literal["server_error"]
    message: str


class OpenaiDeletedResponse(TypedDict):
    """A response that is gone."""

    id: str
    object: Literal["response"]
    deleted: Literal[True]


class OpenaiReasoningKeys(TypedDict):
    """How the model thought."""

    effort: Annotated[str | None, Field(description="As the request has it.")]
    summary: Annotated[str | None, Field(description="As the request has it.")]


class OpenaiResponse(TypedDict):
    """An answer, as far as it is made."""

    id: str
    object: Literal["response"]
    created_at: Annotated[int, Field(description="Unix seconds.")]
    completed_at: Annotated[int | None, Field(description="Unix seconds; null if it is not complete.")]
    status: Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
    model: str
    output: list[OpenaiOutputItem]
    error: OpenaiFailure | None
    incomplete_details: OpenaiIncomplete | None
    instructions: None
    metadata: dict[str, str]
    parallel_tool_calls: bool
    temperature: Annotated[float, Field(description="As the request has it; 1: the model's default.")]
    top_p: Literal[1]
    presence_penalty: Literal[0]
    frequency_penalty: Literal[0]
    top_logprobs: Literal[0]
    text: Annotated[dict[str, Any], Field(description="As the request has it.")]
    reasoning: OpenaiReasoningKeys
    tool_choice: Annotated[Any, Field(description="As the request has it.")]
    tools: Annotated[list[Any], Field(description="As the request has them.")]
    truncation: Literal["auto"]
    max_output_tokens: int | None
    max_tool_calls: None
    service_tier: Literal["default"]
    safety_identifier: None
    prompt_cache_key: None
    store: Annotated[bool, Field(description="Whether it is kept for a day.")]
    previous_response_id: Annotated[str | None, Field(description="The response that it goes on from.")]
    background: Annotated[bool, Field(description="Whether it was to be made in the background.")]
    usage: OpenaiResponsesUsage | None
    context: NotRequired[Annotated[OpenaiResponsesContext, Field(description="Once the answer has ended.")]]
