"""EPUB books to Markdown: a page for each chapter, in the order of reading.

Source: EPUB 3.3, 'Package document' and 'Open Container Format'; EPUB 2 has the same parts.
"""

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from shared.reading import Page, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.markup import read_html
from shared.reading.packages import MARKUP, package, parse_xml

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_TYPES = {"application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document"}


def read_epub(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read a book, without its table of contents."""
    pages: list[Page] = []
    size = 0
    with package(data, limits) as parts:
        encrypted = _encrypted(parts)
        for name in _chapters(parts):
            if name in encrypted:
                raise UnreadableError("is protected against copying (DRM); save it without the protection.")
            size += parts.getinfo(name).file_size
            check_limit(size, limits.xml_bytes, MARKUP)
            chapter = parts.read(name)
            pages.append(Page(read_html(chapter, limits) if chapter.strip() else ""))
    return pages


def _chapters(parts: zipfile.ZipFile) -> Iterator[str]:
    """The names of the chapters' parts, each once, as the package lists them; names without a part are left out."""
    root = root_file(parts)
    book = parse_xml(parts.read(root))
    items = {item.get("id"): item for item in book.iterfind("{*}manifest/{*}item")}
    names: dict[str, None] = {}
    for reference in book.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _CHAPTER_TYPES and not _is_contents(item):
            names[_name(root, item.get("href", ""))] = None
    present = set(parts.namelist())
    yield from (name for name in names if name in present)


def root_file(parts: zipfile.ZipFile) -> str:
    """The name of the part that lists all others: the package document."""
    container = parse_xml(parts.read(_CONTAINER))
    return next(root.get("full-path", "") for root in container.iterfind("{*}rootfiles/{*}rootfile"))


def _is_contents(item: Element) -> bool:
    return "nav" in item.get("properties", "").split()


def _name(base: str, link: str) -> str:
    """The name of the part that a link in the part `base` leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(urlsplit(link).path)))


def _encrypted(parts: zipfile.ZipFile) -> set[str]:
    """The names of encrypted parts; some books encrypt fonts only."""
    if _ENCRYPTION not in parts.namelist():
        return set()
    references = parse_xml(parts.read(_ENCRYPTION)).iterfind(".//{*}CipherReference")
    return {_name("", reference.get("URI", "")) for reference in references}
