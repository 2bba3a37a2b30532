"""Lines on PDF pages to paragraphs: a PDF knows where its characters stand, and nothing of sentences.

A line break is the paragraph's own when the next line's first word would have fitted on the line. Otherwise the
sentence goes on, over the break of a column or a page too; a sentence belongs to the page on which it begins.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text and its box. Points (1/72 inch) from the lower left corner of the page."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    first_word: float
    """Width of its first word."""
    page_height: float

    @property
    def height(self) -> float:
        """The font's line height, by which headings stand out."""
        return self.top - self.bottom

    @property
    def is_row(self) -> bool:
        """Whether it is the row of a table."""
        return _CELLS in self.text

    def followed_by(self, other: "Line") -> "Line":
        """The two as one, as cells of a table if there is a wide gap. The longer text decides the height."""
        wide = other.left - self.right > _CELL_GAP * max(self.height, other.height)
        separator = _CELLS if wide and not _ONLY_BULLET.fullmatch(self.text) else " "
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
    """The line it ends with."""
    first: Line
    """The line it begins with."""


_CELLS = " | "
_CELL_GAP = 1.5
"""Line heights between two words that are the least between cells; justified text hardly ever has such gaps."""
_NEIGHBOURS = 60
"""So many lines before and after tell where a column ends; more are rarely on a page."""
_WIDEST_SPACING = 1.5
"""Line heights between the lines of a paragraph at most, as in a manuscript; on a sparse page the usual is no guide."""
_HEADED_COLUMNS = 3
"""From so many columns on the first row is the head; a table of two may be of names and values."""
_SAME_SIZE = 0.08
"""Font sizes that differ by less than this share are one; bold and plain fonts do."""
_HEADINGS = ((1.6, "# "), (1.25, "## "), (1.1, "### "))
"""How many times higher than the text, and the Markdown for it."""
_LONGEST_HEADING = 200
_NO_HEADING = re.compile("[.;,:][\"'”’»)\\]]*$")
"""How text ends that is only set in a taller font."""
_MARGIN = 0.1
"""The share of a page's height, above and below, where running headers and footers stand."""
_BULLETS = "[•◦▪▫‣⁃●○■□➢✓\uf0b7\uf0a7–]"
_BULLET = re.compile(rf"^{_BULLETS}\s*(?=\S)")
_ONLY_BULLET = re.compile(rf"{_BULLETS}|\(?\w{{1,3}}[.)]")
"""What stands before the text of an item; numbers and letters too."""
_SENTENCE_MARK = "[.!?:…。！？][\"'”’»)\\]]*"
_SENTENCE_END = re.compile(rf"{_SENTENCE_MARK}(?=\s|$)")
_LONGEST_END = 8
"""Characters: a full stop with brackets and quotation marks after it."""
_TEXT_END = re.compile(rf"{_SENTENCE_MARK}$")
_JOINED_WORD = re.compile(r"[^\W\d_][-\u2010\u00ad]$")
_LINKING_WORD = re.compile(r"(und|oder|bzw\.|sowie|bis|and|or|to)\b")
"""After a hyphen at a line's end they tell that it stays, as in 'Zahn- und Augenarzt'."""


def layout(pages: Sequence[Sequence[Line]]) -> list[str]:
    """The text of each page, with an empty line between paragraphs, and Markdown for headings and lists."""
    bodies = [_join_rows(page) for page in _without_running_lines(pages)]
    body_height = _most_common_height(line for page in bodies for line in page)
    laid_out = [_paragraphs(page) for page in bodies]
    for page, following in pairwise(laid_out):
        _finish_sentence(page, following)
    return [_page_text(page, body_height) for page in laid_out]


