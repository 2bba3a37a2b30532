"""Cuts a text that comes in pieces where sentences end, for services that analyse whole texts. Sans-I/O."""

import re
from dataclasses import dataclass

CONTEXT = 500
"""Characters before a chunk that are analysed along with it: what harms may be said in two sentences."""
LONGEST_WAIT = 500
"""Characters of a sentence that has not ended: with more it is cut between words, or else the reader would wait."""

_SENTENCE_END = re.compile(r"[.!?…]['\"”’»)\]*_]*\s+|[。！？][」』”’）]*|\n\s*")
"""With the space behind it: a full stop without any may be one of a number."""
_GAP = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text that is analysed at once."""

    start: int
    """Where it begins, in UTF-8 bytes from the text's beginning."""
    end: int
    """Where it ends, exclusive."""
    before: str
    """What comes before it: analysed along with it, cleared already."""
    text: str
    """The piece."""

    @property
    def window(self) -> str:
        """What is analysed."""
        return self.before + self.text


class GrowingText:
    """One text. What was added comes out in chunks, in order and without a gap.

    Args:
        limit: Characters that may be analysed at once.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting = ""
        self._ready = 0
        self._before = ""
        self._taken = 0

    @property
    def is_taken(self) -> bool:
        """Whether all of it has been taken."""
        return not self._waiting

    def add(self, text: str) -> None:
        """Take the next piece of the text."""
        self._waiting += text
        for end in _SENTENCE_END.finditer(self._waiting, self._ready):
            self._ready = end.end()
        if len(self._waiting) - self._ready > LONGEST_WAIT:
            self._ready = _cut(self._waiting, self._ready, len(self._waiting))

    def complete(self) -> None:
        """Let nothing wait for more: the text ends here."""
        self._ready = len(self._waiting)

    def take(self) -> Chunk | None:
        """As much as can be analysed now; None while no sentence is whole."""
        if not self._ready:
            return None
        room = self._limit - len(self._before)
        size = self._ready if self._ready <= room else _cut(self._waiting, 0, room)
        text, self._waiting = self._waiting[:size], self._waiting[size:]
        self._ready -= size
        start, self._taken = self._taken, self._taken + len(text.encode())
        chunk = Chunk(start, self._taken, self._before, text)
        self._before = chunk.window[-CONTEXT:]
        return chunk


def _cut(text: str, start: int, end: int) -> int:
    """The last place between two words, or the end if it is all one."""
    gap = next((at for at in range(end - 1, start, -1) if _GAP.match(text, at)), None)
    return end if gap is None else gap + 1
