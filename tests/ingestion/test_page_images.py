"""Images of pages are made with the passages of a PDF, replaced and removed with them."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from pydantic import SecretStr
from pypdfium2 import PdfDocument

from shared.documents import StoredDocument
from shared.documents.file_store import FileStore
from shared.errors import Unavailable
from shared.ingestion.changes import ingest_stored
from shared.ingestion.page_images import PageImages
from shared.reading.pdf import MAX_IMAGE_BYTES, MAX_IMAGE_SIDE, render_pages
from shared.retrieval.embedders.azure_vision import VisionEmbedder
from tests.ingestion.memory_index import LengthEmbedder, Workplace, outcomes, reason
from tests.stand_ins.vision import VisionStandIn

FILES = Path(__file__).parents[1] / "reading" / "files"
THREE = FILES / "three-pages.pdf"


class Pictured(Workplace):
    """A folder of documents, whose pages get images."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.folder = root / "data" / "pages"
        self.vision: VisionEmbedder | None = None
        self.make(wanted=True)

    def make(self, *, wanted: bool) -> PageImages:
        self.pages = PageImages(FileStore(self.folder), self.vision, wanted=wanted)
        return self.pages

    def images(self) -> set[str]:
        return {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path) -> Pictured:
    return Pictured(tmp_path)


@pytest.fixture
async def vision() -> AsyncGenerator[VisionStandIn]:
    async with VisionStandIn() as stand_in:
        yield stand_in


async def test_each_page_with_passages_has_an_image_of_a_bounded_size(place: Pictured) -> None:
    place.write("leave/a.pdf", THREE.read_bytes())
    place.write("b.md", "Text.")
    await place.ingest()
    assert place.images() == {f"leave/a.pdf/{number}.jpg" for number in (1, 2, 3)}
    for name in place.images():
        data = (place.folder / name).read_bytes()
        picture = Image.open(BytesIO(data))
        assert picture.format == "JPEG"
        assert MAX_IMAGE_SIDE <= max(picture.size) <= MAX_IMAGE_SIDE + 1
        assert len(data) <= MAX_IMAGE_BYTES


async def test_without_the_setting_there_are_none_and_switching_it_makes_or_removes_them(place: Pictured) -> None:
    place.write("a.pdf", THREE.read_bytes())
    place.write("b.md", "Text.")
    place.make(wanted=False)
    await place.ingest()
    assert place.images() == set()
    place.make(wanted=True)
    assert outcomes(await place.ingest()) == {"a.pdf": "indexed", "b.md": "unchanged"}
    assert len(place.images()) == 3
    assert outcomes(await place.ingest()) == {"a.pdf": "unchanged", "b.md": "unchanged"}
    place.make(wanted=False)
    await place.ingest()
    assert place.images() == set()


async def test_images_are_replaced_and_removed_with_their_document(place: Pictured) -> None:
    place.write("a.pdf", THREE.read_bytes())
    place.write("a.pdf.pdf", THREE.read_bytes())
    await place.ingest()
    first = (place.folder / "a.pdf" / "1.jpg").read_bytes()
    shutil.copy(FILES / "two-columns.pdf", place.docs / "a.pdf")
    await place.ingest()
    with_text = {passage.sourcepage.partition("#page=")[2] for passage in place.index.passages("a.pdf")}
    assert {name for name in place.images() if name.startswith("a.pdf/")} == {f"a.pdf/{n}.jpg" for n in with_text}
    assert (place.folder / "a.pdf" / "1.jpg").read_bytes() != first
    (place.docs / "a.pdf").unlink()
    await place.ingest()
    assert place.images() == {f"a.pdf.pdf/{number}.jpg" for number in (1, 2, 3)}
    place.write("a.pdf.pdf", b"no pdf")
    await place.ingest()
    assert place.images() == set()


