"""What a model that sees is shown of its sources: the right images, within limits, and never a failure of the turn."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest

from shared.chat_types import Access, ChatRequest, ImagePart, Json, Message, Overrides, Passage, RequestContext, Role
from shared.core.source_images import MOST_BYTES, MOST_IMAGES, ImagesShown, SourceImages
from shared.core.sources import source_text
from shared.documents import Rights, StoredDocument
from shared.documents.blob_store import BlobStore
from shared.documents.file_store import FileStore
from shared.errors import Unavailable
from shared.events import DataPoint
from shared.runtime.late_imports import Late
from tests.stand_ins.azurite import Azurite

JPEG = b"\xff\xd8\xff\xe0 a page"
PNG = b"\x89PNG\r\n\x1a\n a figure"


def page(number: int, *, file: str = "plan.pdf", text: str = "Text.") -> Passage:
    return Passage(f"{file}-{number}-{text}", text, f"{file}#page={number}", file)


class Stores:
    """The two stores, in folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.pages = FileStore(root / "pages")
        self.documents = FileStore(root / "content")

    def put(self, place: str, data: bytes) -> None:
        path = self._root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    async def shown(
        self,
        *passages: Passage,
        refused: str | None = None,
        seconds: float = 30,
        wanted: str | None = None,
        sent: int = 0,
    ) -> ImagesShown:
        context = RequestContext("id-1", asyncio.get_running_loop().time() + seconds)
        asked = Message(Role.USER, "What?", images=(ImagePart("image/png", PNG),) * sent)
        request = ChatRequest((asked,), Overrides(use_gpt4v=True, gpt4v_input=wanted))
        return await SourceImages(Late(lambda: self.pages), Late(lambda: self.documents), refused).shown(
            request, passages, context
        )


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return Stores(tmp_path)


async def test_of_a_page_whose_new_version_names_others_there_is_no_image(azurite: Azurite) -> None:
    store = BlobStore.of(azurite.connection_string, f"pages-{uuid4()}")
    for name, rights in (("ada.pdf", Rights(("ada",))), ("all.pdf", Rights()), ("ben.pdf", Rights(("ben",)))):
        await store.keep(f"{name}/1.jpg", JPEG, rights=rights)
    deadline = asyncio.get_running_loop().time() + 30
    request = ChatRequest((Message(Role.USER, "What?"),), Overrides(use_gpt4v=True))
    sources = [page(1, file=name) for name in ("ada.pdf", "all.pdf", "ben.pdf")]
    for access, expected in ((Access("ada"), ["ada", "all"]), (None, ["ada", "all", "ben"])):
        context = RequestContext("id-1", deadline, access=access)
        shown = await SourceImages(Late(lambda: store), Late(lambda: store), None).shown(request, sources, context)
        assert names(shown) == [f"{name}.pdf#page=1" for name in expected]
    await store.aclose()


def names(shown: ImagesShown) -> list[str]:
    return [image.image.name for image in shown.images]


def note(shown: ImagesShown) -> Json:
    (thought,) = shown.thoughts
    assert thought.props
    return thought.props.get("note")


async def test_each_page_is_shown_once_in_the_order_of_the_sources(stores: Stores) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG)
    stores.put("pages/plan.pdf/3.jpg", JPEG + b"3")
    shown = await stores.shown(page(3), page(1), page(3, text="More."))
    assert names(shown) == ["plan.pdf#page=3", "plan.pdf#page=1"]
    first = shown.images[0]
    assert (first.image.media_type, first.image.data) == ("image/jpeg", JPEG + b"3")
    assert first.data_points == (DataPoint("plan.pdf#page=3", "Text."), DataPoint("plan.pdf#page=3", "More."))
    assert shown.as_asked
    (thought,) = shown.thoughts
    assert thought.title == "Images"
    assert thought.description == [
        {"source": "plan.pdf#page=3", "image": "image/jpeg", "bytes": len(JPEG) + 1},
        {"source": "plan.pdf#page=1", "image": "image/jpeg", "bytes": len(JPEG)},
    ]
    assert set(thought.quotes) == {*first.data_points, DataPoint("plan.pdf#page=1", "Text.")}


async def test_a_source_that_is_an_image_itself_is_shown(stores: Stores) -> None:
    stores.put("content/Report-6.png", PNG)
    stores.put("content/a [b].JPG", JPEG)
    shown = await stores.shown(
        Passage("1", "Text.", "Report-6.png", "Report.pdf"), Passage("2", "Text.", "a %5Bb%5D.JPG", "a [b].JPG")
    )
    assert [(image.image.name, image.image.media_type) for image in shown.images] == [
        ("Report-6.png", "image/png"),
        ("a %5Bb%5D.JPG", "image/jpeg"),
    ]


async def test_a_source_whose_name_looks_escaped_is_not_shown_as_the_one_of_the_plain_name(stores: Stores) -> None:
    stores.put("content/ben.png", PNG + b" of Ben")
    as_it_is = Passage("1", "Text.", "%62en.png", "%62en.png")
    escaped = Passage("2", "Text.", "%2562en.png", "%62en.png")
    assert names(await stores.shown(as_it_is, escaped)) == []
    stores.put("content/%62en.png", PNG)
    assert [shown.image.data for shown in (await stores.shown(as_it_is, escaped)).images] == [PNG, PNG]


async def test_by_default_the_text_goes_with_the_images_and_without_it_if_asked(stores: Stores) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG)
    passages = (page(1), page(1, text="More."), page(2))
    both = await stores.shown(*passages)
    assert both.texts(passages) == tuple(map(source_text, passages))
    alone = await stores.shown(*passages, wanted="images")
    assert alone.texts(passages) == (source_text(page(1), "(see its image)"), source_text(page(2)))


