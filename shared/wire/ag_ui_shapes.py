"""The types of the events that `ag-ui` writes, for the OpenAPI document.

Source: AG-UI 1.0, `Event`. A key without a value is left out, since clients end a run at a null.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.context import ErrorCode, FilterResults, Thought

type _Subagent = Annotated[str, Field(description="In a team's answer: the agent whose event this is.")]


class AgUiRunStarted(TypedDict):
    """The answer begins."""

    type: Literal["RUN_STARTED"]
    threadId: str
    runId: str


class AgUiFoundSource(TypedDict):
    """A source that was found."""

    id: Annotated[str, Field(description="Its name, as the answer cites it in brackets.")]
    title: str
    url: str
    text: Annotated[str, Field(description="What was found in it.")]
    passages: NotRequired[Annotated[list[str], Field(description="The passages of `text`, if there are several.")]]


class AgUiSources(TypedDict):
    """The sources of a message. Those that come later replace those before."""

    messageId: str
    sources: list[AgUiFoundSource]


class AgUiSourcesEvent(TypedDict):
    """What the answer is made from, before its text."""

    type: Literal["CUSTOM"]
    name: Literal["sources"]
    value: AgUiSources
    subagentRunId: NotRequired[_Subagent]


class AgUiThoughts(TypedDict):
    """The steps on the way to a message. Those that come later replace those before."""

    messageId: str
    thoughts: list[Thought]


class AgUiThoughtsEvent(TypedDict):
    """The steps on the way to the answer, if the request has overrides."""

    type: Literal["CUSTOM"]
    name: Literal["thoughts"]
    value: AgUiThoughts
    subagentRunId: NotRequired[_Subagent]


class AgUiFollowupsEvent(TypedDict):
    """What to ask next, if the request asks for it."""

    type: Literal["CUSTOM"]
    name: Literal["followup_questions"]
    value: list[str]


class AgUiStepNews(TypedDict):
    """A step of the answer has ended."""

    kind: Literal["step"]
    step: Literal["rewrite", "search", "prompt", "first_token", "answer"]
    milliseconds: Annotated[float, Field(description="Since the step before it.")]


class AgUiTokens(TypedDict):
    """Tokens of model calls."""

    inputTokens: int
    outputTokens: int
    totalTokens: int


class AgUiAgentNews(TypedDict):
    """What an agent does now."""

    kind: Literal["agent"]
    agent: Annotated[str, Field(description="The agent's name.")]
    state: Literal["waiting", "thinking", "searching", "calling", "writing", "handed_over", "done", "failed"]
    query: NotRequired[Annotated[str, Field(description="What it searches for, unless a safety check comes first.")]]
    tool: NotRequired[Annotated[str, Field(description="Name of the tool that it calls.")]]
    to: NotRequired[Annotated[str, Field(description="The agent that it handed over to.")]]
    error: NotRequired[ErrorCode]
    usage: NotRequired[AgUiTokens]
    milliseconds: NotRequired[Annotated[float, Field(description="How long its message took.")]]


class AgUiGuardNews(TypedDict):
    """How much of the answer the safety check holds back now, and what it has found."""

    kind: Literal["guard"]
    mode: Literal["annotate", "enforce"]
    question: Literal["waiting", "cleared", "refused", "unchecked"]
    answer_refused: Annotated[bool, Field(description="Whether something in the answer is forbidden.")]
    held: Annotated[int, Field(description="Characters that wait.")]
    held_milliseconds: Annotated[float, Field(description="How long the first of them has waited.")]
    released: Annotated[int, Field(description="Characters that went out.")]
    sources_withheld: int
    messages_withheld: Annotated[int, Field(description="Messages of a team that are not shown.")]
    prompt_filter_results: FilterResults
    content_filter_results: FilterResults


class AgUiProgressEvent(TypedDict):
    """News of the work, if the override show_progress asks for them. They come inside a message too."""

    type: Literal["CUSTOM"]
    name: Literal["progress"]
    value: AgUiStepNews | AgUiAgentNews | AgUiGuardNews


class AgUiTextStart(TypedDict):
    """A message begins."""

    type: Literal["TEXT_MESSAGE_START"]
    messageId: str
    role: Literal["assistant"]
    name: NotRequired[Annotated[str, Field(description="In a team's answer: the agent's name.")]]
    subagentRunId: NotRequired[_Subagent]


class AgUiTextContent(TypedDict):
    """A piece of a message's text."""

    type: Literal["TEXT_MESSAGE_CONTENT"]
    messageId: str
    delta: Annotated[str, Field(description="The next piece of the text.")]
    subagentRunId: NotRequired[_Subagent]


class AgUiTextEnd(TypedDict):
    """A message is complete, or as far as it came."""

    type: Literal["TEXT_MESSAGE_END"]
    messageId: str
    subagentRunId: NotRequired[_Subagent]


class AgUiCallStart(TypedDict):
    """A call of one of the page's tools begins, or one of a server's, such as crm.look, which the app runs itself."""

    type: Literal["TOOL_CALL_START"]
    toolCallId: str
    toolCallName: str
    parentMessageId: Annotated[str, Field(description="The message that it is a part of.")]


class AgUiCallArgs(TypedDict):
    """The arguments of a call, as JSON in a text."""

    type: Literal["TOOL_CALL_ARGS"]
    toolCallId: str
    delta: str


