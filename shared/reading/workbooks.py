"""Excel workbooks to Markdown: a page for each visible sheet, its cells as Excel shows them.

The cells are read by calamine, which evaluates no formula and runs no macro: a formula has the value that was saved.
What it does not read, number formats, is read here.
"""

import datetime as dt
import posixpath
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import groupby
from xml.etree.ElementTree import Element
from xml.parsers import expat

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from shared.reading import Page, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.number_formats import format_code, plain_number, shown_number
from shared.reading.packages import OLE_FILE, check_markup, package, parse_xml
from shared.reading.tables import markdown_table

type _Value = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta
type _Formats = dict[tuple[int, int], str]
"""Number formats by row and column, from 0, of the cells that have one."""

_ZIP_FILE = b"PK"
_CELLS = "cells"


def read_workbook(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read a workbook (`.xlsx`, `.xlsm`, `.xls`). Hidden sheets and charts are left out.

    Raises:
        UnreadableError: it is protected by a password.
        ReadLimitError: it holds too much.
    """
    formats: dict[str, _Formats] = {}
    if data.startswith(_ZIP_FILE):
        with package(data, limits) as parts:
            check_markup(parts, limits.sheet_bytes, None)
            formats = _formats_of_sheets(parts, limits)
    try:
        with CalamineWorkbook.from_filelike(BytesIO(data)) as workbook:
            return [
                Page(_sheet_text(workbook.get_sheet_by_name(sheet.name), formats.get(sheet.name, {}), limits))
                if sheet.visible == SheetVisibleEnum.Visible
                else Page("", left_out=(f"hidden sheet {sheet.name}",))
                for sheet in workbook.sheets_metadata
                if sheet.typ == SheetTypeEnum.WorkSheet
            ]
    except CalamineError as fault:
        if isinstance(fault, PasswordError) or data.startswith(OLE_FILE):
            raise UnreadableError("is protected by a password, or damaged; save it without a password.") from None
        raise


def _sheet_text(sheet: CalamineSheet, formats: _Formats, limits: ReadLimits) -> str:
    check_limit(sheet.height * sheet.width, limits.cells, _CELLS)
    top, left = sheet.start or (0, 0)
    rows = [
        [_shown(value, formats.get((top + row, left + column))) for column, value in enumerate(values)]
        for row, values in enumerate(sheet.to_python())
    ]
    _repeat_merged(rows, sheet, limits)
    blocks = [text for block in _blocks(rows) for text in _block_texts(block)]
    return "\n\n".join((f"## {sheet.name}", *blocks)) if blocks else ""


def _shown(value: _Value, code: str | None) -> str:
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
        case _:
            return str(value)


def _repeat_merged(rows: list[list[str]], sheet: CalamineSheet, limits: ReadLimits) -> None:
    """Repeat the text of merged cells in each of them, so that every row and column has its label.

    Cells as wide as the sheet are titles, which are not repeated.
    """
    top, left = sheet.start or (0, 0)
    filled = 0
    for (first_row, first_column), (last_row, last_column) in sheet.merged_cell_ranges or ():
        height, width = range(max(first_row - top, 0), last_row - top + 1), last_column - first_column + 1
        if first_row < top or first_column < left or first_row - top >= len(rows) or width >= sheet.width > 1:
            continue
        text = rows[first_row - top][first_column - left]
        for row in rows[height.start : height.stop]:
            last = min(last_column - left + 1, len(row))
            filled += last - (first_column - left)
            check_limit(filled, limits.cells, "merged cells")
            row[first_column - left : last] = [text] * (last - (first_column - left))


def _blocks(rows: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """What empty rows separate on a sheet, without its empty columns."""
    for filled, block in groupby(rows, key=any):
        if filled:
            kept = list(block)
            columns = [column for column in range(len(kept[0])) if any(row[column] for row in kept)]
            yield [[row[column] for column in columns] for row in kept]


def _block_texts(block: list[list[str]]) -> Iterator[str]:
    """Titles, which stand alone in the first rows, and the table below them."""
    while block and sum(map(bool, block[0])) == 1:
        yield next(filter(None, block.pop(0)))
    if block:
        yield markdown_table(block)


def _formats_of_sheets(parts: zipfile.ZipFile, limits: ReadLimits) -> dict[str, _Formats]:
    """Number formats by the name of the sheet.

    Raises:
        ReadLimitError: a sheet has too many cells, counted as the area that they are in.
    """
    by_name = {name.lower(): name for name in parts.namelist()}
    codes = _codes_of_styles(parts, by_name)
    sheets = {
        sheet.get("name", ""): by_name[path]
        for sheet, path in _sheet_parts(parts, by_name)
        if path in by_name and sheet.get("state", "visible") == "visible"
    }
    return {name: _formats_of_cells(parts, path, codes, limits) for name, path in sheets.items()}


def _sheet_parts(parts: zipfile.ZipFile, by_name: dict[str, str]) -> Iterator[tuple[Element, str]]:
    """The sheets of a workbook, each with the path of its part, in lower case."""
    relations: dict[str, str] = {}
    if "xl/_rels/workbook.xml.rels" in by_name and "xl/workbook.xml" in by_name:
        for relation in parse_xml(parts.read(by_name["xl/_rels/workbook.xml.rels"])):
            relations[relation.get("Id", "")] = relation.get("Target", "")
        for sheet in parse_xml(parts.read(by_name["xl/workbook.xml"])).iterfind("{*}sheets/{*}sheet"):
            identifier = next((value for name, value in sheet.items() if name.endswith("}id")), "")
            yield sheet, posixpath.normpath(posixpath.join("/xl", relations.get(identifier, "")))[1:].lower()


def _codes_of_styles(parts: zipfile.ZipFile, by_name: dict[str, str]) -> dict[str, str]:
    """The number formats of the styles that have one, by the index of the style."""
    if "xl/styles.xml" not in by_name:
        return {}
    styles = parse_xml(parts.read(by_name["xl/styles.xml"]))
    formats = styles.iterfind("{*}numFmts/{*}numFmt")
    written = {int(found.get("numFmtId", "0")): found.get("formatCode", "") for found in formats}
    indexed = enumerate(styles.iterfind("{*}cellXfs/{*}xf"))
    codes = {str(index): format_code(int(style.get("numFmtId", "0")), written) for index, style in indexed}
    return {index: code for index, code in codes.items() if code}


def _formats_of_cells(parts: zipfile.ZipFile, path: str, codes: dict[str, str], limits: ReadLimits) -> _Formats:
    """The number formats of a sheet's cells; also checks how far apart its cells are, before memory is taken for it."""
    scan = _SheetScan(codes, limits)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = scan.start
    with parts.open(path) as xml:
        parser.ParseFile(xml)
    return scan.formats


class _SheetScan:
    """Follows the elements of a sheet, of which none is kept."""

    def __init__(self, codes: dict[str, str], limits: ReadLimits) -> None:
        self.formats: _Formats = {}
        self._codes = codes
        self._limits = limits
        self._rows = self._columns = range(0)
        self._row = self._column = -1
        self._code: str | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
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
