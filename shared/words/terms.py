"""Text as terms: the one place that decides which spellings and inflections of a word count as the same.

A word is what Unicode's rules (UAX #29) take for one. Its case, accents and ligatures are folded away, so that
`KÜNDIGUNG`, `Kündigung` (composed or not) and `kundigung` are one, and so are `Straße` and `STRASSE`. What is left
is stemmed by the English and by the German rules, and both stems stand for the word: no guess at a text's language
can then go wrong, and a word of another language is at worst stemmed a little, in the same way everywhere. The German
stem of `Kuendigung` is that of `Kündigung`.

Writing without spaces (Chinese, Japanese, Thai) comes as single characters; a run of them stands for its pairs.
"""

import re
import threading
from collections.abc import Iterator
from functools import lru_cache

import apsw.unicode
import snowballstemmer

_LONGEST_TERM = 64
"""Characters; the longest real words are shorter, and base64 is not worth more."""
_KNOWN_STEMS = 65_536
"""Words whose stems are kept. Stemming is most of the work of indexing; full, they take some 16 MB."""
_PREFIX_AT_LEAST = 5
"""Characters of a stem that may also be the beginning of a longer word; shorter ones begin too many."""
_ELISION = re.compile(r"[^\W\d_]{1,2}['’](?=\w{3})")
"""French and Italian articles, as in `l'élève`."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Myanmar, Khmer
    "\u3005-\u3007\u3040-\u309f"  # iteration marks, Hiragana
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"  # Han
)
"""The scripts that Unicode's word rules leave to a dictionary."""


class _Stemmers(threading.local):
    """A pair of stemmers for each thread: they keep the word at hand in themselves, so two threads would mix theirs."""

    def __init__(self) -> None:
        self.both = (snowballstemmer.stemmer("english"), snowballstemmer.stemmer("german"))


_stemmers = _Stemmers()


def words(text: str) -> Iterator[str]:
    """The words of a text as they stand there; emoji and punctuation are none."""
    return apsw.unicode.word_iter(text, emoji=False, regional_indicator=False)


@lru_cache(maxsize=16_384)
def fold(word: str) -> str:
    """A word without case, accents, ligatures and inner punctuation; empty when nothing is left."""
    folded = word[: 4 * _LONGEST_TERM]
    for _ in range(2):  # the compatible form of a character can be upper case (ℌ)
        folded = apsw.unicode.strip(apsw.unicode.casefold(folded))
    return folded[:_LONGEST_TERM]


@lru_cache(maxsize=_KNOWN_STEMS)
def stems(word: str) -> tuple[str, ...]:
    """The terms that stand for a word: its English and its German stem, one if they agree."""
    spellings = [fold(word)]
    if elided := _ELISION.match(word):
        spellings.append(fold(word[elided.end() :]))
    if word.isdecimal():  # has no endings; a table of figures would take long to stem
        return tuple(filter(None, spellings))
    found = (stemmer.stemWord(spelling) for spelling in spellings if spelling for stemmer in _stemmers.both)
    return tuple(dict.fromkeys(found))


def prefix_of(found: tuple[str, ...]) -> str | None:
    """The stem that longer words may begin with, as `urlaub` does `Urlaubstage`; None when all are too short."""
    return min((stem for stem in found if len(stem) >= _PREFIX_AT_LEAST), key=len, default=None)


def index_terms(text: str) -> Iterator[tuple[str, ...]]:
    """For each word of a text, the terms to index at its place."""
    for word, pair in _segments(text):
        if found := (fold(word), pair) if pair else stems(word):
            yield found


def query_terms(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words of a question, each with the terms that stand for it in an index."""
    for word, pair in _segments(text):
        if found := (pair,) if pair else stems(word):
            yield word, found


def _segments(text: str) -> Iterator[tuple[str, str | None]]:
    """The words; with a character of unspaced writing, the pair that it makes with the one right before it."""
    end_before, before = -1, ""
    for start, end, word in apsw.unicode.word_iter_with_offsets(text, emoji=False, regional_indicator=False):
        if not _UNSPACED.match(word):
            yield word, None
            continue
        character = fold(word)
        pair = before + character if start == end_before and before and character else None
        yield word, pair
        end_before, before = end, character
