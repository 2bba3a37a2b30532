"""Tables of figures, as annual reports have them: signs in columns of their own, and heads of years above the table."""

import re
from collections.abc import Hashable, Sequence
from copy import replace
from itertools import chain, pairwise

from shared.reading import pdf_words
from shared.reading.pdf_words import Piece, Table, Word, is_figure, joined_text, side_by_side

YEARS = re.compile(r"\b(?:19|20)\d\d\b")
_BEFORE = re.compile(r"(?:[A-Z]{0,3}[$€£¥])?\(?")
"""Signs before a figure, or nothing."""
_BEHIND = re.compile(r"\)?\s?(?:%|pp|bps)?\)?")
"""Signs behind a figure, or nothing."""
_NOTE = re.compile(r"(?:\(?\w{0,2}\))?")
"""A reference to a note below the table, or nothing."""
_MOST_HEAD_LINES = 5
"""Lines above a table that may be its head."""
_WIDEST_HEAD_GAP = 1.6
"""Distance between a head and what is below it, at most, in line heights."""
_BESIDE = 1.3
"""How far a label may overlap the first row, in line heights: that row may have a raised number of a note."""
_LONGEST_HEAD = 60
"""Characters of a text in a head."""
_NEAR = 0.6
"""Distance from the middle of a column to a head that is still above it, as a share of the column's width."""


def holds_figures(row: Sequence[str]) -> bool:
    """Whether a row has figures, so that it is no head; numbers that count the columns are no figures."""
    values = [cell for cell in row[1:] if cell]
    figures = [value for value in values if is_figure(value)]
    counts = len(figures) > 1 and all(
        one.isdecimal() and other.isdecimal() and int(other) == int(one) + 1 for one, other in pairwise(figures)
    )
    return any(map(str.isdigit, "".join(figures))) and 2 * len(figures) > len(values) and not counts


def without_columns_of_signs(texts: Sequence[Sequence[str]], cells: Sequence[Sequence[Hashable]]) -> list[range]:
    """Return the columns of a table, joined where one has only signs, such as those of currencies, for the other.

    Args:
        texts: The texts, by row and column.
        cells: By row and column, values that are equal for columns of one merged cell.

    Returns:
        The ranges of columns that belong together.
    """

    def are_joined(sign: re.Pattern[str], columns: range, others: range) -> bool:
        """Whether columns have only signs of their own, apart from text that is alone in its row."""
        own: list[tuple[str, str]] = []
        for text, cell in zip(texts, cells, strict=True):
            if cell[columns[-1]] != cell[others[-1]]:
                own.append((joined_text(text[columns.start : columns.stop]), text[others[-1]]))
        has_signs = any(text and sign.fullmatch(text) for text, _ in own) or not any(text for text, _ in own)
        return has_signs and all(sign.fullmatch(text) or not other for text, other in own)

    joined = [range(1)]
    for column in range(1, len(texts[0])):
        before, this = joined[-1], range(column, column + 1)
        if (before.start and are_joined(_BEFORE, before, this)) or are_joined(_BEHIND, this, before):
            joined[-1] = range(before.start, column + 1)
        else:
            joined.append(this)
    return joined


def with_heads(lines: Sequence[Sequence[Word] | Table]) -> list[Sequence[Word] | Table]:
    """Add to a table the lines right above it that name its columns, even if they are not aligned with its rows.

    A line that belongs to the first rows alone, such as their label, may stand between.
    """
    found: list[Sequence[Word] | Table] = []
    for line in lines:
        if not isinstance(line, Table) or len(line.columns) < 2:
            found.append(line)
            continue
        head: list[list[Piece]] = []
        labels: list[Piece] = []
        taken, below = 0, line.boxes[0].top
        while len(head) + len(labels) < _MOST_HEAD_LINES and (row := _lowest_row(found[: len(found) - taken])):
            pieces = [piece for words in row for piece in pdf_words.pieces_of(words)]
            if not head and 2 * len(pieces) >= len(line.columns):  # it names each column
                white = [(right, left) for (_, right), (left, _) in pairwise(line.columns)]
                pieces = [part for piece in pieces for part in pdf_words.parted_at(piece, white)]
            if _is_above(pieces, line, below):
                head.insert(0, pieces)
            elif not head and len(pieces) == 1 and _is_label(pieces[0], line, below):
                labels.insert(0, pieces[0])
            else:
                break
            below = max(piece.top for piece in pieces)
            taken += len(row)
        has_years = YEARS.search(" ".join(line.rows[0][1:])) and not holds_figures(line.rows[0])
        if head and (has_years or any(len(row) > 1 or YEARS.search(row[0].text) for row in head)):
            del found[len(found) - taken :]
            found.append(_with_head(_with_labels(line, labels), head))
        else:
            found.append(line)
    return found


