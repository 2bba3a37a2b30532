"""Words as terms, whoever else is stemming at the same time."""

import sys
import tracemalloc
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import apsw.unicode
import pytest

from shared.words.terms import fold, index_terms, query_terms, stems, words

_WORDS = [
    f"{stem}{number}{ending}" for number in range(40) for stem in ("plann", "kuendig") for ending in ("ings", "ungen")
]


@pytest.fixture
def hasty_threads() -> Generator[None]:
    """Threads that take turns as often as they can, amid a word."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_that_stem_at_once_do_not_mix_their_words() -> None:
    def stem_all(_: int = 0) -> list[tuple[str, ...]]:
        return [stems.__wrapped__(word, language) for word in _WORDS for language in ("en", "de")]

    alone = stem_all()
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(stem_all, range(64)))
    assert all(found == alone for found in together)


@pytest.mark.parametrize(("word", "terms"), [("2026", ("2026",)), ("٣٤", ("٣٤",)), ("plans", ("plan",)), ("...", ())])
def test_a_number_stands_for_itself(word: str, terms: tuple[str, ...]) -> None:
    assert stems(word, "en") == terms


def test_long_words_do_not_stay_in_memory() -> None:
    texts = (f"{number} {'x' * 20_000}{number}" for number in range(300))
    tracemalloc.start()
    try:
        for number, text in enumerate(texts):
            terms = dict(query_terms(text, ["en"])) if number % 2 else list(index_terms(text, "en"))
            folded = [fold(word) for word in words(text)]
            assert len(terms) == len(folded) == 2
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_words_of_latin_texts_are_those_of_the_rules_for_all_texts() -> None:
    characters = [chr(code) for code in (*range(0x250), *range(0x2010, 0x2030), 0x20AC)]
    joining = product(".,:;'’_- \r\n", repeat=2)
    for within in [*characters, *map("".join, joining)]:
        for before, after in product(("a", "é", "1", "_", "", " "), repeat=2):
            text = before + within + after
            expected = [*apsw.unicode.word_iter(text, emoji=False, regional_indicator=False)]
            assert [*words(text)] == expected, repr(text)


def test_a_line_of_underscores_takes_no_longer_a_character_than_a_short_one() -> None:
    assert not list(words("_" * 3_000_000))  # hours, if each underscore were looked ahead from
    assert list(words("_" * 3_000_000 + "a"))


def test_the_words_in_the_name_of_a_file_are_words() -> None:
    assert [word for word, _ in query_terms("Look into Health_Plus.pdf, e.g. at v1.5", ["en"])] == [
        *("Look", "into", "Health", "Plus", "e.g", "at", "v1.5")
    ]
