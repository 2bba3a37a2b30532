"""HTML to Markdown, and EPUB books, which are made of it: text with headings, lists and tables, without navigation.

Source: EPUB 3.3, 'Package document' and 'Open Container Format'; EPUB 2 has the same parts.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain, count
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from shared.reading import Page, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.packages import MARKUP, TAGS, package, parse_xml
from shared.reading.plain_text import decode, shifted

_NOT_CONTENT = [
    *("head", "script", "style", "noscript", "template", "nav", "svg", "iframe", "object", "button", "col", "rp", "rt")
]
_PLAIN = ["a", "img", "b", "strong", "em", "i", "u", "s", "del", "code", "kbd", "samp"]
"""Tags of which only the text is kept: a link as `[text](url)` would look like a citation in an answer."""
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
_LONGEST_REPEATED = 200
"""Characters of a merged cell that are repeated in each of its rows and columns."""
_WIDEST = 1_000
"""Columns of a cell, at most. Source: HTML standard, 'forming a table'."""
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_TYPES = {"application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document"}
_CHARSET_SEARCH_BYTES = 4096
"""Bytes at the start of a file in which its charset is looked for.

Source: HTML standard, 'prescan a byte stream' (1024 there; real pages have it later).
"""


def read_html(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> str:
    """Convert an HTML file to Markdown."""
    check_limit(len(data), limits.markup_bytes, MARKUP)
    return html_to_markdown(decoded_html(data), limits.tags)


def decoded_html(data: bytes) -> str:
    """Decode an HTML file."""
    start = data[:_CHARSET_SEARCH_BYTES]
    declared = _META_CHARSET.search(start) or _XML_ENCODING.search(start)
    return decode(data, declared[1].decode("ascii") if declared else None)


def read_epub(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read a book: its title and authors, and its chapters, without its table of contents."""
    size = 0
    with package(data, limits) as parts:
        encrypted = _encrypted(parts)
        container = parse_xml(parts.read(_CONTAINER))
        root = next(one.get("full-path", "") for one in container.iterfind("{*}rootfiles/{*}rootfile"))
        book = parse_xml(parts.read(root))
        pages = [Page(_about(book))]
        for name in _chapters(root, book, set(parts.namelist())):
            if name in encrypted:
                raise UnreadableError("is protected against copying (DRM); save it without the protection.")
            size += parts.getinfo(name).file_size
            check_limit(size, limits.xml_bytes, MARKUP)
            chapter = parts.read(name)
            pages.append(Page(read_html(chapter, limits) if chapter.strip() else ""))
    return pages


def _about(book: Element) -> str:
    """The title of a book, and who wrote it."""
    found = (book.iterfind(f"{{*}}metadata/{{*}}{name}") for name in ("title", "creator"))
    title, authors = (", ".join((one.text or "").strip() for one in elements) for elements in found)
    return "\n\n".join(filter(None, (f"# {title}" * bool(title), authors)))


def _chapters(root: str, book: Element, present: set[str]) -> Iterator[str]:
    """The names of the chapters' parts, each once, as the package lists them; names without a part are left out."""
    items = {item.get("id"): item for item in book.iterfind("{*}manifest/{*}item")}
    names: dict[str, None] = {}
    for reference in book.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _CHAPTER_TYPES:
            continue
        if "nav" not in item.get("properties", "").split():
            names[_name(root, item.get("href", ""))] = None
    yield from (name for name in names if name in present)


