"""Joins the lines of PDF pages into paragraphs: a PDF stores positions of characters, but no paragraphs.

A line break ends a paragraph if the first word of the next line would have fitted on the line. Otherwise the text
continues, also across columns and pages. A sentence across two pages is put on the page where it begins.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from copy import replace
from dataclasses import dataclass
from functools import reduce
from itertools import groupby, pairwise, takewhile, zip_longest
from statistics import median

from shared.reading.pdf_figures import YEARS, holds_figures
from shared.reading.pdf_words import BULLETS, LIST_MARKER, UNSPACED_LETTER, Table, Word


@dataclass(frozen=True, slots=True)
class Line(Word):
    """A line of text and its box."""

    first_word: float
    """Width of its first word, in points."""
    page_height: float
    table: Table | None = None
    """The table of which it is a row."""

    @property
    def is_row(self) -> bool:
        """Whether it is a table row."""
        return self.table is not None or _CELLS in self.text

    def followed_by(self, other: "Line") -> "Line":
        """Join two lines; a wide gap between them makes cells of a table. The longer text decides the height."""
        wide = other.left - self.right > _CELL_GAP * max(self.height, other.height)
        separator = _CELLS if wide and not LIST_MARKER.fullmatch(self.text) else " "
        height_of = self if len(self.text) > len(other.text) else other
        return replace(
            self,
            text=f"{self.text}{separator}{other.text}",
            right=other.right,
            bottom=height_of.bottom,
            top=height_of.top,
        )


@dataclass(slots=True)
class _Paragraph:
    text: str
    last: Line
    """Its last line."""
    first: Line
    """Its first line."""


_CELLS = " | "
_CELL_GAP = 1.5
"""Minimum gap between two table cells, in line heights; justified text hardly ever has such gaps between words."""
_NEIGHBOURS = 60
"""Number of lines before and after a line that are used to find its column's right edge; few pages have more."""
_WIDEST_SPACING = 1.5
"""Maximum gap between the lines of a paragraph, in line heights (double spacing).

The median gap alone is not reliable on a page with few lines."""
_HEADED_COLUMNS = 3
"""Number of columns from which the first row is taken for the header; two columns may be names and values."""
_DEEPEST_HEAD = 3
"""Rows of a head, at most."""
_MOST_BETWEEN = 2
"""Lines between two parts of a table, at most, such as a heading."""
_LONGEST_BETWEEN = 100
"""Characters of such a line."""
_SAME_SIZE = 0.08
"""Line heights that differ by at most this share are taken for the same font size, such as in bold and regular fonts.
"""
_HEADINGS = ((1.6, "# "), (1.25, "## "), (1.1, "### "))
"""Minimum line height of a heading, as a multiple of the text's, with the Markdown for it."""
_LONGEST_HEADING = 200
"""Maximum length of a heading, in characters."""
_ENDS_AS_TEXT = re.compile("[.;,:][\"'”’»)\\]]*$")
"""Punctuation at the end of text that is not a heading, although its font is larger."""
_MARGIN = 0.1
"""Share of the page's height, at the top and at the bottom, that may hold running headers and footers."""
_BULLET = re.compile(rf"^{BULLETS}\s*(?=\S)")
_SENTENCE_MARK = "[.!?:…。！？][\"'”’»)\\]]*"
_SENTENCE_END = re.compile(rf"{_SENTENCE_MARK}(?=\s|$)")
_LONGEST_END = 8
"""Maximum length of the end of a sentence (a full stop with brackets and quotation marks after it), in characters."""
_TEXT_END = re.compile(rf"{_SENTENCE_MARK}$")
_HYPHENATED_WORD = re.compile(r"[^\W\d_][-\u2010\u00ad]$")
_COMPOUND = re.compile(r"[^\W_]+-[^\W\d_]+")
_UNSPACED = re.compile(rf"{UNSPACED_LETTER}{{2}}")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_BEFORE_HYPHEN = re.compile(r"\b([^\W_]+)-$")
_STAYS = re.compile(r"\w|[A-Z\d]+|(?:well|self|non|half|all|cross|high|low|long|short|full|part|so)", re.ASCII)
"""What stands before a hyphen of the author's, not of a word that was divided."""
_LINKING_WORD = re.compile(r"(und|oder|bzw\.|sowie|bis|and|or|to)\b")
"""Words after a hyphen at the end of a line that show that the hyphen must be kept, as in 'Zahn- und Augenarzt'."""


