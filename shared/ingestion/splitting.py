"""Pages to passages: pieces of text that fit into a prompt, cut at headings, paragraphs and sentences."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from shared.chat_types import Passage
from shared.reading import Page, UnreadableError

PASSAGE_TOKENS = 500
"""Largest size of a passage."""
OVERLAP_TOKENS = 50
"""Largest overlap of two passages of a section: whole sentences or list items; none if the last one is longer."""
MAX_PASSAGES = 10_000
"""Passages of a document, some 8,000 printed pages. They are in memory together, with their vectors."""
MAX_SPLIT_LENGTH = 50_000
"""Characters that the splitter gets at a time: text without breaks takes it quadratic time."""
_TABLE = re.compile(
    r"^((?:\#{1,6}[ ][^\n]*+\n\n)?+ \|[^\n]*+\n \|(?:[ ]*+:?+-++:?+[ ]*+\|)++[ ]*+)\n ((?:\|[^\n]*+(?:\n|\Z))++)",
    re.MULTILINE | re.VERBOSE,
)
"""A Markdown table: its header with the heading above it, if there is one, and its rows."""
_HEADER_TOKENS = (32, 64, 128, 250)
"""Room for the header in each passage of a long table: the first of these that the header fits into."""
_BREAKS = ("\n\n", "\n", " ")
"""Where a longer text is cut: the first of these that it has."""
_TOKENIZER_MODEL = "gpt-4o"
"""The model whose tokens are counted. The splitter contains its vocabulary (o200k); nothing is downloaded."""
_ESCAPED = re.compile(r"[\[\]#%?\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that would end a citation's bracket, path or line."""
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME_IN_ID = 80
"""Characters of the file's name, from its end, in the id of a passage."""
_HASH_DIGITS = 16


def split(sourcefile: str, pages: Sequence[Page], limit: int = MAX_PASSAGES) -> list[Passage]:
    """Split a file into passages, in order: at headings, else at paragraphs, else at sentences; never across pages.

    Plain text is split like Markdown: empty lines separate paragraphs in both. Each passage of a table that is longer
    than a passage begins with the table's header, so that its cells can be told apart.

    Args:
        sourcefile: The name of the document.
        pages: Its pages with text.
        limit: Number of passages that it may have.

    Raises:
        UnreadableError: it has more.
    """
    passages: list[Passage] = []
    for page in pages:
        for text in _chunks(page.text):
            if len(passages) == limit:
                raise UnreadableError(f"holds more than {limit:,} passages of text; split it.")
            passages.append(
                Passage(
                    id=passage_id(sourcefile, len(passages)),
                    content=text,
                    sourcepage=sourcepage(sourcefile, page.number),
                    sourcefile=sourcefile,
                    category=category(sourcefile),
                )
            )
    return passages


def category(sourcefile: str) -> str | None:
    """The first folder below the indexed one; None for a file directly in it."""
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


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces of at most `MAX_SPLIT_LENGTH`, at paragraphs where possible."""
    start = 0
    while len(text) - start > MAX_SPLIT_LENGTH:
        end = start + MAX_SPLIT_LENGTH
        ends = (text.rfind(mark, start, end) + len(mark) for mark in _BREAKS if mark in text[start:end])
        end = next(ends, end)
        yield text[start:end]
        start = end
    yield text[start:]


def _chunks(text: str) -> Iterator[str]:
    """Cut a text into passages."""
    start = 0
    for table in _TABLE.finditer(text):
        header, rows = table.groups()
        room = next((tokens for tokens in _HEADER_TOKENS if len(_splitter(tokens).chunks(header)) == 1), None)
        if room and _is_longer_than_a_passage(table[0]):
            yield from _text_chunks(text[start : table.start()])
            by_row = _row_splitter(PASSAGE_TOKENS - room - 1)  # a token for the line break
            yield from (f"{header}\n{chunk}" for piece in pieces(rows) for chunk in by_row.chunks(piece))
            start = table.end()
    yield from _text_chunks(text[start:])


def _text_chunks(text: str) -> Iterator[str]:
    for piece in pieces(text):
        yield from _splitter(PASSAGE_TOKENS, OVERLAP_TOKENS).chunks(piece)


def _is_longer_than_a_passage(text: str) -> bool:
    return len(text) > MAX_SPLIT_LENGTH or len(_splitter(PASSAGE_TOKENS).chunks(text)) > 1


@cache
def _splitter(tokens: int, overlap: int = 0) -> MarkdownSplitter:
    return MarkdownSplitter.from_tiktoken_model(_TOKENIZER_MODEL, tokens, overlap=overlap)


@cache
def _row_splitter(tokens: int) -> TextSplitter:
    return TextSplitter.from_tiktoken_model(_TOKENIZER_MODEL, tokens)
