"""The types of the JSON that `ai-sdk` writes, for the OpenAPI document.

Source: `ai`, `uiMessageChunkSchema`. Some versions refuse a record with a key that they do not know, and all refuse
null, so that a record has the keys that all know, and only those that have a value.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.ai_sdk_body import MOST_PARTS
from shared.wire.context import ErrorCode, FilterResults, Thought

FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "other"]


class AiSdkSourceText(TypedDict):
    """What the app says of a source."""

    text: Annotated[str, Field(description="The source's text.")]


class AiSdkProviderMetadata(TypedDict):
    """What a source has beyond the keys of the AI SDK."""

    switchboard: AiSdkSourceText


class AiSdkSource(TypedDict):
    """A source, which comes once, before the text."""

    type: Literal["source-url"]
    sourceId: Annotated[str, Field(description="The source's name, as the answer cites it.")]
    url: str
    title: str
    providerMetadata: AiSdkProviderMetadata


class AiSdkAgent(TypedDict):
    """The agent of a team whose message follows."""

    name: str
    error: NotRequired[ErrorCode]
    promptFilterResults: NotRequired[FilterResults]
    contentFilterResults: NotRequired[FilterResults]


class AiSdkAgentPart(TypedDict):
    """Who speaks, in a team's answer."""

    type: Literal["data-agent"]
    id: Annotated[str, Field(description="The place of the message in the answer, from 0.")]
    data: AiSdkAgent


class AiSdkThoughtsPart(TypedDict):
    """The steps, if the request has a `context`. A part with the id of an earlier one replaces it."""

    type: Literal["data-thoughts"]
    id: str
    data: list[Thought]


class AiSdkFollowupsPart(TypedDict):
    """What to ask next, if the request asks for it."""

    type: Literal["data-followup-questions"]
    data: list[str]


class AiSdkUsage(TypedDict):
    """Tokens that the model counted."""

    inputTokens: int
    outputTokens: int
    totalTokens: int


class AiSdkMetadata(TypedDict):
    """Who wrote the answer, and what it took."""

    model: NotRequired[str]
    usage: NotRequired[AiSdkUsage]
    promptFilterResults: NotRequired[FilterResults]
    contentFilterResults: NotRequired[FilterResults]


class AiSdkStart(TypedDict):
    """The beginning of the answer."""

    type: Literal["start"]
    messageId: str


class AiSdkBound(TypedDict):
    """The beginning or the end of a step: of the answer, or of one agent's message."""

    type: Literal["start-step", "finish-step"]


class AiSdkTextBound(TypedDict):
    """The beginning or the end of a text, or of what the model thinks before."""

    type: Literal["text-start", "text-end", "reasoning-start", "reasoning-end"]
    id: str


class AiSdkTextDelta(TypedDict):
    """A piece of a text, or of what the model thinks before."""

    type: Literal["text-delta", "reasoning-delta"]
    id: str
    delta: str


class AiSdkCallStart(TypedDict):
    """The beginning of a call of one of the page's tools."""

    type: Literal["tool-input-start"]
    toolCallId: str
    toolName: str


class AiSdkCallDelta(TypedDict):
    """The input of the call, as JSON in a text."""

    type: Literal["tool-input-delta"]
    toolCallId: str
    inputTextDelta: str


class AiSdkCall(TypedDict):
    """A call, which the page answers: the chat comes again with its result."""

    type: Literal["tool-input-available"]
    toolCallId: str
    toolName: str
    input: dict[str, Any]


class AiSdkServersCall(TypedDict):
    """A call of a tool that the app runs itself, or asks consent for: nothing for the page to run."""

    type: Literal["tool-input-available"]
    toolCallId: str
    toolName: Annotated[str, Field(description="The names of the tool's server and of the tool, such as crm.look.")]
    input: dict[str, Any]
    dynamic: Literal[True]
    providerExecuted: NotRequired[Literal[True]]


class AiSdkServersOutput(TypedDict):
    """The result of such a call."""

    type: Literal["tool-output-available"]
    toolCallId: str
    output: str
    dynamic: Literal[True]
    providerExecuted: Literal[True]


