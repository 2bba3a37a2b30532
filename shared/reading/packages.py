"""ZIP packages, which Office documents and EPUB books are: their parts, within limits."""

import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from xml.etree import ElementTree as ET

from shared.reading import UnreadableError
from shared.reading.limits import ReadLimits, check_limit

MARKUP, TAGS = "bytes of markup", "tags and attributes"
"""What limits count."""
OLE_FILE = b"\xd0\xcf\x11\xe0"
"""First bytes of files of old Office versions, and of files that Office has encrypted."""
_CHUNK_BYTES = 1024 * 1024
"""Bytes that are unpacked at a time to count tags."""


@contextmanager
def package(data: bytes, limits: ReadLimits, formats: tuple[str, str] | None = None) -> Generator[zipfile.ZipFile]:
    """Open a package. Nothing of it is written to disk, so the names of its parts lead nowhere.

    Args:
        data: The bytes of the file.
        limits: What it may hold.
        formats: Suffix of the old Office format, and of the one to save such a file in.

    Raises:
        UnreadableError: it is encrypted, or of an old Office version.
        ReadLimitError: it has too many parts.
        BadZipFile: it is no ZIP file.
    """
    if formats and data.startswith(OLE_FILE):
        old, new = formats
        raise UnreadableError(f"is protected by a password, or in the old {old} format; save it as an open {new}.")
    with zipfile.ZipFile(BytesIO(data)) as parts:
        check_limit(len(parts.infolist()), limits.parts, "parts")
        yield parts


def check_markup(parts: zipfile.ZipFile, max_bytes: int, max_tags: int | None) -> None:
    """Check what the XML in a package unpacks to.

    Args:
        parts: The package.
        max_bytes: Limit for the bytes of all XML.
        max_tags: Limit for tags and attributes; None: they are not counted.

    Raises:
        ReadLimitError: it is over a limit.
        BadZipFile, NotImplementedError, ValueError, OSError: the package is damaged.
    """
    texts = [part for part in parts.infolist() if part.filename.lower().endswith((".xml", ".rels", ".vml"))]
    check_limit(sum(part.file_size for part in texts), max_bytes, MARKUP)
    if max_tags is None:
        return
    tags = 0
    for part in texts:
        with parts.open(part) as xml:  # which reads no more bytes than the directory states
            while chunk := xml.read(_CHUNK_BYTES):
                tags += chunk.count(b"<") + chunk.count(b"=")
                check_limit(tags, max_tags, TAGS)


def read_part(parts: zipfile.ZipFile, name: str, limits: ReadLimits) -> bytes:
    """Read a part that is parsed as a whole, if it is not too large."""
    check_limit(parts.getinfo(name).file_size, limits.xml_bytes, MARKUP)
    return parts.read(name)


def parse_xml(data: bytes) -> ET.Element:
    """Parse XML. Nothing outside of it is loaded, and expat limits how far entities expand.

    Raises:
        ParseError: it is no XML.
    """
    return ET.fromstring(data)  # noqa: S314


def local_name(element: ET.Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def texts_of(xml: bytes) -> list[str]:
    """The paragraphs of DrawingML, as in the diagrams of Office documents."""
    paragraphs = parse_xml(xml).iterfind(".//{*}p")
    texts = ("".join(part.text or "" for part in paragraph.iterfind(".//{*}t")) for paragraph in paragraphs)
    return [text for text in texts if text.strip()]
