"""The routes of batches that outlive their request, as data, and what such a request sends beside its body."""

from functools import partial
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from shared.description.routes import CALLER_ERRORS, Answer, Parameter, PlainRoute
from shared.description.schemas import Time
from shared.errors import BadRequest, ContentFiltered, NotAllowed, NotFound, TooLarge, TooSlow
from shared.wire.framing import SSE
from shared.wire.prefer import MAX_KEY_LENGTH, MOST_WAIT_SECONDS

BATCH_PARAMETERS = (
    Parameter(
        "header",
        "Prefer",
        "'respond-async': answer with 202, and with the answer's address in Location (RFC 7240). "
        f"'respond-async, wait=10': only if it takes longer than 10 seconds, of at most {MOST_WAIT_SECONDS}.",
    ),
    Parameter(
        "header",
        "Idempotency-Key",
        "With 'respond-async': the same key and request again are the same batch. "
        f"Up to {MAX_KEY_LENGTH} printable characters, such as a UUID.",
    ),
)
"""Headers of a request that may be answered later."""


class Batch(TypedDict):
    """A batch that has not ended."""

    id: Annotated[str, Field(description="The batch's id.")]
    status: Literal["queued", "running"]
    created: Time
    messages: Annotated[list[Any], Field(description="The agents' messages so far, in the protocol of the request.")]


class BatchEnd(TypedDict):
    """The last event of a batch."""

    status: Annotated[int, Field(description="The status that the batch ended with.")]


PENDING = Answer(
    "The batch has not ended: ask again at the address in Location.",
    Batch,
    headers=(
        Parameter("header", "Location", "The batch's address, absolute."),
        Parameter("header", "Retry-After", "Seconds to wait.", Annotated[int, Field(ge=1)]),
    ),
)
"""The answer while a batch has not ended."""

_ID = Parameter("path", "id", "The batch's id.")
_LAST_EVENT = Parameter(
    "header",
    "Last-Event-ID",
    "The id of the last event that the page has seen: the stream goes on after it.",
)
_ERRORS = (*CALLER_ERRORS, NotFound, TooSlow)
_OWN_ERRORS = (BadRequest, ContentFiltered, NotAllowed, TooLarge)
"""Errors that a batch can have ended with."""
_route = partial(PlainRoute, tag="chat", errors=_ERRORS)

BATCH_ROUTES = (
    _route(
        "get",
        "multi-agent-chat/batches/{id}",
        "get_batch",
        "Get the answer of a batch",
        "202 until the batch has ended; then what the request would have been answered with, or the batch's own error.",
        {200: Answer("The answer, in the protocol of the request.", Any), 202: PENDING},
        (_ID,),
        errors=(*_ERRORS, *_OWN_ERRORS),
    ),
    _route(
        "delete",
        "multi-agent-chat/batches/{id}",
        "delete_batch",
        "Stop a batch and delete it",
        "The model's work for it stops within seconds.",
        {204: Answer("It is deleted.")},
        (_ID,),
    ),
    _route(
        "get",
        "multi-agent-chat/batches/{id}/stream",
        "follow_batch",
        "Follow a batch",
        "Each agent's message as it is done: events 'message', and 'end' with the batch's status.",
        {
            200: Answer("The events.", list[Any] | BatchEnd, SSE.content_type, streams=True),
            204: Answer("The page has seen the end."),
        },
        (_ID, _LAST_EVENT),
        visible=False,
    ),
)
"""The routes, in the documents' order."""
