"""The errors that a caller may be shown, as one tree, and the log entry for all others.

    SwitchboardError
    ├── BadRequest            400 bad_request
    │   └── ContentFiltered   400 content_filter
    ├── NotSignedIn           401 unauthorized
    ├── NotAllowed            403 forbidden
    ├── NotFound              404 not_found
    ├── TooSlowBody           408 request_timeout
    ├── AlreadyThere          409 already_there
    ├── Decided               409 conflict
    ├── Stopped               409 stopped
    ├── BegunAnew             410 begun_anew
    ├── TooLarge              413 too_large
    ├── Unreadable            422 unreadable
    ├── KeyReused             422 key_reused
    ├── RateLimited           429 rate_limited, with `retry_after`
    ├── InternalError         500 internal_error
    ├── Unavailable           503 unavailable
    │   ├── NotConfigured     503 not_configured
    │   └── Overloaded        503 overloaded, with `retry_after`
    └── TooSlow               504 timeout

A message says what the caller can do. It is written by us, never copied from an exception of a library, so it
cannot carry a trace, a key or another user's text.
"""

import logging
import re
import traceback
from typing import ClassVar

from shared.chat_types import Json

_log = logging.getLogger("switchboard.turn")

_ERROR_TEXT = re.compile(r"\(invocation [\w-]{1,64}\)[\"'}\]\s]{0,20}\Z")
"""The end of an error message, maybe inside the JSON in which it came."""


def log_fault(error: Exception, invocation_id: str) -> None:
    """Log an unexpected exception: its type and its stack, but not its message, which may hold a user's text."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    _log.error("invocation %s: %s\n%s", invocation_id, type(error).__name__, stack)


def error_text(error: "SwitchboardError", invocation_id: str) -> str:
    """Make the error message for the caller: the sentence, and the invocation id of the log entry."""
    return f"{error.message} (invocation {invocation_id})"


def is_error_text(text: str) -> bool:
    """Whether a text is a message of `error_text`, as clients show it or send it back."""
    return _ERROR_TEXT.search(text[-200:]) is not None


class SwitchboardError(Exception):
    """An error with a status, a stable code and a sentence for the caller."""

    status: ClassVar[int]
    code: ClassVar[str]

    def __init_subclass__(cls, *, status: int | None = None, code: str | None = None) -> None:
        """Give a kind of errors its status, if it has another than its base, and its code."""
        cls.status = status or cls.status
        cls.code = code or cls.code

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def without_frames(error: SwitchboardError) -> SwitchboardError:
    """Remove the stack from an error that is kept for a while: its frames hold what the request has in memory."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


class BadRequest(SwitchboardError, status=400, code="bad_request"):
    """The request is malformed, or asks for something that is not possible."""


class ContentFiltered(BadRequest, code="content_filter"):
    """The model's service or the safety service refused the prompt or the answer."""

    def __init__(
        self,
        message: str = "The content filter of the model's service refused this. Please rephrase it.",
        *,
        results: Json = None,
        earlier: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(message)
        self.earlier = earlier
        """Places of the earlier messages that are the reason, from 0; empty: none is; None: not known."""
        self.results = results
        """Results by category, in the shape of Azure's `content_filter_results`; None if there are none."""


FILTERED_ANSWER = "The content filter of the model's service ended the answer here. Please rephrase the question."
"""The message of a `ContentFiltered` after a part of the answer."""


class NotSignedIn(SwitchboardError, status=401, code="unauthorized"):
    """The request needs a signed-in user."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        """Whether the request carries credentials that are not valid."""


class NotAllowed(SwitchboardError, status=403, code="forbidden"):
    """The caller is known and may not do this."""


class NotFound(SwitchboardError, status=404, code="not_found"):
    """The thing does not exist, or the caller may not see it."""


class TooSlowBody(SwitchboardError, status=408, code="request_timeout"):
    """The body of the request arrives too slowly."""


class AlreadyThere(SwitchboardError, status=409, code="already_there"):
    """There is another version of a document than the one that the request was checked against."""


class Decided(SwitchboardError, status=409, code="conflict"):
    """An approval is not open any more, and what was decided is not what this answer says."""


class Stopped(SwitchboardError, status=409, code="stopped"):
    """The answer was stopped on request."""

    def __init__(self, message: str = "This answer was stopped. What came of it is kept.") -> None:
        super().__init__(message)


class BegunAnew(SwitchboardError, status=410, code="begun_anew"):
    """An answer that was cut off begins anew with other words than its reader has seen."""

    def __init__(self) -> None:
        super().__init__("The answer was interrupted, and begins anew: read it again from its beginning.")


class TooLarge(SwitchboardError, status=413, code="too_large"):
    """The request is over a size limit."""


class Unreadable(SwitchboardError, status=422, code="unreadable"):
    """A document that cannot be indexed: it is damaged, protected, too large, or holds no text."""


class KeyReused(SwitchboardError, status=422, code="key_reused"):
    """An idempotency key came again with another request."""


class RateLimited(SwitchboardError, status=429, code="rate_limited"):
    """A caller has used up a limit, or a service that the answer needs refuses more requests for now."""

    def __init__(self, message: str, *, retry_after: int = 10) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Whole seconds to wait, at least 1."""


class InternalError(SwitchboardError, status=500, code="internal_error"):
    """An unexpected exception in this app."""

    def __init__(self, message: str = "The request failed on our side. Try again, and report it if it stays.") -> None:
        super().__init__(message)


class Unavailable(SwitchboardError, status=503, code="unavailable"):
    """A service that the answer needs cannot be reached or does not work."""


class NotConfigured(Unavailable, code="not_configured"):
    """A setting is missing or wrong; the message names it and what it accepts."""


class Overloaded(Unavailable, code="overloaded"):
    """This app works on as much as its memory has room for."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Whole seconds to wait, at least 1."""


class TooSlow(SwitchboardError, status=504, code="timeout"):
    """A service did not answer in time."""