def _lowest_row(lines: Sequence[Sequence[Word] | Table]) -> list[Sequence[Word]]:
    """The last lines, as far as they are side by side."""
    row: list[Sequence[Word]] = []
    for line in reversed(lines):
        if isinstance(line, Table) or (row and not side_by_side(line[0], row[0][0])):
            break
        row.insert(0, line)
    return row


def _is_near(row: Sequence[Piece], below: float, overlap: float) -> bool:
    """Whether a row is right above something, and none of its texts is as long as a sentence.

    `below` is the upper edge of what is below it, in points; `overlap`, how far the row may reach down beside that, in
    line heights.
    """
    height = max(piece.height for piece in row)
    gap = min(piece.bottom for piece in row) - below
    return (
        -overlap * height <= gap <= _WIDEST_HEAD_GAP * height and max(len(piece.text) for piece in row) <= _LONGEST_HEAD
    )


def _is_above(row: Sequence[Piece], table: Table, below: float) -> bool:
    """Whether a row is right above columns of a table, and may name them."""
    height = max(piece.height for piece in row)
    left = table.columns[1][0] - height
    over = [piece for piece in row if piece.right > left]
    empty = [edges for text, edges in zip(table.rows[0], table.columns, strict=True) if not text]
    is_beside = all(any(start < piece.right and piece.left < end for start, end in empty) for piece in over)
    return (
        _is_near(row, below, (below - table.boxes[0].bottom) / height if is_beside else 0.5)
        and bool(over)
        and all(piece.left >= left for piece in over)
        and max(piece.right for piece in row) <= table.columns[-1][1] + 2 * height
        and not any(is_figure(piece.text) for piece in over)
    )


def _is_label(piece: Piece, table: Table, below: float) -> bool:
    """Whether a text is right above the first column of a table."""
    left, right = table.columns[0][0] - piece.height, table.columns[1][0]
    return _is_near([piece], below, _BESIDE) and piece.left >= left and piece.right <= right


def _with_labels(table: Table, labels: Sequence[Piece]) -> Table:
    """Add rows with a label alone; a first row without one gets the last."""
    rows = [(piece.text, *[""] * (len(table.columns) - 1)) for piece in labels]
    boxes = [Word("", piece.left, table.boxes[0].right, piece.bottom, piece.top) for piece in labels]
    first, *others = table.rows
    if labels and _NOTE.fullmatch(first[0]):
        first = (f"{labels[-1].text} {first[0]}".strip(), *first[1:])
        rows, boxes = rows[:-1], boxes[:-1]
    return replace(table, rows=(*rows, first, *others), boxes=(*boxes, *table.boxes))


def _with_head(table: Table, head: Sequence[Sequence[Piece]]) -> Table:
    """Add the head as one row, or to the first row where that is a head already."""
    over = [[above(row, table.columns, column) for row in head] for column in range(len(table.columns))]
    texts = [[joined_text(piece.text for piece in pieces) for pieces in rows] for rows in over]
    first = table.rows[0]
    has_head = not holds_figures(first) and sum(map(bool, first[1:])) > 1
    if has_head:
        texts = [[*names, own] for names, own in zip(texts, first, strict=True)]
    row = tuple(joined_text(dict.fromkeys(parts)) for parts in texts)
    box = replace(pdf_words.box_around(chain.from_iterable(head)), left=table.boxes[0].left, right=table.boxes[0].right)
    skipped = int(has_head)
    boxes = (replace(box, bottom=table.boxes[0].bottom) if has_head else box, *table.boxes[skipped:])
    return replace(table, rows=(row, *table.rows[skipped:]), boxes=boxes)


def above(
    row: Sequence[Piece], columns: Sequence[tuple[float, float]], column: int, *, is_head: bool = True
) -> Sequence[Piece]:
    """The texts of a row that are above a column; those of a head may be above several, as one in their middle is.

    One text alone in the middle of a head is above all but the first.
    """
    left, right = columns[column]
    middle, reach = (left + right) / 2, _NEAR * (right - left)
    within = [piece for piece in row if left <= (piece.left + piece.right) / 2 <= right]
    if not (column and is_head):
        return within
    first, last = columns[1][0], columns[-1][1]
    over = [piece for piece in row if piece.right > first]
    if len(over) == 1 and abs(over[0].left + over[0].right - first - last) < (last - first) / 2:
        return over
    nearest = _nearest(row, middle)
    is_near = max(nearest.left - middle, middle - nearest.right) <= reach
    opposite = nearest.left + nearest.right - middle
    is_one_of_several = len(over) > 1 and any(
        abs(2 * opposite - start - end) < 2 * (end - start) and _nearest(row, (start + end) / 2) is nearest
        for start, end in columns[1:]
    )
    return within or [nearest] * (is_near or is_one_of_several)


def _nearest(row: Sequence[Piece], place: float) -> Piece:
    return min(row, key=lambda piece: abs(piece.left + piece.right - 2 * place))
