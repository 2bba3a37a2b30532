"""Images of the sources of a turn, for a model that sees (`use_gpt4v`, `send_image_sources`).

The image of a PDF's page is what ingestion keeps in the store of page images; where a source is an image itself, as in
the index of azure-search-openai-demo, it is that document. A missing or broken image is none: the turn goes on.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Protocol
from urllib.parse import unquote

from shared.chat_types import ChatRequest, ImagePart, Json, Passage, RequestContext
from shared.core.newer_overrides import sources_as
from shared.documents import StoredDocument, page_image
from shared.documents.media_types import image_type
from shared.errors import SwitchboardError
from shared.events import DataPoint, SourceImage, Thought

_log = logging.getLogger("switchboard.images")

MOST_IMAGES = 10
"""Images in a prompt, those that the user sent included. Source: Azure OpenAI, 'Use vision-enabled chat models'."""
MOST_BYTES = 3 * 1024 * 1024
"""Bytes of all of them: they go out with the answer too, a third longer, and twice in some protocols."""
PATIENCE_SECONDS = 5.0
"""How long the answer waits for images."""
_MARGIN_SECONDS = 1.0
"""What is left of the deadline, at least, to answer without."""

_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_NONE_FOUND = (
    "None of the sources has an image. PAGE_IMAGES=true makes images of the pages of PDF files when they are indexed."
)
_NONE_WANTED = "The request has send_text_sources and send_image_sources off: the model is given none of the sources."


class Store(Protocol):
    """As much of a `DocumentStore` as is needed here."""

    async def find(self, name: str) -> StoredDocument | None:
        """The document, or None where there is none."""
        ...

    def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield its bytes."""
        ...


@dataclass(frozen=True, slots=True)
class ImagesShown:
    """What the model is shown."""

    images: tuple[SourceImage, ...] = ()
    """Best source first, each named as its `sourcepage`."""
    as_asked: bool = True
    """Whether the request got what it asked for, be it nothing."""
    thoughts: tuple[Thought, ...] = ()
    """What was asked for and what came of it; none where nothing was."""
    without_text: bool = False
    """Whether a source that has an image is not given as text too."""
    without_sources: bool = False
    """Whether the sources are given in no way at all."""

    def lines(self, passages: Sequence[Passage]) -> tuple[str, ...]:
        """The sources as the prompt has them."""
        if self.without_sources:
            return ()
        if not self.without_text:
            return tuple(DataPoint.of(passage).line for passage in passages)
        shown = {shown.image.name for shown in self.images}
        lines = (
            f"{passage.sourcepage}: (see its image)" if passage.sourcepage in shown else DataPoint.of(passage).line
            for passage in passages
        )
        return tuple(dict.fromkeys(lines))


class SourceImages:
    """Finds the images of sources.

    Args:
        pages: Where ingestion keeps images of pages.
        documents: Where the documents are kept.
        refused: Why the model cannot be shown any, as a sentence; None if it can.
    """

    def __init__(self, pages: Store, documents: Store, refused: str | None) -> None:
        self._pages = pages
        self._documents = documents
        self._refused = refused

    async def shown(self, request: ChatRequest, passages: Sequence[Passage], context: RequestContext) -> ImagesShown:
        """What the model is shown of these passages, as the request's overrides have it."""
        wanted = sources_as(request.overrides)
        if wanted == "text":
            return ImagesShown()
        if wanted == "none":
            return ImagesShown(thoughts=(_thought((), wanted, _NONE_WANTED),), without_sources=True)
        if self._refused:
            return ImagesShown(as_asked=False, thoughts=(_thought((), wanted, self._refused),))
        on_page: dict[str, list[DataPoint]] = {}
        places: dict[str, _Place] = {}
        for passage in passages:
            on_page.setdefault(passage.sourcepage, []).append(DataPoint.of(passage))
            if place := self._place(passage):
                places[passage.sourcepage] = place
        limit = min(asyncio.get_running_loop().time() + PATIENCE_SECONDS, context.deadline - _MARGIN_SECONDS)
        sent = sum(len(message.images) for message in request.messages)
        loading = _Loading(MOST_IMAGES - sent, limit, context)
        parts = await loading.images(places)
        images = tuple(SourceImage(tuple(on_page[part.name]), part) for part in parts)
        thought = _thought(images, wanted, loading.note())
        return ImagesShown(images, as_asked=bool(images), thoughts=(thought,), without_text=wanted == "images")

    def _place(self, passage: Passage) -> "_Place | None":
        """Where the image of a passage would be."""
        if page := passage.page:
            return self._pages, page_image(passage.sourcefile, page)
        # Ours are escaped. In another's index a name may look so: unescaped it would be another document, and whose?
        ours = unquote(passage.sourcepage) == passage.sourcefile
        name = passage.sourcefile if ours else passage.sourcepage
        return (self._documents, name) if PurePosixPath(name).suffix.lower() in _SUFFIXES else None


