"""Text to chunks: pieces that fit into a prompt, cut at headings, paragraphs and sentences.

Each chunk knows where it stands: the headings above it, and the head of the table in the middle of which it begins.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from shared.reading import Chunk, UnreadableError

PASSAGE_TOKENS = 500
"""Largest size of a chunk, which becomes a passage."""
OVERLAP_TOKENS = 50
"""Largest overlap of two chunks of a section: whole sentences or list items; none if the last one is longer."""
MAX_SPLIT_LENGTH = 50_000
"""Characters that the splitter gets at a time: text without breaks takes it quadratic time."""
_LONGEST_RUN = 1_000
"""Characters of one kind that it gets in a row: letters without a break take it quadratic time too, dots cubic."""
_RUN = re.compile(rf"(?<![^\W\d_])[^\W\d_]{{{_LONGEST_RUN},}}+|(?<![^\w\s])[^\w\s]{{{_LONGEST_RUN},}}+")
"""Letters, or characters that are neither letters, digits nor white space, in a row; no language has so many."""
_TABLE = re.compile(
    r"^((?:\#{1,6}[ ][^\n]*+\n\n)?+) (\|[^\n]*+\n \|(?:[ ]*+:?+-++:?+[ ]*+\|)++[ ]*+\n) ((?:\|[^\n]*+(?:\n|\Z))++)",
    re.MULTILINE | re.VERBOSE,
)
"""A Markdown table: the heading above it, if there is one, its head, and its rows."""
_ROW = re.compile(r"[^\n]+")
_HEADING = re.compile(r"^(?:(\#{1,6})[ \t]+(?=\S)([^\n]+)|(```|~~~))", re.MULTILINE)
"""A heading, or an edge of a block of code, in which there are none."""
_MARKS = re.compile(r"[*_`]{2,}|`|[ \t]+\#+[ \t]*$")
_LONGEST_HEADING = 150
"""Characters of a heading that are kept."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_UNIT = re.compile(r"[%$€£¥]|\b(?:in )?(?:thousand|million|billion|tsd|mio|mrd)s?\b", re.IGNORECASE)
_DAY = re.compile(r"\b\d{1,2}\b\.?(?=,|\s*[^\W\d])|(?<=[^\W\d])\s+\d{1,2}\b")
_MOST_HEAD_ROWS = 2
"""Rows below the head that can belong to it."""
_HEADER_TOKENS = (32, 64, 128, 250)
"""Room for the header in each passage of a long table: the first of these that the header fits into."""
_BREAKS = ("\n\n", "\n", " ")
"""Where a longer text is cut: the first of these that it has."""
_TOKENIZER_MODEL = "gpt-4o"
"""The model whose tokens are counted. The splitter contains its vocabulary (o200k); nothing is downloaded."""


def chunks_of(texts: Sequence[str], limit: int) -> list[list[Chunk]]:
    """Split texts into chunks, in order: at headings, else at paragraphs, else at sentences.

    Plain text is split like Markdown: empty lines separate paragraphs in both. The headings of a page are above the
    text of the next one too.

    Args:
        texts: The texts of a document's pages.
        limit: Number of chunks that there may be in all.

    Returns:
        The chunks of each text.

    Raises:
        UnreadableError: there are more.
    """
    found: list[list[Chunk]] = []
    count = 0
    above: tuple[_Heading, ...] = ()
    for text in texts:
        found.append([])
        paths = _paths(text, above)
        places = [place for place, _ in paths]
        above = paths[-1][1]
        for start, chunk, table_head in _chunks(text):
            if count == limit:
                raise UnreadableError(f"holds more than {limit:,} passages of text; split it.")
            path = paths[bisect_left(places, start) - 1][1]
            own = _HEADING.match(chunk)
            if own and own[1]:
                path = _under(path, len(own[1]))
            found[-1].append(Chunk(chunk, tuple(heading for _, heading in path), table_head))
            count += 1
    return found


def title_of(texts: Sequence[str]) -> str:
    """The title of a document: the first heading of its first text; empty if that has none."""
    first = next(_headings(texts[0]), None) if texts else None
    return _plain(first[2]) if first else ""


type _Heading = tuple[int, str]
"""A heading with its level, from 1."""


def _paths(text: str, above: tuple[_Heading, ...]) -> list[tuple[int, tuple[_Heading, ...]]]:
    """The places in a text at which its headings change, each with the headings that are above what follows."""
    found = [(-1, above)]
    for heading in _headings(text):
        above = (*_under(above, len(heading[1])), (len(heading[1]), _plain(heading[2])))
        found.append((heading.start(), above))
    return found