class AiSdkServersError(TypedDict):
    """What went wrong with such a call, or why it was not run."""

    type: Literal["tool-output-error"]
    toolCallId: str
    errorText: str
    dynamic: Literal[True]
    providerExecuted: Literal[True]


class AiSdkDenied(TypedDict):
    """The user has refused a call, if the page knows approvals."""

    type: Literal["tool-output-denied"]
    toolCallId: str


class AiSdkApprovalRequest(TypedDict):
    """Asks for consent to a call, if the request has `approvals`."""

    type: Literal["tool-approval-request"]
    approvalId: str
    toolCallId: str


class AiSdkApproval(TypedDict):
    """A question for consent to a call."""

    approvalId: str
    toolCallId: str
    state: Annotated[str, Field(description="open, or what has become of the call.")]
    message: NotRequired[Annotated[str, Field(description="What is to be done, for people.")]]


class AiSdkApprovalPart(TypedDict):
    """Asks for consent to a call, if the request has no `approvals`."""

    type: Literal["data-approval"]
    id: str
    data: AiSdkApproval


class AiSdkFinish(TypedDict):
    """The end of the answer."""

    type: Literal["finish"]
    finishReason: FinishReason
    messageMetadata: AiSdkMetadata


class AiSdkErrorRecord(TypedDict):
    """The error that ends a stream."""

    type: Literal["error"]
    errorText: Annotated[str, Field(description="What the caller can do, and the invocation id for the logs.")]


AiSdkRecord = (
    AiSdkStart
    | AiSdkBound
    | AiSdkSource
    | AiSdkAgentPart
    | AiSdkThoughtsPart
    | AiSdkFollowupsPart
    | AiSdkTextBound
    | AiSdkTextDelta
    | AiSdkCallStart
    | AiSdkCallDelta
    | AiSdkCall
    | AiSdkServersCall
    | AiSdkServersOutput
    | AiSdkServersError
    | AiSdkDenied
    | AiSdkApprovalRequest
    | AiSdkApprovalPart
    | AiSdkFinish
    | AiSdkErrorRecord
)


class AiSdkText(TypedDict):
    """A text in a message of a request."""

    type: Literal["text"]
    text: str


class AiSdkFile(TypedDict):
    """A file in a message of a request."""

    type: Literal["file"]
    mediaType: NotRequired[str]
    filename: NotRequired[str]
    url: Annotated[str, Field(pattern="^data:", description="The file, as a `data:` URL in base64.")]


class AiSdkOtherPart(TypedDict):
    """A part of an answer that comes back: a call of a tool with its result, or a source, which is not read."""

    type: str


class AiSdkRequestMessage(TypedDict):
    """A `UIMessage` in a request. `_flat` of `ai_sdk_body` checks it; this is for the OpenAPI document."""

    role: Literal["user", "assistant", "system"]
    parts: Annotated[list[AiSdkText | AiSdkFile | AiSdkOtherPart], Field(max_length=MOST_PARTS)]


class AiSdkTool(TypedDict, total=False):
    """A tool that the page answers."""

    description: str
    parameters: Annotated[dict[str, Any], Field(description="JSON schema of the input. Or as `inputSchema`.")]


class AiSdkNamedTool(TypedDict):
    """The tool that has to be called."""

    type: Literal["tool"]
    toolName: str


class AiSdkKeys(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    tools: Annotated[dict[str, AiSdkTool], Field(description="The page's tools by their names.")]
    toolChoice: Literal["auto", "none", "required"] | AiSdkNamedTool

    id: Annotated[str, Field(description="The chat's id. If the history has a chat of it, the turn is recorded there.")]
    resumable: Annotated[
        bool, Field(description="Keeps the answer: it goes on when the page leaves, and `resume` finds it again.")
    ]
    approvals: Annotated[
        Literal["parts"], Field(description="Asks for consent in the parts that AI SDK has for it since version 6.")
    ]
    trigger: Annotated[str, Field(description="`submit-message` or `regenerate-message`. It changes nothing.")]
