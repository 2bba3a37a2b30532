"""Citations in a text: `[name]`, with the name of a source or of an attached file."""

import re
from collections.abc import Collection, Iterable, Iterator
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


def _document(name: str) -> str:
    return name.partition("#page=")[0].casefold()
