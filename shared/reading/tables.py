"""Tables: rows to Markdown; files of delimiter-separated values (CSV, TSV) to rows."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import groupby, islice

from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit

_DELIMITERS = (";", "\t", "|", ",")
"""The comma comes last: it is also in dates, names and numbers."""
_SAMPLE_LENGTH = 64 * 1024
"""Characters at the start of a file that show its delimiter."""
_SAMPLE_ROWS = 50
_NAMED_DELIMITER = re.compile(r"\A\ufeff?\"?sep=(.)\"?\r?\n", re.IGNORECASE)
"""First line with which a file tells Excel its delimiter."""
_SPACE = re.compile(r"\s+")
_LONGEST_FIELD = 2**31 - 1
"""In characters. The limits of files are lower; the library's own limit is 131,072."""


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Write rows as a Markdown table; the first is the header, empty ones are left out.

    Rows may have different lengths: the header gets as many cells as the longest row.
    """
    written: list[str] = []
    widths: list[int] = []
    for row in rows:
        cells = [_SPACE.sub(" ", text).strip().replace("|", "\\|") for text in row]
        if any(cells):
            written.append(f"| {' | '.join(cells)} |")
            widths.append(len(cells))
    if not written:
        return ""
    written[0] += "  |" * (max(widths) - widths[0])
    written.insert(1, f"|{' --- |' * max(widths)}")
    return "\n".join(written)


def repeat_merged(
    rows: Sequence[list[str]], merged: Iterable[tuple[int, int, int, int]], limits: ReadLimits = DOCUMENT_LIMITS
) -> None:
    """Repeat the text of merged cells in each of them, so that every row and column has its label.

    Each is given as row, column, height and width. Those as wide as the table are titles, which are not repeated.
    """
    filled = 0
    for top, left, height, width in merged:
        for row in rows[top : top + height] if width < max(len(rows[top]), 2) else ():
            filled += len(row[left : left + width])
            check_limit(filled, limits.cells, "merged cells")
            row[left : left + width] = [rows[top][left]] * len(row[left : left + width])


def sheet_text(name: str, rows: Sequence[list[str]]) -> str:
    """The text of a sheet: its name, and the tables and titles on it; empty if there are none."""
    blocks = [text for block in _blocks(rows) for text in _block_texts(block)]
    return "\n\n".join((f"## {name}", *blocks)) if blocks else ""


def read_delimited(text: str, delimiter: str | None = None, limits: ReadLimits = DOCUMENT_LIMITS) -> str:
    """Convert delimiter-separated values to a Markdown table. A text without a delimiter stays as it is.

    Args:
        text: The content of the file.
        delimiter: What separates the values; None: it is found from the first rows.
        limits: What the file may hold.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    if named := _NAMED_DELIMITER.match(text):
        text, delimiter = text[named.end() :], named[1]
    delimiter = delimiter or _found_delimiter(text)
    return markdown_table(_counted(_values(text, delimiter), limits)) if delimiter else text


def _counted(rows: Iterable[list[str]], limits: ReadLimits) -> Iterator[list[str]]:
    cells = 0
    for row in rows:
        cells += len(row)
        check_limit(cells, limits.cells, "cells")
        yield row


def _values(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def _found_delimiter(text: str) -> str | None:
    """The delimiter with which most of the first rows have the same number of values, the most of them."""
    best, found = (0.0, 0.0), None
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in islice(_values(text[:_SAMPLE_LENGTH], delimiter), _SAMPLE_ROWS) if row]
        width, times = max(Counter(widths).items(), key=lambda pair: pair[1], default=(0, 0))  # imports nothing late
        # Prices in two columns have three values between commas.
        likely = (times / max(len(widths), 1), (width - 1) / (2 if delimiter == "," else 1))
        if width > 1 and likely > best:
            best, found = likely, delimiter
    return found


def _blocks(rows: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """What empty rows separate on a sheet, without its empty columns."""
    for kept in (list(block) for filled, block in groupby(rows, key=any) if filled):
        columns = [column for column in range(len(kept[0])) if any(row[column] for row in kept)]
        yield [[row[column] for column in columns] for row in kept]


def _block_texts(block: list[list[str]]) -> Iterator[str]:
    """Titles, which stand alone in the first rows, and the table below them."""
    while block and sum(map(bool, block[0])) == 1:
        yield next(filter(None, block.pop(0)))
    if block:
        yield markdown_table(block)
