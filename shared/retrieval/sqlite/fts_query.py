"""From anything that a user can type to an FTS5 query."""

from itertools import islice

from shared.words.stop_words import languages_of, stop_words
from shared.words.terms import fold, prefix_of, query_terms

_MOST_WORDS = 64
"""Different words of a question that are looked for; a pasted page says what it is about in its first ones."""
_LONGEST_TEXT = 20_000
"""Characters of a question that are read to find them."""


def match_expression(text: str) -> str | None:
    """The query for passages that have any of the text's words; BM25 then ranks those first that have more of them.

    Function words are left out, unless there are no others: in a small collection they can be rare, and BM25 would
    take them for telling. A passage scores for each spelling of a word that it has, and again for words that begin
    with it, so that the very word outranks a compound. An English question is spared those: English writes its
    compounds apart, and `cover` is not to find `coverlet`.

    Returns:
        None when the text has no words.
    """
    found: dict[tuple[str, ...], str] = {}
    for word, terms in query_terms(text[:_LONGEST_TEXT]):
        found.setdefault(terms, fold(word))
    languages = languages_of(found.values())
    dropped = stop_words(languages)
    telling = [terms for terms, word in found.items() if word not in dropped] or list(found)
    phrases: dict[str, None] = {}
    for terms in islice(telling, _MOST_WORDS):
        phrases |= dict.fromkeys(map(_quoted, terms))
        if languages != ("en",) and (prefix := prefix_of(terms)):
            phrases[f"{_quoted(prefix)} *"] = None
    return " OR ".join(phrases) or None


def _quoted(term: str) -> str:
    """A string of FTS5's query language, in which nothing is an operator."""
    return '"' + term.replace('"', '""') + '"'
