"""Models that run on this machine, in processes with limits: what `EMBEDDINGS=local` and `OCR=local` choose."""

import asyncio
import os
from array import array
from collections.abc import Sequence
from itertools import batched

import msgspec

from shared.errors import Unavailable
from shared.reading import Page, UnreadableError
from shared.reading.limits import check_limit
from shared.reading.sandbox import Sandbox

MAX_SCANNED_PAGES = 500
"""Scanned pages of a document that are recognized."""
MAX_SCAN_MEMORY_BYTES = 3 * 1024 * 1024 * 1024
"""Address space of the process that recognizes pages; libraries and models alone take half of it."""
MAX_SCAN_READ_SECONDS = 300.0
"""Time to recognize one page. It takes 2 to 6 seconds on a free core."""
MAX_EMBEDDING_MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of the process that makes vectors. The model and its libraries take a third of it."""
MAX_EMBEDDING_SECONDS = 120.0
"""Time to make the vectors of a few texts. A passage takes a quarter of a second of a free core, the longest two."""
DIMENSIONS = 384
"""Numbers in a vector."""
_TEXTS_AT_ONCE = 8
"""Texts that one process embeds."""
_FAILED = (
    f"EMBEDDINGS=local has made no vectors within {MAX_EMBEDDING_SECONDS:.0f} seconds, or its process has ended. Try "
    "again. If it stays so, this machine is too busy, or has a processor without AVX2: set EMBEDDINGS to off."
)
_PAGES_AT_ONCE = 2
"""Pages of a PDF that one process recognizes."""
_READERS = 1
"""Processes at the same time: one takes a core and up to 1 GB."""


class LocalEmbedder:
    """An `Embedder` by a model that comes with the package of the extra `embeddings`."""

    model = "multilingual-e5-small-q4-parts"
    """Name of the model. Vectors of different models cannot be compared."""
    part_size = 250
    """Characters of a part: of a whole passage a small model keeps its subject, and loses most of what it says."""

    def __init__(self) -> None:
        self._sandbox = Sandbox(
            readers=os.process_cpu_count() or 1,
            memory=MAX_EMBEDDING_MEMORY_BYTES,
            seconds=MAX_EMBEDDING_SECONDS,
        )

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:
        """See `Embedder.embed`."""
        # Without halves of characters, which JSON can hold and UTF-8 cannot.
        encodable = [text.encode("utf-8", "replace").decode() for text in texts]
        try:
            async with asyncio.TaskGroup() as group:
                calls = [
                    group.create_task(self._sandbox.run(bytes, "embed", msgspec.msgpack.encode(batch), questions))
                    for batch in batched(encodable, _TEXTS_AT_ONCE, strict=False)
                ]
        except* (UnreadableError, Unavailable):
            raise Unavailable(_FAILED) from None
        numbers = array("f", b"".join(call.result() for call in calls))
        return [list(vector) for vector in batched(numbers, DIMENSIONS, strict=True)]

    async def aclose(self) -> None:
        """Do nothing: each process has ended with its texts."""


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
            return await self._sandbox.run(list[Page], "recognize", data, ())
        found: list[Page] = []
        for numbers in batched(pages, _PAGES_AT_ONCE, strict=False):
            found += await self._sandbox.run(list[Page], "recognize", data, numbers)
        return found

    async def aclose(self) -> None:
        """Do nothing: each process has ended with its pages."""
