"""Hostile files among documents: each is its own failure, and leaves nothing behind."""

from pathlib import Path

import pytest

from shared.documents.file_store import FileStore
from shared.ingestion.changes import ingest_stored
from shared.ingestion.page_images import PageImages
from shared.reading.limits import UPLOAD_LIMITS
from shared.reading.sandbox import Sandbox, sandbox_for_documents
from tests.documents.store_contract import replace
from tests.hostile.files import ENDLESS, ENDS, HOSTILE_FILES, tiles_pdf
from tests.ingestion.memory_index import Workplace, outcomes, reason

THREE = Path(__file__).parents[1] / "reading" / "files" / "three-pages.pdf"
MEBIBYTE = 1024 * 1024


@pytest.fixture
async def place(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    started = sandbox_for_documents()  # so that loading parsers and the vocabulary counts for no file
    await started.read(b"<p>The server runs.", ".html")
    await started.split("a.md", ["The server runs."], 1)
    place.sandbox = Sandbox(readers=2, memory=256 * MEBIBYTE, seconds=3, limits=UPLOAD_LIMITS)
    return place


async def test_each_hostile_file_of_a_folder_fails_and_the_others_are_indexed(place: Workplace) -> None:
    for name in ENDS:
        place.write(name, HOSTILE_FILES[name]())
    place.write("a.md", "Before them.")
    place.write("z.md", "After them.")
    report = await place.ingest()
    assert outcomes(report) == {"a.md": "indexed", **dict.fromkeys(sorted(ENDS), "failed"), "z.md": "indexed"}
    assert all(says in reason(report, name) for name, says in ENDS.items())
    assert set(place.index.files) == place.copies() == {"a.md", "z.md"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in ENDLESS else ()) for name in ENDS]
)
async def test_a_hostile_upload_fails_and_replaces_what_was_indexed(place: Workplace, name: str) -> None:
    store, target = FileStore(place.content), place.target()
    await store.keep(name, THREE.read_bytes() if name.endswith(".pdf") else b"a,b\n1,2")
    await ingest_stored(name, target)
    await replace(store, name, HOSTILE_FILES[name]())
    report = await ingest_stored(name, target)
    assert report.outcome.value == "failed"
    assert ENDS[name] in report.detail
    assert place.index.files == {}


async def test_a_page_that_cannot_be_painted_fails_and_leaves_no_image_and_no_copy(place: Workplace) -> None:
    images = FileStore(place.content.parent / "pages")
    place.pages = PageImages(images, None, wanted=True)
    place.write("a.pdf", tiles_pdf())
    place.write("b.pdf", THREE.read_bytes())
    report = await place.ingest()
    assert outcomes(report) == {"a.pdf": "failed", "b.pdf": "indexed"}
    assert "takes too long" in reason(report, "a.pdf")
    assert set(place.index.files) == place.copies() == {"b.pdf"}
    assert {name async for name in images.names()} == {f"b.pdf/{number}.jpg" for number in (1, 2, 3)}
