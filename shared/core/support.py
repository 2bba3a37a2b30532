"""Compares an answer with what was found for it, since small models forget to cite, and invent.

The comparison knows figures and words and no meaning: it gives an answer without a citation the one source that has its
figures, and finds answers that have nothing in common with any source.
"""

import re
from collections.abc import Iterable, Sequence

from shared.chat_types import Message, Passage, Role
from shared.citations import citations_in

FOUND = "\n\n*(Source found by the app: [{name}])*"
"""Added to the text of an answer without a citation."""

_LONGEST, _LATEST = 20_000, 10
"""Characters of a message, and messages before an answer, that are compared: more would hold other requests."""
_NUMBERING = re.compile(r"^\s{0,9}\d{1,3}[.)]\s", re.MULTILINE)
_FIGURE = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")
_DECIMALS = re.compile(r"[.,](\d{1,2})\Z")
_LARGEST_IN_WORDS = 12
"""Figures up to it may be words in the source: nothing is marked for them."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_STEM, _FEWEST = 5, 3
"""Letters of a word that count, as the rest may be an ending; words of the shortest answer that states something."""
_LEAST_IN_COMMON, _LEAST_SUPPORT = 0.25, 0.5
"""Shares of an answer's words that a passage with its figures has, and that one has which supports it without them."""
_DENIES = re.compile(
    r"\b(?:no|not|cannot|nothing|unable|sorry|unknown|nicht\w*|kein\w*|pas|aucune?|sais|no sé|não|nenhum\w*|non"
    r"|nessun\w*|niet|geen|nie|brak|не|нет|ikke|inte|değil|yok|لا|ليس)\b|n['’]t\b|ない|ません|没有|沒有|不|없|모르|नहीं|ไม่|không",
    re.IGNORECASE,
)
"""Words of an answer that says what is not so, or that it does not know: no source need have its words."""


def support_of(text: str, asked: Sequence[Message], sources: Iterable[Passage], *, cites: bool) -> tuple[str, bool]:
    """Compare an answer with its sources.

    Returns:
        The only source that has the figures of an answer which cites none; empty: there is none. And whether no source
        supports the answer.

    Args:
        text: The answer.
        asked: The conversation up to the question. What it says, its files and earlier answers hold, may be said again.
        sources: What was found.
        cites: Whether the answer cites a source that was found.
    """
    text = text[:_LONGEST]
    for place in reversed([*citations_in(text)]):
        text = f"{text[: place.start()]} {text[place.end() :]}"
    figures = _figures(_NUMBERING.sub("", text)) - _figures(asked[-1].content)
    words, large = _words(text), {figure for figure in figures if float(figure) > _LARGEST_IN_WORDS}
    passages = [(one.sourcepage, f"{one.whole}\n{one.title}\n{' '.join(one.headings)}") for one in sources]
    passages += [("", "\n".join(map(str, one.files))) for one in asked if one.files]
    passages += [("", one.content[:_LONGEST]) for one in asked[-_LATEST:] if one.role is not Role.USER]
    found = [(name, _figures(said), said) for name, said in passages]
    if figures and not cites and any(figures <= has for _, has, _ in found):
        names = {name for name, has, said in found if figures <= has and _share(words, said) >= _LEAST_IN_COMMON}
        return names.pop() if len(names) == 1 else "", False
    if cites or large:
        return "", bool(large) and not any(large & has for _, has, _ in found)
    is_claim = len(words) >= _FEWEST and not _DENIES.search(text)
    return "", is_claim and all(_share(words, said) < _LEAST_SUPPORT for _, said in passages)


def _figures(text: str) -> set[str]:
    """The numbers in a text, in one spelling: 1,200 and 1.200 are the same, and so are 4.50 and 4,5."""
    found: set[str] = set()
    for figure in set(_FIGURE.findall(text)):  # a table repeats them by the thousand
        decimals = _DECIMALS.search(figure)
        whole = re.sub(r"\D", "", figure[: decimals.start()] if decimals else figure)
        part = decimals[1].rstrip("0") if decimals else ""
        found.add(f"{whole}.{part}" if part else whole)
    return found


def _words(text: str) -> set[str]:
    return {word[:_STEM].casefold() for word in _WORD.findall(text)}


def _share(words: set[str], text: str) -> float:
    return len(words & _words(text)) / max(1, len(words))
