"""OpenDocument files: texts (`.odt`), workbooks (`.ods`, a page a sheet) and presentations (`.odp`, a page a slide).

Source: OpenDocument 1.3, part 3. What a cell or a field shows is in the file as text, so nothing is calculated here.
"""

import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator
from itertools import chain, groupby
from xml.etree.ElementTree import Element

from shared.reading import Page, UnreadableError, after_reading, office_parts, plain_text
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.numbering import Numbering
from shared.reading.packages import check_markup, local_name, package, parse_xml
from shared.reading.tables import markdown_table, repeat_merged, sheet_text

_CONTENT, _STYLES, _MANIFEST = "content.xml", "styles.xml", "META-INF/manifest.xml"
_LEFT_OUT = frozenset(("tracked-changes", "table-of-content", "forms", "annotation-end", "desc", "title", "notes"))
"""Elements whose text is none of the document's: deleted text, what repeats headings, descriptions of pictures."""
_ON_EACH_SLIDE = frozenset(("date-time", "footer", "header", "page-number"))
_IN_CELLS = ("annotation", "frame", "shapes")
"""What a cell may have besides its text."""
_TITLE = "Title"
"""The style of a document's title."""
_LONGEST_SPACE = 100
"""Spaces of one element that are kept."""
_DEEPEST_LIST = 20
"""Levels of a list that are indented."""
_SPACES = re.compile(r"\s+")

type _Cell = tuple[str, int, int]
"""The text of a cell, the rows and the columns that it is merged of."""


