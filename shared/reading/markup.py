"""HTML and DOCX to Markdown: the text with its headings, lists and tables, without what surrounds it."""

import re
import zipfile
from io import StringIO
from pathlib import Path
from typing import BinaryIO

import mammoth
from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from shared.reading.decoding import decode
from shared.reading.pages import UnreadableError

_NOT_CONTENT = ["head", "script", "style", "noscript", "template", "nav", "svg", "iframe", "object", "button"]
_PLAIN = ["a", "img", "b", "strong", "em", "i", "u", "s", "del", "code", "kbd", "samp", "sub", "sup"]
"""Tags of which only the text stays: a link's `[text](url)` would look like a citation in an answer."""
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_XML_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
_DECLARED_WITHIN = 4096
"""Bytes from the start. Source: HTML standard, 'prescan a byte stream' (1024 there; pages in use put it later)."""
_LARGEST_XML = 100 * 1024 * 1024
"""Bytes of unpacked text that a DOCX may hold: a small file can unpack to more than there is memory."""
_MOST_TAGS = 2_000_000
"""Tags and attributes of a document: while it is read each takes some 500 bytes of memory."""
_TOO_MANY_TAGS = "holds too much markup to be read; split it, or save it as text."
_PIECE = 1024 * 1024
"""Bytes that are looked at together."""
_TITLE_STYLE = "p[style-name='Title'] => h1:fresh"
"""Added to mammoth's own map of Word's styles."""
_OLE_FILE = b"\xd0\xcf\x11\xe0"
"""How files of old Word versions begin, and those that Office has encrypted."""


def read_html(path: Path) -> str:
    """The text of an HTML file as Markdown."""
    data = path.read_bytes()
    start = data[:_DECLARED_WITHIN]
    declared = _DECLARED.search(start) or _XML_DECLARED.search(start)
    return html_to_markdown(decode(data, declared[1].decode("ascii") if declared else None))


def read_docx(path: Path) -> str:
    """The text of a Word document as Markdown.

    Raises:
        UnreadableError: it is encrypted, from an old version, or holds too much.
    """
    with path.open("rb") as file:
        if file.read(len(_OLE_FILE)) == _OLE_FILE:
            raise UnreadableError("is protected by a password, or in the old .doc format; save it as an open .docx.")
        file.seek(0)
        if unpacked_size(file) > _LARGEST_XML:
            raise UnreadableError("unpacks to more than 100 MiB of text; split it.")
        if _tags_in(file) > _MOST_TAGS:
            raise UnreadableError(_TOO_MANY_TAGS)
        file.seek(0)
        without_images = mammoth.images.img_element(lambda _: {})
        html = mammoth.convert_to_html(file, convert_image=without_images, style_map=_TITLE_STYLE).value
    return html_to_markdown(html)


def unpacked_size(file: BinaryIO) -> int:
    """The bytes of text that a Word document unpacks to.

    Raises:
        BadZipFile, NotImplementedError, ValueError, OSError: it is damaged.
    """
    with zipfile.ZipFile(file) as parts:
        return sum(part.file_size for part in _texts(parts))


def _texts(parts: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [part for part in parts.infolist() if part.filename.endswith((".xml", ".rels"))]


def _tags_in(file: BinaryIO) -> int:
    """The tags and attributes of a Word document, about."""
    count = 0
    with zipfile.ZipFile(file) as parts:
        for part in _texts(parts):
            with parts.open(part) as text:
                while piece := text.read(_PIECE):
                    count += piece.count(b"<") + piece.count(b"=")
    return count


def html_to_markdown(html: str) -> str:
    """Markdown of the content of an HTML document, its title as the heading when it has none.

    Raises:
        UnreadableError: it holds too much.
    """
    if html.count("<") + html.count("=") > _MOST_TAGS:
        raise UnreadableError(_TOO_MANY_TAGS)
    without_declaration = _XML_DECLARATION.sub("", html)  # with it, XHTML would be taken for other XML
    # Not by html.parser: on unclosed tags it takes quadratic time in releases of Python that are in use.
    soup = BeautifulSoup(StringIO(without_declaration), "lxml")  # a short string could pass for a file's name
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for element in soup.find_all(_NOT_CONTENT):
        element.decompose()
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        strip=_PLAIN,
        wrap=True,  # to no width: undoes the line breaks of the source, so that sentences are whole
        wrap_width=None,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    )
    markdown = converter.convert_soup(soup)
    return markdown if soup.find("h1") or not title else f"# {title}\n\n{markdown}"
