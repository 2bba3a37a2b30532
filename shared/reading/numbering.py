"""Numbers of headings, which Office documents do not write out but count."""

import re
from collections.abc import Callable

_LARGEST = 999
"""The largest number that is written with letters or as a Roman one."""
_ROMAN = ((900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_MOST_LEVELS = 10
_LEVEL = re.compile(r"%(\d{1,2})")


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text + _ROMAN_ONES[number]


def _letters(number: int) -> str:
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)


_FORMATS: dict[str, Callable[[int], str]] = {
    "1": str,
    "a": _letters,
    "A": lambda number: _letters(number).upper(),
    "i": _roman,
    "I": lambda number: _roman(number).upper(),
}
"""By how a list writes its first number."""


class Numbering:
    """Counts the numbered paragraphs of a document, by list and level."""

    def __init__(self) -> None:
        self._levels: dict[tuple[str, int], tuple[str, str, int]] = {}
        self._counts: dict[str, list[int | None]] = {}

    def set_level(self, name: str, level: int, kind: str, template: str, start: int) -> None:
        """Say how a level of a list is numbered.

        Args:
            name: The list.
            level: The level, from 0.
            kind: How the first number is written: `1`, `a`, `A`, `i` or `I`; else there is none.
            template: The text, with `%1` for the number of the first level.
            start: The first number.
        """
        if level < _MOST_LEVELS:
            self._levels[name, level] = kind, template, start

    def next(self, name: str, level: int) -> str:
        """Count a paragraph, and return its number; empty where the level has none."""
        kind, template, _ = self._levels.get((name, level), ("", "", 1))
        if kind not in _FORMATS:
            return ""
        counts = self._counts.setdefault(name, [None] * _MOST_LEVELS)
        before = counts[level]
        counts[level] = self._start(name, level) if before is None else before + 1
        counts[level + 1 :] = [None] * (_MOST_LEVELS - level - 1)
        return _LEVEL.sub(lambda found: self._written(name, int(found[1]) - 1), template).strip()

    def _start(self, name: str, level: int) -> int:
        return self._levels.get((name, level), ("", "", 1))[2]

    def _written(self, name: str, level: int) -> str:
        if (name, level) not in self._levels:
            return ""
        count = self._counts[name][level]
        number = self._start(name, level) if count is None else count
        write = _FORMATS.get(self._levels[name, level][0])
        return "" if write is None else write(number) if 0 < number <= _LARGEST else str(number)
