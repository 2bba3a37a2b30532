"""Splits text into search terms. It decides which spellings and inflections count as the same word.

Unicode's rules (UAX #29) split a text into words. Folding then removes case, accents and ligatures: `KÜNDIGUNG`,
`Kündigung` (composed or not) and `kundigung` become one word, and so do `Straße` and `STRASSE`. The folded word is
stemmed by the rules of its language: that of its script, or that of the text where languages share a script. The German
stem of `Kuendigung` is that of `Kündigung`.

Marks stay where they are letters of their own, as the vowels of Hindi and Thai. A Vietnamese word becomes two terms,
with its marks and without: a question that has them means this word, and one typed without them means any.

The first letters of a word, its head, are a term that it shares with its inflections, its compounds and other words.

Scripts without spaces (Chinese, Japanese, Thai) are split into pairs of characters, and so is Korean, whose words end
in particles: `서울`, `서울에서` and `서울은` share a pair.
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase
from typing import cast

import apsw.unicode
import Stemmer

_LONGEST_TERM = 64
"""Characters of a term. The longest real words are shorter; longer strings are data such as base64."""
_LONGEST_WORD = 4 * _LONGEST_TERM
"""Characters of a word that are read, because caches keep words; one letter of a term can be four as it is written."""
_MAX_CACHED_STEMS = 65_536
"""Words whose stems are cached, since stemming is most of the work of indexing. A full cache takes some 16 MB, and of
the longest words in rare scripts 105 MB."""
_HEAD = 4
"""Letters of a word's head. With 3 unlike words share one, with 5 fewer inflections do."""
_ELISION = re.compile(r"[^\W\d_]{1,6}['’](?=\w{3})")
"""French and Italian words that are shortened before another, as in `l'élève` and `dell'articolo`."""
_IN_NAMES = re.compile(r"[_\u200c]|(?<=\w)\.(?:csv|docx|html?|md|od[pst]|pdf|pptx|txt|xlsx)\b", re.IGNORECASE)
"""What separates the words in the name of a file, and its suffix."""
_SECTION = re.compile(r"§+\s?(\d{1,4}[a-z]?)\b")
"""A section with its number, which are one word: `7` alone is everywhere."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Myanmar, Khmer
    "\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff"  # iteration marks, Hiragana, Katakana
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3]"  # Hangul
)
"""Scripts in which Unicode's rules cannot find words without a dictionary, or find them with their particles."""
_JOINED = re.compile("[\u1100-\u11ff\u30a0-\u30ff\uac00-\ud7a3\uff66-\uff9f]")
"""Syllables of Hangul, the letters that they are composed of, and Katakana: Unicode's rules make words of them."""
_SYLLABLES = re.compile("[\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3]|[^\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3]+")
_MEANINGFUL = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\uac00-\ud7a3]")
"""Han and Hangul, in which a single character means something."""
_MARKED = re.compile("[\u0900-\u109f\u1780-\u17ff]")
"""Scripts whose marks are vowels and tones: those of India, Thai and Lao, Myanmar, Khmer."""
_LETTER = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_WITHIN = ".'\u2018\u2019\u2024"
_PLAIN = re.compile(rf"[\x00-\x7f{_LETTER}\u2013-\u2026\u20ac]*+")
"""A text of Latin letters, figures and usual punctuation: its words are found in a fraction of the usual time."""
_PLAIN_WORD = re.compile(
    rf"""(?<!_)(?=_*+[{_LETTER}0-9]) [{_LETTER}0-9_]++
    (?: (?: (?<=[{_LETTER}])[:{_WITHIN}](?=[{_LETTER}]) | (?<=[0-9])[,;{_WITHIN}](?=[0-9]) ) [{_LETTER}0-9_]++ )*+""",
    re.VERBOSE,
)
"""A word of such a text. Source: Unicode Standard Annex #29, rules WB5 to WB13b."""

_STEMMERS = dict(map(str.split, Path(__file__).with_name("stemmers.txt").read_text("utf-8").splitlines()))
"""The Snowball stemmer of each language."""
_SCRIPTS = (
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), ("el",)),
    (re.compile("[\u0400-\u052f]"), ("ru", "sr")),
    (re.compile("[\u0530-\u058f]"), ("hy",)),
    (re.compile("[\u0590-\u05ff]"), ("he",)),
    (re.compile("[\u0600-\u06ff\u0750-\u077f]"), ("ar", "fa", "ur")),
    (re.compile("[\u0900-\u097f]"), ("hi", "ne")),
    (re.compile("[\u0980-\u09ff]"), ("bn",)),
    (re.compile("[\u0b80-\u0bff]"), ("ta",)),
    (re.compile("[\u0c00-\u0c7f]"), ("te",)),
)
"""The scripts that few languages use. A word in one of them is of its first language, unless the text is of another."""
_BY_SCRIPT = frozenset(language for _, listed in _SCRIPTS for language in listed)


