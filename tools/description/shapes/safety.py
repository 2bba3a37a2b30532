"""Types of the routes of the companion function."""

from typing import Annotated, TypedDict

from pydantic import Field

from shared.wire import rai_body as bodies
from tools.description.protocols import ErrorText

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


SafetyRecord = SafetyEvent | ErrorText

SafetyBody = bodies.TextBody | bodies.RequestEventBody | SafetyConversation | _Items
