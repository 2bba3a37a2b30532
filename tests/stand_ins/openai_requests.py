"""The bodies that OpenAI's REST API accepts, as far as chat and embeddings go, and its words for those it refuses.

Source: OpenAI API reference, 'Create chat completion' and 'Create embeddings'.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

type Parameters = dict[str, object]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FunctionCall(Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    arguments: str


class ToolCallInput(Strict):
    id: str
    type: Literal["function"]
    function: FunctionCall


class TextPart(Strict):
    type: Literal["text"]
    text: str = Field(min_length=1)


class ImageUrl(Strict):
    url: str = Field(pattern=r"^(https?://|data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$)")
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(Strict):
    type: Literal["image_url"]
    image_url: ImageUrl


type ContentPart = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class InstructingMessage(Strict):
    role: Literal["system", "developer"]
    content: str
    name: str | None = None


class UserMessage(Strict):
    role: Literal["user"]
    content: str | Annotated[list[ContentPart], Field(min_length=1)]
    name: str | None = None


class AssistantMessage(Strict):
    role: Literal["assistant"]
    content: str | None = None
    tool_calls: Annotated[list[ToolCallInput], Field(min_length=1)] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    """Of services that stream thoughts under this name, and want them back with a call."""


class ToolMessage(Strict):
    role: Literal["tool"]
    content: str
    tool_call_id: str


class Function(Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str = ""
    parameters: Parameters = Field(default_factory=dict[str, object])
    strict: bool | None = None


class ToolInput(Strict):
    type: Literal["function"]
    function: Function


class NamedSchema(Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    json_schema: Parameters = Field(alias="schema")
    strict: bool | None = None
    description: str | None = None


class ResponseFormat(Strict):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None


class StreamOptions(Strict):
    include_usage: bool = False


type AnyMessage = Annotated[
    InstructingMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]


class ChatBody(Strict):
    model: str
    messages: Annotated[list[AnyMessage], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: int | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    tools: Annotated[list[ToolInput], Field(min_length=1)] | None = None
    tool_choice: Literal["auto", "none", "required"] | Parameters | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None


class EmbeddingsBody(Strict):
    model: str
    input: (
        Annotated[str, Field(min_length=1)]
        | Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=2048)]
    )
    encoding_format: Literal["float"] = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None


def text_of(message: AnyMessage) -> str:
    """What a message says in words."""
    if isinstance(message.content, list):
        return "\n".join(part.text for part in message.content if isinstance(part, TextPart))
    return message.content or ""


class Refusal(Exception):
    """A request that the service answers with an error."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}


def read_body[Body: BaseModel](kind: type[Body], raw: bytes) -> Body:
    """Parse a body.

    Raises:
        Refusal: 400, naming the parameter.
    """
    try:
        return kind.model_validate_json(raw)
    except ValidationError as invalid:
        problem = invalid.errors()[0]
        path = [str(part) for part in problem["loc"]]
        if problem["type"] == "json_invalid":
            raise Refusal(400, "We could not parse the JSON body of your request.") from None
        if problem["type"] == "extra_forbidden":
            name = ".".join(path)
            raise Refusal(400, f"Unrecognized request argument supplied: {name}", param=name) from None
        raise Refusal(400, f"Invalid '{'.'.join(path)}': {problem['msg']}", param=path[0] if path else None) from None


def check_reasoning(body: ChatBody, *, model_reasons: bool) -> None:
    """Check what reasoning models, and only they, take (OpenAI guide, 'Reasoning models').

    As models since gpt-5.6 do, it takes tools only without thinking.

    Raises:
        Refusal: 400, naming the parameter.
    """
    if not model_reasons:
        if body.reasoning_effort:
            raise Refusal(400, "Unrecognized request argument supplied: reasoning_effort")  # that is all there is
        return
    if body.max_tokens is not None:
        message = "Unsupported parameter: 'max_tokens' is not supported with this model."
        raise Refusal(400, message, param="max_tokens", code="unsupported_parameter")
    if body.temperature not in (None, 1):
        message = f"Unsupported value: 'temperature' does not support {body.temperature} with this model."
        raise Refusal(400, message, param="temperature", code="unsupported_value")
    if body.tools and body.reasoning_effort != "none":
        message = (
            f"Function tools with reasoning_effort are not supported for {body.model} in /v1/chat/completions. To use "
            "function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        raise Refusal(400, message, param="reasoning_effort")


_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
"""Parameters that are allowed only beside `tools`."""


def check_chat(body: ChatBody) -> None:
    """Check what concerns several parameters at once.

    Raises:
        Refusal: 400, naming the parameter.
    """
    if body.stream_options and not body.stream:
        raise Refusal(400, "'stream_options' needs 'stream'.", param="stream_options")
    if not body.tools and (name := next((key for key in _WITH_TOOLS if getattr(body, key) is not None), None)):
        raise Refusal(400, f"'{name}' needs 'tools'.", param=name)
    _check_form(body)
    open_calls: set[str] = set()
    for place, message in enumerate(body.messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise Refusal(400, "A 'tool' message must follow the 'tool_calls' it answers.", param="messages")
            open_calls.discard(message.tool_call_id)
            continue
        if open_calls:
            raise Refusal(400, "'tool_calls' must be followed by a 'tool' message for each.", param="messages")
        if isinstance(message, AssistantMessage):
            if message.content is None and not message.tool_calls:
                raise Refusal(400, f"messages.{place}.content must not be null.", param="messages")
            open_calls = {call.id for call in message.tool_calls or ()}
    if open_calls:
        raise Refusal(400, "'tool_calls' must be followed by a 'tool' message for each.", param="messages")


def _check_form(body: ChatBody) -> None:
    is_any = body.response_format and body.response_format.type == "json_object"
    if is_any and not any("json" in text_of(message).lower() for message in body.messages):
        raise Refusal(400, "'messages' must contain the word 'json' in some form.", param="messages")
