"""Pages of a PDF as images, by PDFium."""

from collections.abc import Sequence
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path

from pypdfium2 import PdfiumError, PdfPage

from shared.reading.pdf import opened

LONGEST_SIDE = 1500
"""Pixels: small print can be read, and models would make a larger image smaller before they look at it."""
LARGEST_IMAGE = 512 * 1024
"""Bytes; what would be larger is compressed more."""
_QUALITIES = (80, 60, 40, 20)
"""Of JPEG, tried in this order."""


def render_pages(path: Path, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
    """These pages of a PDF as JPEG, each with its number; one that cannot be drawn is left out.

    Raises:
        UnreadableError: see `opened`.
    """
    images: list[tuple[int, bytes]] = []
    with opened(path) as document:
        for number in numbers:
            with suppress(PdfiumError), closing(document[number - 1]) as page:
                images.append((number, _render(page)))
    return images


def _render(page: PdfPage) -> bytes:
    with closing(page.render(scale=LONGEST_SIDE / max(page.get_size()))) as bitmap:
        picture = bitmap.to_pil().convert("RGB")
        file = BytesIO()
        for quality in _QUALITIES:
            file.seek(0)
            file.truncate()
            picture.save(file, "JPEG", quality=quality)
            if file.tell() <= LARGEST_IMAGE:
                break
    return file.getvalue()