class AgUiCallEnd(TypedDict):
    """A call is complete. The page answers one of its own with a message of the role `tool`, and runs again."""

    type: Literal["TOOL_CALL_END"]
    toolCallId: str


class AgUiCallResult(TypedDict):
    """The result of a call that the app ran itself, or what has become of one that asked for consent."""

    type: Literal["TOOL_CALL_RESULT"]
    messageId: str
    toolCallId: str
    content: str
    role: Literal["tool"]


class AgUiCallNews(TypedDict):
    """A call that the app ran itself."""

    toolCallId: str
    agent: Annotated[str, Field(description="Name of the agent that called.")]
    server: Annotated[str, Field(description="Name of the tool's server or API.")]
    tool: Annotated[str, Field(description="The tool's name there.")]
    status: Literal["done", "failed", "denied", "expired", "unknown"]
    milliseconds: float


class AgUiCallEvent(TypedDict):
    """How a call ended, before its result, if the override show_progress asks for news."""

    type: Literal["CUSTOM"]
    name: Literal["tool_call"]
    value: AgUiCallNews


class AgUiReasoning(TypedDict):
    """What the model thinks before the message begins or ends."""

    type: Literal["REASONING_START", "REASONING_MESSAGE_END", "REASONING_END"]
    messageId: str


class AgUiReasoningStart(TypedDict):
    """The text of it begins."""

    type: Literal["REASONING_MESSAGE_START"]
    messageId: str
    role: Literal["reasoning"]


class AgUiReasoningContent(TypedDict):
    """A piece of it."""

    type: Literal["REASONING_MESSAGE_CONTENT"]
    messageId: str
    delta: str


class AgUiStep(TypedDict):
    """An agent's part of a team's answer begins or ends, for clients before 1.0."""

    type: Literal["STEP_STARTED", "STEP_FINISHED"]
    stepName: Annotated[str, Field(description="The agent's name.")]


class AgUiSubagentStarted(TypedDict):
    """An agent's part of a team's answer begins."""

    type: Literal["SUBAGENT_STARTED"]
    subagentRunId: str
    name: Annotated[str, Field(description="The agent's name.")]


class AgUiSubagentFinished(TypedDict):
    """It ends."""

    type: Literal["SUBAGENT_FINISHED"]
    subagentRunId: str


class AgUiSubagentError(TypedDict):
    """It ends with an error; the other agents still answer."""

    type: Literal["SUBAGENT_ERROR"]
    subagentRunId: str
    message: str
    code: ErrorCode


class AgUiUsage(AgUiTokens):
    """The tokens of a model."""

    model: str


class AgUiResult(TypedDict):
    """The parts of the answer beside its text."""

    sources: list[AgUiFoundSource]
    finish_reason: Annotated[str, Field(description="Why the answer ended: stop, length or tool_calls.")]
    followup_questions: NotRequired[list[str]]


class AgUiOutcome(TypedDict):
    """What the run waits for."""

    type: Literal["success"]
    pendingToolCallIds: Annotated[list[str], Field(description="Calls that the page has to answer.")]


class AgUiInterruptAbout(TypedDict):
    """Who wants to call what."""

    agent: str
    server: str
    tool: str
    description: str


class AgUiInterrupt(TypedDict):
    """A question for consent to a call, which the next run answers in `resume`."""

    id: str
    reason: Literal["tool_call"]
    message: Annotated[str, Field(description="What is to be done, with all arguments, for people.")]
    toolCallId: str
    responseSchema: Annotated[dict[str, Any], Field(description="JSON schema of the answer's payload.")]
    expiresAt: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    metadata: AgUiInterruptAbout


class AgUiInterrupted(TypedDict):
    """The run waits for a person's consent."""

    type: Literal["interrupt"]
    interrupts: list[AgUiInterrupt]


class AgUiRunFinished(TypedDict):
    """The answer is complete."""

    type: Literal["RUN_FINISHED"]
    threadId: str
    runId: str
    result: AgUiResult
    usage: NotRequired[Annotated[list[AgUiUsage], Field(description="For clients since 1.0.")]]
    outcome: NotRequired[AgUiOutcome | AgUiInterrupted]


class AgUiRetryAfterEvent(TypedDict):
    """How many seconds to wait before the next try, before the error of a run that was begun."""

    type: Literal["CUSTOM"]
    name: Literal["retry_after"]
    value: int


class AgUiRunError(TypedDict):
    """The answer failed, or a content filter ended it."""

    type: Literal["RUN_ERROR"]
    message: Annotated[str, Field(description="What the caller can do, and the invocation id for the logs.")]
    code: ErrorCode


type AgUiEvent = (
    AgUiRunStarted
    | AgUiSourcesEvent
    | AgUiThoughtsEvent
    | AgUiFollowupsEvent
    | AgUiProgressEvent
    | AgUiRetryAfterEvent
    | AgUiReasoning
    | AgUiReasoningStart
    | AgUiReasoningContent
    | AgUiTextStart
    | AgUiTextContent
    | AgUiTextEnd
    | AgUiCallStart
    | AgUiCallArgs
    | AgUiCallEnd
    | AgUiCallResult
    | AgUiCallEvent
    | AgUiStep
    | AgUiSubagentStarted
    | AgUiSubagentFinished
    | AgUiSubagentError
    | AgUiRunFinished
    | AgUiRunError
)