async def test_text_alone_asks_for_no_image(stores: Stores) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG)
    assert await stores.shown(page(1), wanted="text") == ImagesShown()


async def test_a_request_that_wants_neither_text_nor_images_gets_no_source_and_it_says_so(stores: Stores) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG)
    context = RequestContext("id-1", asyncio.get_running_loop().time() + 30)
    overrides = Overrides(send_text_sources=False, send_image_sources=False)
    request = ChatRequest((Message(Role.USER, "What?"),), overrides)
    shown = await SourceImages(Late(lambda: stores.pages), Late(lambda: stores.documents), None).shown(
        request, [page(1)], context
    )
    assert (shown.images, shown.as_asked, shown.texts([page(1)])) == ((), True, ())
    assert "none of the sources" in str(note(shown))


async def test_a_model_that_sees_nothing_is_shown_nothing_and_it_says_so(stores: Stores) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG)
    shown = await stores.shown(page(1), refused="It is blind.")
    assert (shown.images, shown.as_asked, note(shown)) == ((), False, "It is blind.")


async def test_where_nothing_has_an_image_the_setting_is_named(stores: Stores) -> None:
    shown = await stores.shown(page(1), Passage("2", "Text.", "leave.md", "leave.md"))
    assert not shown.as_asked
    assert "PAGE_IMAGES" in str(note(shown))


async def test_many_images_are_left_out_after_the_best(stores: Stores) -> None:
    for number in range(1, MOST_IMAGES + 3):
        stores.put(f"pages/plan.pdf/{number}.jpg", JPEG)
    shown = await stores.shown(*map(page, range(1, MOST_IMAGES + 3)))
    assert names(shown) == [f"plan.pdf#page={number}" for number in range(1, MOST_IMAGES + 1)]
    assert note(shown) == "Left out, as there would be too many or too much: 2."


async def test_images_that_the_user_sent_count_too(stores: Stores) -> None:
    for number in (1, 2):
        stores.put(f"pages/plan.pdf/{number}.jpg", JPEG)
    assert names(await stores.shown(page(1), page(2), sent=MOST_IMAGES - 1)) == ["plan.pdf#page=1"]
    assert names(await stores.shown(page(1), page(2), sent=MOST_IMAGES + 1)) == []


async def test_an_image_that_is_too_large_leaves_room_for_smaller_ones(stores: Stores) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG + bytes(MOST_BYTES))
    stores.put("pages/plan.pdf/2.jpg", JPEG)
    assert names(await stores.shown(page(1), page(2))) == ["plan.pdf#page=2"]


@pytest.mark.parametrize("data", [b"", b"no image", b"<svg/>"])
async def test_a_broken_image_is_none(stores: Stores, data: bytes) -> None:
    stores.put("pages/plan.pdf/1.jpg", data)
    stores.put("pages/plan.pdf/2.jpg", JPEG)
    shown = await stores.shown(page(1), page(2))
    assert names(shown) == ["plan.pdf#page=2"]
    assert note(shown) == "Cannot be read now: 1."


@pytest.mark.parametrize(
    "sourcepage",
    [
        "../../etc/x.png",
        "/etc/x.png",
        "a\0.png",
        "%2e%2e/x.png",
        "plan.pdf#page=",
        "plan.pdf#page=x",
        "plan.pdf#page=²",
        f"plan.pdf#page={'9' * 5000}",
        "",
    ],
)
async def test_odd_names_have_no_image(stores: Stores, sourcepage: str) -> None:
    stores.put("x.png", PNG)
    assert names(await stores.shown(Passage("1", "Text.", sourcepage, "plan.pdf"))) == []


class Faulty(FileStore):
    """A store that is down, or never answers."""

    def __init__(self, folder: Path, *, hangs: bool) -> None:
        super().__init__(folder)
        self._hangs = hangs

    async def find(self, name: str) -> StoredDocument | None:
        if not name.endswith("/1.jpg"):
            return await super().find(name)
        if self._hangs:
            await asyncio.Event().wait()
        raise Unavailable("secret words of the store")


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_fault_of_the_store_costs_its_image_and_not_the_turn(
    stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture, hangs: bool
) -> None:
    stores.put("pages/plan.pdf/2.jpg", JPEG)
    stores.pages = Faulty(tmp_path / "pages", hangs=hangs)
    with caplog.at_level(logging.WARNING):
        seconds = 1.2 if hangs else 30  # of which the last second is for the answer
        shown = await stores.shown(page(1), page(2), seconds=seconds)
    assert names(shown) == ([] if hangs else ["plan.pdf#page=2"])
    assert "Cannot be read now" in str(note(shown))
    assert "id-1" in caplog.text
    assert "secret" not in caplog.text


async def test_who_leaves_before_the_first_image_is_asked_for_leaves_nothing_begun(stores: Stores) -> None:
    looking = asyncio.create_task(stores.shown(page(1), page(2)))
    await asyncio.sleep(0)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking


class CutOff(FileStore):
    """A store that sends less than it said."""

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        async for piece in super().read(document, start, length):
            yield piece[:4]


async def test_an_image_that_is_cut_off_is_none(stores: Stores, tmp_path: Path) -> None:
    stores.put("pages/plan.pdf/1.jpg", JPEG)
    stores.pages = CutOff(tmp_path / "pages")
    assert names(await stores.shown(page(1))) == []
