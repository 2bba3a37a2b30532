"""HTML and DOCX to Markdown: the text with its headings, lists and tables, without navigation and decoration."""

import re
import zipfile
from contextlib import suppress
from io import BytesIO, StringIO

import mammoth
from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from shared.reading import UnreadableError
from shared.reading.plain_text import decode

_NOT_CONTENT = ["head", "script", "style", "noscript", "template", "nav", "svg", "iframe", "object", "button"]
_PLAIN = ["a", "img", "b", "strong", "em", "i", "u", "s", "del", "code", "kbd", "samp", "sub", "sup"]
"""Tags of which only the text is kept: a link as `[text](url)` would look like a citation in an answer."""
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
_CHARSET_SEARCH_BYTES = 4096
"""Bytes at the start of a file in which its charset is looked for.

Source: HTML standard, 'prescan a byte stream' (1024 there; real pages have it later).
"""
_MAX_UNPACKED_BYTES = 100 * 1024 * 1024
"""Bytes of XML that a DOCX may unpack to: a small file can unpack to more than the memory holds."""
_MAX_TAGS = 2_000_000
"""Tags and attributes of a document: each takes some 500 bytes of memory while the document is read."""
_TOO_MANY_TAGS = "holds too much markup to be read; split it, or save it as text."
_COUNT_CHUNK_BYTES = 1024 * 1024
"""Bytes that are unpacked at a time to count tags."""
_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"
"""Added to mammoth's own table of Word styles."""
_OLE_FILE = b"\xd0\xcf\x11\xe0"
"""First bytes of files of old Word versions, and of files that Office has encrypted."""


def read_html(data: bytes) -> str:
    """Convert an HTML file to Markdown.

    Raises:
        UnreadableError: it is not text, or holds too much markup.
    """
    start = data[:_CHARSET_SEARCH_BYTES]
    declared = _META_CHARSET.search(start) or _XML_ENCODING.search(start)
    return html_to_markdown(decode(data, declared[1].decode("ascii") if declared else None))


def read_docx(data: bytes) -> str:
    """Convert a Word document to Markdown, without its pictures.

    Raises:
        UnreadableError: it is encrypted, of an old version, or holds too much.
    """
    if data.startswith(_OLE_FILE):
        raise UnreadableError("is protected by a password, or in the old .doc format; save it as an open .docx.")
    if unpacked_size(data) > _MAX_UNPACKED_BYTES:
        raise UnreadableError("unpacks to more than 100 MiB of text; split it.")
    if _count_tags(data) > _MAX_TAGS:
        raise UnreadableError(_TOO_MANY_TAGS)
    without_images = mammoth.images.img_element(lambda _: {})
    converted = mammoth.convert_to_html(BytesIO(data), convert_image=without_images, style_map=_TITLE_STYLE)
    return html_to_markdown(converted.value)


def unpacked_size(data: bytes) -> int:
    """Size of the XML that a Word document unpacks to, in bytes, as its directory states it.

    Raises:
        BadZipFile, NotImplementedError, ValueError, OSError: the document is damaged.
    """
    with zipfile.ZipFile(BytesIO(data)) as parts:
        return sum(part.file_size for part in _xml_parts(parts))


def markup_size(data: bytes, suffix: str) -> int:
    """Bytes of markup in a file; 0 for formats without markup, and for damaged files, which the reader refuses."""
    if suffix in (".html", ".htm"):
        return len(data)
    if suffix == ".docx":
        with suppress(zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
            return unpacked_size(data)
    return 0


def _xml_parts(parts: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [part for part in parts.infolist() if part.filename.endswith((".xml", ".rels"))]


def _count_tags(data: bytes) -> int:
    """Approximate number of tags and attributes in a Word document."""
    count = 0
    with zipfile.ZipFile(BytesIO(data)) as parts:
        for part in _xml_parts(parts):
            with parts.open(part) as xml:
                while chunk := xml.read(_COUNT_CHUNK_BYTES):
                    count += chunk.count(b"<") + chunk.count(b"=")
    return count


def html_to_markdown(html: str) -> str:
    """Convert the content of an HTML document to Markdown. A document without `h1` gets its title as heading.

    Raises:
        UnreadableError: it holds too much markup.
    """
    if html.count("<") + html.count("=") > _MAX_TAGS:
        raise UnreadableError(_TOO_MANY_TAGS)
    without_declaration = _XML_DECLARATION.sub("", html)  # with it, lxml takes XHTML for other XML
    # lxml, not html.parser: that takes quadratic time on unclosed tags in Python releases still in use.
    soup = BeautifulSoup(StringIO(without_declaration), "lxml")  # BeautifulSoup may take a short string for a file name
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup.find_all(_NOT_CONTENT):
        element.decompose()
    converter = MarkdownConverter(
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
