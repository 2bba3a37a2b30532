"""The terms of a document's passages. Making them is most of the work of indexing, and needs no index.

So `make index` has them made in the processes that read documents (`shared.reading.sandbox`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from shared.retrieval import PassageTerms
from shared.retrieval.sqlite.ranking import compact, terms_of
from shared.words.stop_words import languages_of

_SENTENCE_END = re.compile(r"(?<=[.!?…؟।;])\s+|(?<=[。！？])|\n")
"""Where a sentence ends, as far as ranking needs to know."""


def terms_of_file(contents: Sequence[str]) -> list[PassageTerms]:
    """Make the terms of each passage of a file.

    A passage whose language is not clear, such as a table, is taken to be in that of most passages of the file, or else
    in English.

    Args:
        contents: The text of all passages of the file.
    """
    found = [languages_of(content) for content in contents]
    known = Counter(languages[0] for languages in found if languages)
    usual = max(known, key=known.__getitem__, default="en")
    return [
        _terms(content, usual if usual in languages or not languages else languages[0])
        for content, languages in zip(contents, found, strict=True)
    ]


def _terms(content: str, language: str) -> PassageTerms:
    sentences = terms_of(_SENTENCE_END.split(content), language)
    return PassageTerms(language, compact(sentences), " ".join(chain.from_iterable(sentences)))
