"""What goes wrong with Azure AI Search, and what the caller is told. Imports `azure.core`: import it late.

The service's own text goes nowhere: it may quote the question, the document or the key.

Source: Search Service REST API 2026-04-01, 'HTTP status codes (Azure AI Search)'.
"""

import math
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

from shared.errors import NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable


@dataclass(frozen=True, slots=True)
class Right:
    """What the app must be allowed to do."""

    role: str
    """The role for its identity."""
    key: str
    """The kind of key where it has one."""


READ = Right("Search Index Data Reader", "a key")
WRITE = Right("Search Index Data Contributor", "an admin key")
LOOK = Right("Reader", "an admin key")
"""At the definition of an index, which is nothing of its documents."""
MANAGE = Right("Search Service Contributor", "an admin key")


class Reason(Enum):
    """Why there is no result."""

    UNREACHABLE = auto()
    CUT_OFF = auto()
    TOO_SLOW = auto()
    NO_IDENTITY = auto()
    CREDENTIALS = auto()
    NO_SUCH_THING = auto()
    NOT_AN_ANSWER = auto()
    NOT_ACCEPTED = auto()
    RATE = auto()
    BUSY = auto()
    BROKEN = auto()


SENTENCES: dict[Reason, tuple[type[SwitchboardError], str]] = {
    Reason.UNREACHABLE: (
        Unavailable,
        "Azure AI Search cannot be reached. Try again later; if it stays, check AZURE_SEARCH_ENDPOINT and the network.",
    ),
    Reason.CUT_OFF: (Unavailable, "Azure AI Search broke off. Try again."),
    Reason.TOO_SLOW: (TooSlow, "Azure AI Search took too long. Try again."),
    Reason.NO_IDENTITY: (
        NotConfigured,
        (
            "The app cannot sign in to Azure AI Search: give it a managed identity, sign in with `az login` locally, "
            "or set AZURE_SEARCH_API_KEY."
        ),
    ),
    Reason.CREDENTIALS: (NotConfigured, "Azure AI Search refused this app: {credential_advice}."),
    Reason.NO_SUCH_THING: (NotConfigured, "Azure AI Search has no {thing}."),
    Reason.NOT_AN_ANSWER: (
        Unavailable,
        "What is at AZURE_SEARCH_ENDPOINT sent something that is no answer of Azure AI Search: check it.",
    ),
    Reason.NOT_ACCEPTED: (
        NotConfigured,
        (
            "Azure AI Search does not accept what it was asked: check that AZURE_SEARCH_INDEX has the fields that "
            "AZURE_SEARCH_FIELDS names and vectors of the embedding model that is configured here, and check "
            "AZURE_SEARCH_SEMANTIC_CONFIGURATION and AZURE_SEARCH_KNOWLEDGE_SOURCE."
        ),
    ),
    Reason.RATE: (RateLimited, "Azure AI Search is busy. Try again in {retry_after} seconds."),
    Reason.BUSY: (Unavailable, "Azure AI Search has too much to do. Try again later; if it stays, add replicas."),
    Reason.BROKEN: (Unavailable, "Azure AI Search has a fault of its own. Try again later."),
}
"""What the caller is told."""

BY_CLASS: dict[type[BaseException], Reason] = {
    ClientAuthenticationError: Reason.NO_IDENTITY,
    ServiceRequestError: Reason.UNREACHABLE,
    ServiceResponseError: Reason.CUT_OFF,
    ServiceResponseTimeoutError: Reason.TOO_SLOW,
    IncompleteReadError: Reason.CUT_OFF,
    DecodeError: Reason.NOT_AN_ANSWER,
    AzureError: Reason.BROKEN,
    TimeoutError: Reason.TOO_SLOW,
    # The SDK stumbles so over an answer that is no object, or none of the kind that it expects.
    AttributeError: Reason.NOT_AN_ANSWER,
    LookupError: Reason.NOT_AN_ANSWER,
    TypeError: Reason.NOT_AN_ANSWER,
    ValueError: Reason.NOT_AN_ANSWER,
}
"""The nearest class counts, for what tells no more than that."""

BY_STATUS: dict[int, Reason] = {
    400: Reason.NOT_ACCEPTED,
    401: Reason.CREDENTIALS,
    403: Reason.CREDENTIALS,
    404: Reason.NO_SUCH_THING,
    408: Reason.TOO_SLOW,
    409: Reason.BUSY,
    413: Reason.NOT_ACCEPTED,
    415: Reason.NOT_ACCEPTED,
    422: Reason.BUSY,
    429: Reason.RATE,
    503: Reason.BUSY,
    504: Reason.TOO_SLOW,
}
"""Of a request, and of a single document. Others below 500 are no answer, and the rest are faults of the service."""

MAY_PASS = frozenset({Reason.UNREACHABLE, Reason.CUT_OFF, Reason.RATE, Reason.BUSY, Reason.BROKEN})
"""What a second try may mend: all that is asked of the service can be asked twice."""

_LONGEST_ADVICE = 10
"""Seconds to wait where the service does not say how many."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong."""

    reason: Reason
    """Why there is no result."""
    status: int | None = None
    """The HTTP status, where there was one."""
    retry_after: float | None = None
    """Seconds that the service asks to wait."""

    def to_error(self, right: Right, thing: str, *, has_key: bool) -> SwitchboardError:
        """Make the error that the caller is told of it.

        Args:
            right: What the app must be allowed to do for this.
            thing: What there is none of, if it is that.
            has_key: Whether the app comes with a key, or else as its identity.
        """
        kind, sentence = SENTENCES[self.reason]
        retry_after = _LONGEST_ADVICE if self.retry_after is None else max(1, math.ceil(self.retry_after))
        advice = (
            f"set AZURE_SEARCH_API_KEY to {right.key} of the service"
            if has_key
            else f"give its identity the role '{right.role}', and turn on role-based access control for the service"
        )
        message = sentence.format(credential_advice=advice, thing=thing, retry_after=retry_after)
        return RateLimited(message, retry_after=retry_after) if kind is RateLimited else kind(message)


def fault_of(exc: BaseException) -> Fault:
    """Find what went wrong: from the status where there is one, else from the nearest class."""
    status = exc.status_code if isinstance(exc, HttpResponseError) else None
    # Where the app could not sign in, the status is that of the directory.
    elsewhere = isinstance(exc, ClientAuthenticationError) and status != 401
    if status is None or status < 300 or elsewhere:
        return Fault(next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS))
    return Fault(reason_of(status), status, _retry_after(exc))


def reason_of(status: int) -> Reason:
    """Why there is no result, by a status of 300 and up."""
    return BY_STATUS.get(status, Reason.BROKEN if status >= 500 else Reason.NOT_AN_ANSWER)


def _retry_after(exc: BaseException) -> float | None:
    """Seconds that the service asks to wait."""
    headers: Mapping[str, str] = getattr(getattr(exc, "response", None), "headers", {})
    try:
        seconds = float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds < math.inf else None
