"""Takes the follow-up questions out of a model's text, in which each is written as `<<question>>`."""

import re
from enum import Enum, auto

_OPENING = re.compile(r"<<(?!<)")
"""The begin of a marker."""
_PLAIN = re.compile(r"([^<>\s][^<>\n]{0,399}|[^<>\n]{1,390}\?[ \t]{0,9})>>")
"""The rest of a marker: a question of at most 400 characters on one line, without angle brackets.

One that begins with a space has to end in a question mark: code such as `a << 2 >> b` is text.
"""
_BRACKETED = re.compile(r"(\S.{0,399}|.{1,390}\?[ \t]{0,9})>>[ \t]{0,9}")
"""The same with angle brackets in the question; the marker has to be the rest of its line."""
_LONGEST_REST = 420
"""Characters after which a line no longer matches."""
_LONGEST_GAP = 400
"""Characters of white space that belong to a marker, so that no more of it is held back and searched again."""
_BROKEN = re.compile(r"([^<>\n]{4,390}\?)[ \t]{0,9}(>?)[ \t]{0,9}")
"""The rest of a line with a marker that a model has broken: its question is not closed, or by one bracket."""
_UNCLOSED = re.compile(r"(?!\s)(?!.*>>).{0,401}\Z")
_UNCLOSED_PLAIN = re.compile(r"(?!\s)[^<>\n]{0,400}>?\Z")
"""The same for a marker that is not closed: the model had no room to finish the question."""
_END = re.compile(rf"\s{{0,{_LONGEST_GAP}}}\Z")


class _NoMarker(Enum):
    """What the text after `<<` is, if it is not the rest of a marker."""

    TEXT = auto()
    """Text for the user."""
    UNDECIDED = auto()
    """The text that follows decides."""
    CUT_OFF = auto()
    """A question that the model had no room to finish."""


class FollowupParser:
    """Splits a stream of text into the text for the user and the follow-up questions, however chunks cut the markers.

    A question may have angle brackets if its marker is alone on its line or ends the text. The white space before a
    marker and after the last one is removed, 400 characters of it at most. Only text that may still become a marker is
    held back, so that a piece of text costs the same wherever it comes.
    """

    def __init__(self) -> None:
        self.questions: list[str] = []
        """The questions found so far, each once."""
        self._held = ""
        self._at_line_start = True

    def feed(self, text: str) -> str:
        """Add the next piece of text; return what can be shown now."""
        return self._split(self._held + text, ended=False)

    def flush(self) -> str:
        """End the text; return what was held back and is no marker."""
        shown = self._split(self._held, ended=True)
        is_gap = bool(self.questions) and not self._held.strip()
        return shown if is_gap else shown + self._held

    def _split(self, text: str, *, ended: bool) -> str:
        """Take the markers out of the text, hold its undecided end back, and return the rest."""
        shown: list[str] = []
        begin = place = 0
        cut: int | None = None
        while cut is None and (opening := _OPENING.search(text, place)):
            gap = _gap_before(text, opening.start(), begin)
            alone = "\n" in text[gap : opening.start()] or (gap == begin and self._at_line_start)
            match _marker(text, opening.end(), alone=alone, ended=ended):
                case _NoMarker.TEXT:
                    place = opening.end()
                case _NoMarker.UNDECIDED:
                    cut = gap
                case _NoMarker.CUT_OFF:
                    text, cut = text[:gap], gap
                case re.Match() as marker:
                    shown.append(text[begin:gap])
                    self._at_line_start = alone
                    if (question := marker[1].strip()) and question not in self.questions:
                        self.questions.append(question)
                    begin = place = marker.end(1) + len(">>") if ">>" in marker[0] else marker.end()
        if cut is None:
            cut = _gap_before(text, len(text) - text.endswith("<", begin), begin)
        shown.append(text[begin:cut])
        self._at_line_start = self._at_line_start and begin == cut
        self._held = text[cut:]
        return "".join(shown)


def _gap_before(text: str, end: int, begin: int) -> int:
    """Return the place where the white space before `end` begins: at most `_LONGEST_GAP` of it, none before `begin`."""
    return max(begin, end - _LONGEST_GAP) + len(text[max(begin, end - _LONGEST_GAP) : end].rstrip())


def _marker(text: str, start: int, *, alone: bool, ended: bool) -> re.Match[str] | _NoMarker:
    """Find the rest of a marker in the text so far, from the place after `<<`.

    `alone`: nothing but markers is before it on its line; `ended`: no more text follows.
    """
    limit = min(start + _LONGEST_REST, len(text))
    end = min(place for place in (text.find("\n", start, limit), text.find("<<", start, limit), limit) if place >= 0)
    is_open = end == len(text)
    is_line = is_open or text[end] == "\n"
    plain = _PLAIN.match(text, start)
    if plain and not (alone and is_line):
        return plain
    broken = _BROKEN.fullmatch(text, start, end) if is_line and (ended or not is_open) else None
    if broken and (alone or broken[2]):
        return broken
    if is_line and (alone or _END.match(text, end)):
        if not ended and (is_open or not alone):
            return _NoMarker.UNDECIDED
        if found := _BRACKETED.fullmatch(text, start, end) or plain:
            return found
        if is_open and (_UNCLOSED if alone else _UNCLOSED_PLAIN).match(text, start):
            return _NoMarker.CUT_OFF
    return _NoMarker.TEXT