_LATIN_MARK = re.compile("[\u0300-\u036fıđ]")
_WITHOUT_MARKS = "°"
"""The first character of a term that stands for a word with any marks; no word has it."""

_REST = "…"
"""The last character of a head; no word has it."""


class _Stemmers(threading.local):
    """The stemmers of each thread. A stemmer stores the word that it works on, so threads cannot share one."""

    def __init__(self) -> None:
        self._by_language: dict[str, Callable[[str], str]] = {}

    def __getitem__(self, language: str) -> Callable[[str], str]:
        if language not in self._by_language:
            name = _STEMMERS.get(language)
            self._by_language[language] = Stemmer.Stemmer(name, 0).stemWord if name else str  # `stems` has a cache
        return self._by_language[language]


_stemmers = _Stemmers()


def words(text: str) -> Iterator[str]:
    """Split a text into words as they are written, without emoji and punctuation; a very long word is cut."""
    if _PLAIN.fullmatch(text):
        found = _PLAIN_WORD.findall(text)
    else:
        found = apsw.unicode.word_iter(text, emoji=False, regional_indicator=False)
    return (word[:_LONGEST_WORD] for word in found)


@lru_cache(maxsize=16_384)
def fold(word: str) -> str:
    """Remove case, accents, ligatures and inner punctuation from a word; the result may be empty."""
    if _MARKED.match(word):
        return spelled(word)
    folded = word
    for _ in range(2):  # the compatible form of a character can be upper case (ℌ)
        folded = apsw.unicode.strip(apsw.unicode.casefold(folded))
    return folded[:_LONGEST_TERM].replace("ı", "i")


@lru_cache(maxsize=16_384)
def spelled(word: str) -> str:
    """Remove case, ligatures and inner punctuation from a word, and keep its marks; the result may be empty."""
    composed = unicodedata.normalize("NFKC", apsw.unicode.casefold(word)).replace("i\u0307", "i")
    return "".join(one for one in composed if unicodedata.category(one)[0] in "LMN")[:_LONGEST_TERM]


@lru_cache(maxsize=_MAX_CACHED_STEMS)
def stems(word: str, language: str) -> tuple[str, ...]:
    """The terms to index for a word in a text of a language: its stem, and if marks change that, one for any marks."""
    found: dict[str, None] = {}
    elided = _ELISION.match(word)
    for spelling in (word, word[elided.end() :]) if elided else (word,):
        exact, plain = _stem(spelling, language)
        if exact:
            found[exact] = None
        if plain != exact:
            found[_WITHOUT_MARKS + plain] = None
    return tuple(found)


def _stem(word: str, language: str) -> tuple[str, str]:
    """The stem of a word, and what it would be if the word had no marks."""
    plain = fold(word)
    if plain.isdecimal():  # digits have no stem, and a table of figures would take long
        return plain, plain
    for script, languages in _SCRIPTS:
        if script.match(plain):
            stem = _stemmers[language if language in languages else languages[0]](plain)
            return stem, stem
    if language == "vi":
        return spelled(word), plain
    stemmer = _stemmers["en" if language in _BY_SCRIPT else language]
    return fold(stemmer(spelled(word))), stemmer(plain)


def is_character(term: str) -> bool:
    """Whether a term is a single character of a script without spaces: it stands for all pairs that it is part of."""
    return _UNSPACED.fullmatch(term) is not None


@lru_cache(maxsize=16_384)
def head_of(word: str) -> str | None:
    """The term that a word shares with all that begin like it; None if it is too short, or a number.

    Of the pairs of a script without spaces it is the first character.
    """
    if _UNSPACED.match(word):
        return word[0] + _REST if _MEANINGFUL.match(word) else None
    folded = fold(word)
    return folded[:_HEAD] + _REST if len(folded) > _HEAD and not folded.isdecimal() else None


MOST_MISSPELT = 4
"""Words of a question that are taken for typing errors: looking for what they may mean takes long."""
_SHORTEST_MISSPELT, _LONGEST_MISSPELT, _SHORTEST_STEM = 6, 20, 5
"""Letters of a word that may be a typing error, and of the stem that is meant: shorter ones are near to too many."""


