"""Images of a turn's sources, for a model that takes images (`use_gpt4v`, `send_image_sources`).

For a page of a PDF it is the image that ingestion made of the page. A source can also be an image itself, as in the
index of azure-search-openai-demo; then it is that document. The turn goes on without images that are missing or broken.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import unquote

import msgspec

from shared.chat_types import Access, ChatRequest, ImagePart, Json, Overrides, Passage, RequestContext
from shared.core.sources import source_text
from shared.documents import DocumentReader, StoredDocument, media_types, own, page_image
from shared.errors import SwitchboardError, Unavailable
from shared.events import DataPoint, SourceImage, Thought
from shared.runtime.late_imports import Late

_log = logging.getLogger("switchboard.images")

MOST_IMAGES = 10
"""Images in a prompt, including those that the user sent. Source: Azure OpenAI, 'Use vision-enabled chat models'."""
MOST_BYTES = 3 * 1024 * 1024
"""Bytes of all of them together. They go out with the answer too: a third longer, and twice in some protocols."""
LOAD_TIMEOUT_SECONDS = 5.0
"""How long the answer waits for images."""
_ANSWER_SECONDS = 1.0
"""Loading stops this long before the turn's deadline, so that the model can still answer without images."""

_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_NONE_FOUND = (
    "None of the sources has an image. PAGE_IMAGES=true makes images of the pages of PDF files when they are indexed."
)
_NONE_WANTED = "The request has send_text_sources and send_image_sources off: the model is given none of the sources."


def sources_as(overrides: Overrides) -> str:
    """Return how the model gets its sources: as `text`, `textAndImages`, `images`, or `none`.

    The documents' overrides are `use_gpt4v` and `gpt4v_input`. The newest front end of azure-search-openai-demo sends
    `send_text_sources` and `send_image_sources` instead, with each question; only these can ask for none. `use_gpt4v`
    takes precedence.
    """
    if overrides.use_gpt4v is not None:
        return (overrides.gpt4v_input or "textAndImages") if overrides.use_gpt4v else "text"
    text = overrides.send_text_sources is not False
    images = (not text) if overrides.send_image_sources is None else overrides.send_image_sources
    if text:
        return "textAndImages" if images else "text"
    return "images" if images else "none"


def asks_for_more_than_text(overrides: Overrides) -> str | None:
    """Return the name of the override that asks for anything but the sources' text; None if none does."""
    if sources_as(overrides) == "text":
        return None
    if overrides.use_gpt4v:
        return "use_gpt4v"
    return "send_image_sources" if overrides.send_image_sources else "send_text_sources"


class ImagesShown(msgspec.Struct, frozen=True):
    """The images for the model, and how the prompt presents the sources beside them."""

    images: tuple[SourceImage, ...] = ()
    """Best source first; each image is named by its `sourcepage`."""
    as_asked: bool = True
    """Whether the images that the request asks for are there; true if it asks for none."""
    thoughts: tuple[Thought, ...] = ()
    """The thought about images; none if the request does not ask for images."""
    without_text: bool = False
    """Whether the prompt leaves out the text of a source that has an image."""
    without_sources: bool = False
    """Whether the model gets no sources, neither text nor images."""

    def texts(self, passages: Sequence[Passage]) -> tuple[str, ...]:
        """Return the parts of the prompt that hold the sources."""
        if self.without_sources:
            return ()
        if not self.without_text:
            return tuple(map(source_text, passages))
        shown = {shown.image.name for shown in self.images}
        texts = (
            source_text(passage, "(see its image)" if passage.sourcepage in shown else None) for passage in passages
        )
        return tuple(dict.fromkeys(texts))


