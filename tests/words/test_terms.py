"""Words as terms, whoever else is stemming at the same time."""

import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.words.terms import stems

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
        return [stems.__wrapped__(word) for word in _WORDS]

    alone = stem_all()
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(stem_all, range(64)))
    assert all(found == alone for found in together)


@pytest.mark.parametrize(("word", "terms"), [("2026", ("2026",)), ("٣٤", ("٣٤",)), ("plans", ("plan",)), ("...", ())])
def test_a_number_stands_for_itself(word: str, terms: tuple[str, ...]) -> None:
    assert stems(word) == terms
