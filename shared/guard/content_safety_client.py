"""Calls Azure AI Content Safety, and what its errors mean. Imports `azure.ai.contentsafety`: import it late.

Source: Content Safety REST API 2023-10-01, 'Text Operations - Analyze Text', and its error codes.
"""

import asyncio
import logging
import math
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from azure.ai.contentsafety.aio import ContentSafetyClient
from azure.ai.contentsafety.models import AnalyzeTextResult
from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
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

from shared.chat_types import Json
from shared.errors import BadRequest, RateLimited, SwitchboardError, TooSlow, Unavailable

_log = logging.getLogger("switchboard.safety")

# One line a request at INFO says nothing that our own log lines do not.
logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)

OPTIONS: Mapping[str, Any] = {
    "connection_timeout": 5,
    # The SDK's own retries would sleep past our deadline, and a redirect would take text and key elsewhere.
    "retry_total": 0,
    "permit_redirects": False,
}
"""For the SDK's client; times in seconds."""

_FIRST_BACKOFF = 0.25
"""Seconds before the first retry where the service names none; doubled for each further one."""
_RETRIES = 3

_CATEGORIES = {"Hate": "HATE", "SelfHarm": "SELF_HARM", "Sexual": "SEXUAL", "Violence": "VIOLENCE"}
"""In the words of our findings."""


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
        "Azure AI Content Safety cannot be reached. Try again later; if it stays, check CONTENT_SAFETY_ENDPOINT.",
    ),
    Reason.CUT_OFF: (Unavailable, "Azure AI Content Safety broke off. Try again."),
    Reason.TOO_SLOW: (TooSlow, "Azure AI Content Safety took too long. Try again."),
    Reason.CREDENTIALS: (
        Unavailable,
        "Azure AI Content Safety refused this app: check CONTENT_SAFETY_API_KEY, or the app's role on the resource.",
    ),
    Reason.NO_SUCH_SERVICE: (
        Unavailable,
        "There is no Azure AI Content Safety at CONTENT_SAFETY_ENDPOINT: check it.",
    ),
    Reason.NOT_AN_ANSWER: (
        Unavailable,
        "What is at CONTENT_SAFETY_ENDPOINT sent something that is no result of Azure AI Content Safety.",
    ),
    Reason.NOT_ACCEPTED: (
        BadRequest,
        "Azure AI Content Safety does not accept a text of this conversation. Ask in other words.",
    ),
    Reason.RATE: (RateLimited, "Azure AI Content Safety is busy. Try again in a moment."),
    Reason.BROKEN: (Unavailable, "Azure AI Content Safety has a fault of its own. Try again later."),
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
    429: Reason.RATE,
    504: Reason.TOO_SLOW,
}
"""Others below 500 are no answer, and the rest are faults of the service."""

_MAY_PASS = frozenset({Reason.UNREACHABLE, Reason.RATE, Reason.BROKEN})
"""What a second try may mend."""


class TextAnalyser:
    """One SDK client with its connections.

    Args:
        client: Knows the resource, and how to sign in.
        credential: What signs the client in, if it is to be closed with it.
    """

    def __init__(self, client: ContentSafetyClient, credential: AsyncTokenCredential | None = None) -> None:
        self._client = client
        self._credential = credential

    @classmethod
    def at(cls, endpoint: str, key: SecretStr | None, **options: Any) -> "TextAnalyser":  # noqa: ANN401 (the SDK's own)
        """For a resource, with its key or else with the app's identity.

        Args:
            endpoint: The resource's URL.
            key: None: the identity.
            options: More for the SDK's client.
        """
        whole = {**OPTIONS, **options}
        if key:
            return cls(ContentSafetyClient(endpoint, AzureKeyCredential(key.get_secret_value()), **whole))
        from azure.identity.aio import DefaultAzureCredential

        credential = DefaultAzureCredential()
        return cls(ContentSafetyClient(endpoint, credential, **whole), credential)

    async def severities(self, text: str, *, deadline: float, invocation_id: str) -> dict[str, int]:
        """Analyse a text: the severity of each category, 0 to 7.

        Args:
            text: At most 10,000 characters, and not empty.
            deadline: When the result must be there, on the event loop's clock, in seconds.
            invocation_id: For the log.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no result; says what to do.
        """
        attempt = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return _read(await self._client.analyze_text(_options(text)))
            except (AzureError, TimeoutError, ValueError) as exc:
                reason, wait = reason_of(exc), _retry_after(exc)
                _log.warning("%s (%s), invocation %s", reason.name, type(exc).__name__, invocation_id)
                pause = wait if wait is not None else _FIRST_BACKOFF * 2**attempt
                late = asyncio.get_running_loop().time() + pause >= deadline
                if reason not in _MAY_PASS or attempt >= _RETRIES or late:
                    # The service's own words may quote the text: a logged trace must not show them.
                    raise _error(reason, wait) from None
            await asyncio.sleep(pause)
            attempt += 1

    async def knows_us(self, *, seconds: float) -> None:
        """Whether the service is there and takes the credentials: an empty text, which it refuses, tells that.

        Raises:
            Unavailable, RateLimited, TooSlow: it is not, or does not; says what to do.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._client.analyze_text(_options(""))
        except (AzureError, TimeoutError, ValueError) as exc:
            if (reason := reason_of(exc)) is not Reason.NOT_ACCEPTED:
                raise _error(reason, None) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        if self._credential:
            await self._credential.close()


def reason_of(exc: BaseException) -> Reason:
    """Why there is no result: by the status where there is one, else by the nearest class."""
    status = exc.status_code if isinstance(exc, HttpResponseError) else None
    if status is None or status < 300:
        return next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS)
    return BY_STATUS.get(status, Reason.BROKEN if status >= 500 else Reason.NOT_AN_ANSWER)


def _error(reason: Reason, retry_after: float | None) -> SwitchboardError:
    kind, sentence = SENTENCES[reason]
    if kind is RateLimited and retry_after is not None:
        return RateLimited(sentence, retry_after=max(1, math.ceil(retry_after)))
    return kind(sentence)


def _retry_after(exc: Exception) -> float | None:
    """Seconds that the service asks to wait."""
    headers: Mapping[str, str] = getattr(getattr(exc, "response", None), "headers", {})
    try:
        seconds = float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds < math.inf else None


def _options(text: str) -> dict[str, Json]:
    return {"text": text, "categories": [*_CATEGORIES], "outputType": "EightSeverityLevels"}


def _read(result: AnalyzeTextResult) -> dict[str, int]:
    """The severities of all categories: one that is missing would pass unseen."""
    try:
        found = {_CATEGORIES[item.category]: item.severity for item in result.categories_analysis}
    except (AttributeError, KeyError, TypeError):
        found = {}
    severities = {category: severity for category, severity in found.items() if isinstance(severity, int)}
    if len(severities) < len(_CATEGORIES):
        raise ValueError("not the severity of each category")
    return severities