class SourceImages:
    """Finds the images of sources.

    Args:
        pages: Holds the images of pages.
        documents: Holds the documents.
        refused: A sentence that says why the model gets no images; None if it takes them.
    """

    def __init__(self, pages: Late[DocumentReader], documents: Late[DocumentReader], refused: str | None) -> None:
        self._pages = pages
        self._documents = documents
        self._refused = refused

    async def shown(self, request: ChatRequest, passages: Sequence[Passage], context: RequestContext) -> ImagesShown:
        """Load the images of these passages that the request's overrides ask for."""
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
        limit = min(asyncio.get_running_loop().time() + LOAD_TIMEOUT_SECONDS, context.deadline - _ANSWER_SECONDS)
        sent = sum(len(message.images) for message in request.messages)
        parts, note = await _loaded(places, MOST_IMAGES - sent, limit, context)
        images = tuple(SourceImage(tuple(on_page[part.name]), part) for part in parts)
        thought = _thought(images, wanted, note)
        return ImagesShown(images, as_asked=bool(images), thoughts=(thought,), without_text=wanted == "images")

    def _place(self, passage: Passage) -> "_Place | None":
        """Return where the image of a passage is, if there is one."""
        if page := passage.page:
            return self._pages, page_image(passage.sourcefile, page)
        # Our ingestion escapes some characters in `sourcepage`. A name in a foreign index can look escaped and not be:
        # unescaped it would name another document, perhaps one that the caller may not see.
        is_ours = unquote(passage.sourcepage) == passage.sourcefile
        name = passage.sourcefile if is_ours else passage.sourcepage
        return (self._documents, name) if PurePosixPath(name).suffix.lower() in _SUFFIXES else None


type _Place = tuple[Late[DocumentReader], str]
"""A store, and the name of a document in it."""


async def _loaded(
    places: Mapping[str, _Place], most: int, limit: float, context: RequestContext
) -> tuple[list[ImagePart], str | None]:
    """Load images within the limits, in this order, each named by its key; and say in sentences which are missing.

    All are looked for at once, and then read at once. One that fails stops no other.
    """
    failed = 0

    async def tried[T](call: Callable[[], Awaitable[T | None]]) -> T | None:
        nonlocal failed
        try:
            async with asyncio.timeout_at(limit):
                return await call()  # called here: a coroutine made earlier is never awaited if the turn is cancelled
        except (SwitchboardError, TimeoutError) as error:
            _log.warning("invocation %s: an image of a source: %s", context.invocation_id, type(error).__name__)
            failed += 1
            return None

    finding = (tried(partial(_find, name, place, context.access)) for name, place in places.items())
    found = [*filter(None, await asyncio.gather(*finding))]
    chosen: list[_Found] = []
    room = MOST_BYTES
    for one in found:
        if len(chosen) < most and one.document.size <= room:
            room -= one.document.size
            chosen.append(one)
    parts = [*filter(None, await asyncio.gather(*(tried(partial(_read, one)) for one in chosen)))]
    left_out = len(found) - len(chosen)
    notes = (
        "" if found or failed else _NONE_FOUND,
        f"Left out, as there would be too many or too much: {left_out}." if left_out else "",
        f"Cannot be read now: {failed}." if failed else "",
    )
    return parts, " ".join(filter(None, notes)) or None


class _Found(msgspec.Struct, frozen=True):
    """A document that is an image, and the name it gets in the prompt."""

    shown_as: str
    store: DocumentReader
    document: StoredDocument


async def _find(shown_as: str, place: _Place, access: Access | None) -> _Found | None:
    late, name = place
    store = await late.get()
    document = await store.find(own.stored_name(name, access))
    if document is None or (access and document.rights.forbid(access)):
        return None
    return _Found(shown_as, store, document)


async def _read(found: _Found) -> ImagePart:
    async with aclosing(found.store.read(found.document)) as pieces:
        data = b"".join([piece async for piece in pieces])
    media_type = media_types.image_type(data)
    if media_type is None or len(data) != found.document.size:
        raise Unavailable("The image is broken.")
    return ImagePart(media_type, data, found.shown_as)


def _thought(images: Sequence[SourceImage], wanted: str, note: str | None) -> Thought:
    described: list[Json] = [
        {"source": shown.image.name, "image": shown.image.media_type, "bytes": len(shown.image.data)}
        for shown in images
    ]
    props: dict[str, Json] = {"gpt4v_input": wanted}
    if note:
        props["note"] = note
    return Thought("Images", described, props, quotes=tuple(point for shown in images for point in shown.data_points))
