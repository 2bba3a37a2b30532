"""Splits text into search terms. It decides which spellings and inflections count as the same word.

Unicode's rules (UAX #29) split a text into words. Folding then removes case, accents and ligatures: `KÜNDIGUNG`,
`Kündigung` (composed or not) and `kundigung` become one word, and so do `Straße` and `STRASSE`. The folded word is
stemmed by the English and by the German rules, and both stems become terms. So the language of a text need not be
guessed, and a word of another language is stemmed in the same way in texts and questions. The German stem of
`Kuendigung` is that of `Kündigung`.

Scripts without spaces (Chinese, Japanese, Thai) are split into single characters, which are indexed as pairs.
"""

import re
import threading
from collections.abc import Iterator
from functools import lru_cache

import apsw.unicode
import snowballstemmer

_LONGEST_TERM = 64
"""Characters of a term. The longest real words are shorter; longer strings are data such as base64."""
_LONGEST_WORD = 4 * _LONGEST_TERM
"""Characters of a word that are read, because caches keep words; one letter of a term can be four as it is written."""
_MAX_CACHED_STEMS = 65_536
"""Words whose stems are cached, since stemming is most of the work of indexing. A full cache takes some 16 MB, and of
the longest words in rare scripts 105 MB."""
_SHORTEST_PREFIX = 5
"""Characters of a stem that is also searched for as a prefix; a shorter one would find too many words."""
_ELISION = re.compile(r"[^\W\d_]{1,2}['’](?=\w{3})")
"""French and Italian articles, as in `l'élève`."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Myanmar, Khmer
    "\u3005-\u3007\u3040-\u309f"  # iteration marks, Hiragana
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"  # Han
)
"""Scripts in which Unicode's rules cannot find words without a dictionary."""


class _Stemmers(threading.local):
    """A pair of stemmers for each thread. A stemmer stores the word that it works on, so threads cannot share one."""

    def __init__(self) -> None:
        self.both = (snowballstemmer.stemmer("english"), snowballstemmer.stemmer("german"))


_stemmers = _Stemmers()


def words(text: str) -> Iterator[str]:
    """Split a text into words as they are written, without emoji and punctuation; a very long word is cut."""
    found = apsw.unicode.word_iter(text, emoji=False, regional_indicator=False)
    return (word[:_LONGEST_WORD] for word in found)


@lru_cache(maxsize=16_384)
def fold(word: str) -> str:
    """Remove case, accents, ligatures and inner punctuation from a word; the result may be empty."""
    folded = word
    for _ in range(2):  # the compatible form of a character can be upper case (ℌ)
        folded = apsw.unicode.strip(apsw.unicode.casefold(folded))
    return folded[:_LONGEST_TERM]


@lru_cache(maxsize=_MAX_CACHED_STEMS)
def stems(word: str) -> tuple[str, ...]:
    """The terms of a word: its English and its German stem, or one term if they are the same."""
    spellings = [fold(word)]
    if elided := _ELISION.match(word):
        spellings.append(fold(word[elided.end() :]))
    if word.isdecimal():  # digits have no stem, and a table of figures would take long
        return tuple(filter(None, spellings))
    found = (stemmer.stemWord(spelling) for spelling in spellings if spelling for stemmer in _stemmers.both)
    return tuple(dict.fromkeys(found))


def prefix_of(found: tuple[str, ...]) -> str | None:
    """The shortest stem that can be a prefix, as `urlaub` of `Urlaubstage`; None if all are too short."""
    return min((stem for stem in found if len(stem) >= _SHORTEST_PREFIX), key=len, default=None)


def index_terms(text: str) -> Iterator[tuple[str, ...]]:
    """For each word of a text, the terms to index at its position."""
    for word, pair in _segments(text):
        if found := (fold(word), pair) if pair else stems(word):
            yield found


def query_terms(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words of a question, each with its terms in an index."""
    for word, pair in _segments(text):
        if found := (pair,) if pair else stems(word):
            yield word, found


def _segments(text: str) -> Iterator[tuple[str, str | None]]:
    """The words. A character of a script without spaces comes with the pair of the character before it and itself."""
    end_before, before = -1, ""
    for start, end, word in apsw.unicode.word_iter_with_offsets(text, emoji=False, regional_indicator=False):
        if not _UNSPACED.match(word):
            yield word[:_LONGEST_WORD], None
            continue
        character = fold(word)
        pair = before + character if start == end_before and before and character else None
        yield word, pair
        end_before, before = end, character
