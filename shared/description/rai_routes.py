"""The routes of the companion function (safety analysis), as data."""

from shared.description.routes import Answer, ErrorType, PlainRoute
from shared.description.schemas import (
    BOOLEAN,
    INTEGER,
    STRING,
    Schema,
    any_of,
    described,
    list_of,
    record,
    ref,
    untitled,
)
from shared.errors import (
    BadRequest,
    InternalError,
    NotConfigured,
    NotSignedIn,
    Overloaded,
    RateLimited,
    TooLarge,
    TooSlow,
    TooSlowBody,
    Unavailable,
)
from shared.guard import Side
from shared.wire.rai_body import ANALYSIS_LINES, EVENTS, MAX_EVENTS, RequestEventBody, TextBody

_PLACE: dict[str, Schema] = {
    "sourceType": {"type": "string", "enum": [source.value for source in Side]},
    "messageId": described(STRING, "The message of a prompt, the choice of an answer, or the realtime item."),
    "contentIndex": described(INTEGER, "Index of the content in it."),
}
_BYTE_OFFSET = "In UTF-8 bytes of that text."
_FINDING = record(
    {
        "result": described(STRING, "'OK', or 'NoModel' if there was no model for the analysis."),
        "isBlocking": described(BOOLEAN, "Whether the policy blocks it."),
        "kind": described(STRING, "The kind of task, such as 'HARM_CATEGORY'."),
        "harmCategoryTaskResult": record(
            {
                "harmCategory": described(STRING, "The kind of harm, such as 'HATE'."),
                "isDetected": BOOLEAN,
                "severity": described(INTEGER, "0 to 7."),
                "riskLevel": described(STRING, "'LOW', 'MEDIUM' or 'HIGH'."),
            }
        ),
    }
)
_RESULT = record(
    {
        "offset": record(
            _PLACE | {"startOffset": described(INTEGER, _BYTE_OFFSET), "endOffset": described(INTEGER, _BYTE_OFFSET)},
            description="The range that was analysed.",
        ),
        "harmCategoryTaskResults": list_of(_FINDING),
    },
    description="The results for a range of a text.",
)
_WATERMARK = record(
    _PLACE | {"offset": described(INTEGER, _BYTE_OFFSET)}, description="A text is analysed and safe up to here."
)
_COMPLETION = record(
    {
        "end_reason": described(STRING, "'END_REASON_END_OF_STREAM' if everything was analysed."),
        "error_description": described(STRING, "The error; empty if there was none."),
    },
    description="The analysis is over.",
)
_EVENT = record(
    {},
    {"analysisResult": _RESULT, "watermark": _WATERMARK, "completion": _COMPLETION},
    "An event of the safety service: one of these. An empty object in a stream is a keep-alive.",
)
_ANALYSIS = record(
    {
        "blocked": described(BOOLEAN, "Whether the policy blocks anything. False only if everything was analysed."),
        "events": list_of(ref("SafetyEvent")),
    }
)
RAI_SCHEMAS: dict[str, Schema] = {"SafetyEvent": _EVENT, "SafetyAnalysis": _ANALYSIS}
"""Schemas of the answers of these routes, by name."""

_TEXT, _REQUEST_EVENT = (untitled(model.model_json_schema()) for model in (TextBody, RequestEventBody))
_ITEMS = list_of(any_of([_TEXT, _REQUEST_EVENT])) | {"minItems": 1, "maxItems": MAX_EVENTS}
_BODY = any_of(
    [
        _TEXT,
        _REQUEST_EVENT,
        record({EVENTS: _ITEMS}, description="One conversation, in order."),
        _ITEMS,
    ]
)
_ERRORS: tuple[ErrorType, ...] = (
    BadRequest,
    NotSignedIn,
    TooSlowBody,
    TooLarge,
    RateLimited,
    InternalError,
    Unavailable,
    NotConfigured,
    Overloaded,
    TooSlow,
)

RAI_ROUTES: tuple[PlainRoute, ...] = (
    PlainRoute(
        "rai/analyze",
        "post",
        "analyze_safety",
        "safety",
        "Analyze a text or a conversation for harm",
        "Forwards it to the safety service, and returns whether anything is blocked, and all results.",
        _ERRORS,
        answers={200: Answer("The analysis.", schema=ref("SafetyAnalysis"))},
        body=_BODY,
    ),
    PlainRoute(
        "rai/analyze/stream",
        "post",
        "analyze_safety_stream",
        "safety",
        "Stream an analysis for harm",
        "The events of the safety service as they arrive. A failure after the first event is sent as the last record.",
        _ERRORS,
        visible=False,
        answers={
            200: Answer(
                "The events.",
                ANALYSIS_LINES.content_type,
                any_of([ref("SafetyEvent"), ref("ErrorText")]),
                streams=True,
            )
        },
        body=_BODY,
    ),
)
"""The routes, in the documents' order."""
