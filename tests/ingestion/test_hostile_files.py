"""Hostile files among documents: each is its own failure, and leaves nothing behind."""

from pathlib import Path

import pytest

from shared.documents.file_store import FileStore
from shared.ingestion.document import ingest_stored
from shared.ingestion.page_images import PageImages
from shared.reading.limits import UPLOAD_LIMITS
from shared.reading.sandbox import Sandbox
from tests.hostile.files import HOSTILE_FILES, tiles_pdf
from tests.ingestion.memory_index import Workplace, outcomes, reason

THREE = Path(__file__).parents[1] / "reading" / "files" / "three-pages.pdf"
MEBIBYTE = 1024 * 1024


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.sandbox = Sandbox(readers=2, memory=256 * MEBIBYTE, seconds=6, limits=UPLOAD_LIMITS)
    return place


async def test_each_hostile_file_of_a_folder_fails_and_the_others_are_indexed(place: Workplace) -> None:
    for name, make in HOSTILE_FILES.items():
        place.write(name, make())
    place.write("a.md", "Before them.")
    place.write("z.md", "After them.")
    report = await place.ingest()
    assert outcomes(report) == {"a.md": "indexed", **dict.fromkeys(sorted(HOSTILE_FILES), "failed"), "z.md": "indexed"}
    assert all(reason(report, name).endswith(".") for name in HOSTILE_FILES)
    assert set(place.index.files) == place.copies() == {"a.md", "z.md"}


@pytest.mark.parametrize("name", HOSTILE_FILES)
async def test_a_hostile_upload_fails_and_replaces_what_was_indexed(place: Workplace, name: str) -> None:
    store, target = FileStore(place.content), place.target()
    await store.keep(name, b"Harmless." if not name.endswith((".pdf", ".docx")) else THREE.read_bytes())
    await ingest_stored(name, target)
    await store.keep(name, HOSTILE_FILES[name]())
    report = await ingest_stored(name, target)
    assert (report.outcome.value, report.detail[-1]) == ("failed", ".")
    assert place.index.files == {}


async def test_a_page_that_cannot_be_painted_fails_and_leaves_no_image_and_no_copy(place: Workplace) -> None:
    place.sandbox = Sandbox(readers=2, memory=256 * MEBIBYTE, seconds=4)
    images = FileStore(place.content.parent / "pages")
    place.pages = PageImages(images, None, wanted=True)
    place.write("a.pdf", tiles_pdf())
    place.write("b.pdf", THREE.read_bytes())
    report = await place.ingest()
    assert outcomes(report) == {"a.pdf": "failed", "b.pdf": "indexed"}
    assert "takes too long" in reason(report, "a.pdf")
    assert set(place.index.files) == place.copies() == {"b.pdf"}
    assert {name async for name in images.names()} == {f"b.pdf/{number}.jpg" for number in (1, 2, 3)}