def line_of(words: Sequence[Word], page_height: float) -> Line:
    """Make a line of words, at least one; wide gaps between them make cells of a table."""
    heights: Counter[float] = Counter()
    for word in words:
        heights[round(word.height, 1)] += len(word.text)
    usual = max(words, key=lambda word: heights[round(word.height, 1)])
    line = reduce(
        Line.followed_by,
        (
            Line(word.text, word.left, word.right, word.bottom, word.top, word.right - word.left, page_height)
            for word in words
        ),
    )
    return replace(line, bottom=usual.bottom, top=usual.top)


def lines_of(found: Iterable[Sequence[Word] | Table], page_height: float) -> list[Line]:
    """Make the lines of a page of what `find_tables` found, with a line for each row of a table."""
    lines: list[Line] = []
    for part in found:
        lines += _rows_of(part, page_height) if isinstance(part, Table) else [line_of(part, page_height)]
    return lines


def _rows_of(table: Table, page_height: float) -> list[Line]:
    texts = (_CELLS.join(cell.replace("|", r"\|") for cell in row) for row in table.rows)
    return [
        Line(text, box.left, box.right, box.bottom, box.top, 0.0, page_height, table)
        for text, box in zip(texts, table.boxes, strict=True)
    ]


def layout(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Return the text of each page: paragraphs separated by empty lines, with Markdown for headings and lists."""
    bodies = [_join_rows(page) for page in _without_running_lines(pages)]
    _repeat_heads(bodies)
    body_height = _most_common_height(line for page in bodies for line in page)
    compounds = {word.lower() for page in bodies for line in page for word in _COMPOUND.findall(line.text)}
    laid_out = [_paragraphs(page, compounds) for page in bodies]
    for page, following in pairwise(laid_out):
        _finish_sentence(page, following, compounds)
    return [_page_text(page, body_height) for page in laid_out]


def _without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Remove running headers and footers: the same text, except for numbers, at the same height of many pages."""

    def place(line: Line) -> tuple[int, str] | None:
        middle = (line.bottom + line.top) / 2 / line.page_height
        in_margin = not _MARGIN < middle < 1 - _MARGIN
        is_cell = line.table is not None and not _is_in_margin(line.table, line.page_height)
        return (round(line.bottom), re.sub(r"\d+", "0", line.text)) if in_margin and not is_cell else None

    counts = Counter(found for page in pages for found in {place(line) for line in page} if found)
    often = max(3, len(pages) // 2)
    return [[line for line in page if counts[place(line) or (0, "")] < often] for page in pages]


def _is_in_margin(table: Table, page_height: float) -> bool:
    """Whether all of a table is in the same margin, as a letterhead may be."""
    top, bottom = table.boxes[0].top / page_height, table.boxes[-1].bottom / page_height
    return bottom >= 1 - _MARGIN or top <= _MARGIN


def _repeat_heads(pages: Sequence[list[Line]]) -> None:
    """Put the head of a table on what continues it: at the top of the next page, or below a heading that parts it.

    A table below a heading continues the one above it if it begins with figures, and has the same columns.
    """
    head: list[Line] = []
    distance = 0
    for page in pages:
        lines = [*page]
        page.clear()
        for place, line in enumerate(lines):
            before = lines[place - 1] if place else None
            if line.table and not (before and before.table is line.table):
                own = _head_rows(line.table)
                is_rest = distance == 0 and not before if own else distance <= _MOST_BETWEEN
                if not (head and is_rest and _has_columns_of(head[0], line)):
                    head = lines[place : place + own]
                elif [one.text for one in head] != [one.text for one in lines[place : place + len(head)]]:
                    top = line.top + line.height
                    page.extend(replace(one, table=line.table, bottom=line.top, top=top) for one in head)
            parts = len(line.text) > _LONGEST_BETWEEN or bool(YEARS.search(line.text))
            distance = 0 if line.table else distance + (_MOST_BETWEEN + 1 if parts else 1)
            page.append(line)


def _head_rows(table: Table) -> int:
    """The number of rows at the beginning of a table that are its head: none if it begins with figures."""
    if holds_figures(table.rows[0]):
        return 0
    names = takewhile(lambda row: any(row[1:]) and not holds_figures(row), table.rows[1:_DEEPEST_HEAD])
    years = [number for number, row in enumerate(names, start=2) if any(map(YEARS.search, row[1:]))]
    return max(years, default=1)


def _has_columns_of(line: Line, other: Line) -> bool:
    """Whether the tables of two rows have their columns in the same places."""
    if not line.table or not other.table or len(line.table.columns) < _HEADED_COLUMNS:
        return False
    pairs = zip_longest(line.table.columns, other.table.columns, fillvalue=(0.0, 0.0))
    return all(one[0] <= sum(two) / 2 <= one[1] or two[0] <= sum(one) / 2 <= two[1] for one, two in pairs)


def _join_rows(lines: Sequence[Line]) -> list[Line]:
    """Join lines that are side by side: cells of a table, or a bullet and its text."""
    joined: list[Line] = []
    for line in lines:
        before = joined[-1] if joined else None
        if (
            before
            and not (before.table or line.table)
            and abs(before.bottom - line.bottom) < before.height / 3
            and line.left >= before.right
        ):
            joined[-1] = before.followed_by(line)
        else:
            joined.append(line)
    return joined


def _most_common_height(lines: Iterable[Line]) -> float:
    counts: Counter[float] = Counter()
    for line in lines:
        counts[round(line.height, 1)] += len(line.text)
    return max(counts, key=lambda height: counts[height], default=0)


def _paragraphs(lines: Sequence[Line], compounds: Collection[str]) -> list[_Paragraph]:
    gaps = [before.bottom - line.top for before, line in pairwise(lines) if line.bottom < before.bottom]
    usual_gap = min(median(gaps), _WIDEST_SPACING * median(line.height for line in lines)) if gaps else 0.0
    paragraphs: list[_Paragraph] = []
    for number, line in enumerate(lines):
        current = paragraphs[-1] if paragraphs else None
        around = lines[max(0, number - _NEIGHBOURS) : number + _NEIGHBOURS]
        if current and _continues(current, line, around, usual_gap):
            current.text = _joined(current.text, line.text, compounds)
            current.last = line
        else:
            paragraphs.append(_Paragraph(line.text, last=line, first=line))
    return paragraphs


def _continues(paragraph: _Paragraph, line: Line, lines: Sequence[Line], usual_gap: float) -> bool:
    """Whether `line` continues the paragraph rather than starting a new one."""
    last = paragraph.last
    if not _wraps(last, line, lines):
        return False
    gap = last.bottom - line.top
    if gap < -last.height:  # the line is higher on the page: the next column
        return not _ends_sentence(paragraph.text)
    return gap <= usual_gap * 1.5 or gap <= usual_gap + last.height * 0.25


def _wraps(last: Line, line: Line, lines: Sequence[Line]) -> bool:
    """Whether the line break between them was made only because the next word did not fit."""
    if not _same_size(last, line) or _BULLET.match(line.text) or last.is_row or line.is_row:
        return False
    if _HYPHENATED_WORD.search(last.text):
        return True
    column = (
        other.right
        for other in lines
        if other.left < last.right and last.left < other.right and _same_size(other, last)
    )
    edge = max(column, default=last.right)
    space = last.height / 5
    return last.right + space + line.first_word > edge


def _same_size(one: Line, other: Line) -> bool:
    return abs(one.height - other.height) <= _SAME_SIZE * max(one.height, other.height)


def _joined(text: str, following: str, compounds: Collection[str]) -> str:
    """Join two lines of a paragraph; join a word that was hyphenated at the line break.

    The hyphen stays in a word that the document has elsewhere with its hyphen, and behind some beginnings.
    """
    if not _HYPHENATED_WORD.search(text[-2:]) or _LINKING_WORD.match(following):
        return f"{text}{'' if _UNSPACED.fullmatch(text[-1:] + following[:1]) else ' '}{following}"
    before, after = _BEFORE_HYPHEN.search(text[-_LONGEST_HEADING:]), _FIRST_WORD.match(following)
    stays = before and after and (_STAYS.fullmatch(before[1]) or f"{before[0]}{after[0]}".lower() in compounds)
    return (text[:-1] if following[:1].islower() and not stays else text) + following


def _ends_sentence(text: str) -> bool:
    return bool(_TEXT_END.search(text[-_LONGEST_END:]))


def _finish_sentence(page: list[_Paragraph], following: list[_Paragraph], compounds: Collection[str]) -> None:
    """Complete the last sentence of `page` with its rest, moved from the beginning of the following page.

    If it is all of that page, it stays there: a page without text would pass for a scan.
    """
    if not page or not following or _ends_sentence(page[-1].text):
        return
    last, rest = page[-1], following[0]
    if not _wraps(last.last, rest.first, [paragraph.last for paragraph in page] + [p.first for p in page]):
        return
    end = _SENTENCE_END.search(rest.text)
    cut = end.end() if end else len(rest.text)
    if cut == len(rest.text) and len(following) == 1:
        return
    last.text = _joined(last.text, rest.text[:cut], compounds)
    rest.text = rest.text[cut:].lstrip()
    if not rest.text:
        del following[0]


def _page_text(paragraphs: Sequence[_Paragraph], body_height: float) -> str:
    blocks: list[str] = []
    for is_table, group in groupby(
        paragraphs, key=lambda paragraph: (paragraph.first.is_row, id(paragraph.first.table))
    ):
        if is_table[0]:
            blocks.append(_table([paragraph.text.split(_CELLS) for paragraph in group]))
        else:
            blocks += (_block(paragraph, body_height) for paragraph in group)
    return "\n\n".join(blocks)


def _table(rows: list[list[str]]) -> str:
    """Write rows as a Markdown table, below those of its first rows that are titles: they have one text alone.

    The first row is the header only if it has one cell less than the others (an empty corner) or there are at least
    three columns.
    """
    if len(rows) > _DEEPEST_HEAD and len(rows[0]) >= _HEADED_COLUMNS and rows[0][0] and not any(rows[0][1:]):
        return f"{rows[0][0]}\n\n{_table(rows[1:])}"
    head, *others = rows
    width = max((len(row) for row in others), default=0)
    even = others and all(len(row) == width for row in others)
    if even and len(head) == width - 1:
        head = ["", *head]
    lines = [f"| {_CELLS.join(row)} |" for row in (head, *others)]
    if even and len(head) == width >= _HEADED_COLUMNS and not holds_figures(head):
        lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _block(paragraph: _Paragraph, body_height: float) -> str:
    if len(paragraph.text) <= _LONGEST_HEADING and not _ENDS_AS_TEXT.search(paragraph.text):
        for at_least, mark in _HEADINGS:
            if paragraph.first.height >= at_least * body_height:
                return mark + paragraph.text
    return _BULLET.sub("- ", paragraph.text)
