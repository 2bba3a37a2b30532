"""Text to chunks: pieces that fit into a prompt, cut at headings, paragraphs and sentences."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from shared.reading import UnreadableError

PASSAGE_TOKENS = 500
"""Largest size of a chunk, which becomes a passage."""
OVERLAP_TOKENS = 50
"""Largest overlap of two chunks of a section: whole sentences or list items; none if the last one is longer."""
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


def chunks_of(texts: Sequence[str], limit: int) -> list[list[str]]:
    """Split texts into chunks, in order: at headings, else at paragraphs, else at sentences.

    Plain text is split like Markdown: empty lines separate paragraphs in both. Each chunk of a table that is longer
    than a chunk begins with the table's header, so that its cells can be told apart.

    Args:
        texts: The texts of a document's pages.
        limit: Number of chunks that there may be in all.

    Returns:
        The chunks of each text.

    Raises:
        UnreadableError: there are more.
    """
    found: list[list[str]] = []
    count = 0
    for text in texts:
        found.append([])
        for chunk in _chunks(text):
            if count == limit:
                raise UnreadableError(f"holds more than {limit:,} passages of text; split it.")
            found[-1].append(chunk)
            count += 1
    return found


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