def _name(base: str, link: str) -> str:
    """The name of the part that a link in the part `base` leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(urlsplit(link).path)))


def _encrypted(parts: zipfile.ZipFile) -> set[str]:
    """The names of encrypted parts; some books encrypt fonts only."""
    if _ENCRYPTION not in parts.namelist():
        return set()
    references = parse_xml(parts.read(_ENCRYPTION)).iterfind(".//{*}CipherReference")
    return {_name("", reference.get("URI", "")) for reference in references}


def html_to_markdown(html: str, max_tags: int = DOCUMENT_LIMITS.tags) -> str:
    """Convert the content of an HTML document to Markdown. A document without `h1` gets its title as heading.

    Raises:
        ReadLimitError: it holds more tags and attributes than `max_tags`.
    """
    check_limit(html.count("<") + html.count("="), max_tags, TAGS)
    without_declaration = _XML_DECLARATION.sub("", html)  # with it, lxml takes XHTML for other XML
    # lxml, not html.parser: that takes quadratic time on unclosed tags in Python releases still in use.
    soup = BeautifulSoup(StringIO(without_declaration), "lxml")  # BeautifulSoup may take a short string for a file name
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup.find_all(_NOT_CONTENT):
        element.decompose()
    for field in soup.find_all("input", type=lambda kind: kind in (None, "text")):
        field.replace_with(str(field.get("value", "")))
    cells = 0
    for table in reversed(soup.find_all("table")):  # those in cells come before the one around them
        cells += _lay_out(table, soup, max_tags - cells)
    converter = _Converter(
        heading_style="ATX",
        bullets="-",
        strip=_PLAIN,
        wrap=True,  # with no width: removes the line breaks of the source, so that sentences are whole
        wrap_width=None,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    )
    markdown = converter.convert_soup(soup)
    return markdown if soup.find("h1") or not title else f"# {title}\n\n{markdown}"


class _Converter(MarkdownConverter):
    """Keeps apart what is shown apart: digits that are raised or lowered, and bars in cells."""

    def convert_sup(self, el: Tag, text: str, **_: object) -> str:
        """Write raised or lowered text."""
        return shifted(text, str(el.find_previous(string=True) or ""), is_raised=el.name == "sup")

    convert_sub = convert_sup

    def convert_td(self, _el: Tag, text: str, **_: object) -> str:
        """Write a cell of one column."""
        return f" {' '.join(text.split()).replace('|', r'\|')} |"

    convert_th = convert_td


def _lay_out(table: Tag, soup: BeautifulSoup, limit: int) -> int:
    """Give each row of a table all its cells, and make text of tables within it.

    A table that only places another one on the page is no table.

    Returns:
        How many cells of rows have been added; more than `limit` are refused.
    """
    for part in table.find_all(["caption", "thead", "tbody", "tfoot", "colgroup"], recursive=False):
        if part.name == "tfoot":  # it may stand before the body
            table.append(part.extract())
        if part.name == "caption":
            table.insert_before(part.extract())
        else:
            part.unwrap()
    inner = table.find_all("table")
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    cells = [row.find_all(["td", "th"], recursive=False) for row in rows]
    if inner and not any(len(row) > 1 for row in cells):
        for element in (table, *rows, *chain.from_iterable(cells)):
            element.name = "div"
        return 0
    for one in inner:
        texts = ([_text(cell) for cell in row.find_all(["td", "th"])] for row in one.find_all("tr"))
        one.replace_with("; ".join(", ".join(filter(None, row)) for row in texts))
    return _spread(rows, cells, soup, limit)


def _spread(rows: Sequence[Tag], cells: Sequence[Sequence[Tag]], soup: BeautifulSoup, limit: int) -> int:
    """Repeat the text of merged cells in each of them, so that every row and column has its label; return how many.

    Cells as wide as the table are titles, which are not repeated.
    """
    spans = [[(_span(cell, "rowspan", len(rows)), _span(cell, "colspan", _WIDEST)) for cell in row] for row in cells]
    if all(span == (1, 1) for row in spans for span in row):
        return 0
    widest = max(sum(across for _, across in row) for row in spans)
    grid: dict[tuple[int, int], Tag] = {}
    added = 0
    for number, (row, own) in enumerate(zip(cells, spans, strict=True)):
        column = 0
        for cell, (height, across) in zip(row, own, strict=True):
            column = next(place for place in count(column) if (number, place) not in grid)
            text = _text(cell)
            is_repeated = len(text) <= _LONGEST_REPEATED and across < max(widest, 2)
            below = range(number, min(number + height, len(rows)))
            added += len(below) * across - 1
            check_limit(added, limit, TAGS)
            is_name = cell.name == "th" or any(map(str.isalpha, text))  # a figure is in one column
            for line in below:
                for side in range(across):
                    shown = text if is_repeated and (is_name or not side) else ""
                    grid[line, column + side] = soup.new_tag(cell.name, string=shown)
            grid[number, column] = cell
            del cell["colspan"]
    for row in rows:
        row.clear()
    for number, column in sorted(grid):
        rows[number].append(grid[number, column])
    return added


def _span(cell: Tag, name: str, most: int) -> int:
    value = str(cell.get(name, "1"))
    return min(int(value) or most, most) if value.isdecimal() else 1


def _text(element: Tag) -> str:
    return " ".join(element.get_text(" ").split())
