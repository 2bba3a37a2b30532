"""Types of the protocol of Semantic Kernel for Python."""

from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from shared.wire.chat_body import MAX_CONVERSATION_ID
from tools.description.shapes.context import RetrievedContext, Unsupported
from tools.description.shapes.parts import FilterOffsets, FilterResults, SessionState
from tools.description.shapes.semantic_kernel import ConversationId


class PythonText(TypedDict):
    """An item of a message."""

    ai_model_id: None
    metadata: dict[str, Any]
    content_type: Literal["text"]
    text: str
    encoding: None


class PythonFunctionCall(TypedDict):
    """A call of a tool."""

    ai_model_id: None
    metadata: dict[str, Any]
    content_type: Literal["function_call"]
    id: str
    call_id: str
    index: None
    name: str
    function_name: Annotated[str, Field(description="The tool's name at its server.")]
    plugin_name: Annotated[str, Field(description="The tool's server.")]
    arguments: Annotated[str, Field(description="The arguments, a JSON object.")]


class PythonFunctionResult(TypedDict):
    """The result of a call."""

    ai_model_id: None
    metadata: dict[str, Any]
    content_type: Literal["function_result"]
    id: str
    call_id: str
    result: Annotated[str, Field(description="The result that the model was given.")]
    name: str
    function_name: str
    plugin_name: str
    encoding: None


class PythonUsage(TypedDict):
    """Tokens that the model counted."""

    prompt_tokens: int
    prompt_tokens_details: None
    completion_tokens: int
    completion_tokens_details: None


class SemanticKernelPythonMetadata(RetrievedContext, total=False):
    """What the model's service said of the answer, and where the answer comes from."""

    id: str
    created: int
    model: Annotated[str, Field(description="In a stream; a whole answer has it in ai_model_id.")]
    system_fingerprint: str | None
    conversation_id: ConversationId
    usage: PythonUsage
    prompt_filter_results: FilterResults
    content_filter_results: FilterResults
    content_filter_offsets: FilterOffsets
    total_usage: PythonUsage
    unsupported: Unsupported


class SemanticKernelPythonContent(TypedDict):
    """The keys of every message but the model and the name."""

    metadata: SemanticKernelPythonMetadata
    content_type: Literal["message"]
    role: Literal["assistant"]
    items: list[PythonFunctionCall | PythonFunctionResult | PythonText]
    encoding: None
    finish_reason: str | None
    status: None


class SemanticKernelPythonMessage(SemanticKernelPythonContent):
    """A whole message."""

    ai_model_id: str
    name: None


class SemanticKernelPythonAgentMessage(SemanticKernelPythonContent):
    """A whole message of an agent, with its name."""

    ai_model_id: str
    name: str


class SemanticKernelPythonPiece(SemanticKernelPythonContent):
    """A record of a streamed message."""

    choice_index: int
    ai_model_id: None
    name: None
    function_invoke_attempt: int


class SemanticKernelPythonExtras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState
    conversation_id: Annotated[ConversationId, Field(max_length=MAX_CONVERSATION_ID)] | None
