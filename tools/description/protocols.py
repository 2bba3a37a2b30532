"""What the documents say of each protocol: who uses it, and the types of what it reads and writes.

Add an entry to `SHAPES` for a new protocol; its own types go to a file in `shapes`, and are named here as texts.
"""

from collections.abc import Mapping
from copy import replace
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from pydantic import ConfigDict, FailFast, Field

from shared.errors import NotFound, SwitchboardError
from shared.wire.ag_ui_body import AgUiKeys
from shared.wire.azure_openai import AzureOpenaiKeys
from shared.wire.chat_body import LONGEST_CONVERSATION, ContextBody
from shared.wire.openai_body import OpenaiKeys
from shared.wire.openai_responses_body import OpenaiResponsesKeys
from tools.description.described import Kind

_CODE = Field(description="The error's code.")
type Reason = Annotated[str, Field(description="What the sentence says, where it is known by more than the code.")]
type Values = Annotated[dict[str, int | str], Field(description="The values in the sentence, by name.")]
type Wait = Annotated[int, Field(description="Seconds to wait, also where they are many.")]


class ErrorText(TypedDict):
    """An error. All but the sentence is on routes that speak no protocol."""

    error: Annotated[str, Field(description="What the caller can do, and the invocation id for the logs.")]
    code: NotRequired[Annotated[str, _CODE]]
    reason: NotRequired[Reason]
    values: NotRequired[Values]
    retry_after: NotRequired[Wait]


class CodedError(TypedDict):
    """What went wrong."""

    code: Annotated[str, _CODE]
    message: Annotated[str, Field(description="What the caller can do.")]
    reason: NotRequired[Reason]
    values: NotRequired[Values]
    retry_after: NotRequired[Wait]


class ErrorObject(TypedDict):
    """An error, which the client throws."""

    error: CodedError


class ErrorWithStatus(TypedDict):
    """An error, twice, and its status."""

    error: str
    message: str
    statusCode: int


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


class OpenaiMessage(TypedDict):
    """A message in OpenAI's shape."""

    role: Literal["user", "assistant", "system", "developer", "tool"]
    content: NotRequired[
        Annotated[
            str | list[dict[str, Any]] | None,
            Field(description="A text, or parts as OpenAI's reference describes them; files are `data:` URLs."),
        ]
    ]


class OpenaiResponsesBody(OpenaiResponsesKeys):
    """A request, for the OpenAPI document. `_messages` and others check the items."""

    model_config = ConfigDict(defer_build=True)

    input: str | Annotated[list[dict[str, Any]], FailFast(), Field(min_length=1, max_length=LONGEST_CONVERSATION)] = (
        Field(
            description="The question, or items with the question as the last message, as "
            "[OpenAI's reference](https://platform.openai.com/docs/api-reference/responses/create) describes them."
        )
    )
    context: ContextBody | None = None


def described_by(standard: str) -> object:
    """The type of JSON for which clients have types of their own.

    Args:
        standard: What describes it, as Markdown with a link.
    """
    return Annotated[dict[str, Any], Field(description=f"As {standard} describes it.")]


class Shape(msgspec.Struct, frozen=True):
    """What the documents say of a protocol.

    The types are TypedDicts with descriptions in their annotations, which pydantic converts to JSON schemas; or
    `described_by`, where clients have such types. Encoders build plain dicts, since a stream has one per token; tests
    validate every golden file against these types, or those of the clients.
    """

    title: str
    """Its name for people."""
    used_by: str
    """For the README: its clients, in Markdown."""
    answers_with: str
    """For docs/protocols.md: the form of one answer."""
    streams: str
    """For docs/protocols.md: the form of a stream."""
    answer: Kind
    """A whole answer; None: `Protocol.answer` is None too."""
    record: Kind
    """A record of a stream, other than the error."""
    agent: Kind = None
    """One agent's message in a team's answer, whole and streamed; None: the types `answer` and `record`."""
    error: type = ErrorText
    """The error, as a document or the last record of a stream."""
    reads: Kind = None
    """Keys of a request beyond those that all protocols share, as a TypedDict or a model."""
    message: Kind = None
    """A second form of a message in a request."""
    request: Kind = None
    """The model of a whole request, if it has no `messages` as those of all protocols have."""
    errors: tuple[type[SwitchboardError], ...] = ()
    """Errors that its requests may end with beyond those of all chat routes."""
    streams_on_demand: bool = False
    """Whether `stream` in a request asks for a stream."""


_AI_CHAT = Shape(
    title="AI Chat Protocol",
    used_by="[azure-search-openai-demo](docs/protocols.md#azure-search-openai-demo) from June 2024 to 9 April 2026",
    answers_with="`{message, context, session_state}`",
    streams="`{delta, context, session_state}` as NDJSON, `application/json-lines`",
    answer="AiChatAnswer",
    record="AiChatDelta",
    reads="AiChatExtras",
)
_OPENAI = Shape(
    title="OpenAI's Chat Completions",
    used_by="[OpenAI's SDKs](docs/protocols.md#openai), [LangChain](docs/clients.md#langchain), "
    "[Open WebUI](docs/clients.md#open-webui), [LibreChat](docs/clients.md#librechat), and all that takes a service "
    "with OpenAI's API",
    answers_with="`chat.completion`",
    streams="server-sent events, one `chat.completion.chunk` each, and `[DONE]`",
    answer=described_by("[OpenAI's reference](https://platform.openai.com/docs/api-reference/chat/object)"),
    record=described_by("[OpenAI's chat completions](https://platform.openai.com/docs/api-reference/chat-streaming)"),
    error=OpenaiError,
    reads=OpenaiKeys,
    message=OpenaiMessage,
    errors=(NotFound,),
    streams_on_demand=True,
)
_ON_YOUR_DATA = described_by(
    "[Azure's reference](https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data)"
)

