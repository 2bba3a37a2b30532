"""Excel workbooks to Markdown: a page for each visible sheet, its cells as Excel shows them.

The cells are read by calamine, which evaluates no formula and runs no macro: a formula has the value that was saved.
What it does not read, number formats, is read here.
"""

import datetime as dt
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Self
from xml.etree.ElementTree import Element
from xml.parsers import expat

import python_calamine as calamine

from shared.reading import Page, UnreadableError
from shared.reading.after_reading import PAGE_NUMBER
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.number_formats import format_code, plain_number, shown_number
from shared.reading.office_parts import chart_text, comments_of, read_related, related
from shared.reading.packages import OLE_FILE, check_markup, local_name, package, parse_xml, read_part, texts_of
from shared.reading.plain_text import shifted
from shared.reading.tables import repeat_merged, sheet_text

type _Value = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta
type _Formats = dict[tuple[int, int], str]
"""Number formats by row and column, from 0, of the cells that have one."""

_ZIP_FILE = b"PK"
_CELLS = "cells"
_PRINT_CODE = re.compile(r"&(?:\"[^\"]*\"|K[\da-fA-F+-]{6}|\d{1,3}|(&)|.)", re.DOTALL)
"""A font, a colour, a size, a number of pages and the like in the header of a printed page. `&&` stands for `&`."""