async def test_a_document_whose_name_begins_with_anothers_keeps_its_images(place: Pictured) -> None:
    store = FileStore(place.content)
    for name in ("x/a.pdf", "x/a.pdf.d/b.pdf"):
        await store.keep(name, THREE.read_bytes())
        await ingest_stored(name, place.target())
    pages = FileStore(place.folder)
    await pages.keep("x/a.pdf/b.pdf/1.jpg", THREE.read_bytes())  # as a container, unlike a folder, could have it
    await store.remove("x/a.pdf")
    await ingest_stored("x/a.pdf", place.target())
    assert place.images() == {"x/a.pdf/b.pdf/1.jpg", *(f"x/a.pdf.d/b.pdf/{number}.jpg" for number in (1, 2, 3))}


async def test_each_passage_has_the_vector_of_its_pages_image(place: Pictured, vision: VisionStandIn) -> None:
    place.vision = VisionEmbedder(vision.endpoint, SecretStr(vision.key))
    pages = place.make(wanted=True)
    place.write("a.pdf", THREE.read_bytes())
    place.write("b.md", "Text.")
    await place.ingest()
    assert place.index.image_vectors["b.md"] is None
    vectors = place.index.image_vectors["a.pdf"]
    assert vectors
    passages = place.index.passages("a.pdf")
    assert len(vectors) == len(passages)
    by_page = {passage.sourcepage: vector for passage, vector in zip(passages, vectors, strict=True)}
    assert len({str(vector) for vector in by_page.values()}) == len(vision.images) == 3
    await pages.aclose()


async def test_a_fault_of_the_vectors_leaves_the_document_for_the_next_time(
    place: Pictured, vision: VisionStandIn
) -> None:
    place.vision = VisionEmbedder(vision.endpoint, SecretStr(vision.key))
    pages = place.make(wanted=True)
    place.write("a.pdf", THREE.read_bytes())
    vision.fail(401)
    report = await place.ingest()
    assert "AZURE_VISION_API_KEY" in reason(report, "a.pdf")
    assert place.index.files == {}
    assert outcomes(await place.ingest()) == {"a.pdf": "indexed"}
    await pages.aclose()


async def test_a_pdf_that_is_damaged_while_it_is_indexed_is_indexed_as_it_was_read(place: Pictured) -> None:
    class Meanwhile(LengthEmbedder):
        async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
            await asyncio.to_thread(shutil.copy, FILES / "damaged.pdf", place.docs / "a.pdf")
            return await super().embed(texts)

    place.embedder = Meanwhile()
    place.write("a.pdf", THREE.read_bytes())
    assert outcomes(await place.ingest()) == {"a.pdf": "indexed"}
    assert place.images() == {f"a.pdf/{number}.jpg" for number in (1, 2, 3)}
    assert (place.content / "a.pdf").read_bytes() == THREE.read_bytes()
    report = await place.ingest()
    assert "damaged" in reason(report, "a.pdf")
    assert place.images() == set()


async def test_a_fault_of_the_store_leaves_the_document_for_the_next_time(place: Pictured) -> None:
    class Full(FileStore):
        async def keep(self, *_: object, **__: object) -> StoredDocument:
            raise Unavailable("The disk is full.")

    place.pages = PageImages(Full(place.folder), None, wanted=True)
    place.write("a.pdf", THREE.read_bytes())
    report = await place.ingest()
    assert reason(report, "a.pdf") == "cannot be indexed now: The disk is full."
    assert place.index.files == {}


def test_a_page_of_any_size_becomes_an_image(tmp_path: Path) -> None:
    document = PdfDocument.new()
    for width, height in ((10_000, 14_000), (1, 1), (14_000, 3)):
        document.new_page(width, height).close()
    document.save(tmp_path / "a.pdf")
    document.close()
    images = render_pages((tmp_path / "a.pdf").read_bytes(), [1, 2, 3])
    assert [number for number, _ in images] == [1, 2, 3]
    for _, data in images:
        assert max(Image.open(BytesIO(data)).size) <= MAX_IMAGE_SIDE + 1
