"""The formats that can be read: a table from a file's suffix to what reads it.

Each reader's library is imported when its first file comes.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from shared.reading.cleaning import clean
from shared.reading.decoding import decode
from shared.reading.pages import NoTextError, Page, UnreadableError

LARGEST_FILE = 100 * 1024 * 1024
"""Bytes. What is larger is hardly a document, and its text has to fit the memory."""


def read_pages(path: Path) -> list[Page]:
    """The pages of a file that have text, clean.

    Raises:
        UnreadableError: it is damaged, protected or too large; `NoTextError`: it holds no text.
        OSError: it cannot be read now.
    """
    check_size(path.stat().st_size)
    try:
        pages = READERS[path.suffix.lower()](path)
    except UnreadableError:
        raise
    except Exception as fault:  # a parser's fault on odd bytes can be anything; the others must still be read
        if isinstance(fault, OSError) and fault.errno is not None:  # the system's, not a parser's
            raise
        raise UnreadableError("is damaged, or not of the format that its name says.") from fault
    return readable(pages)


def check_size(size: int) -> None:
    """Check that a file of so many bytes can be read at all.

    Raises:
        UnreadableError: it is empty or too large.
    """
    if not size:
        raise UnreadableError("is empty.")
    if size > LARGEST_FILE:
        raise UnreadableError(f"is larger than {LARGEST_FILE // 2**20} MiB; split it.")


def readable(pages: Iterable[Page]) -> list[Page]:
    """The pages that have text, clean.

    Raises:
        NoTextError: none has.
    """
    cleaned = [replace(page, text=clean(page.text)) for page in pages]
    with_text = [page for page in cleaned if any(character.isalnum() for character in page.text)]
    if not with_text:
        raise NoTextError("holds no text; a scan needs text recognition (OCR) first.")
    return with_text


def _read_text(path: Path) -> list[Page]:
    return [Page(decode(path.read_bytes()))]


def _read_html(path: Path) -> list[Page]:
    from shared.reading.markup import read_html

    return [Page(read_html(path))]


def _read_docx(path: Path) -> list[Page]:
    from shared.reading.markup import read_docx

    return [Page(read_docx(path))]


def _read_pdf(path: Path) -> list[Page]:
    from shared.reading.pdf import read_pdf

    return read_pdf(path)


READERS: dict[str, Callable[[Path], list[Page]]] = {
    ".pdf": _read_pdf,
    ".md": _read_text,
    ".markdown": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".txt": _read_text,
    ".docx": _read_docx,
}
