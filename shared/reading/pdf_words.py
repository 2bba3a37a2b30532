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


_FIGURE = re.compile(
    r"[A-Z]{0,3}[$€£¥]?\s?[(+−–-]?\s?[$€£¥]?\s?"
    r"(?:(?:\d{1,3}(?:[,.\s]\d{3})+|\d+)?(?:[.,]\d+)?|[—–-]+)\s?\)?\s?(?:%|pp|bps|x)?\)?"
)
_YEAR = re.compile(r"\(?(?:19|20)\d\d\)?\W*")
UNSPACED_LETTER = "[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]"
"""Pattern of a letter of Chinese or Japanese, which have no spaces between words."""
_NO_SPACE = re.compile(rf"(?<={UNSPACED_LETTER})\n(?={UNSPACED_LETTER})")
_GROUP = re.compile(r"\d{3}\b|\(")
"""Digits of the figure before, or a value in brackets beside it."""


def is_figure(text: str) -> bool:
    """Whether a cell holds a number or a dash, and not a year."""
    return bool(text and _FIGURE.fullmatch(text) and not _YEAR.fullmatch(text))


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
    cuts = [place for place, gap in enumerate(gaps, start=1) if gap >= widest or _are_two(*line[place - 1 : place + 1])]
    return [piece_of(line[start:end], number) for start, end in pairwise([0, *cuts, len(line)])]


def _are_two(one: Word, other: Word) -> bool:
    """Whether two words are figures of two columns, however close."""
    is_one = _GROUP.match(other.text) or f"{one.text}{other.text}".isdecimal()
    return not is_one and all(is_figure(word.text) and any(map(str.isdigit, word.text)) for word in (one, other))


def parted_at(piece: Piece, gaps: Sequence[tuple[float, float]]) -> list[Piece]:
    """Split a piece where the space between two words is over white space between columns."""
    cuts = [
        place
        for place, (word, after) in enumerate(pairwise(piece.words), start=1)
        if any(word.right <= right and after.left >= left and after.left > word.right for left, right in gaps)
    ]
    return [piece_of(piece.words[start:end], piece.line) for start, end in pairwise([0, *cuts, len(piece.words)])]


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


def joined_text(texts: Iterable[str]) -> str:
    """The text of lines or cells that are one."""
    return _NO_SPACE.sub("", "\n".join(filter(None, texts))).replace("\n", " ").replace(" )", ")").replace("( ", "(")


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
