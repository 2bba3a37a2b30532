"""Tables with ruling lines: the words of a page in the grids that its lines make."""

from bisect import bisect_right
from collections.abc import Sequence
from copy import replace
from itertools import chain, pairwise, takewhile

from shared.reading import pdf_words
from shared.reading.pdf_figures import above, without_columns_of_signs
from shared.reading.pdf_rules import Grid
from shared.reading.pdf_words import Piece, Table, Word, is_figure, joined_text

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
            white = pdf_words.white_columns([piece for pieces in parts for piece in pieces], len(parts))
            columns += [sum(edges) / 2 for edges in white]
    columns.sort()
    first = [bisect_right(grid.columns, column) - 1 for column in columns[:-1]]
    return Grid(tuple(columns), grid.rows, tuple(tuple(row[column] for column in first) for row in grid.cells))


def _place_of(grid: Grid, word: Word) -> tuple[int, int] | None:
    """Row and column of a word's middle."""
    x, y = (word.left + word.right) / 2, pdf_words.middle(word)
    if not (grid.columns[0] <= x <= grid.columns[-1] and grid.rows[-1] <= y <= grid.rows[0]):
        return None
    return max(0, sum(top >= y for top in grid.rows[:-1]) - 1), _column_of(grid, word)


def _column_of(grid: Grid, word: Word) -> int:
    return bisect_right(grid.columns[1:-1], (word.left + word.right) / 2)


def _ruled_table(grid: Grid, places: dict[tuple[int, int], list[Word]]) -> Table | None:
    """The table of a grid with these words by row and column; None if it holds too little to be a table."""
    cell_of, words, rows_with_text, columns_with_text = _filled(grid, places)
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
    whole = 0  # rows before the first that is several
    for number, cells in enumerate(kept):
        row = rows_with_text[number]
        if number and not any(texts[cell] for cell in {*cells} - {*kept[number - 1]}):
            continue  # all is in the row above
        parts = _parts(cells, texts, is_sure=len(kept) <= pdf_words.FEWEST_ROWS)
        whole += len(parts) == 1 and whole == number
        for part in parts:
            shown = (_is_shown(kept, number, column, part.get(cell, "")) for column, cell in enumerate(cells))
            rows.append(tuple(part.get(cell, "") if show else "" for cell, show in zip(cells, shown, strict=True)))
            boxes.append(Word("", grid.columns[0], grid.columns[-1], grid.rows[row + 1], grid.rows[row]))
    rows, boxes = _with_one_head(kept[:whole], rows, boxes)
    edges = [(grid.columns[column], grid.columns[column + 1]) for column in columns_with_text]
    return Table(tuple(rows), tuple(boxes), tuple((edges[one.start][0], edges[one.stop - 1][1]) for one in columns))


def _with_one_head(
    cells: Sequence[Sequence[_Cell]], rows: list[tuple[str, ...]], boxes: list[Word]
) -> tuple[list[tuple[str, ...]], list[Word]]:
    """Join the rows of a head whose merged cells show that it has several; a Markdown table has one."""
    first = sum(1 for _ in takewhile(lambda row: len(set(row)) == 1, cells))  # below titles
    depth = first + 1
    while depth < min(first + _DEEPEST_HEAD, len(cells), len(rows) - 1) and _heads(cells[depth - 1], cells[depth]):
        if any(map(is_figure, rows[depth])):
            break
        depth += 1
    if depth <= first + 1:
        return rows, boxes
    heads = zip(*rows[first:depth], strict=True)
    head = tuple(joined_text(dict.fromkeys(texts)) for texts in heads)
    box = replace(boxes[first], bottom=boxes[depth - 1].bottom)
    return [*rows[:first], head, *rows[depth:]], [*boxes[:first], box, *boxes[depth:]]


def _heads(above: Sequence[_Cell], below: Sequence[_Cell]) -> bool:
    """Whether a row has a cell that is the head of several columns, which the row below it names."""
    return 1 < len(set(above)) < len(above) and any(
        one == other and first != second
        for (one, other), (first, second) in zip(pairwise(above), pairwise(below), strict=True)
    )


def _filled(
    grid: Grid, places: dict[tuple[int, int], list[Word]]
) -> tuple[list[list[int]], dict[int, list[Word]], list[int], list[int]]:
    """Return the cells of a grid, split where one has several texts side by side, with their words; rows and columns.

    Frames and double lines make rows and columns without any text of their own, which are left out.
    """
    cell_of = [list(row) for row in grid.cells]
    members: dict[int, list[tuple[int, int]]] = {}
    for row, cells in enumerate(grid.cells):
        for column, cell in enumerate(cells):
            members.setdefault(cell, []).append((row, column))
    words: dict[int, list[Word]] = {}
    rows: set[int] = set()
    columns: set[int] = set()
    for cell in {cell_of[row][column] for row, column in places}:
        own = [place for place in members[cell] if place in places]
        fullest = max(own, key=lambda place: len(places[place]))
        rows.add(fullest[0])
        found = [word for place in own for word in places[place]]
        if parts := _parted(found, own):
            for row, column in members[cell]:
                own_parts = above(parts, [*pairwise(grid.columns)], column, is_head=not row)
                first = _column_of(grid, own_parts[0]) if own_parts else column
                cell_of[row][column] = -1 - first - len(grid.columns) * cell
                if own_parts and first == column:
                    columns.add(column)
                    words[cell_of[row][column]] = [word for part in own_parts for word in part.words]
        else:
            columns.add(fullest[1])
            words[cell] = found
    return cell_of, words, sorted(rows), sorted(columns)


