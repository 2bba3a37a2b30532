"""Scans: the pages of a document that hold no text are read by a service that recognizes it, if there is one."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from shared.reading.pages import NoTextError, Page, UnreadableError
from shared.reading.readers import READERS, check_size, read_pages, readable

SCANS = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
"""Suffixes of images that can be read."""
_MANY_PAGES = frozenset({".tif", ".tiff"})
"""Those that have numbered pages; of the others the citation is the image itself."""
_SET = "set DOCUMENT_INTELLIGENCE_ENDPOINT."


class TextRecognition(Protocol):
    """Reads images of text."""

    @property
    def model(self) -> str:
        """What reads; another one could read otherwise."""
        ...

    async def read(self, path: Path, pages: Sequence[int] = ()) -> list[Page]:
        """The text of a document's pages, or of these only, numbered from 1.

        Raises:
            UnreadableError: it cannot be read.
            RateLimited, Unavailable, TooSlow: it cannot be read now.
        """
        ...

    async def aclose(self) -> None:
        """Close what this opened."""
        ...


def formats(*, recognized: bool) -> tuple[str, ...]:
    """The suffixes of what can be read, with or without text recognition."""
    return (*READERS, *SCANS) if recognized else (*READERS,)


async def read_document(path: Path, recognition: TextRecognition | None) -> list[Page]:
    """The pages of a file that have text, clean, with what is recognized on its scanned pages.

    Raises:
        UnreadableError: it is damaged, protected, too large, or holds no text.
        OSError: it cannot be read now.
        RateLimited, Unavailable, TooSlow: the service cannot read it now.
    """
    suffix = path.suffix.lower()
    if suffix in SCANS:
        return await _read_image(path, recognition, has_pages=suffix in _MANY_PAGES)
    try:
        pages = await asyncio.to_thread(read_pages, path)
    except NoTextError:
        if suffix != ".pdf":
            raise
        if recognition is None:
            raise UnreadableError(f"holds no text; a scan needs text recognition (OCR): {_SET}") from None
        pages = []
    if suffix != ".pdf" or recognition is None:
        return pages
    return await _with_scans(path, pages, recognition)


async def _read_image(path: Path, recognition: TextRecognition | None, *, has_pages: bool) -> list[Page]:
    check_size((await asyncio.to_thread(path.stat)).st_size)
    if recognition is None:
        raise UnreadableError(f"is an image; its text needs recognition (OCR): {_SET}")
    pages = readable(await recognition.read(path))
    return pages if has_pages else [replace(page, number=None) for page in pages]


async def _with_scans(path: Path, pages: list[Page], recognition: TextRecognition) -> list[Page]:
    from shared.reading.pdf import pages_with_pictures

    pictured = await asyncio.to_thread(pages_with_pictures, path)
    read = {page.number for page in pages}
    if unread := [number for number in pictured if number not in read]:
        try:
            scanned = await recognition.read(path, unread)
        except UnreadableError:
            if not pages:
                raise
            return pages
        pages = sorted((*pages, *scanned), key=lambda page: page.number or 0)
    return readable(pages)
