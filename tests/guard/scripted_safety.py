"""A SafetyService of the tests' own: each session answers by a script, which sees what it is sent step by step."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from shared.chat_types import PartHealth, RequestContext
from shared.errors import Unavailable
from shared.guard import AnalysisResult, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.payloads import read_texts

type Step = Buffer | str
"""What a session is sent: a payload, `commit` or `finish`."""
type Script = Callable[["ScriptedSession"], AsyncGenerator[SafetyEvent]]

PLANTED = "Zebrafish"
"""What must not reach logs and callers."""
WHOLE = Completion("END_REASON_END_OF_STREAM")


def blocks(place: Place, start: int, end: int, category: str = "VIOLENCE") -> AnalysisResult:
    """A result that forbids a range."""
    finding = Finding("HARM_CATEGORY", category, detected=True, severity=6, risk_level="HIGH", blocking=True)
    return AnalysisResult(place, start, end, (finding,))


def harmless(place: Place, end: int, category: str = "HATE") -> AnalysisResult:
    """A result that forbids nothing."""
    finding = Finding("HARM_CATEGORY", category, detected=False, severity=0, risk_level="LOW", blocking=False)
    return AnalysisResult(place, 0, end, (finding,))


@dataclass
class ScriptedSession:
    """One session, and what became of it."""

    script: Script
    steps: list[Step] = field(default_factory=list[Step])
    """All that its script has read."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is over."""
    _mail: asyncio.Queue[Step] = field(default_factory=asyncio.Queue[Step])

    async def send(self, buffer: Buffer) -> None:
        self._take(buffer)

    async def commit(self) -> None:
        self._take("commit")

    async def finish(self) -> None:
        self._take("finish")

    def events(self) -> AsyncGenerator[SafetyEvent]:
        return self.script(self)

    async def next(self) -> Step:
        """The next step that it is sent."""
        self.steps.append(await self._mail.get())
        return self.steps[-1]

    @property
    def texts(self) -> dict[Place, str]:
        """What its script has read of each text."""
        texts: defaultdict[Place, str] = defaultdict(str)
        for step in self.steps:
            if isinstance(step, Buffer):
                for found in read_texts(step):
                    texts[found.place] += found.text
        return texts

    def _take(self, step: Step) -> None:
        self._mail.put_nowait(step)


class ScriptedSafety:
    """The service: sessions take the scripts in turn, and the last one stays."""

    def __init__(self, *scripts: Script, kind: type[ScriptedSession] = ScriptedSession) -> None:
        self.sessions: list[ScriptedSession] = []
        self._scripts = scripts
        self._kind = kind

    @asynccontextmanager
    async def session(self, context: RequestContext) -> AsyncGenerator[ScriptedSession]:
        del context
        script = self._scripts[min(len(self.sessions), len(self._scripts) - 1)]
        session = self._kind(script)
        self.sessions.append(session)
        try:
            yield session
        finally:
            session.closed.set()

    async def check(self) -> PartHealth:
        return PartHealth("scripted", ok=True, detail="A script.")


def honest(*bad: str, lag: int = 0, findings: bool = False) -> Script:
    """Clears every text up to its first bad word, so many bytes behind until it is committed.

    Args:
        bad: The words.
        lag: How far behind, in UTF-8 bytes; the longest bad word if that is more.
        findings: Whether it says of harmless texts that they are.
    """
    lag = max([lag, *(len(word.encode()) - 1 for word in bad)])

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        done: set[Place] = set()
        while (step := await session.next()) != "finish":
            for place, text in session.texts.items():
                size = len(text.encode())
                found = [text.index(word) for word in bad if word in text]
                if found and place not in done:
                    done.add(place)
                    start = len(text[: min(found)].encode())
                    yield Watermark(place, start)
                    yield blocks(place, start, size)
                elif not found:
                    yield Watermark(place, size if step == "commit" else max(0, size - lag))
                    if findings and step == "commit":
                        yield harmless(place, size)
        yield WHOLE

    return script


def fixed(after: int, *events: SafetyEvent, source: Side = Side.COMPLETION) -> Script:
    """Clears what is asked, and gives these events after so many payloads of the answer; then says nothing more."""

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        seen = 0
        while True:
            step = await session.next()
            if step == "commit" and not seen:
                for event in cleared(session.texts):
                    yield event
            if isinstance(step, Buffer) and step.side is source:
                seen += 1
                if seen == after:
                    for event in events:
                        yield event

    return script


def cleared(texts: dict[Place, str]) -> Iterable[SafetyEvent]:
    """Watermarks at the end of each text."""
    return [Watermark(place, len(text.encode())) for place, text in texts.items()]


async def ended(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
    """Ends the stream in the middle."""
    while await session.next() != "commit":
        pass
    for event in cleared(session.texts):
        yield event
    await session.next()


async def unreachable(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
    await session.next()
    raise Unavailable("The safety service cannot be reached.")
    yield


async def broken(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
    await session.next()
    word = PLANTED
    raise ValueError(word)
    yield


async def mute(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
    while True:
        await session.next()
    yield


async def completes_at_once(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
    """Clears what is asked, and says that this was all."""
    while await session.next() != "commit":
        pass
    for event in cleared(session.texts):
        yield event
    yield WHOLE


async def completes_with_an_error(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
    """Clears everything, and says in the end that something went wrong."""
    async for event in honest()(session):
        yield event if event != WHOLE else Completion("END_REASON_ERROR")