def read_open_document(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read an OpenDocument file."""
    with package(data, limits) as parts:
        check_markup(parts, limits.xml_bytes, limits.xml_tags)
        names = set(parts.namelist())
        if _MANIFEST in names and b"encryption-data" in parts.read(_MANIFEST):
            raise UnreadableError("is protected by a password; save it without one.")
        reader = _OpenDocument(parts, names, limits)
        body = next(iter(child for child in reader.content if local_name(child) == "body"))
        (kind,) = [child for child in body if local_name(child) in ("text", "spreadsheet", "presentation")]
        return [*reader.pages(kind)]


def _value(element: Element, name: str) -> str:
    """The value of an attribute, in whichever namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _count(element: Element, name: str) -> int:
    value = _value(element, name)
    return max(int(value), 1) if value.isdecimal() else 1


class _OpenDocument:
    """Reads the parts of one file."""

    def __init__(self, parts: zipfile.ZipFile, names: set[str], limits: ReadLimits) -> None:
        self.content = parse_xml(parts.read(_CONTENT))
        self._parts, self._names, self._limits = parts, names, limits
        self._hidden: set[str] = set()
        self._titles = {_TITLE}
        self._shifted: dict[str, bool] = {}
        """Styles of raised and of lowered text: whether it is raised."""
        for style in self.content.iterfind("{*}automatic-styles/{*}style"):
            name = _value(style, "name")
            if _value(style, "parent-style-name") == _TITLE:
                self._titles.add(name)
            for properties in style:
                if _value(properties, "display") == "false" or _value(properties, "visibility") == "hidden":
                    self._hidden.add(name)
                if (place := _value(properties, "text-position")) and not place.startswith("0"):  # on the line
                    self._shifted[name] = not place.startswith(("sub", "-"))
        self._numbering = Numbering()
        self._styles = parse_xml(parts.read(_STYLES)) if _STYLES in names else Element("none")
        for level in self._styles.iter():
            if local_name(level) == "outline-level-style":
                number = _count(level, "level")
                shown = range(max(number - _count(level, "display-levels"), 0), number)
                text = ".".join(f"%{one + 1}" for one in shown)
                template = f"{_value(level, 'num-prefix')}{text}{_value(level, 'num-suffix')}"
                start = _count(level, "start-value")
                self._numbering.set_level("", number - 1, _value(level, "num-format"), template, start)
        self._cells = 0

    def pages(self, body: Element) -> Iterator[Page]:
        """The pages of the body."""
        kind = local_name(body)
        if kind == "text":
            yield Page("\n\n".join((*self._blocks(body), *dict.fromkeys(self._running_lines()))))
            return
        is_sheet = kind == "spreadsheet"
        inner = [child for child in body if local_name(child) == ("table" if is_sheet else "page")]
        check_limit(len(inner), self._limits.pages, "sheets" if is_sheet else "slides")
        for number, child in enumerate(inner, start=1):
            name = _value(child, "name")
            if _value(child, "style-name") in self._hidden:
                left_out = f"hidden sheet {name}" if is_sheet else "hidden slides"
                yield Page("", None if is_sheet else number, left_out=(left_out,))
            elif is_sheet:
                frames = [one for one in child.iter() if local_name(one) in ("object", "text-box")]
                texts = (sheet_text(name, self._rows(child)), *chain.from_iterable(map(self._block, frames)))
                yield Page("\n\n".join(filter(None, texts)))
            else:
                yield Page("\n\n".join(self._slide(child)), number)

    def _running_lines(self) -> Iterator[str]:
        """The headers and footers of the pages of a text, without those that only number the pages."""
        for line in self._styles.iterfind("{*}master-styles/{*}master-page/*"):
            kind, text = local_name(line).partition("-")[0], self._plain(line)
            if kind in ("header", "footer") and not after_reading.PAGE_NUMBER.fullmatch(text):
                yield f"{kind.title()}: {text}"

    def _slide(self, page: Element) -> Iterator[str]:
        """The texts of a slide: its title, the others from the top down, and its notes."""
        shapes = sorted(page, key=lambda shape: _points(_value(shape, "y")))
        titles = [shape for shape in shapes if _value(shape, "class") == "title"]
        for title in titles:
            text = _SPACES.sub(" ", " ".join(self._blocks(title))).strip()
            yield from [f"# {text}"] if text else []
        for shape in shapes:
            if shape not in titles and _value(shape, "class") not in _ON_EACH_SLIDE:
                yield from self._block(shape)
        for notes in page.iterfind("{*}notes"):
            shown = (shape for shape in notes if _value(shape, "class") not in _ON_EACH_SLIDE)
            text = "\n".join(chain.from_iterable(map(self._blocks, shown)))
            yield from [f"Notes: {text}"] if text else []

    def _blocks(self, element: Element) -> Iterator[str]:
        """The blocks of an element. Lists that follow one another are one: in a presentation each item is a list."""
        for is_list, children in groupby(element, key=lambda child: local_name(child) == "list"):
            texts = chain.from_iterable(map(self._block, children))
            yield from filter(None, ["\n".join(texts)]) if is_list else texts

    def _block(self, element: Element) -> Iterator[str]:
        """The paragraphs, lists and tables in an element."""
        match local_name(element):
            case "h":
                level = _count(element, "outline-level")
                number = "" if _value(element, "is-list-header") == "true" else self._numbering.next("", level - 1)
                text = _SPACES.sub(" ", self._text(element)).strip()
                yield from [f"{'#' * min(level, 6)} {number} {text}".replace("  ", " ")] if text else []
            case "p":
                text = self._text(element).strip()
                mark = "# " if _value(element, "style-name") in self._titles else ""
                yield from [f"{mark}{text}"] if text else []
                for child in element.iter():
                    if local_name(child) in ("text-box", "object", "table"):
                        yield from self._block(child)
            case "list":
                items = "\n".join(self._items(element, 0))
                yield from [items] if items else []
            case "table":
                yield from filter(None, [markdown_table(self._rows(element))])
            case "object":
                yield from self._object(element)
            case "annotation":
                yield self._comment(element)
            case name if name not in _LEFT_OUT:
                yield from self._blocks(element)
            case _:
                pass

    def _items(self, element: Element, level: int) -> Iterator[str]:
        for item in element:
            is_first = True
            for child in item:
                if local_name(child) == "list":
                    yield from self._items(child, level + 1)
                    continue
                for text in self._block(child):
                    mark = "" if local_name(child) == "h" else "- " if is_first else "  "
                    yield "  " * min(level, _DEEPEST_LIST) * bool(mark) + mark + text
                    is_first = False

    def _text(self, element: Element) -> str:
        """The text of a paragraph, with its notes, comments and equations, and without what is in frames."""
        found = [element.text or ""]
        for child in element:
            match local_name(child):
                case "s":
                    found.append(" " * min(_count(child, "c"), _LONGEST_SPACE))
                case "tab":
                    found.append(" ")
                case "line-break":
                    found.append("\n")
                case "note":
                    found += (f" ({self._plain(body)})" for body in child.iterfind("{*}note-body"))
                case "annotation":
                    found.append(f" ({self._comment(child)}) ")
                case "object":
                    found += self._equation(child)
                case "span" if (style := _value(child, "style-name")) in self._shifted:
                    found.append(plain_text.shifted(self._text(child), "".join(found), is_raised=self._shifted[style]))
                case name if name not in _LEFT_OUT and name not in ("text-box", "table"):
                    found.append(self._text(child))
                case _:
                    pass
            found.append(child.tail or "")
        return "".join(found)

    def _plain(self, element: Element, without: Collection[str] = ()) -> str:
        """The text of an element on one line, without that of these children: in a presentation each cell is a list."""
        texts = (
            text.removeprefix("- ")
            for child in element
            if local_name(child) not in without
            for text in self._block(child)
        )
        return _SPACES.sub(" ", " ".join(texts)).strip()

    def _comment(self, element: Element) -> str:
        by = "".join(creator.text or "" for creator in element.iterfind("{*}creator"))
        texts = (self._text(child) for child in element if local_name(child) in ("p", "list"))
        return f"Comment{', ' * bool(by)}{by}: {_SPACES.sub(' ', ' '.join(texts)).strip()}"

    def _part(self, element: Element) -> Element | None:
        """The content of an embedded object."""
        name = posixpath.normpath(posixpath.join(_value(element, "href"), _CONTENT))
        return parse_xml(self._parts.read(name)) if name in self._names and name != _CONTENT else None

    def _equation(self, element: Element) -> Iterator[str]:
        part = self._part(element)
        if part is not None and local_name(part) == "math":
            yield office_parts.equation_text(part)

    def _object(self, element: Element) -> Iterator[str]:
        """The title and the values of a chart, or the content of another document."""
        part = self._part(element)
        for body in part.iterfind("{*}body/*") if part is not None else ():
            yield from self._blocks(body) if local_name(body) in ("text", "spreadsheet") else ()
        for chart in part.iterfind("{*}body/{*}chart/{*}chart") if part is not None else ():
            yield from (self._plain(title) for title in chart.iterfind("{*}title"))
            for table in chart.iterfind("{*}table"):
                yield markdown_table(self._rows(table))

    def _rows(self, table: Element) -> list[list[str]]:
        """The texts of a table; that of merged cells is in each of them, but for titles as wide as the table."""
        rows: list[list[_Cell]] = []
        empty = 0
        for row in _rows_in(table):
            cells = self._row(row)
            repeated = _count(row, "number-rows-repeated")
            if not any(text for text, _, _ in cells):
                empty += repeated
                continue
            self._add(max(len(cells), 1) * repeated + empty)
            rows += [[]] * empty + [cells] * repeated
            empty = 0
        width = max(map(len, rows), default=0)
        self._add(width * len(rows))
        texts = [[text for text, _, _ in row] + [""] * (width - len(row)) for row in rows]
        merged = (
            (place, column, height, across)
            for place, row in enumerate(rows)
            for column, (text, height, across) in enumerate(row)
            if text and height * across > 1
        )
        repeat_merged(texts, merged, self._limits)
        return texts

    def _row(self, row: Element) -> list[_Cell]:
        cells: list[_Cell] = []
        empty = 0
        for cell in row:
            if local_name(cell) not in ("table-cell", "covered-table-cell"):
                continue
            text = _value(cell, "date-value") if _value(cell, "value-type") == "date" else self._plain(cell, _IN_CELLS)
            comments = [f"({self._comment(one)})" for one in cell if local_name(one) == "annotation"]
            text = " ".join(filter(None, [text, *comments]))
            repeated = _count(cell, "number-columns-repeated")
            if not text:
                empty += repeated
                continue
            self._add(empty + repeated)
            cells += [("", 1, 1)] * empty
            cells += [(text, _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned"))] * repeated
            empty = 0
        return cells

    def _add(self, cells: int) -> None:
        self._cells += cells
        check_limit(self._cells, self._limits.cells, "cells")


def _rows_in(table: Element) -> Iterator[Element]:
    for child in table:
        match local_name(child):
            case "table-row":
                yield child
            case "table-header-rows" | "table-rows" | "table-row-group":
                yield from _rows_in(child)
            case _:
                pass


def _points(length: str) -> float:
    """A length such as `2.5cm`, in whichever unit: all of a file have the same."""
    found = re.match(r"-?\d{1,20}(?:\.\d{1,20})?", length)
    return float(found[0]) if found else 0.0
