"""Words on a page of a PDF, and what they make: pieces of lines, and tables."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, median_low

CELL_GAP = 0.65
"""Minimum gap between two cells, in line heights."""
_UNLIKE_SPACES = 1.7
"""A gap between cells is at least so many times as wide as the spaces of its line."""
SHARED_GAP = 0.1
"""Minimum white space between two columns that all rows share, in line heights."""
_ROWS_FOR_ONE_ACROSS = 6
"""Rows for each row whose text may go across the white space between two columns."""
FEWEST_ROWS = 3
"""Rows with two cells or more that make a table without lines."""
_SAME_LINE = 0.35
"""Lines whose heights on the page differ by at most this share of their height are side by side."""
BULLETS = "[•◦▪▫‣⁃●○■□➢✓\uf0b7\uf0a7–]"
"""Pattern of the bullets of lists."""
LIST_MARKER = re.compile(rf"{BULLETS}|\(?\w{{1,3}}[.)]")
"""A list marker alone: a bullet, number or letter."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box, in points from the lower left corner of the page as it is shown."""

    text: str
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        """Line height of the font; headings have a larger one than the text."""
        return self.top - self.bottom


@dataclass(frozen=True, slots=True)
class Piece(Word):
    """Words side by side, up to a gap that may separate two cells."""

    words: tuple[Word, ...]
    line: int = 0
    """Number of the line that it is from."""

    @property
    def height(self) -> float:
        """Its line height, at least a point."""
        return max(self.top - self.bottom, 1.0)


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a page."""

    rows: tuple[tuple[str, ...], ...]
    """The texts of the cells, as many in each row."""
    boxes: tuple[Word, ...]
    """The box of each row."""
    columns: tuple[tuple[float, float], ...]
    """Left and right edges of the columns."""


def pieces_of(line: Sequence[Word], number: int = 0, *, is_tight: bool = False) -> list[Piece]:
    """Split a line at the gaps that may separate two cells; `is_tight`: at any that is wider than its spaces."""
    gaps = [max(0.0, after.left - before.right, before.left - after.right) for before, after in pairwise(line)]
    height = max(1.0, median(word.height for word in line))
    spaces = [gap for gap in gaps if gap < CELL_GAP * height]
    widest = max(CELL_GAP * height, _UNLIKE_SPACES * median(spaces) if spaces else 0.0)
    if is_tight and len(spaces) > 1:
        widest = min(widest, max(CELL_GAP / 2 * height, _UNLIKE_SPACES * median_low(spaces)))
    cuts = [place for place, gap in enumerate(gaps, start=1) if gap >= widest]
    return [piece_of(line[start:end], number) for start, end in pairwise([0, *cuts, len(line)])]


def text_lines(words: Sequence[Word]) -> list[Piece]:
    """The lines of a cell, from the top. Words of a line keep the order of the file, which is that of reading."""
    order = {id(word): place for place, word in enumerate(words)}
    return [piece_of(sorted(row, key=lambda word: order[id(word)])) for row in rows_of(words)]


def piece_of(words: Sequence[Word], line: int = 0) -> Piece:
    """Make a piece of words, at least one."""
    box = box_around(words)
    text = " ".join(word.text for word in words)
    return Piece(text, box.left, box.right, box.bottom, box.top, tuple(words), line)


def rows_of(words: Iterable[Word]) -> list[list[Word]]:
    """Group words that are side by side, from the top."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: -middle(word)):
        if rows and side_by_side(rows[-1][0], word):
            rows[-1].append(word)
        else:
            rows.append([word])
    return rows


def side_by_side(one: Word, other: Word) -> bool:
    """Whether two are at the same height."""
    height = min(one.top - one.bottom, other.top - other.bottom)
    return abs(one.bottom + one.top - other.bottom - other.top) / 2 <= _SAME_LINE * max(height, 1.0)


def middle(box: Word) -> float:
    """Height of the middle of a box."""
    return (box.bottom + box.top) / 2


def box_around(boxes: Iterable[Word]) -> Word:
    """The box around others, at least one."""
    boxes = [*boxes]
    left, right = min(box.left for box in boxes), max(box.right for box in boxes)
    return Word("", left, right, min(box.bottom for box in boxes), max(box.top for box in boxes))


def white_columns(pieces: Sequence[Piece], rows: int) -> list[tuple[float, float]]:
    """Left and right edge of the white space between columns, which nearly all rows have."""
    height = median(piece.height for piece in pieces)
    allowed = rows // _ROWS_FOR_ONE_ACROSS
    steps = sorted([(piece.left, 1) for piece in pieces] + [(piece.right, -1) for piece in pieces])
    found: list[tuple[float, float]] = []
    covered = 0
    white_since: float | None = None
    for place, step in steps:
        before, covered = covered, covered + step
        if before > allowed >= covered:
            white_since = place
        elif before <= allowed < covered and white_since is not None:
            if place - white_since >= SHARED_GAP * height:
                found.append((white_since, place))
            white_since = None
    return found
