"""What goes wrong with an OpenAI-compatible service, and what the caller is told: the one table.

A fault has a reason, found by its code, its status or the class of its exception (`errors`). A reason has an error
class and a sentence of ours. The service's own text goes nowhere: it may quote the prompt or the key.

Source: OpenAI API reference, error codes; Azure OpenAI, content filtering; what compatible services send.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from shared.chat_types import Json
from shared.errors import BadRequest, ContentFiltered, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.retry_after import seconds_to_tell


class Reason(Enum):
    """Why there is no answer."""

    UNREACHABLE = auto()
    CUT_OFF = auto()
    NOT_AN_ANSWER = auto()
    TOO_SLOW = auto()
    CREDENTIALS = auto()
    NO_SUCH_MODEL = auto()
    TOO_LONG = auto()
    FILTERED = auto()
    RATE = auto()
    QUOTA = auto()
    OVERRIDE = auto()
    NOT_ACCEPTED = auto()
    BROKEN = auto()


SENTENCES: dict[Reason, tuple[type[SwitchboardError], str]] = {
    Reason.UNREACHABLE: (
        Unavailable,
        "The model's service cannot be reached. Try again later; if it stays, check {address_setting} and the network.",
    ),
    Reason.CUT_OFF: (Unavailable, "The model's answer was cut off. Try again."),
    Reason.NOT_AN_ANSWER: (
        Unavailable,
        "The model's service sent something that is no answer of a model. If it stays, check {address_setting}.",
    ),
    Reason.TOO_SLOW: (TooSlow, "The model took too long to answer. Try again, perhaps with a shorter question."),
    Reason.CREDENTIALS: (Unavailable, "The model's service refused this app's credentials: check {credential_advice}."),
    Reason.NO_SUCH_MODEL: (
        Unavailable,
        "The model's service knows no such model: check {model_setting}, and {address_setting}.",
    ),
    Reason.TOO_LONG: (BadRequest, "The conversation is too long for the model. Shorten it or start a new one."),
    Reason.FILTERED: (ContentFiltered, ContentFiltered().message),
    Reason.RATE: (RateLimited, "The model's service is busy. Try again in {retry_after} seconds."),
    Reason.QUOTA: (
        RateLimited,
        "The quota of the model's service is used up. Try again later; whoever runs the app can raise it.",
    ),
    Reason.OVERRIDE: (BadRequest, "The model does not accept this `{param}`: leave it out, or choose another value."),
    Reason.NOT_ACCEPTED: (
        Unavailable,
        "The model's service does not accept this kind of request: check that {model_setting} names a fitting model.",
    ),
    Reason.BROKEN: (Unavailable, "The model's service has a fault of its own. Try again later."),
}

BY_CODE: dict[str, Reason] = {
    "content_filter": Reason.FILTERED,
    "ResponsibleAIPolicyViolation": Reason.FILTERED,
    "content_policy_violation": Reason.FILTERED,
    "context_length_exceeded": Reason.TOO_LONG,
    "exceed_context_size_error": Reason.TOO_LONG,
    "string_above_max_length": Reason.TOO_LONG,
    "insufficient_quota": Reason.QUOTA,
    "rate_limit_exceeded": Reason.RATE,
    "model_not_found": Reason.NO_SUCH_MODEL,
    "DeploymentNotFound": Reason.NO_SUCH_MODEL,
    "invalid_api_key": Reason.CREDENTIALS,
}
"""By an error's `code`, its inner error's, or its `type`; looked up before the status."""

BY_STATUS: dict[int, Reason] = {
    400: Reason.NOT_ACCEPTED,
    401: Reason.CREDENTIALS,
    403: Reason.CREDENTIALS,
    404: Reason.NO_SUCH_MODEL,
    405: Reason.NOT_AN_ANSWER,
    408: Reason.TOO_SLOW,
    409: Reason.BROKEN,
    413: Reason.TOO_LONG,
    422: Reason.NOT_ACCEPTED,
    429: Reason.RATE,
    504: Reason.TOO_SLOW,
    524: Reason.TOO_SLOW,
}
"""Others below 400 are no answer, others below 500 refuse the request, and the rest are faults of the service."""

_OVERRIDES = frozenset({"temperature", "seed"})
"""Parameters whose values come from the caller."""

_TOO_LONG = re.compile(r"maximum context length|context window|context size", re.IGNORECASE)
"""vLLM and others say it in words only."""

_PLAIN = re.compile(r"[\w.:-]{1,80}")
"""What a code or a request id looks like: anything else may be somebody's text."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong."""

    reason: Reason
    """Why there is no answer."""
    status: int | None = None
    """The HTTP status, where there was one."""
    code: str | None = None
    """The service's code, if it is a plain word."""
    request_id: str | None = None
    """Finds the request in the service's own logs."""
    param: str | None = None
    """The override that was not accepted."""
    retry_after: float | None = None
    """Seconds that the service asks to wait."""

    def to_error(self, connection: OpenAIConnection, model: ServedModel) -> SwitchboardError:
        """Make the error that the caller is told of it."""
        kind, sentence = SENTENCES[self.reason]
        retry_after = seconds_to_tell(self.retry_after)
        message = sentence.format(
            address_setting=connection.address_setting,
            credential_advice=connection.credential_advice,
            model_setting=model.setting,
            param=self.param,
            retry_after=retry_after,
        )
        return RateLimited(message, retry_after=retry_after) if kind is RateLimited else kind(message)


class ServiceFault(Exception):
    """Raised inside the plug-in where an answer itself tells of a fault; never leaves it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason.name)
        self.fault = fault


def read_fault(
    error: Json, *, status: int | None = None, request_id: str | None = None, retry_after: float | None = None
) -> Fault:
    """Find the reason of an `error` object as it came in a body or a stream, of any shape.

    Args:
        error: the value of the `error` key, or the whole body where there is none.
        status: the HTTP status; None inside a stream, where `code` may hold one.
        request_id: the service's id of the request.
        retry_after: seconds that the service asks to wait.
    """
    fields = error if isinstance(error, dict) else {}
    inner = fields.get("innererror") or fields.get("inner_error")
    codes = [fields.get("code"), inner.get("code") if isinstance(inner, dict) else None, fields.get("type")]
    words = [str(code) for code in codes if isinstance(code, str | int)]
    if status is None:
        status = next((int(word) for word in words if word.isdecimal() and len(word) == 3), None)
    reason = next((BY_CODE[word] for word in words if word in BY_CODE), None) or _by_status(status)
    param = fields.get("param")
    if reason is Reason.NOT_ACCEPTED:
        if _TOO_LONG.search(str(fields.get("message", ""))):
            reason = Reason.TOO_LONG
        elif param in _OVERRIDES:
            reason = Reason.OVERRIDE
    return Fault(
        reason,
        status=status,
        code=next((word for word in words if _PLAIN.fullmatch(word)), None),
        request_id=request_id if request_id and _PLAIN.fullmatch(request_id) else None,
        param=str(param) if reason is Reason.OVERRIDE else None,
        retry_after=retry_after,
    )


def _by_status(status: int | None) -> Reason:
    if status is None or status >= 500:
        return BY_STATUS.get(status or 500, Reason.BROKEN)
    return BY_STATUS.get(status, Reason.NOT_AN_ANSWER if status < 400 else Reason.NOT_ACCEPTED)
