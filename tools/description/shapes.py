"""The types of what the routes and the protocols take and give, which the OpenAPI document describes."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, with_config

from shared.tools.calls import CallState
from shared.verdicts import Rating
from shared.wire import rai_body as bodies
from shared.wire.ai_sdk_body import MOST_PARTS
from shared.wire.chat_body import MAX_CONVERSATION_ID
from shared.wire.history_body import ChatMode, MessageRole
from tools.description.protocols import ErrorText, Reason, Values

type ErrorCode = Annotated[str, Field(description="The error's code.")]

FilterResults = Annotated[Any, Field(description="What a content filter found, in the shape of Azure OpenAI's.")]
FilterOffsets = Annotated[
    Any, Field(description="In a stream: which part of the text a filter found it in, as Azure OpenAI says.")
]
SessionState = Annotated[
    Any, Field(description="The client's own memory, as it sent it, or the id of the chat that the app keeps for it.")
]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""The type of a time in an answer."""


@with_config(extra="allow")
class Part(TypedDict):
    """A part of the app, with further facts such as counts."""

    kind: Annotated[str, Field(description="'embedded' or the service's name.")]
    ok: bool
    detail: Annotated[str, Field(description="What it is, or what is wrong and what to do.")]


class Address(TypedDict):
    """What the app takes for the address of this caller, who has one budget with all of this address."""

    address: Annotated[str, Field(description="An IPv4 address, or the first 64 bits of one of IPv6.")]
    header: Annotated[str, Field(description="The header that says so; empty: the other end of the connection.")]


class Health(TypedDict):
    """Whether the app can answer."""

    status: Literal["ok", "degraded", "unavailable"]
    parts: dict[str, Part]
    protocols: NotRequired[list[str]]
    caller: NotRequired[Address]
    error: NotRequired[Annotated[str, Field(description="What is wrong with the settings.")]]


@with_config(extra="allow")
class OpenapiDocument(TypedDict):
    """A document in OpenAPI 3.1."""

    openapi: Literal["3.1.0"]


@with_config(extra="allow")
class SwaggerDocument(TypedDict):
    """A document in Swagger 2.0."""

    swagger: Literal["2.0"]


class ActivityMessage(TypedDict):
    """An activity, as the Bot Framework has it."""

    type: Annotated[str, Field(description="Such as 'message', 'invoke', 'conversationUpdate'.")]
    id: NotRequired[str]
    channelId: NotRequired[str]
    serviceUrl: NotRequired[str]
    conversation: dict[str, Any]
    text: NotRequired[str]


class Chat(TypedDict):
    """A chat, as in a list of chats."""

    id: str
    title: str
    lastMessage: Annotated[str, Field(description="The beginning of the last message; empty if there is none.")]
    lastUpdated: Time
    messageCount: int
    mode: ChatMode
    pinned: NotRequired[Annotated[Literal[True], Field(description="The chat is pinned; missing if it is not.")]]
    found: NotRequired[Annotated[str, Field(description="In a search: the text around the words in a message.")]]


class ChatMessage(TypedDict):
    """A stored message."""

    id: str
    content: str
    role: MessageRole
    timestamp: Annotated[str, Field(description="As its writer sent it.")]
    agentName: NotRequired[str]
    agentIdentifier: NotRequired[str]
    toolCall: NotRequired[Any]
    toolCallId: NotRequired[str]
    finishReason: NotRequired[
        Annotated[str, Field(description="Why the answer is incomplete; missing if it ended with 'stop'.")]
    ]
    context: NotRequired[
        Annotated[Any, Field(description="As its writer sent it, such as an answer's sources and thoughts.")]
    ]


class ChatLink(TypedDict):
    """Where a shared chat is."""

    id: str
    url: Annotated[str, Field(description="The address of its copy.")]


