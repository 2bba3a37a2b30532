"""Finds the tables of a page: by their ruling lines, or by columns that are aligned in three rows or more.

A PDF has no tables, only words with places. What makes a table without lines is white space that several rows share.
In justified text the spaces of a line are all as wide, and hardly ever below each other; text in columns is written one
column after the other, while tables are written row by row.
"""

import re
from collections.abc import Sequence
from itertools import chain, pairwise

from shared.reading import pdf_ruled_tables, pdf_words
from shared.reading.pdf_figures import holds_figures, with_heads, without_columns_of_signs
from shared.reading.pdf_rules import Rule, grids, merged
from shared.reading.pdf_words import Piece, Table, Word

_BULLET = re.compile(pdf_words.BULLETS)
_LONGEST_RUN = 300
"""Maximum rows of a table; no page has more, and each row may be compared so many times."""
_MAX_WRAPS = 12
"""Maximum lines of a cell that are read to find the next cell of the row."""

type Row = list[list[Piece]]
"""The cells of a row, each with its lines."""


def find_tables(
    lines: Sequence[Sequence[Word]], horizontal: Sequence[Rule], vertical: Sequence[Rule]
) -> list[Sequence[Word] | Table]:
    """Find the tables among the lines of a page.

    Args:
        lines: The words of each line, in the order of the file.
        horizontal: The page's horizontal ruling lines.
        vertical: Its vertical ones.

    Returns:
        The lines that are no part of a table, and the tables in the place of their first line.
    """
    across, down = merged(horizontal), merged(vertical)
    found: list[Sequence[Word] | Table] = [line for line in lines if line]
    for grid in grids(across, down):
        found = pdf_ruled_tables.with_grid(found, grid)
    return with_heads(_with_columns(found))


def _with_columns(lines: list[Sequence[Word] | Table]) -> list[Sequence[Word] | Table]:
    """Find the tables without vertical lines."""
    found: list[Sequence[Word] | Table] = []
    start = 0
    for end in range(len(lines) + 1):
        if end < len(lines) and not isinstance(lines[end], Table):
            continue
        found += _tables_among([line for line in lines[start:end] if not isinstance(line, Table)])
        found += lines[end : end + 1]
        start = end + 1
    return found


def _tables_among(lines: list[Sequence[Word]]) -> list[Sequence[Word] | Table]:
    rows = _rows([piece for number, line in enumerate(lines) for piece in pdf_words.pieces_of(line, number)])
    found: list[Sequence[Word] | Table] = []
    done = 0  # lines
    index = 0
    while index < len(rows):
        end = _run_end(rows, index)
        table = _aligned_table(rows[index:end]) if end - index >= pdf_words.FEWEST_ROWS else None
        if table is None:
            index += 1
            continue
        first = next(
            (place for place in range(index, end) if holds_figures([one[0].text for one in rows[place]])), index
        )
        below = _aligned_table(rows[first : (below_end := _run_end(rows, first))])
        if below and len(below.columns) > len(table.columns):  # what is above may be its head
            index, end, table = first, below_end, below
        numbers = {piece.line for row in rows[index:end] for cell in row for piece in cell}
        found += [*lines[done : min(numbers)], table]
        done = max(numbers) + 1
        index = end
    return found + lines[done:]


def _rows(pieces: Sequence[Piece]) -> list[Row]:
    """Group pieces, in the order of the file, into rows of cells; text outside of tables becomes rows of one cell."""
    rows: list[Row] = []
    index = 0
    while index < len(pieces):
        row: Row = [[pieces[index]]]
        index += 1
        while index < len(pieces):
            wraps = 0
            while wraps < _MAX_WRAPS and index + wraps < len(pieces) and _wraps(row, pieces, index + wraps):
                wraps += 1
            following = index + wraps
            if following < len(pieces) and _is_next_cell(row, pieces[following]):
                row[-1] += pieces[index:following]
                row.append([pieces[following]])
                index = following + 1
            elif len(row) > 1 and wraps and pieces[index].left > row[0][0].right:
                row[-1] += pieces[index:following]
                index = following
            else:
                break
        rows.append(row)
    return rows


def _wraps(row: Row, pieces: Sequence[Piece], index: int) -> bool:
    """Whether a piece is below the one before it, as the next line of the same cell."""
    piece = pieces[index]
    last = pieces[index - 1]
    starts_below = last.top > piece.top and piece.top > last.bottom - piece.height / 2
    return (
        starts_below
        and piece.left < last.right
        and last.left < piece.right
        and piece.left >= row[-1][0].left - 2 * piece.height
    )


