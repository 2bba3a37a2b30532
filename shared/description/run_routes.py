"""The routes of answers that outlive their request, as data, and what such a request sends beside its body."""

from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.description.routes import CALLER_ERRORS, Answer, Parameter, PlainRoute
from shared.description.schemas import Time
from shared.errors import (
    BadRequest,
    BegunAnew,
    ContentFiltered,
    Decided,
    NotAllowed,
    NotFound,
    Stopped,
    TooLarge,
    TooSlow,
)
from shared.wire.approval_body import Approval, ApprovalDecision, Approvals
from shared.wire.framing import SSE
from shared.wire.prefer import MAX_KEY_LENGTH, MOST_WAIT_SECONDS

RUN_PARAMETERS = (
    Parameter(
        "header",
        "Prefer",
        "'respond-async': answer with 202, and with the answer's address in Location (RFC 7240). "
        f"'respond-async, wait=10': only if it takes longer than 10 seconds, of at most {MOST_WAIT_SECONDS}.",
    ),
    Parameter(
        "header",
        "Idempotency-Key",
        "Of an answer that outlives its request: the same key and request again get the same answer. "
        f"Up to {MAX_KEY_LENGTH} printable characters, such as a UUID.",
    ),
)
"""Headers of a request that may be answered later."""


class Run(TypedDict):
    """An answer that has not ended."""

    id: Annotated[str, Field(description="Its id.")]
    status: Literal["queued", "running", "waiting"]
    created: Time
    messages: Annotated[list[Any], Field(description="The agents' messages so far, in the protocol of the request.")]
    approvals: NotRequired[Annotated[list[Approval], Field(description="With `waiting`: the calls to decide about.")]]


class RunEnd(TypedDict):
    """The last event of a team's answer."""

    status: Annotated[int, Field(description="The status that it ended with.")]


PENDING = Answer(
    "The answer is not there yet: ask again at the address in Location.",
    Run,
    headers=(
        Parameter("header", "Location", "The answer's address, absolute."),
        Parameter("header", "Retry-After", "Seconds to wait.", Annotated[int, Field(ge=1)]),
    ),
)
"""The response while an answer is not there yet."""

_ID = Parameter("path", "id", "The answer's id.")
_APPROVAL = Parameter("path", "id", "The approval's id.")
_LAST_EVENT = Parameter(
    "header",
    "Last-Event-ID",
    "The id of the last event that the page has seen: the stream goes on after it.",
)
_AFTER = Parameter(
    "query", "starting_after", "The number of the last record that was read, from 0: the stream goes on after it."
)
_ERRORS = (*CALLER_ERRORS, NotFound, TooSlow)
_OWN_ERRORS = (BadRequest, ContentFiltered, NotAllowed, Stopped, TooLarge)
"""Errors that an answer can have ended with."""
_route = partial(PlainRoute, tag="chat", errors=_ERRORS)


def _get_and_delete(template: str, name: str, of: str, *, visible: bool = True) -> tuple[PlainRoute, PlainRoute]:
    """The two routes of an answer that is kept."""
    return (
        _route(
            "get",
            template,
            f"get_{name}",
            f"Get the answer of {of}",
            "202 until it has ended; then what the request would have been answered with, or the answer's own error.",
            {200: Answer("The answer, in the protocol of the request.", Any), 202: PENDING},
            (_ID,),
            errors=(*_ERRORS, *_OWN_ERRORS),
            visible=visible,
        ),
        _route(
            "delete",
            template,
            f"delete_{name}",
            f"Stop {of} and delete it",
            "The model's work for it stops within seconds.",
            {204: Answer("It is deleted.")},
            (_ID,),
            visible=visible,
        ),
    )


RUN_ROUTES = (
    *_get_and_delete("runs/{id}", "run", "a run"),
    _route(
        "get",
        "runs/{id}/stream",
        "follow_run",
        "Follow a run",
        "The answer in the protocol of its request, from its first record or after one that was read.",
        {200: Answer("The records.", Any, SSE.content_type, streams=True)},
        (_ID, _LAST_EVENT, _AFTER),
        errors=(*_ERRORS, BadRequest, BegunAnew, NotAllowed, TooLarge),
        visible=False,
    ),
    *_get_and_delete("multi-agent-chat/batches/{id}", "batch", "a batch"),
    _route(
        "get",
        "multi-agent-chat/batches/{id}/stream",
        "follow_batch",
        "Follow a batch",
        "Each agent's message as it is done: events 'message', and 'end' with the batch's status.",
        {
            200: Answer("The events.", list[Any] | RunEnd, SSE.content_type, streams=True),
            204: Answer("The page has seen the end."),
        },
        (_ID, _LAST_EVENT),
        visible=False,
    ),
    _route(
        "get",
        "approvals",
        "list_approvals",
        "List the calls of tools that wait for consent",
        "Those that the caller has asked for; for approvers (`APPROVERS`) those of all.",
        {200: Answer("The open approvals.", Approvals)},
    ),
    _route(
        "get",
        "approvals/{id}",
        "get_approval",
        "Get an approval",
        "How it stands, and what has come of the call.",
        {
            200: Answer("The approval.", Approval),
            303: Answer(
                "The playground's page of it, for a browser (`Accept: text/html`), where the playground is on."
            ),
        },
        (_APPROVAL,),
    ),
    _route(
        "post",
        "approvals/{id}",
        "decide_approval",
        "Agree to a call of a tool, or refuse it",
        "The answer that waits for it goes on. The same decision again changes nothing; another is a 409.",
        {200: Answer("The approval as it is now.", Approval)},
        (_APPROVAL,),
        errors=(*_ERRORS, BadRequest, Decided, TooLarge),
        body=ApprovalDecision,
    ),
)
"""The routes, in the documents' order."""