class SharedMessage(TypedDict):
    """A message of a shared chat."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: str
    citations: Annotated[list[str], Field(description="The sources that it cites, without documents of one's own.")]
    agentName: NotRequired[str]
    finishReason: NotRequired[str]


class SharedChat(TypedDict):
    """A copy of a chat, as it was when it was shared."""

    id: str
    title: Annotated[str, Field(description="The beginning of its first question.")]
    shared: Time
    messages: list[SharedMessage]


_Bytes = Annotated[int, Field(description="In UTF-8 bytes of that text.")]


class _Place(TypedDict):
    sourceType: bodies.SourceWord
    messageId: Annotated[
        str, Field(description="The message of a prompt, the choice of an answer, or the realtime item.")
    ]
    contentIndex: Annotated[int, Field(description="Index of the content in it.")]


class SafetyRange(_Place):
    """The range that was analysed."""

    startOffset: _Bytes
    endOffset: _Bytes


class SafetyHarm(TypedDict):
    """How harmful it is."""

    harmCategory: Annotated[str, Field(description="The kind of harm, such as 'HATE'.")]
    isDetected: bool
    severity: Annotated[int, Field(description="The service's number: 1 to 5 or 0 to 7.")]
    riskLevel: Annotated[str, Field(description="'LOW', 'MEDIUM' or 'HIGH'; of Azure AI Content Safety also 'SAFE'.")]


class SafetyFinding(TypedDict):
    """What one analysis found."""

    result: Annotated[str, Field(description="'OK', or 'NoModel' if there was no model for the analysis.")]
    isBlocking: Annotated[bool, Field(description="Whether the policy blocks it.")]
    kind: Annotated[str, Field(description="The kind of task, such as 'HARM_CATEGORY'.")]
    harmCategoryTaskResult: SafetyHarm


class SafetyResult(TypedDict):
    """The results for a range of a text."""

    offset: SafetyRange
    harmCategoryTaskResults: list[SafetyFinding]


class SafetyWatermark(_Place):
    """A text is analysed and safe up to here."""

    offset: _Bytes


class SafetyCompletion(TypedDict):
    """The analysis is over."""

    end_reason: Annotated[str, Field(description="'END_REASON_END_OF_STREAM' if everything was analysed.")]
    error_description: Annotated[str, Field(description="The error; empty if there was none.")]


class SafetyEvent(TypedDict, total=False):
    """An event of the safety service: one of these. An empty object in a stream is a keep-alive."""

    analysisResult: SafetyResult
    watermark: SafetyWatermark
    completion: SafetyCompletion


class SafetyAnalysis(TypedDict):
    """A complete analysis."""

    blocked: Annotated[
        bool, Field(description="Whether the policy blocks anything. False only if everything was analysed.")
    ]
    withoutModel: Annotated[
        list[str], Field(description="Tasks that the service has no model for ('NoModel'): nobody looked for these.")
    ]
    events: list[SafetyEvent]


_Items = Annotated[list[bodies.TextBody | bodies.RequestEventBody], Field(min_length=1, max_length=bodies.MAX_EVENTS)]


class SafetyConversation(TypedDict):
    """One conversation, in order."""

    events: _Items


@with_config(extra="allow")
class DemoConfig(TypedDict):
    """The options that the page shows."""


class DemoScopes(TypedDict):
    """A request for a token."""

    scopes: list[str]


class DemoAuthSetup(TypedDict):
    """How users of the page sign in."""

    useLogin: Annotated[bool, Field(description="Whether the page signs users in.")]
    requireAccessControl: bool
    enableUnauthenticatedAccess: bool
    msalConfig: Annotated[dict[str, Any], Field(description="Configuration of MSAL.js.")]
    loginRequest: DemoScopes
    tokenRequest: DemoScopes


class DemoListedChat(TypedDict):
    """A chat in the list."""

    id: str
    entra_oid: str
    title: str
    timestamp: Annotated[int, Field(description="When it was last written, in Unix milliseconds.")]


class DemoChats(TypedDict):
    """The chats that the page has kept."""

    sessions: list[DemoListedChat]
    continuation_token: Annotated[str | None, Field(description="Where the next page of the list begins.")]


_Answer = Annotated[
    dict[str, Any], Field(description="The answer as it came, in the shape of every version of the page.")
]


class DemoChat(TypedDict):
    """A chat: each question with its answer."""

    id: str
    entra_oid: str
    answers: list[Annotated[list[str | _Answer], Field(min_length=2, max_length=2)]]


class ListedDocument(TypedDict):
    """A document in the list."""

    name: Annotated[str, Field(description="Its path, as answers cite it.")]
    type: Annotated[str, Field(description="The media type.")]
    size: Annotated[int, Field(description="Bytes.")]
    last_modified: Annotated[str, Field(description="ISO 8601, in UTC.")]
    passages: Annotated[int, Field(description="Passages in the index that the caller may see; 0: it is not indexed.")]
    pages: Annotated[int | None, Field(description="Pages that they are on; null: not known.")]
    left_out: Annotated[str, Field(description="What was not read, such as 'hidden slides (3)'; empty: nothing known.")]


class FailedDocument(TypedDict):
    """A document that could not be indexed when it was last read."""

    name: str
    state: Literal["failed"]
    detail: Annotated[str, Field(description="Why, as a sentence.")]
    when: Annotated[str, Field(description="ISO 8601, in UTC.")]
    reason: NotRequired[Reason]
    values: NotRequired[Values]


class Documents(TypedDict):
    """A page of the list of documents."""

    documents: list[ListedDocument]
    failed: Annotated[list[FailedDocument], Field(description="On the first page, for who manages documents.")]
    may_write: Annotated[bool, Field(description="Whether the caller may upload and delete documents.")]
    why_no_own: Annotated[str | None, Field(description="Why nobody has documents of their own here; null: they can.")]


class IndexedDocument(TypedDict):
    """A document that is indexed."""

    name: str
    state: Literal["indexed"]
    detail: Annotated[str, Field(description="How many passages, and what was not read.")]


class UploadStep(TypedDict):
    """A step of indexing a document."""

    state: Annotated[str, Field(description="reading, embedding, writing; the last one: indexed or failed.")]
    name: NotRequired[str]
    detail: NotRequired[Annotated[str, Field(description="With the last state: how many passages, or why it failed.")]]
    code: NotRequired[Annotated[str, Field(description="The error's code, where an error was the reason.")]]
    reason: NotRequired[Reason]
    values: NotRequired[Values]


class QueuedDocument(TypedDict):
    """A document that will be indexed later."""

    name: str
    state: Literal["queued"]
    detail: str


class Feedback(TypedDict):
    """What a caller says of an answer."""

    answer_id: str
    rating: Rating
    comment: Annotated[str, Field(description="Why; empty if not said.")]
    expected: Annotated[str, Field(description="What a good answer would say; empty if not said.")]
    time: Time


class FeedbackWithAnswer(Feedback):
    """The same, with what was asked and answered."""

    question: str
    answer: str
    sources: Annotated[list[str], Field(description="The sources that the answer cites.")]


class FeedbackPage(TypedDict):
    """What callers said of answers."""

    feedback: list[FeedbackWithAnswer]


class McpMessage(TypedDict):
    """A request or a notification of MCP, the Model Context Protocol, as JSON-RPC."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, Field(description="Such as 'initialize', 'tools/list', 'tools/call'.")]
    id: NotRequired[Annotated[str | int, Field(description="Absent: a notification.")]]
    params: NotRequired[dict[str, Any]]


