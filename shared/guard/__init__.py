"""Safety checks: the interface to safety services, and the guard that lets out only text that they clear.

A `SafetyService` opens a `SafetySession` for each conversation that is checked. There are two: `rai/` for the RAI
service over gRPC, and `content_safety/` for Azure AI Content Safety. Payloads and events have the shapes and names of
rai-aoai-alignment-mode. All offsets are UTF-8 bytes.

`stream_guard` is the guard of a turn; how its parts work together is drawn there. `companion` analyses payloads without
a turn.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

import msgspec

from shared.chat_types import PartHealth, RequestContext


class Side(StrEnum):
    """Side of a model that a text is on: its prompt or its answer."""

    PROMPT = "PROMPT"
    COMPLETION = "COMPLETION"


class Api(StrEnum):
    """OpenAI's API whose shape a payload has."""

    CHAT_COMPLETION = "Chatcompletion"
    REALTIME = "Realtime"
    COMPLETION = "Completion"
    IMAGE_GENERATION = "Imagegeneration"


class Buffer(msgspec.Struct, frozen=True):
    """A payload to analyse (rai-aoai-alignment-mode, 'Request Event')."""

    side: Side
    """Side of the texts in it."""
    api: Api
    """API whose shape it has."""
    payload: str
    """JSON, forwarded unchanged."""


class Place(msgspec.Struct, frozen=True):
    """Address of one text in a conversation (rai-aoai-alignment-mode, '`messageId` and `contentIndex`')."""

    side: Side
    """Side of the text."""
    message_id: str
    """Id of a message of the prompt, a choice of the answer or a realtime item."""
    content_index: int
    """Index of the content in it, from 0."""


NO_MODEL = "NoModel"
"""Result of a task for which the service has no model: it did not look."""


HARMS = {"hate": "hate", "selfharm": "self_harm", "sexual": "sexual", "violence": "violence"}
"""Azure's names of the categories that have a severity, by the names in lower case without separators."""
SEVERITIES = ("safe", "low", "medium", "high")
"""Azure's names of severities; each stands for two of the eight numbers."""


def severity_name(severity: int) -> str:
    """Azure's name of a severity from 0 to 7."""
    return SEVERITIES[min(max(severity, 0), 7) // 2]


class Finding(msgspec.Struct, frozen=True):
    """Result of one task of the policy for a range of text."""

    kind: str
    """Kind of the task, such as `HARM_CATEGORY`."""
    category: str
    """Category of harm, such as `HATE`; empty for a task without categories."""
    detected: bool
    """Whether the range has it."""
    severity: int
    """1 to 5 in rai-aoai-alignment-mode; 0 to 7 elsewhere."""
    risk_level: str
    """What the service calls the severity: `LOW`, `MEDIUM` or `HIGH`, and Azure also `SAFE`; empty for a task without
    severities."""
    blocking: bool
    """Whether the policy forbids it."""
    result: str = "OK"
    """`OK` or `NO_MODEL`."""

    @property
    def name(self) -> str:
        """Azure's name of the category or kind, such as `self_harm` or `jailbreak`."""
        name = (self.category or self.kind).lower().replace("-", "_").replace(" ", "_")
        return HARMS.get(name.replace("_", ""), name)

    @property
    def severity_word(self) -> str:
        """One of `SEVERITIES`: the service's own word, since scales differ; by the number if there is none."""
        word = self.risk_level.lower()
        if word not in SEVERITIES:
            return severity_name(self.severity)
        # The service calls LOW also what it did not find.
        return word if self.detected or self.severity or word != "low" else "safe"


class AnalysisResult(msgspec.Struct, frozen=True):
    """Findings for a range of one text."""

    place: Place
    """The text."""
    start: int
    """Offset at which the range begins."""
    end: int
    """Offset at which it ends, exclusive."""
    findings: tuple[Finding, ...]
    """One for each task."""

    @property
    def blocking(self) -> bool:
        """Whether the range must not be shown."""
        return any(finding.blocking for finding in self.findings)


class Watermark(msgspec.Struct, frozen=True):
    """A text is analysed and safe up to this offset."""

    place: Place
    """The text."""
    offset: int
    """Bytes from the beginning of the text."""


class Completion(msgspec.Struct, frozen=True):
    """End of the analysis."""

    end_reason: str
    """`END_REASON_END_OF_STREAM` when all was analysed."""
    error_description: str = ""
    """Error of the service; empty if there was none."""

    @property
    def whole(self) -> bool:
        """Whether everything was analysed."""
        return self.end_reason == "END_REASON_END_OF_STREAM" and not self.error_description


type SafetyEvent = AnalysisResult | Watermark | Completion


class SafetySession(Protocol):
    """Analysis of one turn of a conversation.

    Every method may raise a `SwitchboardError`: Unavailable, TooSlow, RateLimited, TooLarge, or BadRequest if the
    service does not accept a payload. Events that came before an error can still be read from `events`.
    """

    async def send(self, buffer: Buffer) -> None:
        """Send a payload: a whole one, or the next chunk of an answer. Returns when it is handed to the connection."""
        ...

    async def commit(self) -> None:
        """Say that the side which was sent last is complete, so that the service analyses it to its end."""
        ...

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        ...

    def events(self) -> AsyncGenerator[SafetyEvent]:
        """Yield the results as they come; may be called once. Ends after `Completion`, or when the service ends.

        Has no timeout of its own: only the caller knows whether the service has all it needs for a result.
        """
        ...


class SafetyService(Protocol):
    """A service that analyses texts for harm."""

    def session(self, context: RequestContext) -> AbstractAsyncContextManager[SafetySession]:
        """Open a session; leaving it early ends the analysis at the service."""
        ...

    async def check(self) -> PartHealth:
        """Health of the service: whether it can be used now."""
        ...
