"""PDF files with tables, made by reportlab, whose default distance between cells is 12 points."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Table

type Rows = Sequence[Sequence[str]]
type Style = Sequence[tuple[Any, ...]]

TEXT = (
    "The society lends its hides to members and guests all year round, and each of them has its own day on which a "
    "guide is there. Who books early may choose the day, and who comes late has to take what is left. The fee is paid "
    "at the gate, and children under twelve come in free with an adult."
)
BIRDS: Rows = (
    ("Bird", "Latin name", "Fee", "Day"),
    ("Bussard", "Buteo buteo", "6.75 EUR", "Tuesday"),
    ("Kranich", "Grus grus", "8.20 EUR", "Friday"),
    ("Eisvogel", "Alcedo atthis", "12.50 EUR", "Monday"),
    ("Uhu", "Bubo bubo", "4.10 EUR", "Sunday"),
)
GRID = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
UNDER_HEAD = ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black)


def text(size: float) -> Flowable:
    """A justified paragraph."""
    style = ParagraphStyle("text", fontName="Helvetica", fontSize=size, leading=size * 1.2, alignment=4)
    return Paragraph(TEXT, style)


def table(rows: Sequence[Sequence[object]], style: Style, size: float = 10, **options: Any) -> Flowable:
    """A table."""
    font = [("FONTSIZE", (0, 0), (-1, -1), size), ("LEADING", (0, 0), (-1, -1), size * 1.2)]
    return Table([list(row) for row in rows], style=[*font, *style], **options)


def wrapped(rows: Rows, size: float) -> list[list[Flowable]]:
    """Cells that break their text into lines."""
    style = ParagraphStyle("cell", fontName="Helvetica", fontSize=size, leading=size * 1.2)
    return [[Paragraph(cell, style) for cell in row] for row in rows]


def pdf(*parts: Flowable, pagesize: tuple[float, float] = A4) -> bytes:
    """A document of these parts."""
    file = BytesIO()
    SimpleDocTemplate(file, pagesize=pagesize).build(list(parts))
    return file.getvalue()
