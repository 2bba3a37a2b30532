"""Stop words of many languages, and the detection of a text's language by them.

The lists are short: words that a question needs for its grammar, and words that ask. Longer lists also hold words that
passages are about, and searches without these find less.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path

from shared.words.terms import spelled, words

_MAX_CACHED_WORDS = 16_384
"""Words whose languages are cached."""


def _listed(file: str) -> dict[str, frozenset[str]]:
    """Read the lists of a file: a name with a colon, such as a language's code, then the words, then an empty line."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    parts = (part.partition(":") for part in text.split("\n\n"))
    return {name: frozenset(map(spelled, listed.split())) for name, _, listed in parts}


STOP_WORDS = _listed("stop_words.txt")
"""The stop words of each language, in small letters, by the language's code (ISO 639-1)."""
_BOTH = _listed("light_words.txt")
ASKING = _BOTH["asking"]
"""Question words in English and German that an answer need not contain, such as 'how long' and 'explain'."""
LIGHT = _BOTH["light"]
"""Words in both languages that say little about a question's subject. An answer may use others in their place."""

COUNTING, NUMBERS = _BOTH["counting"], _BOTH["numbers"]
"""Words of questions that a number answers, such as 'how many', and words for numbers, in the languages that most
documents here are in."""
DOCUMENTS, MENTIONING = _BOTH["documents"], _BOTH["mentioning"]
"""Words for documents, and for what they do in a question such as 'which documents mention parking'."""
_JOINING = _listed("joining_words.txt")


def _languages_by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, listed in STOP_WORDS.items():
        for word in listed:
            found[word] = (*found.get(word, ()), language)
    return found


_LANGUAGES_BY_WORD = _languages_by_word()


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _languages_with(word: str) -> tuple[str, ...]:
    """The languages that have a word as it is written among their stop words."""
    return _LANGUAGES_BY_WORD.get(spelled(word), ())


def stop_words_in(found: Iterable[str]) -> Counter[str]:
    """Count the stop words of each language among words as they are written."""
    return Counter(chain.from_iterable(map(_languages_with, found)))


def is_abbreviation(word: str, text: str) -> bool:
    """Whether a word is in capital letters where its text is not, or is alone: `MIT` is no stop word, as `mit` is."""
    return len(word) > 1 and word.isupper() and not (text.isupper() and " " in text.strip())


def languages_of(text: str, among: Collection[str] = STOP_WORDS.keys()) -> list[str]:
    """Detect the language of a text, `among` some, by the stop words in it; empty if there are none.

    It is the one with the most of them, or several that have equally many, those with more speakers first.
    """
    found = stop_words_in(word for word in words(text) if not is_abbreviation(word, text))
    most = max((found[language] for language in among), default=0)
    return [language for language in STOP_WORDS if language in among and found[language] == most > 0]


def language_of(text: str, among: Collection[str] = STOP_WORDS.keys()) -> str | None:
    """Detect the language of a text; None if it is not clear."""
    found = languages_of(text, among)
    return found[0] if len(found) == 1 else None


def likely_language(text: str) -> str:
    """The language that a text is most likely in; English if it has no stop words."""
    return next(iter(languages_of(text)), "en")


def joining_words(text: str) -> frozenset[str]:
    """The words for 'and' and 'or' in the language of a text."""
    return _JOINING["any"] | _JOINING.get(likely_language(text), frozenset())
