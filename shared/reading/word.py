"""Word documents to Markdown. Mammoth reads them; before, this module adds to the text what it leaves out.

That is the numbers of headings, equations, comments, charts and diagrams, text boxes, parts in other formats, and what
is in elements that mammoth does not know, such as the result of a field.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

import mammoth

from shared.reading import Page, after_reading, markup
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits
from shared.reading.numbering import Numbering
from shared.reading.office_parts import Related, chart_text, equation_text, read_related, related
from shared.reading.packages import check_markup, local_name, package, parse_xml, read_part, texts_of
from shared.reading.readers import READERS, read_all_pages

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
"""The namespace of the strict form of the format."""
_VALUE = f"{_WORD}val"
_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"
"""Added to mammoth's own table of Word styles."""
_HEADING = re.compile(r"heading \d|title", re.IGNORECASE)
_EMBEDDED = ("chart", "diagramData", "aFChunk")
"""Parts of which the text is put where the document shows them."""
_WRAPPERS = ("bdo", "dir", "fldSimple", "ruby", "rubyBase", "smartTag")
"""Elements in whose place stands what is in them."""
_INSTEAD = {"cr": "br", "ptab": "tab", "rt": "del"}
"""Elements that mammoth does not know, each with one that it takes in the same way: it leaves out what is deleted."""
_KINDS = {"decimal": "1", "upperLetter": "A", "lowerLetter": "a", "upperRoman": "I", "lowerRoman": "i"}
_MARK = "\ue000{}\ue001"
"""A mark in the place of a chart, until the document is Markdown."""
_DEEPEST_STYLE = 20
"""Styles that a style is based on, one after the other."""


