"""The terms of a document's passages. Making them is most of the work of indexing, and needs no index.

So `make index` has them made in the processes that read documents (`shared.reading.sandbox`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from shared.retrieval import PassageTerms, searched_name
from shared.retrieval.sqlite.ranking import compact, terms_of
from shared.words.stop_words import languages_of

_SENTENCE_END = re.compile(r"(?<=[.!?…؟।;])\s+|(?<=[。！？])|\n")
"""Where a sentence ends, as far as ranking needs to know."""


def context_of(sourcefile: str, title: str, headings: Sequence[str]) -> str:
    """The text that says where a passage stands: a line with the words of its file's path, the title, the headings."""
    return "\n".join((searched_name(sourcefile), *dict.fromkeys((title, *headings))))


def terms_of_file(passages: Sequence[tuple[str, str]]) -> list[PassageTerms]:
    """Make the terms of each passage of a file.

    A passage whose language is not clear, such as a table, is taken to be in that of most passages of the file, or else
    in English.

    Args:
        passages: The text of all passages of the file, each with its context.
    """
    found = [languages_of(text) for text, _ in passages]
    known = Counter(languages[0] for languages in found if languages)
    usual = max(known, key=known.__getitem__, default="en")
    return [
        _terms(text, context, usual if usual in languages or not languages else languages[0])
        for (text, context), languages in zip(passages, found, strict=True)
    ]


def _terms(text: str, context: str, language: str) -> PassageTerms:
    sentences = terms_of(_SENTENCE_END.split(text), language)
    around = terms_of(context.split("\n", 1), language)
    searched = " ".join(chain.from_iterable((*sentences, *around)))
    return PassageTerms(language, compact(sentences), searched, compact(around))
