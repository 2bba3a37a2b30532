"""Text recognition on this machine, in processes with limits: what `OCR=local` chooses."""

from collections.abc import Sequence
from itertools import batched

from shared.reading import Page
from shared.reading.limits import MAX_SCAN_MEMORY_BYTES, MAX_SCAN_READ_SECONDS, MAX_SCANNED_PAGES, check_limit
from shared.reading.sandbox import Sandbox

_PAGES_AT_ONCE = 2
"""Pages of a PDF that one process recognizes."""
_READERS = 1
"""Processes at the same time: one takes a core and up to 1 GB."""


class LocalRecognition:
    """A `TextRecognition` by models that come with the packages of the extra `ocr`."""

    model = "rapidocr-pp-ocrv6-small"
    """Name of the model; another model may read the same page differently."""

    def __init__(self) -> None:
        self._sandbox = Sandbox(
            readers=_READERS,
            memory=MAX_SCAN_MEMORY_BYTES,
            seconds=_PAGES_AT_ONCE * MAX_SCAN_READ_SECONDS,
        )

    async def read(self, data: bytes, pages: Sequence[int] = ()) -> list[Page]:
        """See `TextRecognition.read`; without page numbers the file is an image."""
        check_limit(len(pages), MAX_SCANNED_PAGES, "scanned pages")
        if not pages:
            return await self._sandbox.recognize(data, ())
        found: list[Page] = []
        for numbers in batched(pages, _PAGES_AT_ONCE, strict=False):
            found += await self._sandbox.recognize(data, numbers)
        return found

    async def aclose(self) -> None:
        """Do nothing: each process has ended with its pages."""