class McpResult(TypedDict):
    """The result of a request."""

    jsonrpc: Literal["2.0"]
    id: str | int
    result: dict[str, Any]


class McpReason(TypedDict):
    """What is wrong."""

    code: int
    message: Annotated[str, Field(description="What the caller can do.")]
    data: NotRequired[dict[str, Any]]


class McpError(TypedDict):
    """Why a request has no result."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    error: McpReason


class McpSignIn(TypedDict):
    """Where users get tokens for the MCP server (RFC 9728)."""

    resource: Annotated[str, Field(description="The URL of the MCP server.")]
    resource_name: str
    authorization_servers: list[str]
    scopes_supported: list[str]
    bearer_methods_supported: list[str]


class Room(TypedDict):
    """What a person's own documents take together, or may take."""

    documents: int
    bytes: int
    pages: Annotated[int, Field(description="Pages; of a document without pages its passages.")]


class OwnDocuments(TypedDict):
    """What somebody has added for themselves."""

    documents: list[ListedDocument]
    failed: list[FailedDocument]
    used: Room
    limits: Room
    kept_days: Annotated[int | None, Field(description="Days after which each is deleted; null: never.")]


class DemoMessage(TypedDict):
    """What was done."""

    message: str


class PlaygroundBegin(TypedDict):
    """What there is to ask about."""

    topics: list[Annotated[str, Field(description="A heading, a title, or a question that a document answers.")]]
    documents: Annotated[
        int | None,
        Field(description="How many documents the index has; null: not known, or not for this caller."),
    ]
    model: Annotated[str | None, Field(description="The model that answers; null: the documents are quoted.")]
    team: Annotated[
        list[str], Field(description="The agents of the team in AGENTS_FILE; empty: there is no such file.")
    ]


