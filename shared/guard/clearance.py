"""How much of a text may go out: `Clearance` counts it, `ReleaseQueue` holds the rest back. Offsets are UTF-8 bytes."""

import re
from collections import deque
from collections.abc import Mapping
from typing import assert_never

from shared.errors import Unavailable
from shared.guard import NO_MODEL, AnalysisResult, Finding, Place, Side, Watermark

MOST_TASKS = 200
"""Tasks that a session may have results of."""
MOST_NAMED = 20
"""Tasks without a model that are named; any more are "another"."""
_NAME = re.compile(r"[a-z0-9_]{1,40}")


class Coverage:
    """Which sides of a conversation a model has looked at, by the results so far."""

    def __init__(self) -> None:
        self._seen: set[Side] = set()
        self._missing: dict[Side, set[str]] = {}

    @property
    def missing(self) -> frozenset[str]:
        """Names of the tasks for which the service has no model."""
        return frozenset(name for names in self._missing.values() for name in names)

    @property
    def blind(self) -> frozenset[Side]:
        """Sides for which the service has named only such tasks."""
        return frozenset(self._missing.keys() - self._seen)

    @property
    def fault(self) -> Unavailable | None:
        """The error if there is such a side, for those who do not accept it."""
        if not self.blind:
            return None
        return Unavailable(
            "The safety service has no model for any task of its policy, so nothing was checked (NoModel: "
            f"{', '.join(sorted(self.missing))}). Check RAI_POLICY, or set RAI_WITHOUT_MODEL to allow."
        )

    def take_in(self, result: AnalysisResult) -> None:
        """Take in a result of the service."""
        for finding in result.findings:
            if finding.result == NO_MODEL:
                names = self._missing.setdefault(result.place.side, set())
                # The service could write anything here, and the name goes into logs.
                names.add(finding.name if _NAME.fullmatch(finding.name) and len(names) < MOST_NAMED else "another")
            else:
                self._seen.add(result.place.side)


