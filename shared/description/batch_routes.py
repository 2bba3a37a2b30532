"""The routes of batches that outlive their request, as data, and what such a request sends beside its body."""

from shared.description.routes import Answer, ErrorType, PlainRoute
from shared.description.schemas import STRING, Schema, described, list_of, record, ref
from shared.errors import (
    BadRequest,
    ContentFiltered,
    InternalError,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotSignedIn,
    TooLarge,
    TooSlow,
    Unavailable,
)
from shared.wire.prefer import MAX_KEY_LENGTH, MOST_WAIT_SECONDS

BATCH_PARAMETERS: tuple[Schema, ...] = (
    {
        "name": "Prefer",
        "in": "header",
        "required": False,
        "description": "'respond-async': answer with 202, and with the answer's address in Location (RFC 7240). "
        f"'respond-async, wait=10': only if it takes longer than 10 seconds, of at most {MOST_WAIT_SECONDS}.",
        "schema": STRING,
    },
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "With 'respond-async': the same key and request again are the same batch. "
        f"Up to {MAX_KEY_LENGTH} printable characters, such as a UUID.",
        "schema": STRING,
    },
)
"""Headers of a request that may be answered later."""
_BATCH = record(
    {
        "id": described(STRING, "The batch's id."),
        "status": {"type": "string", "enum": ["queued", "running"]},
        "created": {"type": "string", "format": "date-time"},
        "messages": described(
            {"type": "array", "items": {}}, "The agents' messages so far, in the protocol of the request."
        ),
    },
    description="A batch that has not ended.",
)
_END = record({"status": described({"type": "integer"}, "The status that the batch ended with.")})
BATCH_SCHEMAS: dict[str, Schema] = {"Batch": _BATCH, "BatchEnd": _END}
"""Schemas of the answers of these routes, by name."""
PENDING = Answer(
    "The batch has not ended: ask again at the address in Location.",
    schema=ref("Batch"),
    headers={
        "Location": {"description": "The batch's address, absolute.", "required": True, "schema": STRING},
        "Retry-After": {
            "description": "Seconds to wait.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        },
    },
)
"""The answer while a batch has not ended."""

_ID: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The batch's id.",
    "schema": STRING,
}
_LAST_EVENT: Schema = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that the page has seen: the stream goes on after it.",
    "schema": STRING,
}
_ERRORS: tuple[ErrorType, ...] = (NotSignedIn, NotFound, InternalError, Unavailable, NotConfigured, TooSlow)
_OWN_ERRORS: tuple[ErrorType, ...] = (BadRequest, ContentFiltered, NotAllowed, TooLarge)
"""Errors that a batch can have ended with."""

BATCH_ROUTES: tuple[PlainRoute, ...] = (
    PlainRoute(
        "multi-agent-chat/batches/{id}",
        "get",
        "get_batch",
        "chat",
        "Get the answer of a batch",
        "202 until the batch has ended; then what the request would have been answered with, or the batch's own error.",
        (*_ERRORS, *_OWN_ERRORS),
        answers={200: Answer("The answer, in the protocol of the request."), 202: PENDING},
        parameters=(_ID,),
    ),
    PlainRoute(
        "multi-agent-chat/batches/{id}",
        "delete",
        "delete_batch",
        "chat",
        "Stop a batch and delete it",
        "The model's work for it stops within seconds.",
        _ERRORS,
        answers={204: Answer("It is deleted.", None)},
        parameters=(_ID,),
    ),
    PlainRoute(
        "multi-agent-chat/batches/{id}/stream",
        "get",
        "follow_batch",
        "chat",
        "Follow a batch",
        "Each agent's message as it is done: events 'message', and 'end' with the batch's status.",
        _ERRORS,
        visible=False,
        answers={
            200: Answer(
                "The events.",
                "text/event-stream",
                {"anyOf": [list_of({}), ref("BatchEnd")]},
                streams=True,
            ),
            204: Answer("The page has seen the end.", None),
        },
        parameters=(_ID, _LAST_EVENT),
    ),
)
"""The routes, in the documents' order."""
