"""Citations in a text: `[name]`, with the name of a source or of an attached file."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from shared.chat_types import Message, Role

CITED = r"\[([^\[\]\n]{1,300})\]"
"""Pattern of a name in brackets, which is group 1."""
CITATION = re.compile(rf"{CITED}(?!\()")
"""A name in brackets that is not the label of a Markdown link."""
MOST_CITATIONS = 1_000
"""Maximum citations that are read in a text: with more it is no real answer, and reading it would delay others."""
_LONGEST_CITED = 2**18
"""Characters of a text in which citations are looked for."""
_LOOKS_LIKE_A_SOURCE = re.compile(r"\S.*(\.[A-Za-z0-9]{1,8}|#page=\d+)")
"""A file name, or a page: `[1]` and `[sic]` are no citations."""


_UNDECIDED = re.compile(r"\[[^\[\]\n]{0,300}\]?\Z")
"""The end of the text so far, if more text could make it a citation or a link."""
_SIGNS = str.maketrans("‐‑‒–—―−‘’“”", "-------''\"\"")
"""Dashes and quotation marks that models write in another way than names have them."""


def citations_in(text: str) -> Iterator[re.Match[str]]:
    """Find what may be a citation, with the name as group 1; `MOST_CITATIONS` at most."""
    return islice(CITATION.finditer(text, 0, _LONGEST_CITED), MOST_CITATIONS)


def unverified_citations(text: str, known: Collection[str]) -> list[str]:
    """List the sources that a text cites and that are not known, each once, in order.

    A name without a file ending counts if it is that of a known document with another page, or in other letter case.

    Args:
        text: The whole answer.
        known: The `sourcepage` of each retrieved passage, and the names of attached files.
    """
    documents = {_document(name) for name in known}
    cited = dict.fromkeys(place[1] for place in citations_in(text))
    return [
        name
        for name in cited
        if name not in known and (_LOOKS_LIKE_A_SOURCE.fullmatch(name) or _document(name) in documents)
    ]


def citable_in(messages: Iterable[Message]) -> set[str]:
    """Names in a conversation that an answer may cite: of attached files, and what earlier answers cite."""
    messages = list(messages)
    answers = (message.content for message in messages if message.role is Role.ASSISTANT)
    cited = {place[1] for answer in answers for place in citations_in(answer)}
    return cited | {file.name for message in messages for file in message.files}


class WholeCitations:
    """Lets the pieces of a text through a function that changes citations, so that no citation is cut.

    Args:
        change: Gets a part of the text; what begins or goes on there ends there as well.
    """

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change
        self._held = ""

    def feed(self, text: str) -> str:
        """Add the next piece of text; return what can be shown now."""
        if not self._held and "[" not in text:
            return text
        text = self._held + text
        undecided = _UNDECIDED.search(text)
        cut = undecided.start() if undecided else len(text)
        self._held = text[cut:]
        return self._change(text[:cut])

    def flush(self) -> str:
        """End the text; return what was held back."""
        held, self._held = self._held, ""
        return self._change(held)


def with_exact_names(text: str, known: Collection[str]) -> str:
    """Write citations as their sources are called, where a model changed spaces or dashes, or named several at once."""
    names: dict[str, str] = {}

    def exact(found: re.Match[str]) -> str:
        if found[1] in known:
            return found[0]
        if not names:
            names.update((_plain(name), name) for name in known)
        parts = [found[1]] if _plain(found[1]) in names else re.split(r"\s*[,;]\s*", found[1])
        cited = [names.get(_plain(part)) for part in parts]
        return "".join(f"[{name}]" for name in cited) if all(cited) else found[0]

    return CITATION.sub(exact, text, MOST_CITATIONS)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).translate(_SIGNS).split())


def _document(name: str) -> str:
    return name.partition("#page=")[0].casefold()
