"""The passages of a document: their ids, what answers cite for them, and who may see them."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from shared.chat_types import Passage
from shared.documents import Rights
from shared.documents.own import MINE, PEOPLE
from shared.reading import NOTHING_STATED, Chunk, Stated

MAX_PASSAGES = 10_000
"""Passages of a document, some 8,000 printed pages. They are in memory together, with their vectors."""
_ESCAPED = re.compile(r"[\[\]#%?\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that would end a citation's bracket, path or line."""
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME_IN_ID = 80
"""Characters of the file's name, from its end, in the id of a passage."""
_HASH_DIGITS = 16


def passages_of(
    sourcefile: str,
    title: str,
    pages: Iterable[int | None],
    chunks: Iterable[Sequence[Chunk]],
    rights: Rights,
    stated: Stated = NOTHING_STATED,
) -> list[Passage]:
    """Make the passages of a document, in order. None crosses pages.

    Args:
        sourcefile: The name of the document.
        title: Its title.
        pages: The numbers of its pages with text; None in a format without pages.
        chunks: The chunks of each page's text.
        rights: Who may see it.
        stated: What it states of itself.
    """
    cited = [sourcepage(sourcefile, page) for page in pages]
    texts = [(page, chunk) for page, of_page in zip(cited, chunks, strict=True) for chunk in of_page]
    return [
        Passage(
            id=passage_id(sourcefile, number),
            content=chunk.text,
            sourcepage=page,
            sourcefile=sourcefile,
            title=title,
            headings=chunk.headings,
            table_head=chunk.table_head,
            category=category(sourcefile),
            oids=rights.oids,
            groups=rights.groups,
            date=stated.date,
            sensitivity=stated.sensitivity,
        )
        for number, (page, chunk) in enumerate(texts)
    ]


def category(sourcefile: str) -> str | None:
    """The first folder below the indexed one; None for a file directly in it. People's own are in `mine`."""
    if sourcefile.startswith(PEOPLE):
        return MINE.rstrip("/")
    first, *rest = PurePosixPath(sourcefile).parts
    return first if rest else None


def sourcepage(sourcefile: str, page: int | None) -> str:
    """The name that an answer cites: the path of the file, with `#page=N` in formats with pages.

    The characters `[ ] # % ?` and control characters in the path are percent-encoded (as UTF-8).
    `urllib.parse.unquote(sourcepage.partition("#")[0])` gives the path back, and so does a web server for a link.
    """
    path = _ESCAPED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), sourcefile)
    return path if page is None else f"{path}#page={page}"


def passage_id(sourcefile: str, number: int) -> str:
    """The id of a passage, counted from 0, in the characters that Azure AI Search allows in a key.

    It has the form of azure-search-openai-demo: `file-{name}-{hash}-page-{n}`, in which `page` counts passages. The
    hash tells names apart that differ only in characters which an id cannot hold.
    """
    name = _NOT_IN_ID.sub("_", sourcefile)[-_MAX_NAME_IN_ID:]
    digest = hashlib.sha256(sourcefile.encode()).hexdigest()[:_HASH_DIGITS]
    return f"file-{name}-{digest}-page-{number}"
