"""What a file shows, read from its markup without any of the readers: the texts that have to be in what is read."""

import email
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from email.policy import default
from html.parser import HTMLParser
from io import BytesIO
from itertools import chain
from xml.etree import ElementTree as ET

from pypdfium2 import PdfDocument

from shared.reading import Page
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits
from shared.reading.readers import read_all_pages, with_text

NOT_CONTENT = {
    "deleted text, hidden text, and how words are pronounced": ("del", "moveFrom", "tracked-changes", "rt", "rPh"),
    "lines that are the same on each slide": ("dt", "ftr", "sldNum", "hdr"),
    "what repeats headings, descriptions of pictures, data of pictures": ("table-of-content", "desc", "binary-data"),
    "what an HTML page does not show, and its navigation": ("head", "script", "style", "noscript", "template", "nav"),
}
"""What is neither in the text nor named; besides that, lines that are the same on each page of a PDF."""
_NOT_SHOWN = frozenset(name for names in NOT_CONTENT.values() for name in names)
_OOXML = {
    ".docx": r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments|charts/.*|diagrams/data\d*)\.xml",
    ".pptx": r"ppt/(slides/slide|notesSlides/notesSlide|charts/chart|diagrams/data|comments/comment)\d*\.xml",
    ".xlsx": r"xl/(sharedStrings|(worksheets/sheet|comments|drawings/drawing|charts/chart|diagrams/data)\d*)\.xml",
}
"""The parts of Office files that hold what is shown."""


def read_pages(
    data: bytes, suffix: str, charset: str | None = None, limits: ReadLimits = DOCUMENT_LIMITS
) -> list[Page]:
    """The pages of a file that have text."""
    return with_text(read_all_pages(data, suffix, charset, limits))


def squeezed(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))


def texts_of(data: bytes, suffix: str) -> list[str]:
    """The texts of a file that have a letter or a digit."""
    return [text for text in _READ[suffix](data) if squeezed(text)]


def _office(suffix: str) -> Callable[[bytes], Iterator[str]]:
    def read(data: bytes) -> Iterator[str]:
        with zipfile.ZipFile(BytesIO(data)) as parts:
            of_charts = b"".join(parts.read(name) for name in parts.namelist() if "/charts/_rels/" in name).decode()
            for name in parts.namelist():
                if "/embeddings/" in name and name.rpartition("/")[2] not in of_charts:  # those hold a chart's values
                    yield name.rpartition("/")[2]
                elif re.fullmatch(_OOXML[suffix], name):
                    root = _parsed(parts.read(name))
                    if root.get("show") != "0":
                        yield from _ooxml(root)

    return read


def _parsed(data: bytes) -> ET.Element:
    return ET.fromstring(data)  # noqa: S314 (files of the tests)


def _ooxml(element: ET.Element) -> Iterator[str]:
    name = element.tag.rpartition("}")[2]
    placeholder = next((found.get("type") for found in element.iterfind("./{*}nvSpPr/{*}nvPr/{*}ph")), None)
    if name in _NOT_SHOWN or placeholder in _NOT_SHOWN or name == "Fallback":
        return
    if name in ("t", "delText") or (name in ("v", "f") and element.text and not element.text.isdecimal()):
        yield element.text or "" if name != "f" else ""
    for child in element:
        yield from _ooxml(child)


def _open_document(data: bytes) -> Iterator[str]:
    with zipfile.ZipFile(BytesIO(data)) as parts:
        for name in parts.namelist():
            if name.endswith("content.xml"):
                for body in _parsed(parts.read(name)).iterfind("{*}body"):
                    yield from _all(body)


def _all(element: ET.Element) -> Iterator[str]:
    if element.tag.rpartition("}")[2] in _NOT_SHOWN:
        return
    yield element.text or ""
    for child in element:
        yield from _all(child)
        yield child.tail or ""


class _Page(HTMLParser):
    """The texts of an HTML page, and the values of its fields."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Follow what is not shown, and note the value of a field."""
        self._inside += tag in _NOT_SHOWN
        if tag == "input" and dict(attrs).get("type", "text") == "text":
            self.texts.append(dict(attrs).get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        """Follow what is not shown."""
        self._inside -= tag in _NOT_SHOWN

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if not self._inside:
            self.texts.append(data)


def _html(data: bytes) -> list[str]:
    page = _Page()
    page.feed(data.decode())
    return page.texts


def _epub(data: bytes) -> Iterator[str]:
    with zipfile.ZipFile(BytesIO(data)) as parts:
        for name in parts.namelist():
            if name.endswith("html") and "nav" not in name and "toc" not in name:
                yield from _html(parts.read(name))


def _mail(data: bytes) -> Iterator[str]:
    message = email.message_from_bytes(data, policy=default)
    yield from (str(message[name] or "") for name in ("Subject", "From", "To", "Cc"))
    for part in message.walk():
        if name := part.get_filename():
            yield name
        elif part.get_content_type() == "text/plain":
            yield from part.get_content().splitlines()
        elif not part.is_multipart() and part.get_content_type() != "text/html":
            yield part.get_content_type()


def _markdown(data: bytes) -> Iterator[str]:
    yield from re.sub(r"<!--.*?-->|</?[a-z][^>]*>|\{[%{].*?[%}]\}", "\n", data.decode(), flags=re.DOTALL).splitlines()


def _rtf(data: bytes) -> Iterator[str]:
    no_text = r"\{\\\*.*?\}|\{\\(?:fonttbl|colortbl|stylesheet|info).*?\}\}?"
    shown = re.sub(no_text, "", data.decode("ascii"), flags=re.DOTALL)
    yield from re.split(r"\\[a-z]+-?\d* ?|[{}\n]", shown)


def _pdf(data: bytes) -> Iterator[str]:
    document = PdfDocument(data)
    pages = [page.get_textpage().get_text_range().replace("\ufffe", "").replace("\x02", "") for page in document]
    document.close()
    counts = Counter(re.sub(r"\d+", "0", line.strip()) for page in pages for line in page.splitlines())
    for line in chain.from_iterable(map(str.splitlines, pages)):
        if len(pages) == 1 or counts[re.sub(r"\d+", "0", line.strip())] < len(pages):  # else it is on each page
            yield from line.split()


_READ: dict[str, Callable[[bytes], Iterator[str] | list[str]]] = {
    **{suffix: _office(suffix) for suffix in _OOXML},
    **dict.fromkeys((".odt", ".ods", ".odp"), _open_document),
    **dict.fromkeys((".html", ".htm"), _html),
    ".epub": _epub,
    ".eml": _mail,
    ".md": _markdown,
    ".rtf": _rtf,
    ".pdf": _pdf,
}
