"""Azure AI services that ingestion and search use: retries within a time limit, and what their errors mean.

Imports `azure.core`: import it late.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from pydantic import SecretStr

from shared.errors import BadRequest, RateLimited, SwitchboardError, TooSlow, Unavailable

_log = logging.getLogger("switchboard.retrieval")

# One line a request at INFO says nothing that our own log lines do not.
logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)

OPTIONS: Mapping[str, Any] = {
    "connection_timeout": 5,
    # The SDK's own retries would sleep past our limit, and a redirect would take document and key elsewhere.
    "retry_total": 0,
    "permit_redirects": False,
}
"""For the SDK's clients; times in seconds."""

SCOPE = "https://cognitiveservices.azure.com/.default"
"""What a token of the app's identity is for."""

_RETRIES = 3
_FIRST_BACKOFF = 0.25
"""Seconds before the first retry where the service names none; doubled for each further one."""


class Reason(Enum):
    """Why there is no result."""

    UNREACHABLE = auto()
    CUT_OFF = auto()
    TOO_SLOW = auto()
    CREDENTIALS = auto()
    NO_SUCH_SERVICE = auto()
    NOT_AN_ANSWER = auto()
    NOT_ACCEPTED = auto()
    RATE = auto()
    BROKEN = auto()


SENTENCES: dict[Reason, tuple[type[SwitchboardError], str]] = {
    Reason.UNREACHABLE: (
        Unavailable,
        "{name} cannot be reached. Try again later; if it stays, check {endpoint_setting}.",
    ),
    Reason.CUT_OFF: (Unavailable, "{name} broke off. Try again."),
    Reason.TOO_SLOW: (TooSlow, "{name} took too long. Try again."),
    Reason.CREDENTIALS: (
        Unavailable,
        "{name} refused this app: check {key_setting}, or give the app's identity the role 'Cognitive Services User'.",
    ),
    Reason.NO_SUCH_SERVICE: (Unavailable, "There is no {name} at {endpoint_setting}: check it."),
    Reason.NOT_AN_ANSWER: (Unavailable, "What is at {endpoint_setting} sent something that is no result of {name}."),
    Reason.NOT_ACCEPTED: (BadRequest, "{name} does not accept what it was sent."),
    Reason.RATE: (RateLimited, "{name} is busy. Try again in a moment."),
    Reason.BROKEN: (Unavailable, "{name} has a fault of its own. Try again later."),
}
"""What the caller is told."""

BY_CLASS: dict[type[Exception], Reason] = {
    ClientAuthenticationError: Reason.CREDENTIALS,
    ServiceRequestError: Reason.UNREACHABLE,
    ServiceResponseError: Reason.CUT_OFF,
    ServiceResponseTimeoutError: Reason.TOO_SLOW,
    DecodeError: Reason.NOT_AN_ANSWER,
    AzureError: Reason.BROKEN,
    TimeoutError: Reason.TOO_SLOW,
    ValueError: Reason.NOT_AN_ANSWER,
}
"""The nearest class counts, for what tells no more than that."""

BY_STATUS: dict[int, Reason] = {
    400: Reason.NOT_ACCEPTED,
    401: Reason.CREDENTIALS,
    403: Reason.CREDENTIALS,
    404: Reason.NO_SUCH_SERVICE,
    408: Reason.TOO_SLOW,
    413: Reason.NOT_ACCEPTED,
    415: Reason.NOT_ACCEPTED,
    429: Reason.RATE,
    504: Reason.TOO_SLOW,
}
"""Others below 500 are no answer, and the rest are faults of the service."""

_MAY_PASS = frozenset({Reason.UNREACHABLE, Reason.CUT_OFF, Reason.RATE, Reason.BROKEN})
"""What a second try may mend."""


@dataclass(frozen=True, slots=True)
class AIService:
    """One resource."""

    name: str
    """What people call the service."""
    endpoint: str
    """Its URL."""
    key: SecretStr | None
    """Its key; None: the app's identity."""
    endpoint_setting: str
    """The setting to check when it cannot be reached."""
    key_setting: str
    """The setting to check when it refuses the key."""
    options: Mapping[str, Any] = field(default_factory=lambda: OPTIONS)
    """For the SDK's client."""

    async def ask[Answer](
        self,
        call: Callable[[], Awaitable[Answer]],
        *,
        seconds: float,
        final: Callable[[Exception], Exception | None] = lambda _: None,
    ) -> Answer:
        """Make a call, again where that may help.

        Args:
            call: Begins it.
            seconds: How long all of it may take.
            final: What to raise of an error that says something of what was sent; None: what is raised of any.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no result; says what to do.
        """
        now = asyncio.get_running_loop().time
        deadline, attempt = now() + seconds, 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await call()
            except (AzureError, TimeoutError, ValueError) as exc:
                if of_what_was_sent := final(exc):
                    raise of_what_was_sent from None
                reason, wait = reason_of(exc), _retry_after(exc)
                _log.warning("%s: %s (%s)", self.name, reason.name, type(exc).__name__)
                pause = wait if wait is not None else _FIRST_BACKOFF * 2**attempt
                if reason not in _MAY_PASS or attempt >= _RETRIES or now() + pause >= deadline:
                    # The service's own words may quote the document: a logged trace must not show them.
                    raise self.error(reason, wait) from None
            await asyncio.sleep(pause)
            attempt += 1

    def error(self, reason: Reason, retry_after: float | None = None) -> SwitchboardError:
        """What the caller is told."""
        kind, sentence = SENTENCES[reason]
        message = sentence.format(name=self.name, endpoint_setting=self.endpoint_setting, key_setting=self.key_setting)
        if kind is RateLimited and retry_after is not None:
            return RateLimited(message, retry_after=max(1, math.ceil(retry_after)))
        return kind(message)


def reason_of(exc: BaseException) -> Reason:
    """Why there is no result: by the status where there is one, else by the nearest class."""
    status = exc.status_code if isinstance(exc, HttpResponseError) else None
    if status is None or status < 300:
        return next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS)
    return BY_STATUS.get(status, Reason.BROKEN if status >= 500 else Reason.NOT_AN_ANSWER)


def _retry_after(exc: Exception) -> float | None:
    """Seconds that the service asks to wait."""
    headers: Mapping[str, str] = getattr(getattr(exc, "response", None), "headers", {})
    try:
        seconds = float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds < math.inf else None
