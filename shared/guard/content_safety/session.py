"""A session at Azure AI Content Safety, which analyses whole texts and tells severities: the rest is done here.

A prompt is analysed as a whole, once it is committed. An answer is cut where sentences end, as it comes. Several chunks
are analysed at once, each with what comes before it, and the watermark moves over those that are done and safe, in
order.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.chat_types import RequestContext
from shared.guard import AnalysisResult, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.content_safety.growing_text import Chunk, GrowingText
from shared.guard.content_safety.severity_policy import SeverityPolicy
from shared.guard.payloads import PayloadReader

if TYPE_CHECKING:
    from shared.guard.content_safety.client import TextAnalyser

LONGEST_TEXT = 10_000
"""Characters that the service analyses at once."""
AT_ONCE = 4
"""Chunks of one session that are analysed at the same time, at most."""


@dataclass(slots=True)
class _Analysis:
    """A chunk under analysis."""

    chunk: Chunk
    """What is analysed."""
    findings: tuple[Finding, ...] | None = None
    """What was found; None until it is done."""


@dataclass(slots=True)
class _Text:
    """One text of the session."""

    place: Place
    """Which. After a commit the same place may have another."""
    growing: GrowingText = field(default_factory=lambda: GrowingText(LONGEST_TEXT))
    """What is not analysed yet."""
    under_way: deque[_Analysis] = field(default_factory=deque[_Analysis])
    """What is, in the text's order."""
    complete: bool = False
    """Whether no more of it comes."""
    blocked: bool = False
    """Whether something in it must not be shown: the rest does not matter then."""

    @property
    def is_due(self) -> bool:
        """Whether it may be analysed now."""
        return not self.blocked and (self.complete or self.place.side is Side.COMPLETION)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.complete and (self.blocked or (self.growing.is_taken and not self.under_way))


class ContentSafetySession:
    """A `SafetySession`.

    Args:
        analyser: Calls the service.
        policy: Which severities block.
        timeout: Seconds that the analysis of a chunk may take.
        context: The request's.
    """

    def __init__(
        self, analyser: "TextAnalyser", policy: SeverityPolicy, timeout: float, context: RequestContext
    ) -> None:
        self._analyser = analyser
        self._policy = policy
        self._timeout = timeout
        self._context = context
        self._payloads = PayloadReader()
        self._texts: list[_Text] = []
        self._side: Side | None = None
        self._finished = False
        self._tasks: set[asyncio.Task[tuple[Finding, ...]]] = set()
        self._found: asyncio.Queue[SafetyEvent | BaseException] = asyncio.Queue()

    async def send(self, buffer: Buffer) -> None:
        """Hand over a payload.

        Raises:
            BadRequest: it has not the shape of its API.
        """
        for piece in self._payloads.read(buffer):
            self._text(piece.place).growing.add(piece.text)
        self._side = buffer.side
        self._go_on()

    async def commit(self) -> None:
        """Say that the side which was sent last is complete."""
        if self._side:
            self._payloads.commit(self._side)
        self._complete([text for text in self._texts if text.place.side is self._side])

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        self._finished = True
        self._complete(self._texts)

    async def events(self) -> AsyncGenerator[SafetyEvent]:
        """Yield the results as they come.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: a chunk could not be analysed.
        """
        while True:
            found = await self._found.get()
            if isinstance(found, BaseException):
                raise found
            yield found
            if isinstance(found, Completion):
                return

    async def aclose(self) -> None:
        """End what is under way."""
        self._texts.clear()
        self._finished = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _text(self, place: Place) -> _Text:
        """The text that grows at a place."""
        for text in self._texts:
            if text.place == place and not text.complete:
                return text
        self._texts.append(_Text(place))
        return self._texts[-1]

    def _complete(self, texts: list[_Text]) -> None:
        for text in texts:
            text.growing.complete()
            text.complete = True
        self._go_on()

    def _go_on(self) -> None:
        """Start as many analyses as there may be at once; tell when all is done."""
        busy = set[Place]()
        for text in self._texts:
            if text.place not in busy:  # or else results of two texts of a place would mix
                self._start(text)
            if not text.is_over:
                busy.add(text.place)
        self._texts = [text for text in self._texts if not text.is_over]
        if self._finished and not self._tasks and not self._texts:
            self._finished = False
            self._found.put_nowait(Completion("END_REASON_END_OF_STREAM"))

    def _start(self, text: _Text) -> None:
        while text.is_due and len(self._tasks) < AT_ONCE and (chunk := text.growing.take()):
            analysis = _Analysis(chunk)
            text.under_way.append(analysis)
            if chunk.text.strip():
                task = asyncio.create_task(self._analyse(text.place.side, chunk))
                self._tasks.add(task)
                task.add_done_callback(lambda task, analysis=analysis: self._done(task, text, analysis))
            else:  # the service refuses a text that says nothing
                analysis.findings = ()
                self._tell(text)

    def _done(self, task: asyncio.Task[tuple[Finding, ...]], text: _Text, analysis: _Analysis) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        if failure := task.exception():
            self._found.put_nowait(failure)
            return
        analysis.findings = task.result()
        self._tell(text)
        self._go_on()

    async def _analyse(self, side: Side, chunk: Chunk) -> tuple[Finding, ...]:
        deadline = min(asyncio.get_running_loop().time() + self._timeout, self._context.deadline)
        severities = await self._analyser.severities(
            chunk.window, deadline=deadline, invocation_id=self._context.invocation_id
        )
        return tuple(
            Finding(
                kind="HARM_CATEGORY",
                category=category,
                detected=severity > 0,
                severity=severity,
                risk_level=_risk(severity),
                blocking=self._policy.blocks(side, category, severity),
            )
            for category, severity in severities.items()
        )

    def _tell(self, text: _Text) -> None:
        """Tell what is done, in the text's order: a watermark says that all before it is safe."""
        while not text.blocked and text.under_way and (findings := text.under_way[0].findings) is not None:
            chunk = text.under_way.popleft().chunk
            result = AnalysisResult(text.place, chunk.start, chunk.end, findings)
            if findings:
                self._found.put_nowait(result)
            text.blocked = result.blocking
            if not text.blocked:
                self._found.put_nowait(Watermark(text.place, chunk.end))


def _risk(severity: int) -> str:
    """The word for a severity (RAI-Foundation: 0 and 1 low, 2 to 4 medium, 5 to 7 high)."""
    return "LOW" if severity < 2 else "MEDIUM" if severity < 5 else "HIGH"
