"""Word documents to Markdown. Mammoth reads them; before, this module adds to the text what it leaves out.

That is the numbers of headings, equations, comments, and the values of charts.
"""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from xml.etree import ElementTree as ET

import mammoth

from shared.reading.equations import equation_text
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits
from shared.reading.markup import html_to_markdown
from shared.reading.numbering import Numbering
from shared.reading.office_parts import Related, chart_text, read_part, related
from shared.reading.packages import check_markup, local_name, package, parse_xml

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"
"""Added to mammoth's own table of Word styles."""
_HEADING = re.compile(r"heading \d", re.IGNORECASE)
_KINDS = {"decimal": "1", "upperLetter": "A", "lowerLetter": "a", "upperRoman": "I", "lowerRoman": "i"}
_MARK = "\ue000{}\ue001"
"""A mark in the place of a chart, until the document is Markdown."""
_DEEPEST_STYLE = 20
"""Styles that a style is based on, one after the other."""


def read_docx(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> str:
    """Convert a Word document to Markdown, without its pictures."""
    with package(data, limits, (".doc", ".docx")) as parts:
        check_markup(parts, limits.markup_bytes, limits.tags)
        document = _WordDocument(parts, limits)
        written = document.written()
    without_images = mammoth.images.img_element(lambda _: {})
    converted = mammoth.convert_to_html(written, convert_image=without_images, style_map=_TITLE_STYLE)
    text = html_to_markdown(converted.value, limits.tags)
    for mark, chart in document.charts.items():
        text = text.replace(mark, f"\n\n{chart}\n\n")
    return text


class _WordDocument:
    """The parts of one document."""

    def __init__(self, parts: zipfile.ZipFile, limits: ReadLimits) -> None:
        self.charts: dict[str, str] = {}
        """The texts of the charts, by the mark that is in their place."""
        self._parts, self._limits = parts, limits
        self._name = next((one.name for one in related(parts, "") if one.kind == "officeDocument"), "word/document.xml")
        self._related = related(parts, self._name)
        self._numbering = Numbering()
        self._lists = self._read_lists()
        self._styles = dict(self._read_styles())
        self._comments = {one.get(f"{_WORD}id", ""): one for one in self._part("comments")}

    def written(self) -> BytesIO:
        """The document with all that mammoth leaves out as text, and without its pictures."""
        root = parse_xml(self._parts.read(self._name))
        charts = {one.id: one for one in self._related if one.kind == "chart"}
        for parent in root.iter():
            for place, child in enumerate(parent):
                if child.tag in (f"{_MATH}oMath", f"{_MATH}oMathPara"):
                    parent[place] = _run(equation_text(child))
                elif child.tag == f"{_WORD}drawing" and charts:
                    marks = "".join(self._chart(charts[one]) for one in _charts_in(child) if one in charts)
                    parent[place] = _text(marks) if marks else child
        for paragraph in root.iter(f"{_WORD}p"):
            if number := self._number(paragraph):
                paragraph.insert(1, _run(f"{number} "))  # behind its properties, which a numbered one has
            paragraph.extend(_run(f" ({text})") for text in self._comments_on(paragraph))
        file = BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for part in self._parts.namelist():
                if part == self._name:
                    archive.writestr(part, ET.tostring(root))
                elif part.lower().endswith((".xml", ".rels")):
                    archive.writestr(part, self._parts.read(part))
        return file

    def _part(self, kind: str) -> ET.Element:
        """A part that the document names; an empty element where it names none."""
        name = next((one.name for one in self._related if one.kind == kind), None)
        return parse_xml(self._parts.read(name)) if name else ET.Element("none")

    def _chart(self, chart: Related) -> str:
        mark = _MARK.format(len(self.charts))
        self.charts[mark] = chart_text(read_part(self._parts, chart.name, self._limits), self._limits)
        return mark

    def _comments_on(self, paragraph: ET.Element) -> Iterator[str]:
        for reference in paragraph.iter(f"{_WORD}commentReference"):
            if (comment := self._comments.get(reference.get(f"{_WORD}id", ""))) is not None:
                lines = (one.iter(f"{_WORD}t") for one in comment.iter(f"{_WORD}p"))
                texts = ("".join(text.text or "" for text in line) for line in lines)
                by = comment.get(f"{_WORD}author", "")
                yield f"Comment{', ' * bool(by)}{by}: {' '.join(filter(None, texts))}"

    def _read_lists(self) -> dict[str, str]:
        """The definitions of lists, by the numbers that paragraphs have; their levels go to `_numbering`."""
        root = self._part("numbering")
        for definition in root.iterfind(f"{_WORD}abstractNum"):
            for level in definition.iterfind(f"{_WORD}lvl"):
                start = _value(level, "start")
                self._numbering.set_level(
                    definition.get(f"{_WORD}abstractNumId", ""),
                    int(level.get(f"{_WORD}ilvl", "0")),
                    _KINDS.get(_value(level, "numFmt") or "decimal", ""),
                    _value(level, "lvlText"),
                    int(start) if start.isdecimal() else 1,
                )
        return {one.get(f"{_WORD}numId", ""): _value(one, "abstractNumId") for one in root.iterfind(f"{_WORD}num")}

    def _read_styles(self) -> Iterator[tuple[str, tuple[str, str, bool]]]:
        """The list and the level of each style of paragraphs, and whether it is one of headings."""
        styles = {style.get(f"{_WORD}styleId", ""): style for style in self._part("styles").iterfind(f"{_WORD}style")}
        for name, style in styles.items():
            chain = [style]
            while len(chain) < _DEEPEST_STYLE and (base := styles.get(_value(chain[-1], "basedOn"))) is not None:
                chain.append(base)
            found = [_numbers(one.find(f"{_WORD}pPr")) for one in chain]
            numbers = next((numbers for numbers, _ in found if numbers), "")
            level = next((level for _, level in found if level), "0")
            yield name, (numbers, level, any(_HEADING.fullmatch(_value(one, "name")) for one in chain))

    def _number(self, paragraph: ET.Element) -> str:
        """The number of a heading; other paragraphs of its list are counted too."""
        properties = paragraph.find(f"{_WORD}pPr")
        if properties is None:
            return ""
        style = self._styles.get(_value(properties, "pStyle"), ("", "0", False))
        numbers, level = _numbers(properties)
        name = self._lists.get(numbers or style[0])
        if name is None:
            return ""
        number = self._numbering.next(name, int(level or style[1]))
        return number if style[2] else ""


def _value(element: ET.Element, name: str) -> str:
    found = element.find(f"{_WORD}{name}")
    return found.get(f"{_WORD}val", "") if found is not None else ""


def _numbers(properties: ET.Element | None) -> tuple[str, str]:
    """The list and the level that properties of paragraphs name; empty where they do not."""
    found = properties.find(f"{_WORD}numPr") if properties is not None else None
    return (_value(found, "numId"), _value(found, "ilvl")) if found is not None else ("", "")


def _charts_in(drawing: ET.Element) -> Iterator[str]:
    for chart in drawing.iter():
        if local_name(chart) == "chart":
            yield next((value for name, value in chart.items() if name.endswith("}id")), "")


def _run(text: str) -> ET.Element:
    run = ET.Element(f"{_WORD}r")
    run.append(_text(text))
    return run


def _text(text: str) -> ET.Element:
    element = ET.Element(f"{_WORD}t")
    element.text = text
    return element