class Clearance:
    """How much of each text of a session may be shown, by the service's events so far.

    Three numbers are kept for each text: bytes expected (that the caller wants to show), bytes sent (that the service
    has), and the watermark. A watermark that goes back is ignored, and so is one for a text that was never sent. A
    blocked text is shown up to its first blocked byte. If the service blocks a text that was never sent, it is unclear
    what it means, and nothing is shown.

    Args:
        blind: Whether a text may be shown for which the service has named only tasks without a model.
    """

    def __init__(self, *, blind: bool = False) -> None:
        self.coverage = Coverage()
        """Which sides a model has looked at."""
        self._blind = blind
        self._expected: dict[Place, int] = {}
        self._sent: dict[Place, int] = {}
        self._watermarks: dict[Place, int] = {}
        self._blocked: dict[Place, int] = {}
        self._not_blank: set[Place] = set()
        self._looked_at: set[Place] = set()
        self._stray_block = False
        self.blocking: Side | None = None
        """The side of the first blocking result; None while there is none."""
        self._worst: dict[tuple[Side, str, str], Finding] = {}

    @property
    def places(self) -> frozenset[Place]:
        """All texts that have to be cleared."""
        return frozenset(self._expected)

    @property
    def blocked(self) -> frozenset[Place]:
        """The texts with a blocking result."""
        return frozenset(self._blocked)

    @property
    def unexplained(self) -> bool:
        """Whether there is a text that no result of a model is about: a watermark alone names nothing it looked for."""
        return bool(self._not_blank - self._looked_at)

    @property
    def whole(self) -> bool:
        """Whether all texts may be shown to their ends."""
        return all(self.is_clear(place) for place in self._expected)

    def is_clear(self, place: Place) -> bool:
        """Whether a text may be shown as far as it is known; False for an unknown text."""
        return place in self._expected and self.shown(place) >= self._expected[place]

    def shown(self, place: Place) -> int:
        """Number of bytes of a text that may be shown."""
        if self._stray_block or (not self._blind and place.side in self.coverage.blind):
            return 0
        watermark = self._watermarks.get(place, 0)
        return max(0, min(watermark, self._blocked.get(place, watermark)))

    @property
    def lacks(self) -> str:
        """Texts that are not cleared to their ends, for the log: three of them, with their bytes."""
        texts = [
            f"{place.side} {place.message_id}/{place.content_index}: {self.shown(place)} of {size} bytes"
            for place, size in self._expected.items()
            if not self.is_clear(place)
        ]
        return "; ".join([*texts[:3], *(["…"] if texts[3:] else [])])

    def findings(self, side: Side) -> Mapping[tuple[str, str], Finding]:
        """The worst finding on one side, by kind and category."""
        return {key[1:]: finding for key, finding in self._worst.items() if key[0] is side}

    def expect(self, place: Place, text: str) -> None:
        """Count the next piece of a text that has to be cleared, when it arrives; it may be sent later."""
        self._expected[place] = self._expected.get(place, 0) + len(text.encode())
        if text.strip():
            self._not_blank.add(place)

    def send(self, place: Place, text: str) -> None:
        """Count the next piece of a text that is sent. Call this before sending: the answer may come at once."""
        self._sent[place] = self._sent.get(place, 0) + len(text.encode())

    def take_in(self, event: AnalysisResult | Watermark) -> None:
        """Take in an event of the service.

        Raises:
            Unavailable: the service clears more bytes than it was sent, or has results of too many tasks.
        """
        match event:
            case Watermark():
                self._see_watermark(event)
            case AnalysisResult():
                self._see_result(event)
            case _:
                assert_never(event)

    def _see_watermark(self, event: Watermark) -> None:
        sent = self._sent.get(event.place)
        if sent is None:
            return
        if event.offset > sent:
            raise Unavailable("The safety service cleared more than it was sent, so nothing more is shown. Try again.")
        self._watermarks[event.place] = max(event.offset, self._watermarks.get(event.place, 0))

    def _see_result(self, event: AnalysisResult) -> None:
        if event.place not in self._sent and not event.blocking:
            return
        self.coverage.take_in(event)
        for finding in event.findings:
            if finding.result == NO_MODEL:
                continue
            if event.place in self._sent:
                self._looked_at.add(event.place)
            key = (event.place.side, finding.kind, finding.category)
            known = self._worst.get(key)
            if known is None or _badness(finding) > _badness(known):
                self._worst[key] = finding
        if len(self._worst) > MOST_TASKS:
            raise Unavailable("The safety service has results of too many tasks, so nothing more is shown. Try again.")
        if not event.blocking:
            return
        self.blocking = self.blocking or event.place.side
        if event.place in self._sent:
            self._blocked[event.place] = min(event.start, self._blocked.get(event.place, event.start))
        else:
            self._stray_block = True


def _badness(finding: Finding) -> tuple[bool, bool, int]:
    return finding.blocking, finding.detected, finding.severity


class ReleaseQueue[T]:
    """Queue of an answer that waits to go out: its text, and other items between pieces of the text, in their order.

    Text comes out as far as it is cleared, and an item when all text before it is out. Text is counted in UTF-8 bytes,
    since the service counts them, and is cut only between characters.
    """

    def __init__(self) -> None:
        self._text = bytearray()
        self._out = 0
        self._items: deque[tuple[int, T]] = deque()

    @property
    def held(self) -> int:
        """Number of bytes of text that wait."""
        return len(self._text)

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._text and not self._items

    @property
    def item(self) -> T | None:
        """The next item, if all text before it is out."""
        return self._items[0][1] if self._items and self._items[0][0] == self._out else None

    def hold_text(self, text: str) -> None:
        """Add text at the end."""
        self._text += text.encode()

    def hold(self, item: T) -> None:
        """Add an item at the end, behind all text so far."""
        self._items.append((self._out + len(self._text), item))

    def take_item(self) -> None:
        """Remove the next item."""
        self._items.popleft()

    def take_text(self, shown: int | None) -> str:
        """Remove and return the next text that may go out, up to the next item.

        Args:
            shown: Number of bytes of the whole text that may be shown, counted from its beginning; None: all.
        """
        end = self._items[0][0] if self._items else self._out + len(self._text)
        size = max(0, min(end, end if shown is None else shown) - self._out)
        # Bytes 10xxxxxx continue a character, so a cut in front of one would be in the middle of it.
        while 0 < size < len(self._text) and self._text[size] & 0xC0 == 0x80:
            size -= 1
        taken = self._text[:size].decode()
        del self._text[:size]
        self._out += size
        return taken