class RunEnd(TypedDict):
    """The last event of a team's answer."""

    status: Annotated[int, Field(description="The status that it ended with.")]


SafetyRecord = SafetyEvent | ErrorText
SafetyBody = bodies.TextBody | bodies.RequestEventBody | SafetyConversation | _Items


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


class AssistantMessage(TypedDict):
    """The answer's text."""

    role: Literal["assistant"]
    content: str


class TextPiece(TypedDict, total=False):
    """A piece of the answer's text."""

    role: Literal["assistant"]
    content: Annotated[str, Field(description="The next piece of the text.")]


class AiChatAnswer(TypedDict):
    """A whole answer."""

    message: AssistantMessage
    context: Context
    session_state: SessionState


class AiChatDelta(TypedDict):
    """A record of a streamed answer. Join the texts; merge the contexts key by key."""

    delta: TextPiece
    context: NotRequired[Context]
    session_state: NotRequired[SessionState]


class AiChatExtras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState


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


class AiChat20240529Answer(TypedDict):
    """A whole answer."""

    message: AssistantMessage
    context: Context
    sessionState: NotRequired[SessionState]


class AiChat20240529Delta(TypedDict):
    """A record of a streamed answer. Join the texts; merge the contexts key by key."""

    delta: TextPiece
    context: NotRequired[Context]
    sessionState: NotRequired[SessionState]


class AiChat20240529Extras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    sessionState: SessionState


class AiChat202604Answer(TypedDict):
    """A whole answer."""

    output_text: str
    context: Context
    session_state: SessionState


class ContextRecord(TypedDict):
    """Where the answer comes from. Merge the contexts key by key."""

    type: Literal["response.context"]
    context: Context
    session_state: NotRequired[SessionState]


class TextRecord(TypedDict):
    """A piece of the answer's text."""

    type: Literal["response.output_text.delta"]
    delta: Annotated[str, Field(description="The next piece of the text.")]
    agent: NotRequired[Annotated[str, Field(description="In a team's answer: the agent whose message this is.")]]


class AiSdkRequestMessage(TypedDict):
    """A `UIMessage` in a request. `_flat` of `ai_sdk_body` checks it; this is for the OpenAPI document."""

    role: Literal["user", "assistant", "system"]
    parts: Annotated[
        list[dict[str, Any]],
        Field(max_length=MOST_PARTS, description="As AI SDK makes them. Files are `data:` URLs."),
    ]


