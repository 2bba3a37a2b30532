"""Finds words and patterns in a text that comes in pieces.

Letters are compared without case, accents and invisible characters. Any character but a letter or digit separates
words. Only whole words match. In a pattern `*` stands for any letters and digits of a word, also for none, and `...`
between words for up to eight words. All patterns are followed at the same time, character by character, so that no text
can make the search slow.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

GAP_WORDS = 8
"""Words that `...` stands for, at most."""

_LETTER = "letter"
_SEPARATOR = "separator"


class MalformedPattern(ValueError):
    """A pattern that is not valid; the message says why."""


class Match(NamedTuple):
    """A place where a pattern was found."""

    pattern: int
    """Index of the pattern."""
    start: int
    """Offset of its first character, in UTF-8 bytes."""
    end: int
    """Offset behind its last character, in UTF-8 bytes."""


class Step(NamedTuple):
    """One step of a pattern: which characters it accepts next."""

    wants: str
    """A folded character, or `_LETTER` or `_SEPARATOR` for any of these."""
    many: bool = False
    """Whether the step may be repeated."""
    skip: int = 0
    """Number of steps that may be left out, beginning with this one."""


type Pattern = tuple[Step, ...]
"""Made by `compile_words` and `compile_pattern`."""

_ANY_LETTERS = Step(_LETTER, many=True, skip=1)
_SEPARATORS = (Step(_SEPARATOR), Step(_SEPARATOR, many=True, skip=1))
_WORD = (Step(_LETTER), _ANY_LETTERS, *_SEPARATORS)


def compile_words(text: str) -> Pattern:
    """Make a pattern that finds exactly these words.

    Raises:
        MalformedPattern: the text has no words.
    """
    return _compile(text, "")


def compile_pattern(text: str) -> Pattern:
    """Make a pattern of words with `*` and `...`.

    Raises:
        MalformedPattern: it has no letter, or `...` is not between words.
    """
    return _compile(text, "*")


def _compile(text: str, wildcard: str) -> Pattern:
    steps: list[Step] = []
    after_word = False
    for part in _parts(text, wildcard):
        if after_word:
            steps += _SEPARATORS
        after_word = part != "..."
        if after_word:
            steps += [_ANY_LETTERS if char == wildcard else Step(char) for char in part]
        elif not steps:
            raise MalformedPattern("`...` should stand between words")
        else:
            for left in range(GAP_WORDS, 0, -1):
                steps += [_WORD[0]._replace(skip=left * len(_WORD)), *_WORD[1:]]
    if not any(len(step.wants) == 1 for step in steps):
        raise MalformedPattern("it should have a letter or digit")
    if not after_word:
        raise MalformedPattern("`...` should stand between words")
    return tuple(steps)


def _parts(text: str, wildcard: str) -> Iterator[str]:
    """Yield the folded words, and each `...` if wildcards are accepted."""
    for part in text.split():
        if part == "..." and wildcard:
            yield part
        else:
            folded = "".join(wildcard if char == wildcard else _fold(char) for char in part)
            yield from "".join(char if char.isalnum() or char == wildcard else " " for char in folded).split()


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    """A character without case, accents and typographic form; empty for an invisible character."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(each for each in plain if unicodedata.category(each) not in _INVISIBLE)


_INVISIBLE = frozenset({"Mn", "Mc", "Me", "Cf"})


class PatternSet:
    """Patterns, prepared for searching them all at the same time."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.steps: list[Step | None] = []
        """The steps of all patterns, one pattern after the other, with None at the end of each."""
        self.following: list[tuple[int, ...]] = []
        """By step: the steps that may come next when it has accepted a character."""
        self.pattern_of: dict[int, int] = {}
        """By the position of a pattern's end in `steps`: the index of the pattern."""
        self.first: dict[str, tuple[int, ...]] = {}
        """By `wants`: the steps that a pattern can begin with."""
        for index, pattern in enumerate(patterns):
            self._add(index, pattern)

    def _add(self, index: int, pattern: Pattern) -> None:
        base = len(self.steps)
        for number, step in enumerate(pattern):
            self.following.append(tuple(base + n for n in _reachable(pattern, number if step.many else number + 1)))
        self.following.append(())
        self.steps += [*pattern, None]
        self.pattern_of[base + len(pattern)] = index
        for number in _reachable(pattern, 0):
            wants = pattern[number].wants
            self.first[wants] = (*self.first.get(wants, ()), base + number)


def _reachable(pattern: Pattern, number: int) -> list[int]:
    """The step `number`, and those that can come instead of it because steps may be left out."""
    found = [number]
    while number < len(pattern) and pattern[number].skip:
        number += pattern[number].skip
        found.append(number)
    return found


class Search:
    """The search in one text."""

    def __init__(self, patterns: PatternSet) -> None:
        self._patterns = patterns
        self._active: dict[int, int] = {}
        self._in_word = False
        self.position = 0
        """Offset up to which the text was read, in UTF-8 bytes."""

    @property
    def undecided(self) -> int:
        """Offset of the first character that may still become part of a match; `position` if there is none."""
        return min(self._active.values(), default=self.position)

    def feed(self, text: str) -> list[Match]:
        """Read the next piece; return the matches that ended in it."""
        found: list[Match] = []
        for char in text:
            start = self.position
            for folded in _fold(char):
                self._take(folded, start, found)
            self.position = start + len(char.encode())
        return found

    def finish(self) -> list[Match]:
        """Take the text as complete; return the matches at its end."""
        found: list[Match] = []
        self._take(" ", self.position, found)
        self._active = {}
        return found

    def _take(self, char: str, start: int, found: list[Match]) -> None:
        patterns = self._patterns
        kind = _LETTER if char.isalnum() else _SEPARATOR
        if kind is _LETTER and not self._in_word:
            for wants in (char, _LETTER):
                for number in patterns.first.get(wants, ()):
                    self._active.setdefault(number, start)
        self._in_word = kind is _LETTER
        if not self._active:
            return
        active: dict[int, int] = {}
        for number, begun in self._active.items():
            step = patterns.steps[number]
            if step is None:
                if kind is _SEPARATOR:
                    found.append(Match(patterns.pattern_of[number], begun, start))
            elif step.wants == kind or step.wants == char:
                for following in patterns.following[number]:
                    active[following] = min(begun, active.get(following, begun))
        self._active = active
