"""What goes wrong between this app and a service of Azure. Imports `azure.core`: import it late.

What the service itself says goes nowhere: it may quote the question, the document or the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)

from shared.errors import RateLimited, SwitchboardError
from shared.outbound.retry_after import retry_after_of, seconds_to_tell


class Reason(Enum):
    """Why there is no result."""

    UNREACHABLE = auto()
    CUT_OFF = auto()
    TOO_SLOW = auto()
    NO_IDENTITY = auto()
    CREDENTIALS = auto()
    NOT_THERE = auto()
    NOT_AN_ANSWER = auto()
    NOT_ACCEPTED = auto()
    RATE = auto()
    BUSY = auto()
    BROKEN = auto()


type Sentences = Mapping[Reason, tuple[type[SwitchboardError], str]]
"""What a service's faults are told as: the error and its sentence, which may have placeholders."""

BY_CLASS: dict[type[BaseException], Reason] = {
    ClientAuthenticationError: Reason.NO_IDENTITY,
    ServiceRequestError: Reason.UNREACHABLE,
    ServiceResponseError: Reason.CUT_OFF,
    ServiceResponseTimeoutError: Reason.TOO_SLOW,
    IncompleteReadError: Reason.CUT_OFF,
    DecodeError: Reason.NOT_AN_ANSWER,
    AzureError: Reason.BROKEN,
    TimeoutError: Reason.TOO_SLOW,
    # The SDKs stumble so over an answer that is no object, not of the kind that they expect, or nested too deep.
    AttributeError: Reason.NOT_AN_ANSWER,
    LookupError: Reason.NOT_AN_ANSWER,
    RecursionError: Reason.NOT_AN_ANSWER,
    TypeError: Reason.NOT_AN_ANSWER,
    ValueError: Reason.NOT_AN_ANSWER,
}
"""The nearest class counts, for what tells no more than that."""

BY_STATUS: dict[int, Reason] = {
    400: Reason.NOT_ACCEPTED,
    401: Reason.CREDENTIALS,
    403: Reason.CREDENTIALS,
    404: Reason.NOT_THERE,
    408: Reason.TOO_SLOW,
    409: Reason.BUSY,
    413: Reason.NOT_ACCEPTED,
    415: Reason.NOT_ACCEPTED,
    422: Reason.BUSY,
    429: Reason.RATE,
    503: Reason.BUSY,
    504: Reason.TOO_SLOW,
}
"""Of a request, or of a single document in it. Others below 500 are no answer, and the rest are faults of the service.

Source: Search Service REST API 2026-04-01, 'HTTP status codes (Azure AI Search)'; the other services have no more.
"""

MAY_PASS = frozenset({Reason.UNREACHABLE, Reason.CUT_OFF, Reason.RATE, Reason.BUSY, Reason.BROKEN})
"""What a second try may mend: all that is asked of these services can be asked twice."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong."""

    reason: Reason
    """Why there is no result."""
    status: int | None = None
    """The HTTP status, where there was one."""
    retry_after: float | None = None
    """Seconds that the service asks to wait."""

    def to_error(self, sentences: Sentences, **words: str) -> SwitchboardError:
        """Make the error that the caller is told of it.

        Args:
            sentences: What a service's faults are told as.
            words: What their placeholders stand for, besides `retry_after`.
        """
        kind, sentence = sentences[self.reason]
        retry_after = seconds_to_tell(self.retry_after)
        message = sentence.format(retry_after=retry_after, **words)
        return RateLimited(message, retry_after=retry_after) if kind is RateLimited else kind(message)


def fault_of(exc: BaseException) -> Fault:
    """Find what went wrong: from the status where there is one, else from the nearest class."""
    status = exc.status_code if isinstance(exc, HttpResponseError) else None
    # Where the app could not sign in, the status is that of the directory.
    elsewhere = isinstance(exc, ClientAuthenticationError) and status != 401
    if status is None or status < 300 or elsewhere:
        return Fault(next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS))
    return Fault(reason_of(status), status, retry_after_of(getattr(getattr(exc, "response", None), "headers", {})))


def reason_of(status: int) -> Reason:
    """Why there is no result, by a status of 300 and up."""
    return BY_STATUS.get(status, Reason.BROKEN if status >= 500 else Reason.NOT_AN_ANSWER)
