"""Images of the pages of PDF files: made when a file is indexed, replaced and removed with it.

Models that accept images get them with the sources, and a search by image vectors compares them.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from itertools import batched
from typing import Protocol

from shared.chat_types import Passage
from shared.documents import DocumentStore, Rights, is_name, page_image
from shared.reading import UnreadableError
from shared.reading.limits import ReadLimitError
from shared.reading.sandbox import Sandbox

_MAX_IMAGES_IN_MEMORY = 4
"""Images that are rendered, kept and embedded together."""
_MAX_RENDER_SECONDS = 1800.0
"""Time to render all pages of a document."""
_IMAGE_NAME = re.compile(r"\d+\.jpg")
_FORMAT_VERSION = "1"
"""Version of the way images are made. A new one makes all images again."""


class ImageEmbedder(Protocol):
    """Computes vectors of images."""

    @property
    def model(self) -> str:
        """Name of the model. Vectors of different models cannot be compared."""
        ...

    async def embed_image(self, image: bytes) -> list[float] | None:
        """Compute the vector of an image; None if the model cannot."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class PageImages:
    """Makes, keeps and removes the images of pages.

    Args:
        store: Where the images are kept.
        embedder: Computes their vectors; None: they have no vectors.
        wanted: Whether images are made. If not, existing images are removed with their documents.
    """

    def __init__(self, store: DocumentStore, embedder: ImageEmbedder | None, *, wanted: bool) -> None:
        self._store = store
        self._embedder = embedder if wanted else None
        self._wanted = wanted

    @property
    def kind(self) -> str:
        """Names the way images and vectors are made, for fingerprints; empty if none are made."""
        return f"{_FORMAT_VERSION} {self._embedder.model if self._embedder else ''}" if self._wanted else ""

    async def replace(
        self, data: bytes, passages: Sequence[Passage], sandbox: Sandbox
    ) -> list[list[float] | None] | None:
        """Keep an image of each page of a PDF that has passages, with the rights of the passages; remove all others.

        Args:
            data: The bytes of the PDF.
            passages: Its passages, at least one.
            sandbox: Renders the pages.

        Returns:
            The image vector of each passage's page; None without an embedder.

        Raises:
            UnreadableError: the PDF cannot be rendered; no image of it stays.
        """
        sourcefile = passages[0].sourcefile
        rights = Rights(passages[0].oids, passages[0].groups)
        numbers = sorted({page for passage in passages if (page := passage.page)})
        vectors: dict[int, list[float] | None] = {}
        if self._wanted and numbers and is_name(page_image(sourcefile, numbers[-1])):
            async with aclosing(_rendered(data, numbers, sandbox)) as batches:
                try:
                    async for images in batches:
                        vectors |= await self._keep(sourcefile, rights, images)
                except UnreadableError:
                    await self.remove(sourcefile)
                    raise
        await self._remove_except(sourcefile, {page_image(sourcefile, number) for number in vectors})
        return [vectors.get(passage.page or 0) for passage in passages] if self._embedder else None

    async def remove(self, sourcefile: str) -> None:
        """Remove the images of a document's pages."""
        await self._remove_except(sourcefile, set())

    async def aclose(self) -> None:
        """Close the store and the embedder."""
        await self._store.aclose()
        if self._embedder:
            await self._embedder.aclose()

    async def _keep(
        self, sourcefile: str, rights: Rights, images: Sequence[tuple[int, bytes]]
    ) -> dict[int, list[float] | None]:
        """Keep the images of pages, each with its number. Returns the vector, or None, of each page."""

        async def keep(number: int, image: bytes) -> list[float] | None:
            name = page_image(sourcefile, number)
            await self._store.keep(name, image, await self._store.find(name), rights)
            return await self._embedder.embed_image(image) if self._embedder else None

        # Wait for all, also after an error of one: no write must go on after this returns.
        results = await asyncio.gather(*(keep(*image) for image in images), return_exceptions=True)
        vectors: dict[int, list[float] | None] = {}
        for (number, _), result in zip(images, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            vectors[number] = result
        return vectors

    async def _remove_except(self, sourcefile: str, kept: Collection[str]) -> None:
        prefix = f"{sourcefile}/"
        for name in [name async for name in self._store.names(prefix)]:
            # Other names with this prefix belong to other documents.
            if _IMAGE_NAME.fullmatch(name.removeprefix(prefix)) and name not in kept:
                await self._store.remove(name)


async def _rendered(data: bytes, numbers: Sequence[int], sandbox: Sandbox) -> AsyncGenerator[list[tuple[int, bytes]]]:
    """Yield images of pages, a few at a time; raise UnreadableError if the PDF cannot be rendered in time."""
    spent = 0.0
    for batch in batched(numbers, _MAX_IMAGES_IN_MEMORY, strict=False):
        started = time.monotonic()
        images = await sandbox.render(data, batch)
        spent += time.monotonic() - started
        if spent > _MAX_RENDER_SECONDS:
            raise ReadLimitError("takes too long to render; split it.")
        yield images
