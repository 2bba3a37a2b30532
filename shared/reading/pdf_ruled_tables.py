"""Tables with ruling lines: the words of a page in the grids that its lines make."""

from bisect import bisect_right
from collections.abc import Sequence
from copy import replace
from itertools import pairwise

from shared.reading import pdf_words
from shared.reading.pdf_figures import is_figure, joined_text, without_columns_of_signs
from shared.reading.pdf_rules import Grid
from shared.reading.pdf_words import Piece, Table, Word

_DEEPEST_HEAD = 3
"""Rows of a head, at most."""
_MOST = 0.6
"""Share of the lines in a ruled column that show it to hold several columns."""
_LONGEST_REPEATED = 60
"""Characters of a merged cell's text that is repeated in each row and column."""

type _Cell = tuple[int, ...]
"""The numbers of the cells of a grid that are one cell of the table."""


def with_grid(lines: list[Sequence[Word] | Table], grid: Grid) -> list[Sequence[Word] | Table]:
    """Take the words inside a grid out of the lines, and put the table in their place."""
    words = [word for line in lines if not isinstance(line, Table) for word in line]
    grid = _with_inner_columns(grid, [word for word in words if _place_of(grid, word)])
    inside: dict[tuple[int, int], list[Word]] = {}
    first: int | None = None
    rest: list[Sequence[Word] | Table] = []
    for line in lines:
        if isinstance(line, Table):
            rest.append(line)
            continue
        outside: list[Word] = []
        for word in line:
            place = _place_of(grid, word)
            if place is None:
                outside.append(word)
            else:
                inside.setdefault(place, []).append(word)
                first = len(rest) if first is None else first
        if outside:
            rest.append(outside)
    table = _ruled_table(grid, inside)
    if first is None or table is None:
        return lines
    return [*rest[:first], table, *rest[first:]]


def _with_inner_columns(grid: Grid, words: Sequence[Word]) -> Grid:
    """A grid whose ruled columns are split where their texts are in columns of their own."""
    columns = [*grid.columns]
    inside: list[list[Word]] = [[] for _ in grid.columns]
    for word in words:
        inside[min(bisect_right(grid.columns, (word.left + word.right) / 2), len(inside) - 1) - 1].append(word)
    for (left, right), own in zip(pairwise(grid.columns), inside, strict=False):
        lines = pdf_words.text_lines(own)
        parts = [pdf_words.pieces_of(line.words, 0) for line in lines if left <= line.left and line.right <= right]
        if len(parts) >= pdf_words.FEWEST_ROWS and sum(len(pieces) > 1 for pieces in parts) >= _MOST * len(parts):
            columns += [
                edge for _, edge in pdf_words.white_columns([piece for pieces in parts for piece in pieces], len(parts))
            ]
    columns.sort()
    first = [bisect_right(grid.columns, column) - 1 for column in columns[:-1]]
    return Grid(tuple(columns), grid.rows, tuple(tuple(row[column] for column in first) for row in grid.cells))


def _place_of(grid: Grid, word: Word) -> tuple[int, int] | None:
    """Row and column of a word's middle."""
    x, y = (word.left + word.right) / 2, pdf_words.middle(word)
    if not (grid.columns[0] <= x <= grid.columns[-1] and grid.rows[-1] <= y <= grid.rows[0]):
        return None
    row = max(0, sum(top >= y for top in grid.rows[:-1]) - 1)
    return row, max(0, sum(left <= x for left in grid.columns[:-1]) - 1)


def _ruled_table(grid: Grid, places: dict[tuple[int, int], list[Word]]) -> Table | None:
    """The table of a grid with these words by row and column; None if it holds too little to be a table."""
    cell_of, rows_with_text, columns_with_text = _filled(grid, places)
    words: dict[int, list[Word]] = {}
    for (row, column), found in places.items():
        words.setdefault(cell_of[row][column], []).extend(found)
    if len(columns_with_text) < 2 or len(rows_with_text) < 2 or len(words) < 4:
        return None
    lines = {cell: pdf_words.text_lines(found) for cell, found in words.items()}
    parted = [[cell_of[row][column] for column in columns_with_text] for row in rows_with_text]
    shown_texts = [[" ".join(piece.text for piece in lines.get(cell, ())) for cell in row] for row in parted]
    columns = without_columns_of_signs(shown_texts, parted)
    kept: list[list[_Cell]] = [[tuple(dict.fromkeys(row[one.start : one.stop])) for one in columns] for row in parted]
    texts = {cell: [piece for one in cell for piece in lines.get(one, ())] for row in kept for cell in row}
    rows: list[tuple[str, ...]] = []
    boxes: list[Word] = []
    for number, cells in enumerate(kept):
        row = rows_with_text[number]
        for part in _parts(cells, texts, is_sure=len(kept) <= pdf_words.FEWEST_ROWS):
            shown = (_is_shown(kept, number, column, part.get(cell, "")) for column, cell in enumerate(cells))
            rows.append(tuple(part.get(cell, "") if show else "" for cell, show in zip(cells, shown, strict=True)))
            boxes.append(Word("", grid.columns[0], grid.columns[-1], grid.rows[row + 1], grid.rows[row]))
    if len(rows) == len(kept):
        rows, boxes = _with_one_head(kept, rows, boxes)
    edges = [(grid.columns[column], grid.columns[column + 1]) for column in columns_with_text]
    return Table(tuple(rows), tuple(boxes), tuple((edges[one.start][0], edges[one.stop - 1][1]) for one in columns))