def _is_next_cell(row: Row, piece: Piece) -> bool:
    """Whether a piece is beside a row's last cell, and not below it; to the left where text runs from the right."""
    cell = row[-1]
    height = piece.height
    distance = max(
        piece.left - max(line.right for line in cell),
        min(line.left for line in cell) - piece.right,
    )
    return (
        (distance >= pdf_words.CELL_GAP / 2 * height or (distance > 0 and piece.line == cell[-1].line))
        and piece.top <= row[0][0].top + height
        and piece.bottom >= min(line.bottom for line in row[0] + cell) - height / 2
    )


def _run_end(rows: Sequence[Row], start: int) -> int:
    """The end of the rows from `start` that share white space between columns."""
    if len(rows[start]) < 2:
        return start
    gaps = _gaps(rows[start])
    end = start + 1
    last_full = end
    while end < min(len(rows), start + _LONGEST_RUN):
        row, before = rows[end], rows[end - 1]
        height = row[0][0].height
        distance = min(piece.bottom for cell in before for piece in cell) - row[0][0].top
        if not -height / 2 <= distance <= 2 * height:
            break
        shared = _shared(gaps, row)
        if not shared or (len(shared) < len(gaps) if len(row) == 1 else 2 * len(shared) < len(gaps)):
            break
        gaps = shared
        end += 1
        if len(row) > 1:
            last_full = end
    return last_full


def _gaps(row: Row) -> list[tuple[float, float]]:
    """The white space between the cells of a row, from the left."""
    edges = sorted((min(piece.left for piece in cell), max(piece.right for piece in cell)) for cell in row)
    return [(right, left) for (_, right), (left, _) in pairwise(edges)]


def _shared(gaps: Sequence[tuple[float, float]], row: Row) -> list[tuple[float, float]]:
    """What a row leaves white of the gaps."""
    pieces = [piece for cell in row for piece in cell]
    left_over = (_left_white(left, right, pieces) for left, right in gaps)
    return [(left, right) for left, right in left_over if right - left >= pdf_words.SHARED_GAP * row[0][0].height]


def _left_white(left: float, right: float, pieces: Sequence[Piece]) -> tuple[float, float]:
    """The wider side of a gap where a piece reaches into it."""
    for piece in pieces:
        if piece.right <= left or piece.left >= right:
            continue
        if right - piece.right >= piece.left - left:
            left = max(left, piece.right)
        else:
            right = min(right, piece.left)
    return left, right


def _aligned_table(rows: Sequence[Row]) -> Table | None:
    """The table of rows that share columns; None if they have too little in common."""
    if sum(len(row) > 1 for row in rows) < max(pdf_words.FEWEST_ROWS, len(rows) / 2):
        return None
    gaps = pdf_words.white_columns([piece for row in rows for cell in row for piece in cell], len(rows))
    if not gaps:
        return None
    cells = [_cells(row, gaps) for row in rows]
    if len(gaps) == 1 and _is_list([row[0] for row in cells if row[0]]):
        return None
    boxes = [pdf_words.box_around(chain.from_iterable(row)) for row in rows]
    edges = [min(box.left for box in boxes), *(edge for gap in gaps for edge in gap), max(box.right for box in boxes)]
    joined = without_columns_of_signs(cells, [range(len(row)) for row in cells])
    return Table(
        tuple(tuple(pdf_words.joined_text(row[columns.start : columns.stop]) for columns in joined) for row in cells),
        tuple(boxes),
        tuple((edges[2 * columns.start], edges[2 * columns.stop - 1]) for columns in joined),
    )


def _is_list(firsts: Sequence[str]) -> bool:
    """Whether cells of the first column are list markers; beside bullets it may have a short last line of an item."""
    bullets = sum(bool(_BULLET.fullmatch(first)) for first in firsts)
    return 2 * bullets > len(firsts) or all(pdf_words.LIST_MARKER.fullmatch(first) for first in firsts)


def _cells(row: Row, gaps: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    texts = [""] * (len(gaps) + 1)
    for cell in row:
        for piece in cell:
            for part in pdf_words.parted_at(piece, gaps):
                column = sum(left <= part.left + pdf_words.SHARED_GAP * piece.height for left, _ in gaps)
                texts[column] = pdf_words.joined_text((texts[column], part.text))
    return tuple(texts)
