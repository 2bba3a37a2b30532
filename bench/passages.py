"""Passages as many as wanted, and questions about them, from a seed: the same on every machine.

The words are made of syllables and follow Zipf's law, as those of a language do: a few are in every second passage,
most are rare. The questions ask for rarer ones, among function words, as people do.
"""

from collections.abc import Iterator
from itertools import accumulate, product
from random import Random

from shared.chat_types import Passage
from shared.retrieval import FileEntry, PassageIndex

_SEED = 7
_VOCABULARY = 6_000
_WORDS = 40
"""In a passage."""
_PASSAGES = 1_000
"""In a file."""
_ONSETS = ("b", "br", "c", "d", "f", "fl", "g", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v")
_RHYMES = ("a", "an", "e", "er", "i", "in", "o", "on", "u", "um")
_ENDINGS = ("", "", "", "s", "ed", "ing")
_ASKED_RANKS = (40, 400, 3_000)
"""Between which a question's words rank: a frequent one, and one that is rather rare."""

_random = Random(_SEED)  # noqa: S311 (the same every time is the point)
_SYLLABLES = ["".join(pair) for pair in product(_ONSETS, _RHYMES)]
_WORDS_BY_RANK = list(
    dict.fromkeys("".join(_random.choices(_SYLLABLES, k=_random.choice((2, 2, 3)))) for _ in range(2 * _VOCABULARY))
)[:_VOCABULARY]
_WEIGHTS = list(accumulate(1 / rank for rank in range(3, _VOCABULARY + 3)))


async def fill(index: PassageIndex, count: int) -> None:
    """Write so many passages, in files of a thousand."""
    random = Random(_SEED)  # noqa: S311
    for first in range(0, count, _PASSAGES):
        name = f"document-{first // _PASSAGES}.pdf"
        numbers = range(first, min(first + _PASSAGES, count))
        passages = [Passage(f"p{n}", _text(random), f"{name}#page={n - first + 1}", name) for n in numbers]
        await index.replace(FileEntry(name, "1", passages))


def questions() -> Iterator[str]:
    """Questions without end, of two or three words that tell, and the words around them."""
    random = Random(_SEED)  # noqa: S311
    low, middle, high = _ASKED_RANKS
    while True:
        frequent = _WORDS_BY_RANK[random.randrange(low, middle)]
        rare = [_WORDS_BY_RANK[random.randrange(middle, high)] for _ in range(random.choice((1, 2)))]
        yield f"What does the {frequent} say about {' and '.join(rare)}?"


def texts() -> Iterator[str]:
    """Texts of passages without end."""
    random = Random(_SEED)  # noqa: S311
    while True:
        yield _text(random)


def _text(random: Random) -> str:
    words = random.choices(_WORDS_BY_RANK, cum_weights=_WEIGHTS, k=_WORDS)
    return " ".join(word + random.choice(_ENDINGS) for word in words).capitalize() + "."