type _Place = tuple[Store, str]
"""A name in a store."""


class _Loading:
    """The images of one turn: found all at once, then read all at once; each may fail by itself."""

    def __init__(self, most: int, limit: float, context: RequestContext) -> None:
        self._most = most
        self._limit = limit
        self._access = context.access
        self._invocation_id = context.invocation_id
        self._found = 0
        self._left_out = 0
        self._failed = 0

    async def images(self, places: Mapping[str, _Place]) -> list[ImagePart]:
        """The images, each named by its key, in this order, as far as the limits let them through."""
        found = await self._all(partial(self._find, name, place) for name, place in places.items())
        chosen: list[_Found] = []
        room = MOST_BYTES
        for one in found:
            if len(chosen) < self._most and one.document.size <= room:
                room -= one.document.size
                chosen.append(one)
        self._found, self._left_out = len(found), len(found) - len(chosen)
        return await self._all(partial(self._read, one) for one in chosen)

    def note(self) -> str | None:
        """What did not come, if anything."""
        said: list[str] = []
        if not (self._found or self._failed):
            said.append(_NONE_FOUND)
        if self._left_out:
            said.append(f"Left out, as there would be too many or too much: {self._left_out}.")
        if self._failed:
            said.append(f"Cannot be read now: {self._failed}.")
        return " ".join(said) or None

    async def _all[Got](self, asked: Iterable[Callable[[], Awaitable[Got | None]]]) -> list[Got]:
        got = await asyncio.gather(*map(self._tried, asked))
        return [one for one in got if one is not None]

    async def _tried[Got](self, ask: Callable[[], Awaitable[Got | None]]) -> Got | None:
        try:
            async with asyncio.timeout_at(self._limit):
                return await ask()  # not before: who leaves now has begun nothing that is never awaited
        except (SwitchboardError, TimeoutError) as fault:
            _log.warning("invocation %s: an image of a source: %s", self._invocation_id, type(fault).__name__)
            self._failed += 1
            return None

    async def _find(self, shown_as: str, place: _Place) -> "_Found | None":
        store, name = place
        document = await store.find(name)
        if document is None or (self._access and document.rights.forbid(self._access)):
            return None
        return _Found(shown_as, store, document)

    async def _read(self, found: "_Found") -> ImagePart | None:
        async with aclosing(found.store.read(found.document)) as pieces:
            data = b"".join([piece async for piece in pieces])
        media_type = image_type(data)
        if media_type is None or len(data) != found.document.size:
            self._failed += 1
            return None
        return ImagePart(media_type, data, found.shown_as)


@dataclass(frozen=True, slots=True)
class _Found:
    """An image that is there."""

    shown_as: str
    store: Store
    document: StoredDocument


def _thought(images: Sequence[SourceImage], wanted: str, note: str | None) -> Thought:
    described: list[Json] = [
        {"source": shown.image.name, "image": shown.image.media_type, "bytes": len(shown.image.data)}
        for shown in images
    ]
    props: dict[str, Json] = {"gpt4v_input": wanted}
    if note:
        props["note"] = note
    return Thought("Images", described, props, quotes=tuple(point for shown in images for point in shown.data_points))
