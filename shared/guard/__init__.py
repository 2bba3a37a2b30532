"""The boundary to safety services, and the guard that lets out only what they clear.

A `SafetyService` opens a `SafetySession` for each conversation that is checked. Two implementations: `rai/` for
the RAI service over gRPC, and `content_safety` for Azure AI Content Safety. What goes in and what comes back has the
shapes and words of rai-aoai-alignment-mode. All offsets are UTF-8 bytes.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from shared.chat_types import PartHealth, RequestContext


class Side(StrEnum):
    """Which side of a model a text is on."""

    PROMPT = "PROMPT"
    COMPLETION = "COMPLETION"


class Api(StrEnum):
    """Whose shape a payload has."""

    CHAT_COMPLETION = "Chatcompletion"
    REALTIME = "Realtime"
    COMPLETION = "Completion"
    IMAGE_GENERATION = "Imagegeneration"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A payload to analyse (rai-aoai-alignment-mode, 'Request Event')."""

    side: Side
    """Where it comes from."""
    api: Api
    """Whose shape it has."""
    payload: str
    """JSON, forwarded as it is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which text of a conversation is meant (rai-aoai-alignment-mode, '`messageId` and `contentIndex`')."""

    side: Side
    """Its side."""
    message_id: str
    """A prompt's message, an answer's choice or a realtime item."""
    content_index: int
    """Which of its contents."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one task found in a range of text."""

    kind: str
    """The task's kind, such as `HARM_CATEGORY`."""
    category: str
    """What was looked for, such as `HATE`; empty for a task without categories."""
    detected: bool
    """Whether it is there."""
    severity: int
    """0 to 7."""
    risk_level: str
    """`LOW`, `MEDIUM` or `HIGH`; empty where there is none."""
    blocking: bool
    """Whether the policy forbids it."""
    result: str = "OK"
    """`OK`, or `NoModel` where nothing looked."""


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """What was found in a range of one text."""

    place: Place
    """The text."""
    start: int
    """Where the range begins."""
    end: int
    """Where it ends, exclusive."""
    findings: tuple[Finding, ...]
    """One a task."""

    @property
    def blocking(self) -> bool:
        """Whether the range must not be shown."""
        return any(finding.blocking for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Watermark:
    """One text is analysed and safe up to here."""

    place: Place
    """The text."""
    offset: int
    """How far, from the text's beginning."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The analysis is over."""

    end_reason: str
    """`END_REASON_END_OF_STREAM` when all was analysed."""
    error_description: str = ""
    """What went wrong; empty if nothing did."""

    @property
    def whole(self) -> bool:
        """Whether everything was analysed."""
        return self.end_reason == "END_REASON_END_OF_STREAM" and not self.error_description


type SafetyEvent = AnalysisResult | Watermark | Completion


class SafetySession(Protocol):
    """One conversation turn under analysis.

    Every method raises a `SwitchboardError` of any kind: Unavailable, TooSlow, RateLimited, TooLarge, and BadRequest
    for what the service does not accept. What had come in before a fault can still be read from `events`.
    """

    async def send(self, buffer: Buffer) -> None:
        """Hand over a payload: a whole one, or the next chunk of an answer. Returns once it is on its way."""
        ...

    async def commit(self) -> None:
        """Say that the source which was sent last is complete, so that nothing of it waits for more."""
        ...

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        ...

    def events(self) -> AsyncGenerator[SafetyEvent]:
        """Yield the results as they come; called once. Ends after `Completion`, or when the service ends the stream.

        ReusableTimeout as long as the service is silent: only who sent something knows how long an answer may take.
        """
        ...


class SafetyService(Protocol):
    """Analyses texts for harm."""

    def session(self, context: RequestContext) -> AbstractAsyncContextManager[SafetySession]:
        """Open a session; leaving it early ends the analysis at the service."""
        ...

    async def check(self) -> PartHealth:
        """Whether the service can be used now."""
        ...

    async def aclose(self) -> None:
        """Close what this service opened."""
        ...