def one_letter_off(word: str, languages: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return what a word of Latin letters may have been meant as, each with its terms.

    That is one letter less, more or other, or two that changed places, but for the first, which is seldom wrong.
    """
    folded, near = fold(word), set[str]()
    if folded.isascii() and folded.isalpha() and _SHORTEST_MISSPELT <= len(folded) <= _LONGEST_MISSPELT:
        for place in range(1, len(folded) + 1):
            before, rest = folded[:place], folded[place:]
            near |= {before + rest[1:], before + rest[1:2] + rest[:1] + rest[2:]}
            near |= {before + letter + kept for letter in ascii_lowercase for kept in (rest, rest[1:])}
    found = query_terms(" ".join(sorted(near)), languages)
    return [(one, terms) for one, terms in found if min(map(len, terms)) >= _SHORTEST_STEM]


def index_terms(text: str, language: str, *, heads: bool = False) -> Iterator[tuple[str, ...]]:
    """For each word of a text in this language, the terms to index; with `heads` its head is the last of them."""
    for word, kind in _segments(text):
        found = stems(word, language) if kind is _Kind.WORD else (word,)
        if heads and (head := head_of(word)):
            found = (*found, head)
        if found:
            yield found


def ends_of[T: (str, list[str], list[tuple[str, ...]])](long: T, most: int) -> T:
    """Return the first and the last of what is too long: a question stands before or behind what it is about."""
    return long if len(long) <= most else long[: most // 2] + long[-most // 2 :]


def query_terms(text: str, languages: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words of a question, each with its terms in an index of texts in these languages.

    Marks in a question count. A question without marks was perhaps typed without them, so its words match any marks.
    """
    has_marks = _LATIN_MARK.search(unicodedata.normalize("NFD", text)) is not None
    for word, kind in _segments(text):
        if kind is _Kind.LAST:
            continue
        found = (word,)
        if kind is _Kind.WORD:
            every = dict.fromkeys(term for language in languages for term in stems(word, language))
            exact = tuple(term for term in every if not term.startswith(_WITHOUT_MARKS))
            any_marks = () if has_marks or languages == ("en",) else (_WITHOUT_MARKS + term for term in exact)
            found = (*exact, *any_marks)
        if found:
            yield word, found


class _Kind(Enum):
    """What a piece of a text is."""

    WORD = auto()
    """A word between spaces or punctuation."""
    PAIR = auto()
    """Two characters in a row of a script without spaces."""
    LAST = auto()
    """The second character of the last such pair in a row."""
    ALONE = auto()
    """A character of such a script with no other beside it, or a section."""


def _segments(text: str) -> Iterator[tuple[str, _Kind]]:
    """Split a text into words, and characters of a script without spaces into pairs and the last one.

    The words of a file's name are words, as in `Health_Plus.pdf`: a question that names it asks for them.
    """
    yield from ((f"§{number}", _Kind.ALONE) for number in _SECTION.findall(text))
    text = _IN_NAMES.sub(" ", _SECTION.sub(" ", text))
    if not (_UNSPACED.search(text) or _JOINED.search(text)):  # most texts, in half the time
        yield from ((word, _Kind.WORD) for word in words(text))
        return
    last_end, last, is_paired = -1, "", False
    for start, end, word in _words_with_offsets(text):
        character = fold(word) if _UNSPACED.match(word) else ""
        if last and character and start == last_end:
            yield last + character, _Kind.PAIR
            is_paired = True
        else:
            if last:
                yield last, _Kind.LAST if is_paired else _Kind.ALONE
            is_paired = False
        if not character:
            yield word[:_LONGEST_WORD], _Kind.WORD
        last_end, last = end, character
    if last:
        yield last, _Kind.LAST if is_paired else _Kind.ALONE


def _words_with_offsets(text: str) -> Iterator[tuple[int, int, str]]:
    """The words of a text, each with its start and end. Korean is split into syllables, apart from digits: `2024년`."""
    found = apsw.unicode.word_iter_with_offsets(text, emoji=False, regional_indicator=False)
    for start, end, word in cast("Iterator[tuple[int, int, str]]", found):
        if not _JOINED.search(word):
            yield start, end, word
            continue
        for piece in _SYLLABLES.finditer(unicodedata.normalize("NFKC", word)):
            yield start + piece.start(), start + piece.end(), piece[0]
