"""Images of the pages of PDF files: made when a file is indexed, replaced and removed with it.

They are what a model that sees is shown of a source, and what is searched by image vectors.
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from itertools import batched
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from shared.chat_types import Passage
from shared.documents import DocumentStore, Rights, page_image
from shared.documents.names import is_name

_AT_ONCE = 4
"""Images that are in memory at the same time."""
_IMAGE = re.compile(r"\d+\.jpg")
_VERSION = "1"
"""Of how images are made; a new one makes them again."""


class ImageEmbedder(Protocol):
    """Makes vectors of images."""

    @property
    def model(self) -> str:
        """The model's name; vectors of different models do not compare."""
        ...

    async def embed_image(self, image: bytes) -> list[float] | None:
        """The vector of an image; None where it cannot have one."""
        ...

    async def aclose(self) -> None:
        """Close what this embedder opened."""
        ...


class PageImages:
    """Keeps the images of pages.

    Args:
        store: Where they are kept.
        embedder: What makes vectors of them; None: there are none.
        wanted: Whether images are made; if not, those that are there go with their documents.
    """

    def __init__(self, store: DocumentStore, embedder: ImageEmbedder | None, *, wanted: bool) -> None:
        self._store = store
        self._embedder = embedder if wanted else None
        self._wanted = wanted

    @property
    def kind(self) -> str:
        """What is made of a document; empty: nothing."""
        return f"{_VERSION} {self._embedder.model if self._embedder else ''}" if self._wanted else ""

    async def replace(self, path: Path, passages: Sequence[Passage]) -> list[list[float] | None] | None:
        """Keep an image of each page of a PDF that has passages, and of no other page, for those who may see these.

        Returns:
            The image vector of each passage's page; None without an embedder.

        Raises:
            RateLimited, Unavailable, TooSlow: the store's or the embedder's faults.
        """
        sourcefile = passages[0].sourcefile
        rights = Rights(passages[0].oids, passages[0].groups)
        numbers = sorted({page for passage in passages if (page := passage.page)})
        vectors: dict[int, list[float] | None] = {}
        if self._wanted and numbers and is_name(page_image(sourcefile, numbers[-1])):
            for batch in batched(numbers, _AT_ONCE, strict=False):
                vectors |= await self._keep(sourcefile, path, batch, rights)
        await self._remove_but(sourcefile, {page_image(sourcefile, number) for number in vectors})
        return [vectors.get(passage.page or 0) for passage in passages] if self._embedder else None

    async def remove(self, sourcefile: str) -> None:
        """Remove the images of a document's pages.

        Raises:
            Unavailable, TooSlow: the store's faults.
        """
        await self._remove_but(sourcefile, set())

    async def aclose(self) -> None:
        """Close the store and the embedder."""
        await self._store.aclose()
        if self._embedder:
            await self._embedder.aclose()

    async def _keep(
        self, sourcefile: str, path: Path, numbers: Sequence[int], rights: Rights
    ) -> dict[int, list[float] | None]:
        """Make and keep images of these pages; return the vector, if any, of each that could be made."""
        from shared.reading.page_rendering import render_pages

        async def keep(number: int, image: bytes) -> list[float] | None:
            file = Path(folder, f"{number}.jpg")
            await asyncio.to_thread(file.write_bytes, image)
            await self._store.keep(page_image(sourcefile, number), file, rights)
            return await self._embedder.embed_image(image) if self._embedder else None

        # What is cancelled may still be writing there: that must not be told in place of the cancellation.
        with TemporaryDirectory(prefix="switchboard-", ignore_cleanup_errors=True) as folder:
            images = await asyncio.to_thread(render_pages, path, numbers)
            # None goes on after another's fault, in a folder that is gone.
            results = await asyncio.gather(*(keep(*image) for image in images), return_exceptions=True)
        vectors: dict[int, list[float] | None] = {}
        for (number, _), result in zip(images, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            vectors[number] = result
        return vectors

    async def _remove_but(self, sourcefile: str, kept: Collection[str]) -> None:
        prefix = f"{sourcefile}/"
        for name in [name async for name in self._store.names(prefix)]:
            # The name of another document may begin so.
            if _IMAGE.fullmatch(name.removeprefix(prefix)) and name not in kept:
                await self._store.remove(name)
