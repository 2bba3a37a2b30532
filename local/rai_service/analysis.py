"""Makes the service's events of a client's messages. Sans-I/O: takes in texts piece by piece, and yields events."""

from collections.abc import Iterable, Iterator

from local.rai_service.patterns import Match, Search
from local.rai_service.policy import HARM_CATEGORY, Policy, Task
from shared.guard import NO_MODEL, AnalysisResult, Buffer, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.payloads import PayloadReader

_MEDIUM_FROM, _HIGH_FROM = 2, 5
"""Lowest severities of the risk levels MEDIUM and HIGH."""


class SessionAnalysis:
    """Analyses the texts of one session, each by itself."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._reader = PayloadReader()
        self._texts: dict[Place, TextAnalysis] = {}
        self._last: Side | None = None

    def read(self, buffer: Buffer) -> Iterator[SafetyEvent]:
        """Read a payload; yield the events that are certain by now.

        Raises:
            BadRequest: it is no payload of its API.
        """
        self._last = buffer.side
        for new in self._reader.read(buffer):
            if new.place not in self._texts:
                self._texts[new.place] = TextAnalysis(new.place, self._policy)
            yield from self._texts[new.place].feed(new.text)

    def commit(self) -> Iterator[SafetyEvent]:
        """Take the texts of the side that was read last as complete; yield their last events."""
        if self._last:
            yield from self._complete(self._last)

    def finish(self) -> Iterator[SafetyEvent]:
        """Take all texts as complete; yield their last events."""
        for side in Side:
            yield from self._complete(side)

    def _complete(self, side: Side) -> Iterator[SafetyEvent]:
        self._reader.commit(side)
        for place in [place for place in self._texts if place.side is side]:
            yield from self._texts.pop(place).finish()


class TextAnalysis:
    """Analyses one text: yields a result when words are found, and watermarks up to where no match can begin any more.

    After a blocking result it yields nothing more.
    """

    def __init__(self, place: Place, policy: Policy) -> None:
        self._place = place
        self._policy = policy
        self._tasks = {name: task for name, task in policy.tasks.items() if place.side in task.blocks_from}
        self._search = Search(policy.patterns)
        self._found: set[str] = set()
        self._behind = bytearray()
        """Bytes that were read and are past the watermark."""
        self._blocked = False

    def feed(self, text: str) -> Iterator[SafetyEvent]:
        """Read the next piece of the text."""
        if self._blocked:
            return
        matches = self._search.feed(text)
        self._behind += text.encode()
        lagging = self._search.position - self._policy.lag_bytes
        yield from self._events(matches, min(self._search.undecided, lagging))

    def finish(self) -> Iterator[SafetyEvent]:
        """Take the text as complete: report the tasks that found nothing, and clear the rest of the text."""
        if self._blocked:
            return
        yield from self._events(self._search.finish(), 0)
        if not self._blocked:
            clean = tuple(_not_found_by(task) for name, task in self._tasks.items() if name not in self._found)
            if clean:
                yield AnalysisResult(self._place, 0, self._search.position, clean)
            yield from self._watermark(self._search.position)

    def _events(self, matches: Iterable[Match], clear: int) -> Iterator[SafetyEvent]:
        """Yield the watermark and the results of the matches; the watermark ends before a match that blocks."""
        results = [result for match in sorted(matches, key=lambda match: match.start) for result in self._result(match)]
        blocking = [result.start for result in results if result.blocking]
        if blocking:
            self._blocked = True
            clear = min(*blocking, self._search.undecided)
        yield from self._watermark(clear)
        yield from results

    def _result(self, match: Match) -> Iterator[AnalysisResult]:
        name, severity = self._policy.meanings[match.pattern]
        if name in self._tasks:
            self._found.add(name)
            finding = _found_by(self._tasks[name], severity, self._place.side)
            yield AnalysisResult(self._place, match.start, match.end, (finding,))

    def _watermark(self, clear: int) -> Iterator[Watermark]:
        before = self._search.position - len(self._behind)
        ahead = max(clear - before, 0)
        while ahead < len(self._behind) and self._behind[ahead] & 0xC0 == 0x80:
            ahead -= 1  # go back to the beginning of the character
        if ahead > 0:
            del self._behind[:ahead]
            yield Watermark(self._place, before + ahead)


def _found_by(task: Task, severity: int, side: Side) -> Finding:
    blocks_from = task.blocks_from[side]
    return Finding(
        kind=task.kind,
        category=task.category,
        detected=True,
        severity=severity,
        risk_level=_risk_level(task, severity),
        blocking=blocks_from is not None and severity >= blocks_from,
    )


def _not_found_by(task: Task) -> Finding:
    return Finding(
        kind=task.kind,
        category=task.category,
        detected=False,
        severity=0,
        risk_level=_risk_level(task, 0),
        blocking=False,
        result="OK" if task.known else NO_MODEL,
    )


def _risk_level(task: Task, severity: int) -> str:
    if task.kind != HARM_CATEGORY or not task.known:
        return ""
    return "HIGH" if severity >= _HIGH_FROM else "MEDIUM" if severity >= _MEDIUM_FROM else "LOW"