def read_workbook(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read a workbook (`.xlsx`, `.xlsm`, `.xls`). Hidden sheets are left out."""
    scans: dict[str, _SheetScan] = {}
    around: dict[str, tuple[str, tuple[str, ...]]] = {}
    shown: dict[_Value, str] = {}
    if data.startswith(_ZIP_FILE):
        with package(data, limits) as parts:
            check_markup(parts, limits.sheet_bytes, None)
            codes = _codes_of_styles(parts)
            sheets = {sheet.get("name", ""): name for sheet, name in _sheet_parts(parts)}
            scans = {sheet: _SheetScan(codes, limits).read(parts, name) for sheet, name in sheets.items()}
            around = _texts_around(parts, limits)
            shown = dict(_shifted_texts(parts, limits))
    try:
        with calamine.CalamineWorkbook.from_filelike(BytesIO(data)) as workbook:
            pages: list[Page] = []
            for sheet in workbook.sheets_metadata:
                if sheet.typ not in (calamine.SheetTypeEnum.WorkSheet, calamine.SheetTypeEnum.ChartSheet):
                    continue
                if sheet.visible != calamine.SheetVisibleEnum.Visible:
                    pages.append(Page("", left_out=(f"hidden sheet {sheet.name}",)))
                    continue
                scan = scans.get(sheet.name) or _SheetScan({}, limits)
                text = _sheet_text(workbook, sheet, scan.formats, shown, limits)
                more, left_out = around.get(sheet.name, ("", ()))
                texts = (text, more, *(scan.running_lines() if text or more else ()))
                pages.append(Page("\n\n".join(filter(None, texts)), left_out=left_out))
            return pages
    except calamine.CalamineError as fault:
        if isinstance(fault, calamine.PasswordError) or data.startswith(OLE_FILE):
            raise UnreadableError("is protected by a password, or damaged; save it without a password.") from None
        raise


def _sheet_text(
    workbook: calamine.CalamineWorkbook,
    found: calamine.SheetMetadata,
    formats: _Formats,
    shown: dict[_Value, str],
    limits: ReadLimits,
) -> str:
    if found.typ != calamine.SheetTypeEnum.WorkSheet:
        return f"## {found.name}"
    sheet = workbook.get_sheet_by_name(found.name)
    check_limit(sheet.height * sheet.width, limits.cells, _CELLS)
    top, left = sheet.start or (0, 0)
    rows = [
        [
            shown.get(value) or _cell_text(value, formats.get((top + row, left + column)))
            for column, value in enumerate(values)
        ]
        for row, values in enumerate(sheet.to_python())
    ]
    inside = (
        (first_row - top, first_column - left, last_row - first_row + 1, last_column - first_column + 1)
        for (first_row, first_column), (last_row, last_column) in sheet.merged_cell_ranges or ()
        if top <= first_row < top + len(rows) and left <= first_column
    )
    repeat_merged(rows, inside, limits)
    return sheet_text(sheet.name, rows)


def _cell_text(value: _Value, code: str | None) -> str:
    """The text of a cell. Dates are in the order of ISO 8601, whatever order the sheet shows them in."""
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return shown_number(value, code) if code else plain_number(value)
        case dt.datetime():
            return value.isoformat(" ", "seconds").removesuffix(":00")
        case dt.time():
            return value.isoformat("seconds").removesuffix(":00")
        case dt.date():
            return value.isoformat()
        case dt.timedelta():
            minutes, seconds = divmod(abs(round(value.total_seconds())), 60)
            return f"{'-' * (value.days < 0)}{minutes // 60}:{minutes % 60:02}:{seconds:02}".removesuffix(":00")
        case _:
            return str(value)


def _sheet_parts(parts: zipfile.ZipFile) -> Iterator[tuple[Element, str]]:
    """The sheets of a workbook that are shown, each with the name of its part."""
    name = next((name for name in parts.namelist() if name.lower() == "xl/workbook.xml"), None)
    if name:
        names = {one.id: one.name for one in related(parts, name)}
        for sheet in parse_xml(parts.read(name)).iterfind("{*}sheets/{*}sheet"):
            identifier = next((value for key, value in sheet.items() if key.endswith("}id")), "")
            if identifier in names and sheet.get("state", "visible") == "visible":
                yield sheet, names[identifier]


def _shifted_texts(parts: zipfile.ZipFile, limits: ReadLimits) -> Iterator[tuple[_Value, str]]:
    """Texts of cells with raised or lowered parts, each with how it is written."""
    names = (one.filename for one in parts.infolist() if one.file_size <= limits.xml_bytes)
    texts = (parts.read(name) for name in names if name.lower().startswith(("xl/sharedstrings", "xl/worksheets/sheet")))
    items = (item for xml in texts if b"vertAlign" in xml for item in parse_xml(xml).iter())
    for item in items:
        if local_name(item) not in ("si", "is"):
            continue
        plain = written = ""
        for run in item.iterfind("{*}r"):
            text = "".join(part.text or "" for part in run.iterfind("{*}t"))
            place = next((one.get("val", "") for one in run.iterfind("{*}rPr/{*}vertAlign")), "baseline")
            written += text if place == "baseline" else shifted(text, written, is_raised=place == "superscript")
            plain += text
        yield plain, written


def _texts_around(parts: zipfile.ZipFile, limits: ReadLimits) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The charts, text boxes, comments and files of sheets, by the name of the sheet, with what of them is left out."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for sheet, name in _sheet_parts(parts):
        texts: list[str] = []
        comments: dict[str, list[str]] = {}
        shown = related(parts, name)
        for one in shown:
            if one.kind == "drawing":
                texts += texts_of(read_part(parts, one.name, limits))
                for inner in related(parts, one.name):
                    if inner.kind == "chart":
                        texts.append(chart_text(read_part(parts, inner.name, limits), limits))
                    elif inner.kind == "diagramData":
                        texts.append("\n".join(f"- {text}" for text in texts_of(read_part(parts, inner.name, limits))))
            elif one.kind in ("comments", "threadedComment"):
                by_cell: dict[str, list[str]] = {}
                for cell, text in comments_of(read_part(parts, one.name, limits)):
                    by_cell.setdefault(cell, []).append(text)
                # A thread has a comment of the old kind too, which says that it cannot be shown.
                comments = by_cell | comments if comments and one.kind == "comments" else comments | by_cell
        texts += (f"Comment on {cell}: {' / '.join(lines)}" for cell, lines in comments.items())
        attached, left_out = read_related(parts, shown, limits)
        found[sheet.get("name", "")] = "\n\n".join(filter(None, (*texts, attached))), left_out
    return found


def _codes_of_styles(parts: zipfile.ZipFile) -> dict[str, str]:
    """The number formats of the styles that have one, by the index of the style."""
    name = next((name for name in parts.namelist() if name.lower() == "xl/styles.xml"), None)
    if name is None:
        return {}
    styles = parse_xml(parts.read(name))
    formats = styles.iterfind("{*}numFmts/{*}numFmt")
    written = {int(found.get("numFmtId", "0")): found.get("formatCode", "") for found in formats}
    indexed = enumerate(styles.iterfind("{*}cellXfs/{*}xf"))
    codes = {str(index): format_code(int(style.get("numFmtId", "0")), written) for index, style in indexed}
    return {index: code for index, code in codes.items() if code}


class _SheetScan:
    """Follows the elements of a sheet, of which none is kept.

    It checks how far apart the cells are, before memory is taken for them.
    """

    def __init__(self, codes: dict[str, str], limits: ReadLimits) -> None:
        self.formats: _Formats = {}
        """The number formats of its cells."""
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.StartElementHandler = self._start
        self._printed: list[str] = []
        """The headers and footers of its printed pages, each behind a line break and its kind."""
        self._codes = codes
        self._limits = limits
        self._rows = self._columns = range(0)
        self._row = self._column = -1
        self._code: str | None = None

    def read(self, parts: zipfile.ZipFile, path: str) -> Self:
        """Read a sheet."""
        with parts.open(path) as xml:
            self._parser.ParseFile(xml)
        return self

    def running_lines(self) -> dict[str, None]:
        """The headers and footers, each once, without those that only number the pages."""
        lines = (_PRINT_CODE.sub(lambda code: code[1] or " ", line) for line in "".join(self._printed).split("\n"))
        parted = (" ".join(line.split()).partition(": ") for line in lines)
        return dict.fromkeys(kind + colon + text for kind, colon, text in parted if not PAGE_NUMBER.fullmatch(text))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag.rpartition("}")[2]:
            case "row":
                self._row, self._column = int(attributes.get("r", self._row + 2)) - 1, -1
            case "c":
                reference = attributes.get("r")
                self._row, self._column = _place(reference) if reference else (self._row, self._column + 1)
                is_number = attributes.get("t", "n") == "n"
                self._code = self._codes.get(attributes.get("s", "")) if is_number else None
            case "v" | "is":  # the cell is not empty
                self._rows = _extended(self._rows, self._row)
                self._columns = _extended(self._columns, self._column)
                check_limit(len(self._rows) * len(self._columns), self._limits.cells, _CELLS)
                if self._code:
                    self.formats[self._row, self._column] = self._code
            case "headerFooter":  # it is behind the cells
                self._parser.CharacterDataHandler = self._printed.append
            case name if name.endswith(("Header", "Footer")):
                self._printed.append(f"\n{name[-6:]}: ")
            case _:
                pass


def _extended(places: range, place: int) -> range:
    return range(min(places.start, place), max(places.stop, place + 1)) if places else range(place, place + 1)


def _place(reference: str) -> tuple[int, int]:
    """Row and column, from 0, of a reference such as `B2`."""
    letters = reference.rstrip("0123456789")
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - 64
    return int(reference[len(letters) :]) - 1, column - 1