def _parted(words: Sequence[Word], places: Sequence[tuple[int, int]]) -> list[Piece]:
    """The texts that are side by side in a cell that no line parts; none if it is one text."""
    if len({column for _, column in places}) == 1:
        return []
    lines = [pdf_words.pieces_of(line.words, is_tight=True) for line in pdf_words.text_lines(words)]
    is_parted = sum(len(pieces) > 1 for pieces in lines) * 3 >= len(lines)
    return [*chain.from_iterable(lines)] if is_parted else []


def _is_shown(rows: Sequence[Sequence[_Cell]], row: int, column: int, text: str) -> bool:
    """Whether to repeat a merged cell's text here: a title once, a figure once a row, other short texts everywhere."""
    cells = rows[row]
    begins = column == 0 or cells[column - 1] != cells[column]
    is_first = begins and (row == 0 or rows[row - 1][column] != cells[column])
    is_repeated = len(text) <= _LONGEST_REPEATED and len(set(cells)) > 1
    return is_first or (is_repeated and (begins or not is_figure(text)))


def _parts(cells: Sequence[_Cell], texts: dict[_Cell, list[Piece]], *, is_sure: bool) -> list[dict[_Cell, str]]:
    """The rows in one row of a grid, whose lines are side by side: a line may be ruled below every few rows only.

    It is sure where only the columns are ruled. Elsewhere columns of values, one a line, or labels show it.
    """
    lines = {cell: texts.get(cell, []) for cell in cells}
    columns = [pieces for pieces in lines.values() if pieces]
    starts = _row_starts(columns, is_sure=is_sure)
    if len(starts) < 2:
        return [{cell: joined_text(piece.text for piece in pieces) for cell, pieces in lines.items()}]
    parts: list[dict[_Cell, str]] = [{} for _ in range(len(starts) + 1)]
    for cell, pieces in lines.items():
        numbers = [
            sum(pdf_words.middle(piece) <= pdf_words.middle(start) + piece.height / 3 for start in starts)
            for piece in pieces
        ]
        for place, (piece, number) in enumerate(zip(pieces, numbers, strict=True)):
            below = pieces[place + 1] if pieces is columns[0] and number + 1 in numbers[place + 1 : place + 2] else None
            is_first_line = below and below.text[0].islower() and not pdf_words.side_by_side(piece, starts[number - 1])
            is_near = not number and pdf_words.middle(piece) - pdf_words.middle(starts[0]) < piece.height * 2 / 3
            part = parts[number + bool(is_first_line or is_near)]
            part[cell] = joined_text((part.get(cell, ""), piece.text))
    return [part for part in parts if part]


def _is_value(text: str) -> bool:
    """Whether a text has digits and no letters: figures, their ranges, dates."""
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))


def _row_starts(columns: Sequence[Sequence[Piece]], *, is_sure: bool) -> list[Piece]:
    """Lines with others beside them in at least half of the columns; of long text, those of labels that are apart."""
    pieces = [piece for column in columns for piece in column]
    words = sum(any(map(str.isalnum, word.text)) for piece in pieces for word in piece.words)
    labels = _starts(columns[0], columns) if len(columns) > 1 else []
    if labels and words <= 4 * len(pieces):
        starts = max((_starts(column, columns) for column in sorted(columns, key=len)[-3:]), key=len)
        full = [column for column in columns if len(column) == len(starts)]
        of_values = sum(2 * sum(_is_value(piece.text) for piece in column) > len(column) for column in full)
        if of_values > (len(starts) < pdf_words.FEWEST_ROWS):
            return starts
        if is_sure and len(labels) >= pdf_words.FEWEST_ROWS:
            return labels
    is_long = any(len(column) > len(labels) for column in columns)
    is_apart = all(above.bottom - below.top > below.height / 2 for above, below in pairwise(labels))
    return labels if is_long and is_apart else []


def _starts(column: Sequence[Piece], columns: Sequence[Sequence[Piece]]) -> list[Piece]:
    def is_start(piece: Piece) -> bool:
        return 2 * sum(any(pdf_words.side_by_side(piece, one) for one in other) for other in columns) > len(columns)

    return [*filter(is_start, column)]
