"""Images of the pages of PDF files: made when a file is indexed, replaced and removed with it.

They are what a model that sees is shown of a source, and what is searched by image vectors.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from io import BytesIO
from itertools import batched
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from pypdfium2 import PdfDocument, PdfiumError, PdfPage

from shared.chat_types import Passage
from shared.documents import DocumentStore, page_image
from shared.retrieval.ingestion.pdf import PDFIUM

LONGEST_SIDE = 1500
"""Pixels: small print can be read, and models would make a larger image smaller before they look at it."""
LARGEST_IMAGE = 512 * 1024
"""Bytes; what would be larger is compressed more."""
_QUALITIES = (80, 60, 40, 20)
"""Of JPEG, tried in this order."""
_AT_ONCE = 4
"""Images that are in memory at the same time."""
_PAGE = re.compile(r"#page=(\d+)$")


class ImageEmbedder(Protocol):
    """Makes vectors of images."""

    @property
    def model(self) -> str:
        """The model's name; vectors of different models do not compare."""
        ...

    async def embed_image(self, image: bytes) -> list[float] | None:
        """The vector of an image; None where it cannot have one."""
        ...


class PageImages:
    """Keeps the images of pages.

    Args:
        store: Where they are kept.
        embedder: What makes vectors of them; None: there are none.
    """

    def __init__(self, store: DocumentStore, embedder: ImageEmbedder | None = None) -> None:
        self._store = store
        self._embedder = embedder

    @property
    def kind(self) -> str:
        """What the images and their vectors depend on, beside the document."""
        return f"{LONGEST_SIDE} {self._embedder.model if self._embedder else ''}"

    async def keep(self, path: Path, passages: Sequence[Passage]) -> list[list[float] | None] | None:
        """Keep an image of each page of a PDF that has passages, and of no other page.

        Returns:
            The image vector of each passage's page; None without an embedder.

        Raises:
            RateLimited, Unavailable, TooSlow: the store's or the embedder's faults.
        """
        sourcefile = passages[0].sourcefile
        numbers = sorted({number for passage in passages if (number := _page_number(passage))})
        vectors: dict[int, list[float] | None] = {}
        kept: set[str] = set()
        with TemporaryDirectory(prefix="switchboard-") as folder:
            for batch in batched(numbers, _AT_ONCE, strict=False):
                images = await asyncio.to_thread(render_pages, path, batch)
                keeping = (self._keep_one(sourcefile, number, image, Path(folder)) for number, image in images)
                results = await asyncio.gather(*keeping, return_exceptions=True)  # none goes on after another's fault
                for (number, _), result in zip(images, results, strict=True):
                    if isinstance(result, BaseException):
                        raise result
                    vectors[number] = result
                    kept.add(page_image(sourcefile, number))
        await self._remove_but(sourcefile, kept)
        return [vectors.get(_page_number(passage) or 0) for passage in passages] if self._embedder else None

    async def remove(self, sourcefile: str) -> None:
        """Remove the images of a document's pages.

        Raises:
            Unavailable, TooSlow: the store's faults.
        """
        await self._remove_but(sourcefile, set())

    async def _keep_one(self, sourcefile: str, number: int, image: bytes, folder: Path) -> list[float] | None:
        file = folder / f"{number}.jpg"
        await asyncio.to_thread(file.write_bytes, image)
        try:
            await self._store.keep(page_image(sourcefile, number), file)
        finally:
            await asyncio.to_thread(file.unlink)
        return await self._embedder.embed_image(image) if self._embedder else None

    async def _remove_but(self, sourcefile: str, kept: set[str]) -> None:
        prefix = f"{sourcefile}/"
        names = [name async for name in self._store.names(prefix)]
        for name in names:
            # Another document's name may begin so.
            if re.fullmatch(r"\d+\.jpg", name.removeprefix(prefix)) and name not in kept:
                await self._store.remove(name)


def render_pages(path: Path, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
    """These pages of a PDF as JPEG, each with its number; one that cannot be drawn is left out."""
    images: list[tuple[int, bytes]] = []
    with PDFIUM, closing(PdfDocument(path)) as document:
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


def _page_number(passage: Passage) -> int | None:
    found = _PAGE.search(passage.sourcepage)
    return int(found[1]) if found else None