class AiSdkKeys(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    tools: Annotated[dict[str, Any], Field(description="The page's tools by their names, with `inputSchema`.")]
    toolChoice: Literal["auto", "none", "required"] | dict[str, Any]

    id: Annotated[str, Field(description="The chat's id. If the history has a chat of it, the turn is recorded there.")]
    resumable: Annotated[
        bool, Field(description="Keeps the answer: it goes on when the page leaves, and `resume` finds it again.")
    ]
    approvals: Annotated[
        Literal["parts"], Field(description="Asks for consent in the parts that AI SDK has for it since version 6.")
    ]
    trigger: Annotated[str, Field(description="`submit-message` or `regenerate-message`. It changes nothing.")]


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


_ConversationId = Annotated[str, Field(description="The conversation that this belongs to.")]
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
    ConversationId: _ConversationId


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
    ConversationId: NotRequired[_ConversationId]


class SemanticKernelExtras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState
    ConversationId: Annotated[_ConversationId, Field(max_length=MAX_CONVERSATION_ID)] | None


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
    conversation_id: _ConversationId
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
    conversation_id: Annotated[_ConversationId, Field(max_length=MAX_CONVERSATION_ID)] | None


class Approval(TypedDict):
    """A call of a tool that needs a person's consent."""

    id: Annotated[str, Field(description="Its id, hexadecimal digits.")]
    state: Annotated[
        CallState,
        Field(
            description="`open`: waits for a decision. `claimed`: allowed, and runs soon. `executing`: runs. "
            "`unknown`: it may have run. `not_run`: allowed, and did not run all the same."
        ),
    ]
    agent: Annotated[str, Field(description="The agent that wants to call.")]
    server: Annotated[str, Field(description="The server or API of the tool, as the agents file names it.")]
    tool: Annotated[str, Field(description="The tool's name there.")]
    description: Annotated[str, Field(description="What the tool does, as its server says.")]
    arguments: Annotated[str, Field(description="All arguments, as JSON.")]
    origins: Annotated[
        dict[str, str],
        Field(description="Where arguments come from that the user has not written."),
    ]
    code: Annotated[str, Field(description="What a chat without buttons calls it, as in `approve K7QX`.")]
    expires: Annotated[str, Field(description="When it can no longer be decided.")]
    asker: NotRequired[Annotated[str, Field(description="Who asked.")]]
    decided_by: NotRequired[str | None]
    reason: NotRequired[Annotated[str | None, Field(description="Why, as who decided has said.")]]
    run: NotRequired[Annotated[str, Field(description="The answer that waits for it, for who asked.")]]
    result: NotRequired[Annotated[str | None, Field(description="What the tool returned, for who asked.")]]


class Approvals(TypedDict):
    """Approvals, those first whose time runs out first."""

    approvals: list[Approval]
    next: Annotated[str | None, Field(description="`after` for the next page; null: there are no more.")]


class Run(TypedDict):
    """An answer that has not ended."""

    id: Annotated[str, Field(description="Its id.")]
    status: Literal["queued", "running", "waiting"]
    created: Time
    messages: Annotated[list[Any], Field(description="The agents' messages so far, in the protocol of the request.")]
    approvals: NotRequired[Annotated[list[Approval], Field(description="With `waiting`: the calls to decide about.")]]


class DemoFileBody(TypedDict):
    """The document that is deleted."""

    filename: Annotated[str, Field(description="Its name, as the list has it.")]


class ListedRun(TypedDict):
    """A kept run as operators see it."""

    id: Annotated[str, Field(description="Its id.")]
    state: Annotated[
        Literal["queued", "running", "stuck", "waiting", "failed"],
        Field(description="`stuck`: nobody works on it, though somebody should. `waiting`: for a person."),
    ]
    wire: Annotated[str, Field(description="The protocol of its request; empty: the request cannot be read.")]
    owner: Annotated[str, Field(description="Who asked, as in the audit record.")]
    created: Time
    updated: Annotated[Time, Field(description="When its instance last gave a sign of life.")]
    age: Annotated[int, Field(description="Seconds since it was accepted.")]
    waits_for: Annotated[list[str], Field(description="The tools whose calls a person has to decide about.")]


class ListedRuns(TypedDict):
    """A page of runs, the oldest of the page first."""

    runs: list[ListedRun]
    next: Annotated[str | None, Field(description="`after` for the next page; null: there are no more.")]
