"""The simple query syntax, as the stand-in for Azure AI Search reads it: operators act, whatever they were meant for.

Source: Azure AI Search, 'Simple query syntax'; Apache Lucene, `SimpleQueryParser`, which it is based on.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from shared.words.terms import fold, words

_TOKEN = re.compile(
    r"""\s*(?:(?P<operator>[+|()])|(?P<negated>-)?(?:"(?P<phrase>[^"]*)"|(?P<word>(?:\\.|[^\s+|()"\\])+))|(?P<rest>\S))""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Query:
    """What a text is searched for."""

    matches: Callable[[Sequence[str]], bool]
    """Whether a document has it, by its terms."""
    terms: tuple[str, ...] = ()
    """What it is scored by."""


def terms_of(text: str) -> list[str]:
    """What the analyser makes of a text."""
    return [fold(word) for word in words(text)]


def parse(text: str, *, every: bool) -> Query | None:
    """Read a search; None: there is nothing in it to search for.

    Args:
        text: The search.
        every: Whether words side by side have to be there all (`searchMode`).
    """
    return _joined(_TOKEN.finditer(text), every=every)


def _joined(tokens: Iterator[re.Match[str]], *, every: bool) -> Query | None:
    """What comes until the end, or the end of a group; operators bind from left to right."""
    found: Query | None = None
    both = every
    for token in tokens:
        if token["operator"] == ")":
            break
        if token["operator"] in {"+", "|"}:
            both = token["operator"] == "+"
            continue
        query = _joined(tokens, every=every) if token["operator"] == "(" else _single(token)
        if query:
            found = _both(found, query, both=both) if found else query
        both = every
    return found


def _single(token: re.Match[str]) -> Query | None:
    if token["rest"]:
        return None
    word = token["word"] or ""
    begins = re.search(r"(?<!\\)\*$", word)
    wanted = terms_of(re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL) if token["phrase"] is None else token["phrase"])
    if not wanted:
        return None
    if token["phrase"] is not None:
        query = Query(lambda there: f" {' '.join(wanted)} " in f" {' '.join(there)} ", tuple(wanted))
    elif begins:
        query = Query(lambda there: any(term.startswith(wanted[-1]) for term in there), tuple(wanted))
    else:
        query = Query(lambda there: any(term in there for term in wanted), tuple(wanted))
    return Query(lambda there: not query.matches(there)) if token["negated"] else query


def _both(left: Query, right: Query, *, both: bool) -> Query:
    test = all if both else any
    return Query(lambda there: test((left.matches(there), right.matches(there))), left.terms + right.terms)
