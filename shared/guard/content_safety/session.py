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
from shared.errors import TooLarge
from shared.guard import AnalysisResult, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark, severity_name
from shared.guard.content_safety.growing_text import Chunk, GrowingText
from shared.guard.content_safety.severity_policy import HIGHEST, SeverityPolicy
from shared.guard.payloads import PayloadReader

if TYPE_CHECKING:
    from shared.guard.content_safety.client import TextAnalyser

LONGEST_TEXT = 10_000
"""Characters that the service analyses in one request."""
AT_ONCE = 4
"""Chunks of one session that are analysed at the same time, at most."""
MOST_TEXTS = 2_000
"""Texts of one session: each costs a request, and a caller of the companion function could send 50,000."""


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
        self._growing: dict[Place, _Text] = {}
        """The texts that are not complete."""
        self._places: dict[Place, deque[_Text]] = {}
        """The texts that are not over. A second one of a place waits for the first: so their results do not mix."""
        self._ready: deque[_Text] = deque()
        """Texts that may have something to analyse."""
        self._count = 0
        self._side: Side | None = None
        self._finished = False
        self._tasks: set[asyncio.Task[tuple[Finding, ...]]] = set()
        self._found: asyncio.Queue[SafetyEvent | BaseException] = asyncio.Queue()

    async def send(self, buffer: Buffer) -> None:
        """Take in the texts of a payload, and start to analyse them.

        Raises:
            BadRequest: the payload does not have the shape of its API.
            TooLarge: the session has too many texts.
        """
        for piece in self._payloads.read(buffer):
            text = self._growing.get(piece.place)
            if text is None:
                self._count += 1
                if self._count > MOST_TEXTS:
                    raise TooLarge(f"The safety service is given at most {MOST_TEXTS:,} texts at once. Send fewer.")
                text = self._growing[piece.place] = _Text(piece.place)
                self._places.setdefault(piece.place, deque()).append(text)
            text.growing.add(piece.text)
            self._ready.append(text)
        self._side = buffer.side
        self._go_on()

    async def commit(self) -> None:
        """Say that the side which was sent last is complete."""
        if self._side:
            self._payloads.commit(self._side)
        self._complete(self._side)

    async def finish(self) -> None:
        """Say that nothing more will be sent."""
        self._finished = True
        self._complete(*Side)

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
        self._ready.clear()
        self._finished = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _complete(self, *sides: Side | None) -> None:
        for text in [text for text in self._growing.values() if text.place.side in sides]:
            del self._growing[text.place]
            text.growing.complete()
            text.complete = True
            self._ready.append(text)
        self._go_on()

    def _go_on(self) -> None:
        """Start as many analyses as may run at the same time; end the session when all are done."""
        while self._ready and len(self._tasks) < AT_ONCE:
            text = self._ready[0]
            waiting = self._places.get(text.place)
            is_first = waiting is not None and waiting[0] is text
            if is_first and text.is_due and (chunk := text.growing.take()):
                self._start(text, chunk)
                continue
            self._ready.popleft()
            if waiting and is_first and text.is_over:
                waiting.popleft()
                if waiting:
                    self._ready.append(waiting[0])
                else:
                    del self._places[text.place]
        if self._finished and not self._tasks and not self._places:
            self._finished = False
            self._found.put_nowait(Completion("END_REASON_END_OF_STREAM"))

    def _start(self, text: _Text, chunk: Chunk) -> None:
        analysis = _Analysis(chunk)
        text.under_way.append(analysis)
        if chunk.text.strip():
            task = asyncio.create_task(self._analyse(text.place.side, chunk))
            self._tasks.add(task)
            task.add_done_callback(lambda task: self._done(task, text, analysis))
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
        self._ready.append(text)
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
                blocking=severity > self._policy.get((side, category), HIGHEST),
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