def _headings(text: str) -> Iterator[re.Match[str]]:
    fence = ""
    for found in _HEADING.finditer(text):
        if found[3]:
            fence = "" if found[3] == fence else fence or found[3]
        elif not fence:
            yield found


def _plain(heading: str) -> str:
    return _MARKS.sub("", heading).strip()[:_LONGEST_HEADING]


def _under(path: Sequence[_Heading], level: int) -> tuple[_Heading, ...]:
    """The headings of a path that are above a heading of this level."""
    return tuple(heading for heading in path if heading[0] < level)


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces of at most `MAX_SPLIT_LENGTH`, at paragraphs where possible, and within long runs."""
    start = 0
    in_runs = (range(run.start() + _LONGEST_RUN, run.end(), _LONGEST_RUN) for run in _RUN.finditer(text))
    for last in (*chain.from_iterable(in_runs), len(text)):
        while last - start > MAX_SPLIT_LENGTH:
            end = start + MAX_SPLIT_LENGTH
            ends = (text.rfind(mark, start, end) + len(mark) for mark in _BREAKS if mark in text[start:end])
            end = next(ends, end)
            yield text[start:end]
            start = end
        yield text[start:last]
        start = last


def _chunks(text: str) -> Iterator[tuple[int, str, str]]:
    """Cut a text into passages, each with its place, and the head of the table in which it begins."""
    start = 0
    tables = list(map(_Table.of, _TABLE.finditer(text)))
    for table in tables:
        heading, head = table.heading, table.head
        room = next((tokens for tokens in _HEADER_TOKENS if len(_splitter(tokens).chunks(heading + head)) == 1), None)
        if room and _is_longer_than_a_passage(text[table.start : table.end]):
            yield from _text_chunks(text, start, table.start, tables)
            by_row = _row_splitter(PASSAGE_TOKENS - room - 1)  # a token for the line break
            rows = pieces(text[table.rows : table.end])
            first, *others = [chunk for piece in rows for chunk in by_row.chunks(piece)]
            yield table.start, f"{heading}{head}{first}", ""
            yield from ((table.rows, chunk, table.whole_head) for chunk in others)
            start = table.end
    yield from _text_chunks(text, start, len(text), tables)


class _Table(NamedTuple):
    """A table in a text: where it is, and its head."""

    start: int
    rows: int
    """Where its rows begin."""
    end: int
    heading: str
    """The heading above it; empty: there is none."""
    head: str
    whole_head: str
    """Its head, with the rows below it that only have years and units."""

    @classmethod
    def of(cls, found: re.Match[str]) -> "_Table":
        rows = found.start(3)
        first = [row[0] for row in islice(_ROW.finditer(found.string, rows, found.end()), _MOST_HEAD_ROWS)]
        return cls(found.start(), rows, found.end(), found[1], found[2], _head_of(found[2], first))


def _text_chunks(text: str, start: int, end: int, tables: Sequence[_Table]) -> Iterator[tuple[int, str, str]]:
    rows = [table.rows for table in tables]
    for piece in pieces(text[start:end]):
        for offset, chunk in _splitter(PASSAGE_TOKENS, OVERLAP_TOKENS).chunk_indices(piece):
            place = start + offset
            table = tables[number] if (number := bisect_right(rows, place) - 1) >= 0 else None
            yield place, chunk, table.whole_head if table and place < table.end else ""
        start += len(piece)


def _head_of(head: str, rows: Sequence[str]) -> str:
    """The head of a table, with the first of these rows that only have years and units."""
    for row in rows:
        values = " ".join(row.strip("| ").split("|")[1:])
        rest = _DAY.sub("", _YEAR.sub("", values))
        if not (_YEAR.search(values) or _UNIT.search(values)) or any(map(str.isdigit, rest)):
            break
        head += f"{row}\n"
    return head


def _is_longer_than_a_passage(text: str) -> bool:
    return len(text) > MAX_SPLIT_LENGTH or len(_splitter(PASSAGE_TOKENS).chunks(text)) > 1


def load() -> None:
    """Load the vocabulary of tokens, which takes a tenth of a second and 44 MB."""
    _splitter(PASSAGE_TOKENS, OVERLAP_TOKENS)


@cache
def _splitter(tokens: int, overlap: int = 0) -> MarkdownSplitter:
    return MarkdownSplitter.from_tiktoken_model(_TOKENIZER_MODEL, tokens, overlap=overlap)


@cache
def _row_splitter(tokens: int) -> TextSplitter:
    return TextSplitter.from_tiktoken_model(_TOKENIZER_MODEL, tokens)
