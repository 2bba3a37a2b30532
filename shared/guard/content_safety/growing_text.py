"""Cuts a text that comes in pieces at the ends of sentences, for services that analyse whole texts. Sans-I/O."""

import re
from dataclasses import dataclass

CONTEXT = 500
"""Characters before a chunk that are analysed again with it, because harm can span two sentences."""
LONGEST_WAIT = 500
"""Characters of a sentence that has not ended. A longer one is cut between words, so that the reader need not wait."""

_SENTENCE_END = re.compile(r"[.!?…]['\"”’»)\]*_]*\s+|[。！？][」』”’）]*|\n\s*")
"""End of a sentence with the space behind it: a full stop without a space may be part of a number."""
_GAP = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text that is analysed in one request."""

    start: int
    """Offset at which it begins, in UTF-8 bytes from the text's beginning."""
    end: int
    """Offset at which it ends, exclusive."""
    before: str
    """The text just before it, which was analysed already and is analysed again with it."""
    text: str
    """The piece."""

    @property
    def window(self) -> str:
        """The text to analyse."""
        return self.before + self.text


class GrowingText:
    """A text that grows. It comes out in chunks, in order and without gaps.

    Args:
        limit: Characters that the service analyses in one request.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting = ""
        self._begin = 0
        """Where in it begins what has not come out."""
        self._ready = 0
        """Where in it ends what may come out."""
        self._before = ""
        self._taken = 0

    @property
    def is_taken(self) -> bool:
        """Whether all of the text so far has come out."""
        return self._begin == len(self._waiting)

    def add(self, text: str) -> None:
        """Add the next piece of the text."""
        self._waiting = self._waiting[self._begin :] + text
        self._ready, self._begin = self._ready - self._begin, 0
        for end in _SENTENCE_END.finditer(self._waiting, self._ready):
            self._ready = end.end()
        if len(self._waiting) - self._ready > LONGEST_WAIT:
            self._ready = _cut(self._waiting, self._ready, len(self._waiting))

    def complete(self) -> None:
        """Say that the text ends here, so that the rest can be taken."""
        self._ready = len(self._waiting)

    def take(self) -> Chunk | None:
        """Return the next chunk, as long as possible; None while no sentence has ended."""
        if self._ready == self._begin:
            return None
        room = self._begin + self._limit - len(self._before)
        end = self._ready if self._ready <= room else _cut(self._waiting, self._begin, room)
        text, self._begin = self._waiting[self._begin : end], end
        start, self._taken = self._taken, self._taken + len(text.encode())
        chunk = Chunk(start, self._taken, self._before, text)
        self._before = chunk.window[-CONTEXT:]
        return chunk


def _cut(text: str, start: int, end: int) -> int:
    """Position behind the last gap between two words, or `end` if the last word is longer than `LONGEST_WAIT`."""
    gap = next((at for at in range(end - 1, max(start, end - LONGEST_WAIT), -1) if _GAP.match(text, at)), None)
    return end if gap is None else gap + 1