def read_docx(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Convert a Word document (`.docx`, `.docm`) to Markdown, without its pictures."""
    with package(data, limits, (".doc", ".docx")) as parts:
        check_markup(parts, limits.markup_bytes, limits.tags)
        document = _WordDocument(parts, limits)
        written = document.written()
        attached, left_out = read_related(parts, document.related, limits)
        around = [*document.running_lines(), attached]
    without_images = mammoth.images.img_element(lambda _: {})
    converted = mammoth.convert_to_html(written, convert_image=without_images, style_map=_TITLE_STYLE)
    text = markup.html_to_markdown(converted.value, limits.tags)
    for mark, embedded in document.embedded.items():
        text = text.replace(mark, f"\n\n{embedded}\n\n")
    return [Page("\n\n".join(filter(None, (text, *around))), left_out=left_out)]


class _WordDocument:
    """The parts of one document."""

    def __init__(self, parts: zipfile.ZipFile, limits: ReadLimits) -> None:
        self.embedded: dict[str, str] = {}
        """The texts of charts and other parts, by the mark that is in their place."""
        self._parts, self._limits = parts, limits
        self._name = next((one.name for one in related(parts, "") if one.kind == "officeDocument"), "word/document.xml")
        self.related = related(parts, self._name)
        """The parts that the document names."""
        self._numbering = Numbering()
        self._lists = self._read_lists()
        self._styles = dict(self._read_styles())
        self._comments = {one.get(f"{_WORD}id", ""): one for one in self._part("comments")}

    def written(self) -> BytesIO:
        """The document with all that mammoth leaves out as text, and without its pictures."""
        texts = {one.name: self._parsed(one.name) for one in self.related if one.kind in ("footnotes", "endnotes")}
        texts[self._name] = document = self._parsed(self._name)
        for root in texts.values():
            self._show(root, {one.id: one for one in self.related if one.kind in _EMBEDDED and root is document})
        for paragraph in document.iter(f"{_WORD}p"):
            if number := self._number(paragraph):
                paragraph.insert(1, _run(f"{number} "))  # behind its properties, which a numbered one has
            paragraph.extend(_run(f" ({text})") for text in self._comments_on(paragraph))
        file = BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for part in self._parts.namelist():
                if part in texts:
                    archive.writestr(part, ET.tostring(texts[part]))
                elif part.lower().endswith((".xml", ".rels")):
                    archive.writestr(part, self._parts.read(part))
        return file

    def running_lines(self) -> dict[str, None]:
        """The headers and footers, each once, without those that only number the pages."""
        found: dict[str, None] = {}
        for one in self.related:
            if one.kind in ("header", "footer"):
                root = self._parsed(one.name)
                text = " ".join(_lines(root)).strip()
                if not after_reading.PAGE_NUMBER.fullmatch(text):
                    found[f"{one.kind.title()}: {text}"] = None
        return found

    def _parsed(self, name: str) -> ET.Element:
        return parse_xml(self._parts.read(name).replace(_STRICT, _WORD[1:-1].encode()))

    def _part(self, kind: str) -> ET.Element:
        """A part that the document names; an empty element where it names none."""
        name = next((one.name for one in self.related if one.kind == kind), None)
        return self._parsed(name) if name else ET.Element("none")

    def _show(self, parent: ET.Element, parts: Mapping[str, Related]) -> None:
        """Put what mammoth reads in the place of what it leaves out below an element."""
        for child in parent:
            self._show(child, parts)
        is_table = local_name(parent) in ("tbl", "tr")
        shown = [one for child in parent for one in self._instead(child, parts, is_table=is_table)]
        if is_table and (before := _value(parent.find(f"{_WORD}trPr"), "gridBefore")):  # columns that it skips
            width = _element("tcPr", _element("gridSpan", **{_VALUE: before}))
            shown.insert(1, _element("tc", width, _element("p")))
        parent[:] = shown

    def _instead(self, child: ET.Element, parts: Mapping[str, Related], *, is_table: bool) -> Iterable[ET.Element]:
        """What stands in the place of an element, which may be in a table or a row."""
        match local_name(child):
            case "oMath" | "oMathPara":
                return [_run(equation_text(child))]
            case "drawing" | "altChunk" as name:
                marks = "".join(self._mark(parts[one]) for one in _parts_in(child) if one in parts)
                found = [_element("pict", *_boxes_in(child)), *([_text(marks)] if marks else [])]
                return found if name == "drawing" else [_element("p", _element("r", *found))]
            case "AlternateContent":
                return next((one for one in child if one.find(f".//{_WORD}t") is not None), child[-1:])
            case "textpath":
                return [_element("txbxContent", _element("p", _run(child.get("string", ""))))]
            case "fldChar" if entries := child.findall(f".//{_WORD}listEntry"):
                chosen = int(_value(child.find(f".//{_WORD}ddList"), "result") or "0")
                return [child, *(_text(entry.get(_VALUE, "")) for entry in entries[chosen:][:1])]
            case "sdt" if is_table:
                return chain.from_iterable(child.iterfind(f"{_WORD}sdtContent"))
            case "bookmarkStart" if is_table:  # mammoth takes it for a row or a cell
                return []
            case name if name in _WRAPPERS:
                return child
            case name:
                child.tag = f"{_WORD}{_INSTEAD[name]}" if name in _INSTEAD else child.tag
                return [child]

    def _mark(self, part: Related) -> str:
        """Put a mark in the place of a part, and keep the text of the part."""
        mark = _MARK.format(len(self.embedded))
        data = read_part(self._parts, part.name, self._limits)
        if part.kind == "chart":
            text = chart_text(data, self._limits)
        elif part.kind == "diagramData":
            text = "\n".join(f"- {line}" for line in texts_of(data))
        else:
            suffix = PurePosixPath(part.name).suffix.lower()
            pages = read_all_pages(data, suffix if suffix in READERS else ".html", limits=self._limits)
            text = "\n\n".join(page.text for page in pages)
        self.embedded[mark] = text
        return mark

    def _comments_on(self, paragraph: ET.Element) -> Iterator[str]:
        for reference in paragraph.iter(f"{_WORD}commentReference"):
            if (comment := self._comments.get(reference.get(f"{_WORD}id", ""))) is not None:
                by = comment.get(f"{_WORD}author", "")
                yield f"Comment{', ' * bool(by)}{by}: {' '.join(_lines(comment))}"

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

    def _read_styles(self) -> Iterator[tuple[str, tuple[str, str, str]]]:
        """The list and the level of each style of paragraphs, and the style of headings that it is, or is based on."""
        styles = {style.get(f"{_WORD}styleId", ""): style for style in self._part("styles").iterfind(f"{_WORD}style")}
        for name, style in styles.items():
            chain = [style]
            while len(chain) < _DEEPEST_STYLE and (base := styles.get(_value(chain[-1], "basedOn"))) is not None:
                chain.append(base)
            found = [_numbers(one.find(f"{_WORD}pPr")) for one in chain]
            numbers = next((numbers for numbers, _ in found if numbers), "")
            level = next((level for _, level in found if level), "0")
            headings = (one.get(f"{_WORD}styleId", "") for one in chain if _HEADING.fullmatch(_value(one, "name")))
            yield name, (numbers, level, next(headings, ""))

    def _number(self, paragraph: ET.Element) -> str:
        """The number of a heading, which gets a style that mammoth knows; other paragraphs of its list are counted."""
        properties = paragraph.find(f"{_WORD}pPr")
        if properties is None:
            return ""
        own = properties.find(f"{_WORD}pStyle")
        style = self._styles.get(_value(properties, "pStyle"), ("", "0", ""))
        if own is not None and style[2]:
            own.set(_VALUE, style[2])
        numbers, level = _numbers(properties)
        name = self._lists.get(numbers or style[0])
        if name is None:
            return ""
        number = self._numbering.next(name, int(level or style[1]))
        return number if style[2] else ""


def _lines(element: ET.Element) -> Iterator[str]:
    """The paragraphs that have text."""
    texts = ("".join(text.text or "" for text in line.iter(f"{_WORD}t")) for line in element.iter(f"{_WORD}p"))
    yield from filter(None, (" ".join(text.split()) for text in texts))


def _value(element: ET.Element | None, name: str) -> str:
    found = element.find(f"{_WORD}{name}") if element is not None else None
    return found.get(_VALUE, "") if found is not None else ""


def _numbers(properties: ET.Element | None) -> tuple[str, str]:
    """The list and the level that properties of paragraphs name; empty where they do not."""
    found = properties.find(f"{_WORD}numPr") if properties is not None else None
    return _value(found, "numId"), _value(found, "ilvl")


def _parts_in(element: ET.Element) -> Iterator[str]:
    """The ids of the parts that an element shows."""
    for one in element.iter():
        if local_name(one) in ("altChunk", "chart", "relIds"):
            yield from (value for name, value in one.items() if name.endswith(("}id", "}dm")))


def _boxes_in(element: ET.Element) -> Iterator[ET.Element]:
    """The contents of the text boxes in a drawing."""
    for child in element:
        yield from [child] if local_name(child) == "txbxContent" else _boxes_in(child)


def _run(text: str) -> ET.Element:
    return _element("r", _text(text))


def _text(text: str) -> ET.Element:
    element = _element("t")
    element.text = text
    return element


def _element(name: str, *children: ET.Element, **attributes: str) -> ET.Element:
    element = ET.Element(f"{_WORD}{name}", attributes)
    element.extend(children)
    return element