def _with_one_head(
    cells: Sequence[Sequence[_Cell]], rows: list[tuple[str, ...]], boxes: list[Word]
) -> tuple[list[tuple[str, ...]], list[Word]]:
    """Join the rows of a head whose merged cells show that it has several; a Markdown table has one."""
    depth = 1
    while depth < _DEEPEST_HEAD and depth < len(rows) - 1 and _heads(cells[depth - 1], cells[depth]):
        if any(map(is_figure, rows[depth])):
            break
        depth += 1
    if depth == 1:
        return rows, boxes
    head = tuple(" ".join(dict.fromkeys(text for text in texts if text)) for texts in zip(*rows[:depth], strict=True))
    box = replace(boxes[0], bottom=boxes[depth - 1].bottom)
    return [head, *rows[depth:]], [box, *boxes[depth:]]


def _heads(above: Sequence[_Cell], below: Sequence[_Cell]) -> bool:
    """Whether a row has a cell that is the head of several columns, which the row below it names."""
    return 1 < len(set(above)) < len(above) and any(
        one == other and first != second
        for (one, other), (first, second) in zip(pairwise(above), pairwise(below), strict=True)
    )


def _filled(grid: Grid, places: dict[tuple[int, int], list[Word]]) -> tuple[list[list[int]], list[int], list[int]]:
    """Return the cells of a grid, split where one has several texts side by side, and the rows and columns with text.

    Frames and double lines make rows and columns without any text of their own.
    """
    cell_of = [list(row) for row in grid.cells]
    members: dict[int, list[tuple[int, int]]] = {}
    for row, cells in enumerate(grid.cells):
        for column, cell in enumerate(cells):
            members.setdefault(cell, []).append((row, column))
    rows: set[int] = set()
    columns: set[int] = set()
    for cell in {cell_of[row][column] for row, column in places}:
        own = [place for place in members[cell] if place in places]
        fullest = max(own, key=lambda place: len(places[place]))
        rows.add(fullest[0])
        if _is_parted([word for place in own for word in places[place]], own):
            for row, column in members[cell]:
                cell_of[row][column] = -1 - column - len(grid.columns) * cell
            columns |= {column for _, column in own}
        else:
            columns.add(fullest[1])
    return cell_of, sorted(rows), sorted(columns)


def _is_parted(words: Sequence[Word], places: Sequence[tuple[int, int]]) -> bool:
    """Whether the words of a cell that no line parts are several texts side by side."""
    if len({column for _, column in places}) == 1:
        return False
    lines = pdf_words.text_lines(words)
    return sum(len(pdf_words.pieces_of(line.words, 0)) > 1 for line in lines) * 2 > len(lines)


def _is_shown(rows: Sequence[Sequence[_Cell]], row: int, column: int, text: str) -> bool:
    """Whether to repeat a merged cell's text here: a title once, a figure once a row, other short texts everywhere."""
    cells = rows[row]
    begins = column == 0 or cells[column - 1] != cells[column]
    is_first = begins and (row == 0 or rows[row - 1][column] != cells[column])
    is_repeated = len(text) <= _LONGEST_REPEATED and len(set(cells)) > 1
    return is_first or (is_repeated and (begins or not is_figure(text)))


def _parts(cells: Sequence[_Cell], texts: dict[_Cell, list[Piece]], *, is_sure: bool) -> list[dict[_Cell, str]]:
    """The rows in one row of a grid, whose lines are side by side: a line may be ruled below every few rows only.

    It is sure where only the columns are ruled. Elsewhere a column of figures, one a line, shows it.
    """
    lines = {cell: texts.get(cell, []) for cell in cells}
    starts = _row_starts([pieces for pieces in lines.values() if pieces])
    full = [pieces for pieces in lines.values() if len(pieces) == len(starts)]
    has_figures = any(all(is_figure(piece.text) for piece in pieces) for pieces in full)
    if len(starts) < pdf_words.FEWEST_ROWS or not (is_sure or has_figures):
        return [{cell: joined_text(piece.text for piece in pieces) for cell, pieces in lines.items()}]
    parts: list[dict[_Cell, str]] = [{} for _ in starts]
    for cell, pieces in lines.items():
        for piece in pieces:
            number = max(
                0, sum(pdf_words.middle(piece) <= pdf_words.middle(start) + piece.height / 3 for start in starts) - 1
            )
            parts[number][cell] = f"{parts[number].get(cell, '')} {piece.text}".strip()
    return parts


def _row_starts(columns: list[list[Piece]]) -> list[Piece]:
    """Lines that have others beside them in at least half of the columns; none where the cells are long text."""
    pieces = [piece for column in columns for piece in column]
    if len(columns) < 2 or sum(len(piece.words) for piece in pieces) > 4 * len(pieces):
        return []
    fullest = max(columns, key=len)
    return [
        piece
        for piece in fullest
        if 2 * sum(any(pdf_words.side_by_side(piece, other) for other in column) for column in columns) > len(columns)
    ]
