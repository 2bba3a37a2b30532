"""A session with Azure AI Content Safety.

The service only analyses whole texts and returns severities; sessions, chunks, watermarks and the policy are made here.
A prompt is analysed as a whole, once it is committed. An answer is cut into chunks at the ends of sentences, as it
comes. Several chunks are analysed at the same time, each with the text before it. The watermark moves in order, past
chunks that are analysed and safe.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.chat_types import RequestContext
from shared.guard import AnalysisResult, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark, severity_name
from shared.guard.content_safety.growing_text import Chunk, GrowingText
from shared.guard.content_safety.severity_policy import SeverityPolicy
from shared.guard.payloads import PayloadReader

if TYPE_CHECKING:
    from shared.guard.content_safety.client import TextAnalyser

LONGEST_TEXT = 10_000
"""Characters that the service analyses in one request."""
AT_ONCE = 4
"""Chunks of one session that are analysed at the same time, at most."""


@dataclass(slots=True)
class _Analysis:
    """The analysis of one chunk."""

    chunk: Chunk
    """The chunk."""
    findings: tuple[Finding, ...] | None = None
    """Its findings; None until the analysis has ended."""


@dataclass(slots=True)
class _Text:
    """One text of the session."""

    place: Place
    """Address of the text. After a commit another text may begin at the same place."""
    growing: GrowingText = field(default_factory=lambda: GrowingText(LONGEST_TEXT))
    """The part that is not analysed yet."""
    under_way: deque[_Analysis] = field(default_factory=deque[_Analysis])
    """Analyses whose results are not out yet, in the order of the text."""
    complete: bool = False
    """Whether the text is complete."""
    blocked: bool = False
    """Whether a chunk was blocked; the rest of the text is not analysed then."""

    @property
    def is_due(self) -> bool:
        """Whether the text may be analysed now."""
        return not self.blocked and (self.complete or self.place.side is Side.COMPLETION)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.complete and (self.blocked or (self.growing.is_taken and not self.under_way))


class ContentSafetySession:
    """A `SafetySession` with Azure AI Content Safety.

    Args:
        analyser: Client of the service.
        policy: Severities that block.
        timeout: Seconds that the analysis of a chunk may take.
        context: The request's context, with its deadline.
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
        """Take in the texts of a payload, and start to analyse them.

        Raises:
            BadRequest: the payload does not have the shape of its API.
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
        """Cancel all analyses."""
        self._texts.clear()
        self._finished = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _text(self, place: Place) -> _Text:
        """Return the text that grows at a place; begin one if there is none."""
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
        """Start as many analyses as may run at the same time; end the session when all are done."""
        busy = set[Place]()
        for text in self._texts:
            # A place may have a second text after a commit. It waits for the first, so that their results do not mix.
            if text.place not in busy:
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
            else:  # only white space, which the service refuses
                analysis.findings = ()
                self._report(text)

    def _done(self, task: asyncio.Task[tuple[Finding, ...]], text: _Text, analysis: _Analysis) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        if failure := task.exception():
            self._found.put_nowait(failure)
            return
        analysis.findings = task.result()
        self._report(text)
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
                risk_level=severity_name(severity).upper(),
                blocking=self._policy.blocks(side, category, severity),
            )
            for category, severity in severities.items()
        )

    def _report(self, text: _Text) -> None:
        """Report finished analyses in the order of the text, since a watermark says that all text before it is safe."""
        while not text.blocked and text.under_way and (findings := text.under_way[0].findings) is not None:
            chunk = text.under_way.popleft().chunk
            result = AnalysisResult(text.place, chunk.start, chunk.end, findings)
            if findings:
                self._found.put_nowait(result)
            text.blocked = result.blocking
            if not text.blocked:
                self._found.put_nowait(Watermark(text.place, chunk.end))