SHAPES: Mapping[str, Shape] = {
    "ai-chat": _AI_CHAT,
    "ai-chat-2026-04": replace(
        _AI_CHAT,
        title="AI Chat Protocol as of April 2026",
        used_by="[azure-search-openai-demo](docs/protocols.md#azure-search-openai-demo) since 10 April 2026",
        answers_with="`{output_text, context, session_state}`",
        streams="`{type: response.context, context, session_state}` and `{type: response.output_text.delta, delta}` as "
        "NDJSON, `application/json-lines`",
        answer="AiChat202604Answer",
        record="ContextRecord | TextRecord",
    ),
    "ai-chat-2024-05-29": Shape(
        title="AI Chat Protocol 2024-05-29",
        used_by="Microsoft's client `@microsoft/ai-chat-protocol`, with files: images and the text of documents",
        answers_with="`{message, context, sessionState}`",
        streams="`{delta, context, sessionState}` as JSON Lines, `application/jsonl`",
        answer="AiChat20240529Answer",
        record="AiChat20240529Delta",
        error=ErrorObject,
        reads="AiChat20240529Extras",
    ),
    "ai-chat-2024-01-28": Shape(
        title="AI Chat Protocol 2024-01-28, RAG Chat Protocol",
        used_by="OpenAI-style `choices`: azure-search-openai-javascript's "
        "[web component](docs/protocols.md#azure-search-openai-javascripts-web-component), not streamed; "
        "[azure-search-openai-demo](docs/protocols.md#azure-search-openai-demo) until June 2024",
        answers_with="OpenAI-style `choices[0].message`",
        streams="`choices[0].delta` as NDJSON, `application/json-lines`",
        answer="AiChat20240128Answer",
        record="AiChat20240128Chunk",
        error=ErrorWithStatus,
        reads="AiChat20240128Extras",
        streams_on_demand=True,
    ),
    "semantic-kernel": Shape(
        title="Semantic Kernel's ChatMessageContent, for ChatUI",
        used_by="ChatUI, with several agents as it reads them; Semantic Kernel for C# and Java",
        answers_with="`[ChatMessageContent]`, C#'s keys and the flat ones",
        streams="server-sent events, one `StreamingChatMessageContent` each",
        answer="list[SemanticKernelMessage]",
        agent="SemanticKernelAgentMessage",
        record="SemanticKernelPiece | SemanticKernelMessage",
        reads="SemanticKernelExtras",
        message="ECHOED",
    ),
    "semantic-kernel-python": Shape(
        title="Semantic Kernel for Python's ChatMessageContent",
        used_by="Semantic Kernel for Python",
        answers_with="`[ChatMessageContent]`",
        streams="server-sent events, one `StreamingChatMessageContent` each",
        answer="list[SemanticKernelPythonMessage]",
        agent="SemanticKernelPythonAgentMessage",
        record="SemanticKernelPythonPiece",
        reads="SemanticKernelPythonExtras",
        message="ECHOED",
    ),
    "openai": _OPENAI,
    "azure-openai": replace(
        _OPENAI,
        title="Azure OpenAI On Your Data",
        used_by="clients of Azure OpenAI's retired [On Your Data](docs/on-your-data.md)",
        answers_with="`extensions.chat.completion`",
        streams="server-sent events, one `extensions.chat.completion.chunk` each, and `[DONE]`",
        answer=_ON_YOUR_DATA,
        record=_ON_YOUR_DATA,
        reads=AzureOpenaiKeys,
    ),
    "openai-responses": Shape(
        title="OpenAI's Responses",
        used_by="[OpenAI's SDKs](docs/protocols.md#openais-responses), "
        "[AI SDK's provider for OpenAI](docs/clients.md#ai-sdk), [LangChain](docs/clients.md#langchain)",
        answers_with="`response`",
        streams="server-sent events with names, `response.created` to `response.completed`",
        answer=described_by("[OpenAI's reference](https://platform.openai.com/docs/api-reference/responses/object)"),
        record=described_by("[OpenAI's Responses](https://platform.openai.com/docs/api-reference/responses-streaming)"),
        error=OpenaiError,
        request=OpenaiResponsesBody,
        errors=(NotFound,),
        streams_on_demand=True,
    ),
    "ag-ui": Shape(
        title="AG-UI",
        used_by="[`@ag-ui/client`](docs/protocols.md#ag-ui) 0.0.52 to 1.0, "
        "[CopilotKit and assistant-ui](docs/clients.md#assistant-ui-and-copilotkit), and other AG-UI pages",
        answers_with="always a stream",
        streams="server-sent events, one event of AG-UI 1.0 each",
        answer=None,
        record=described_by("[AG-UI 1.0](https://docs.ag-ui.com/concepts/events)"),
        error=ErrorObject,
        reads=AgUiKeys,
    ),
    "ai-sdk": Shape(
        title="The UI message stream of Vercel's AI SDK",
        used_by="[`useChat`](docs/clients.md#ai-sdk) of Vercel's AI SDK 5 to 7, AI Elements, assistant-ui",
        answers_with="always a stream",
        streams="server-sent events, one `UIMessageChunk` each, and `[DONE]`",
        answer=None,
        record=described_by("[AI SDK's UI message stream](https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol)"),
        reads="AiSdkKeys",
        message="AiSdkRequestMessage",
    ),
}
"""By the names of the protocols."""
