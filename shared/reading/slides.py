"""PowerPoint presentations to Markdown: a page for each slide, with its tables, charts and notes."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from xml.etree.ElementTree import Element

from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide
from pptx.table import Table
from pptx.text.text import TextFrame

from shared.reading import Page, plain_text
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.office_parts import EMBEDDED, chart_text, comments_of, read_embedded
from shared.reading.packages import check_markup, package, texts_of
from shared.reading.tables import markdown_table, repeat_merged

_TITLES = {PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE}
_LISTS = {PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY}
"""Placeholders whose paragraphs are list items."""
_RUNNING_LINES = {
    PP_PLACEHOLDER.DATE,
    PP_PLACEHOLDER.FOOTER,
    PP_PLACEHOLDER.HEADER,
    PP_PLACEHOLDER.SLIDE_NUMBER,
    PP_PLACEHOLDER.SLIDE_IMAGE,
}
"""Placeholders that are the same on each slide."""


def read_slides(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read a presentation (`.pptx`, `.pptm`). Hidden slides, and what is the same on each slide, are left out."""
    with package(data, limits, (".ppt", ".pptx")) as parts:
        check_markup(parts, limits.xml_bytes, limits.xml_tags)
    slides = Presentation(BytesIO(data)).slides
    check_limit(len(slides), limits.pages, "slides")
    return [_page(slide, number, limits) for number, slide in enumerate(slides, start=1)]


def _page(slide: Slide, number: int, limits: ReadLimits) -> Page:
    if slide.element.get("show") == "0":
        return Page("", number, left_out=("hidden slides",))
    for paragraph in slide.element.iter("{*}p"):
        _keep_apart(paragraph)
    relations = (one for one in slide.part.rels.values() if one.reltype.endswith(EMBEDDED) and not one.is_external)
    parts = (one.target_part for one in relations)
    attached, left_out = read_embedded(((part.partname, part.blob) for part in parts), limits)
    return Page("\n\n".join(filter(None, (*_slide_texts(slide, limits), attached))), number, left_out=left_out)


def _keep_apart(paragraph: Element) -> None:
    """Keep raised and lowered text apart from the text before it."""
    before = ""
    for run in paragraph:
        properties, text = run.find("{*}rPr"), run.find("{*}t")
        if text is not None and text.text:
            place = properties.get("baseline", "0") if properties is not None else "0"
            if place.strip("0%"):
                text.text = plain_text.shifted(text.text, before, is_raised=not place.startswith("-"))
            before = text.text


def _slide_texts(slide: Slide, limits: ReadLimits) -> Iterator[str]:
    """The texts of a slide: its title, the others from the top down, its notes and comments."""
    shapes = [*_flat(slide.shapes)]
    titles = (" ".join(_text_of(shape).split()) for shape in shapes if _kind(shape) in _TITLES)
    yield from (f"# {title}" for title in titles if title)
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if _kind(shape) not in _TITLES | _RUNNING_LINES:
            yield _shape_text(shape, limits)
    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/diagramData") and not relation.is_external:
            yield "\n".join(f"- {text}" for text in texts_of(relation.target_part.blob))
    noted = _flat(slide.notes_slide.shapes) if slide.has_notes_slide else ()
    if notes := "\n".join(filter(str.strip, (_text_of(one) for one in noted if _kind(one) not in _RUNNING_LINES))):
        yield f"Notes: {notes}"
    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/comments") and not relation.is_external:
            yield from (f"Comment: {text}" for _, text in comments_of(relation.target_part.blob))


def _flat(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    """The shapes, with those of a group in place of the group."""
    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _kind(shape: BaseShape) -> PP_PLACEHOLDER | None:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _text_of(shape: BaseShape) -> str:
    return shape.text_frame.text if shape.has_text_frame else ""


def _shape_text(shape: BaseShape, limits: ReadLimits) -> str:
    if isinstance(shape, GraphicFrame):
        if shape.has_table:
            return _table(shape.table)
        return chart_text(shape.chart.part.blob, limits) if shape.has_chart else ""
    if not shape.has_text_frame:
        return ""
    return _list(shape.text_frame) if _kind(shape) in _LISTS else shape.text_frame.text


def _list(frame: TextFrame) -> str:
    """List items, if there are several paragraphs; a single one is a text."""
    filled = [paragraph for paragraph in frame.paragraphs if paragraph.text.strip()]
    if len(filled) == 1:
        return filled[0].text
    return "\n".join(f"{'  ' * paragraph.level}- {' '.join(paragraph.text.split())}" for paragraph in filled)


def _table(table: Table) -> str:
    """A table; the text of merged cells is repeated in each of them, so that every row and column has its label."""
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    merged = (
        (number, column, cell.span_height, cell.span_width)
        for number, row in enumerate(table.rows)
        for column, cell in enumerate(row.cells)
        if cell.is_merge_origin
    )
    repeat_merged(rows, merged)
    return markdown_table(rows)