def _without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without the lines that stand at the same place of most pages, but for a number."""

    def place(line: Line) -> tuple[int, str] | None:
        middle = (line.bottom + line.top) / 2 / line.page_height
        in_margin = not _MARGIN < middle < 1 - _MARGIN
        return (round(line.bottom), re.sub(r"\d+", "0", line.text)) if in_margin else None

    counts = Counter(found for page in pages for found in {place(line) for line in page} if found)
    often = max(3, len(pages) // 2)
    return [[line for line in page if counts[place(line) or (0, "")] < often] for page in pages]


def _join_rows(lines: Sequence[Line]) -> list[Line]:
    """The lines, with those side by side, as cells of a table or a bullet and its text, made one."""
    joined: list[Line] = []
    for line in lines:
        before = joined[-1] if joined else None
        if before and abs(before.bottom - line.bottom) < before.height / 3 and line.left >= before.right:
            joined[-1] = before.followed_by(line)
        else:
            joined.append(line)
    return joined


def _most_common_height(lines: Iterable[Line]) -> float:
    counts: Counter[float] = Counter()
    for line in lines:
        counts[round(line.height, 1)] += len(line.text)
    return max(counts, key=lambda height: counts[height], default=0)


def _paragraphs(lines: Sequence[Line]) -> list[_Paragraph]:
    gaps = [before.bottom - line.top for before, line in pairwise(lines) if line.bottom < before.bottom]
    usual_gap = min(median(gaps), _WIDEST_SPACING * median(line.height for line in lines)) if gaps else 0.0
    paragraphs: list[_Paragraph] = []
    for number, line in enumerate(lines):
        current = paragraphs[-1] if paragraphs else None
        around = lines[max(0, number - _NEIGHBOURS) : number + _NEIGHBOURS]
        if current and _continues(current, line, around, usual_gap):
            current.text = _joined(current.text, line.text)
            current.last = line
        else:
            paragraphs.append(_Paragraph(line.text, last=line, first=line))
    return paragraphs


def _continues(paragraph: _Paragraph, line: Line, lines: Sequence[Line], usual_gap: float) -> bool:
    """Whether `line` goes on with the paragraph rather than beginning its own."""
    last = paragraph.last
    if not _wraps(last, line, lines):
        return False
    gap = last.bottom - line.top
    if gap < -last.height:  # it stands higher up: another column
        return not _ends_sentence(paragraph.text)
    return gap <= usual_gap * 1.5 or gap <= usual_gap + last.height * 0.25


def _wraps(last: Line, line: Line, lines: Sequence[Line]) -> bool:
    """Whether the line break between them is only there because the next word did not fit."""
    if not _same_size(last, line) or _BULLET.match(line.text) or last.is_row or line.is_row:
        return False
    if _JOINED_WORD.search(last.text):
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


def _joined(text: str, following: str) -> str:
    """Two lines of a paragraph as one, a word that was hyphenated at the break repaired."""
    if not _JOINED_WORD.search(text[-2:]) or _LINKING_WORD.match(following):
        return f"{text} {following}"
    return (text[:-1] if following[:1].islower() else text) + following


def _ends_sentence(text: str) -> bool:
    return bool(_TEXT_END.search(text[-_LONGEST_END:]))


def _finish_sentence(page: list[_Paragraph], following: list[_Paragraph]) -> None:
    """Move the end of the sentence that breaks off at the end of `page` there from the following page."""
    if not page or not following or _ends_sentence(page[-1].text):
        return
    last, rest = page[-1], following[0]
    if not _wraps(last.last, rest.first, [paragraph.last for paragraph in page] + [p.first for p in page]):
        return
    end = _SENTENCE_END.search(rest.text)
    cut = end.end() if end else len(rest.text)
    last.text = _joined(last.text, rest.text[:cut])
    rest.text = rest.text[cut:].lstrip()
    if not rest.text:
        del following[0]


def _page_text(paragraphs: Sequence[_Paragraph], body_height: float) -> str:
    blocks: list[str] = []
    for is_table, group in groupby(paragraphs, key=lambda paragraph: paragraph.first.is_row):
        if is_table:
            blocks.append(_table([paragraph.text.split(_CELLS) for paragraph in group]))
        else:
            blocks += (_block(paragraph, body_height) for paragraph in group)
    return "\n\n".join(blocks)


def _table(rows: list[list[str]]) -> str:
    """Rows as a Markdown table where the first is surely its head: it has an empty corner, or names three columns."""
    head, *others = rows
    width = max((len(row) for row in others), default=0)
    even = others and all(len(row) == width for row in others)
    if even and len(head) == width - 1:
        head = ["", *head]
    lines = [f"| {_CELLS.join(row)} |" for row in (head, *others)]
    if even and len(head) == width >= _HEADED_COLUMNS:
        lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _block(paragraph: _Paragraph, body_height: float) -> str:
    if len(paragraph.text) <= _LONGEST_HEADING and not _NO_HEADING.search(paragraph.text):
        for at_least, mark in _HEADINGS:
            if paragraph.first.height >= at_least * body_height:
                return mark + paragraph.text
    return _BULLET.sub("- ", paragraph.text)
