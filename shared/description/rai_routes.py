"""The routes of the companion function (safety analysis), as data."""

from functools import partial
from typing import Annotated, TypedDict

from pydantic import Field

from shared.description.routes import BODY_ERRORS, CALLER_ERRORS, Answer, PlainRoute
from shared.errors import RateLimited, TooSlow
from shared.wire.protocol import ErrorText
from shared.wire.rai_body import ANALYSIS_LINES, MAX_EVENTS, RequestEventBody, SourceWord, TextBody

_Bytes = Annotated[int, Field(description="In UTF-8 bytes of that text.")]


class _Place(TypedDict):
    sourceType: SourceWord
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
    severity: Annotated[int, Field(description="0 to 7.")]
    riskLevel: Annotated[str, Field(description="'LOW', 'MEDIUM' or 'HIGH'.")]


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
    events: list[SafetyEvent]


_Items = Annotated[list[TextBody | RequestEventBody], Field(min_length=1, max_length=MAX_EVENTS)]


class SafetyConversation(TypedDict):
    """One conversation, in order."""

    events: _Items


_route = partial(
    PlainRoute,
    "post",
    tag="safety",
    errors=(*CALLER_ERRORS, *BODY_ERRORS, RateLimited, TooSlow),
    body=TextBody | RequestEventBody | SafetyConversation | _Items,
)

RAI_ROUTES = (
    _route(
        "rai/analyze",
        "analyze_safety",
        "Analyze a text or a conversation for harm",
        "Forwards it to the safety service, and returns whether anything is blocked, and all results.",
        {200: Answer("The analysis.", SafetyAnalysis)},
    ),
    _route(
        "rai/analyze/stream",
        "analyze_safety_stream",
        "Stream an analysis for harm",
        "The events of the safety service as they arrive. A failure after the first event is sent as the last record.",
        {200: Answer("The events.", SafetyEvent | ErrorText, ANALYSIS_LINES.content_type, streams=True)},
        visible=False,
    ),
)
"""The routes, in the documents' order."""
