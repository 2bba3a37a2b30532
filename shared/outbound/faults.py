"""The failure table: what a fault of any outside service becomes for the caller.

Each service's plug-in finds the `Reason` of a fault: by HTTP status here, by the classes of `azure.core` in
`azure_service/asking.py`, by the classes and codes of `openai` in `openai_service/`, by gRPC status in
`guard/rai/session.py`. From there on one table holds for all, `failures.json`: there each reason has its sentence and
its error, `Unavailable` if none is named, and each service what differs for it. Words in braces are filled in.

A service's own text never gets into an error: it may quote the question, a document or the key.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import StrEnum, auto
from pathlib import Path
from time import time

import msgspec

from shared import errors
from shared.errors import RateLimited, SwitchboardError


class Reason(StrEnum):
    """Why a service gave no result."""

    UNREACHABLE = auto()
    """No connection, or one that was closed without an answer."""
    UNTRUSTED = auto()
    """Its certificate is not trusted."""
    CUT_OFF = auto()
    """The connection ended in the middle of the answer."""
    TOO_SLOW = auto()
    NO_IDENTITY = auto()
    """The app has no identity to sign in with, or its directory does not answer."""
    CREDENTIALS = auto()
    """The service refuses the app's key or identity."""
    NOT_THERE = auto()
    """No such index, model, policy or document."""
    CHANGED = auto()
    """The thing has another version by now."""
    NOT_AN_ANSWER = auto()
    """Something answered, but not as this service answers."""
    WRONG_SERVICE = auto()
    """Another service answered."""
    NOT_ACCEPTED = auto()
    """The service does not accept what it was sent."""
    OVERRIDE = auto()
    """The model does not accept a value that the caller chose."""
    TOO_LONG = auto()
    """The conversation is longer than the model takes."""
    FILTERED = auto()
    """The service's content filter refused it."""
    RATE = auto()
    """Too many requests (HTTP 429)."""
    QUOTA = auto()
    """The quota is used up."""
    BUSY = auto()
    """The service has too much to do (HTTP 503), or somebody else changes the same thing."""
    LOADING = auto()
    """The service is loading its model: it answers when that is done, so that it is asked until the deadline."""
    BROKEN = auto()
    """A fault of the service itself."""


RETRIED = frozenset({Reason.UNREACHABLE, Reason.CUT_OFF, Reason.RATE, Reason.BUSY, Reason.LOADING, Reason.BROKEN})
"""Faults that a second try may mend. A service that is too slow would only get slower."""


def reason_of_status(status: int) -> Reason:
    """Find the reason of an HTTP status of 300 and up.

    Those that `failures.json` does not name are no answer below 500, and else faults of the service. Source: Search
    Service REST API 2026-04-01, 'HTTP status codes (Azure AI Search)'; the other services have no more of their own,
    and 524 is a proxy's time-out.
    """
    return DEFAULTS.statuses.get(status, Reason.BROKEN if status >= 500 else Reason.NOT_AN_ANSWER)


LARGEST_REFUSAL = 64 * 1024
"""Maximum bytes that are read of an error response: the status says most, and a reason is short."""


class Fault(msgspec.Struct, frozen=True):
    """One failed request."""

    reason: Reason
    """Why there is no result."""
    status: int | None = None
    """The HTTP status; None where there was none."""
    retry_after: float | None = None
    """Seconds that the service asks to wait; None where it does not say."""
    code: str | None = None
    """The service's error code, if it is a plain word."""
    request_id: str | None = None
    """The service's id of the request, which finds it in the service's own logs."""
    param: str | None = None
    """The override that was not accepted."""
    window: int | None = None
    """Tokens that the model reads and writes together, where a conversation was too long for it and it says so."""
    advice: str | None = None
    """What to set instead, as a sentence for the caller; None where the table's sentence says all."""


class ServiceFault(Exception):
    """A fault that is found in an answer's content; raised and translated inside a plug-in, never seen outside it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason.name)
        self.fault = fault


class ErrorTable(msgspec.Struct, frozen=True):
    """The errors of one service: those of all, but for what is named here."""

    name: str = ""
    """The service's name, as a sentence begins with it."""
    address: str = ""
    """The settings to check when it cannot be reached."""
    sentences: Mapping[Reason, str] = msgspec.field(default_factory=dict[Reason, str])
    """Sentences that differ from the defaults. They may have placeholders, for which `error` gets the words."""
    kinds: Mapping[Reason, str] = msgspec.field(default_factory=dict[Reason, str])
    """Error classes that differ from the defaults, by their names in `shared.errors`."""
    statuses: Mapping[int, Reason] = msgspec.field(default_factory=dict[int, Reason])
    """Reasons of HTTP statuses that differ from the defaults."""
    codes: Mapping[str, Reason] = msgspec.field(default_factory=dict[str, Reason])
    """Reasons of the service's own codes."""

    def error(self, fault: Fault, **words: str) -> SwitchboardError:
        """Make the error that the caller gets.

        Args:
            fault: What went wrong.
            words: The words for the sentences' own placeholders.
        """
        reason = fault.reason
        kind = getattr(errors, self.kinds.get(reason) or DEFAULTS.kinds.get(reason, "Unavailable"))
        sentence = self.sentences.get(reason) or DEFAULTS.sentences[reason]
        retry_after = 10 if fault.retry_after is None else max(1, math.ceil(fault.retry_after))
        given: dict[str, object] = {"name": self.name, "address": self.address, **words}
        message = sentence.format(**given, param=fault.param, retry_after=retry_after)
        return RateLimited(message, retry_after=retry_after) if kind is RateLimited else kind(message)


_FAILURES = msgspec.json.decode(Path(__file__).with_name("failures.json").read_bytes(), type=dict[str, ErrorTable])
errors_of = _FAILURES.__getitem__
"""Returns the table of a service of `failures.json`."""
DEFAULTS = errors_of("all")
"""The sentence for each reason, and its error where it is not `Unavailable`."""


LONGEST_RETRY_AFTER = 3600.0
"""Longest wait in seconds that is passed on from a service: it is sent to callers, and clients obey it."""
_RETRY_HEADERS = (("retry-after-ms", 1000), ("x-ms-retry-after-ms", 1000), ("retry-after", 1))
"""Headers that hold a number, Azure's more exact ones first, with what divides it to give seconds."""


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds a service asks to wait, 0 to `LONGEST_RETRY_AFTER`; None where the headers do not say.

    Args:
        headers: The answer's headers; names in any case. `Retry-After` may hold a date (RFC 9110, 10.2.3).
    """
    for name, divisor in _RETRY_HEADERS:
        try:
            seconds = float(headers[name]) / divisor
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return min(seconds, LONGEST_RETRY_AFTER)
    try:
        seconds = parsedate_to_datetime(headers["retry-after"]).timestamp() - time()
        return max(0.0, min(seconds, LONGEST_RETRY_AFTER))
    except (KeyError, ValueError, OverflowError):
        return None
