"""Types of Semantic Kernel's protocol."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.chat_body import MAX_CONVERSATION_ID
from tools.description.shapes.context import Context, Unsupported
from tools.description.shapes.parts import ErrorCode, FilterOffsets, FilterResults, SessionState


class EchoedRole(TypedDict):
    """A role as Semantic Kernel for .NET writes it."""

    Label: str


class EchoedText(TypedDict, total=False):
    """An item with a text."""

    Text: str


class EchoedMessage(TypedDict):
    """A message as Semantic Kernel for .NET writes it."""

    Role: str | EchoedRole
    Content: NotRequired[str]
    Items: NotRequired[list[EchoedText]]


class EchoedJavaMessage(TypedDict):
    """A message as Semantic Kernel for Java writes it."""

    authorRole: str
    content: str


class EchoedPythonText(TypedDict):
    """An item of a message."""

    content_type: str
    text: NotRequired[str]


class EchoedPythonMessage(TypedDict):
    """A message as Semantic Kernel for Python writes it."""

    role: str
    items: list[EchoedPythonText]


ECHOED = EchoedMessage | EchoedJavaMessage | EchoedPythonMessage

ConversationId = Annotated[str, Field(description="The conversation that this belongs to.")]

TextContent = TypedDict("TextContent", {"$type": Literal["TextContent"], "Text": str})

FunctionCallContent = TypedDict(
    "FunctionCallContent",
    {
        "$type": Literal["FunctionCallContent"],
        "Id": str,
        "PluginName": Annotated[str, Field(description="The tool's server.")],
        "FunctionName": Annotated[str, Field(description="The tool's name there.")],
        "Arguments": dict[str, Any],
    },
)

FunctionResultContent = TypedDict(
    "FunctionResultContent",
    {
        "$type": Literal["FunctionResultContent"],
        "CallId": str,
        "PluginName": str,
        "FunctionName": str,
        "Result": Annotated[str, Field(description="The result that the model was given.")],
    },
)


class AssistantLabel(TypedDict):
    """The role of an answer."""

    Label: Literal["Assistant"]


class TokenCounts(TypedDict):
    """Tokens that the model counted."""

    InputTokenCount: int
    OutputTokenCount: int
    TotalTokenCount: int


class SemanticKernelMetadata(TypedDict, total=False):
    """What the model's service said of the answer, and where the answer comes from."""

    Id: str
    CreatedAt: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    SystemFingerprint: str | None
    FinishReason: str
    Unsupported: Unsupported
    Usage: TokenCounts
    Context: Context
    authorName: Annotated[str, Field(description="In a team's answer: the agent whose message this is.")]
    error: ErrorCode
    TotalUsage: TokenCounts
    PromptFilterResults: FilterResults
    ContentFilterResults: FilterResults
    ContentFilterOffsets: FilterOffsets


class SemanticKernelContent(TypedDict):
    """The keys of every message, C#'s and the flat ones."""

    Role: AssistantLabel
    Content: str
    authorRole: Literal["ASSISTANT"]
    content: str
    toolCall: None


class SemanticKernelMessage(SemanticKernelContent):
    """A whole message."""

    Metadata: SemanticKernelMetadata
    metadata: SemanticKernelMetadata
    Items: list[FunctionCallContent | FunctionResultContent | TextContent]
    ModelId: str
    ConversationId: ConversationId


class SemanticKernelAgentMessage(SemanticKernelMessage):
    """A whole message of an agent, with its name."""

    AuthorName: str
    authorName: str


class SemanticKernelPiece(SemanticKernelContent):
    """A record of a streamed message: its `Content` is a piece of the text."""

    ChoiceIndex: int
    Metadata: NotRequired[SemanticKernelMetadata]
    metadata: NotRequired[SemanticKernelMetadata]
    Items: NotRequired[list[FunctionCallContent | FunctionResultContent]]
    ModelId: NotRequired[str]
    ConversationId: NotRequired[ConversationId]


class SemanticKernelExtras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState
    ConversationId: Annotated[ConversationId, Field(max_length=MAX_CONVERSATION_ID)] | None
