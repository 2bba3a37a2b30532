"""A document that others put into the store becomes passages, whatever happens meanwhile; the store is Azurite's."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob.aio import ContainerClient

from shared.documents import Rights, StoredDocument
from shared.documents.blob_store import BlobStore
from shared.documents.file_store import FileStore
from shared.errors import Unavailable
from shared.ingestion.changes import ingest_stored
from shared.ingestion.document import LoadedDocument, Origin, Target, read_passages
from shared.ingestion.page_images import PageImages
from shared.reading import UnreadableError
from shared.reading.sandbox import sandbox_for_documents, sandbox_for_own_documents
from tests.hostile.files import many_pages_pdf
from tests.ingestion.memory_index import LengthEmbedder, MemoryIndex
from tests.stand_ins.azurite import Azurite

FILES = Path(__file__).parents[1] / "reading" / "files"


@dataclass(slots=True)
class Container:
    """A container, and the index that follows it."""

    client: ContainerClient
    store: BlobStore
    index: MemoryIndex = field(default_factory=MemoryIndex)
    embedder: LengthEmbedder | None = None

    async def upload(self, name: str, content: str | bytes, **metadata: str) -> None:
        await self.client.upload_blob(name, content, overwrite=True, metadata=metadata)

    async def ingest(self, name: str) -> tuple[str, str]:
        report = await ingest_stored(name, Target(self.index, self.embedder, self.store))
        assert report.name == name
        return report.outcome.value, report.detail

    def texts(self, name: str) -> list[str]:
        return [passage.content for passage in self.index.passages(name)] if name in self.index.files else []


@pytest.fixture
async def container(azurite: Azurite) -> AsyncGenerator[Container]:
    name = f"content-{uuid4()}"
    async with ContainerClient.from_connection_string(azurite.connection_string, name) as client:
        await client.create_container()
        store = BlobStore.of(azurite.connection_string, name)
        yield Container(client, store)
        await store.aclose()


async def test_a_document_comes_changes_and_goes(container: Container) -> None:
    await container.upload("leave/a.md", "First.")
    assert await container.ingest("leave/a.md") == ("indexed", "1 passage")
    (passage,) = container.index.passages("leave/a.md")
    assert (passage.sourcefile, passage.sourcepage, passage.category) == ("leave/a.md", "leave/a.md", "leave")
    await container.upload("leave/a.md", "Second.")
    assert await container.ingest("leave/a.md") == ("indexed", "1 passage")
    assert container.texts("leave/a.md") == ["Second."]
    await container.client.delete_blob("leave/a.md")
    for _ in range(2):
        assert await container.ingest("leave/a.md") == ("removed", "")
        assert container.index.files == {}


async def test_what_is_told_twice_is_done_once(container: Container) -> None:
    container.embedder = LengthEmbedder()
    await container.upload("a.pdf", (FILES / "three-pages.pdf").read_bytes())
    await container.ingest("a.pdf")
    assert container.index.writes == ["a.pdf"]
    assert await container.ingest("a.pdf") == ("unchanged", "")
    await container.upload("a.pdf", (FILES / "three-pages.pdf").read_bytes())
    assert await container.ingest("a.pdf") == ("unchanged", "")
    assert (container.index.writes, len(container.embedder.batches)) == (["a.pdf"], 1)


async def test_rights_are_the_stores_and_a_change_of_them_counts(container: Container) -> None:
    await container.upload("a.md", "Text.", Oids="ada, ben", groups="staff")
    await container.ingest("a.md")
    (passage,) = container.index.passages("a.md")
    assert (passage.oids, passage.groups) == (("ada", "ben"), ("staff",))
    await container.client.get_blob_client("a.md").set_blob_metadata({"groups": "ada"})
    assert await container.ingest("a.md") == ("indexed", "1 passage")
    (passage,) = container.index.passages("a.md")
    assert (passage.oids, passage.groups) == ((), ("ada",))
    await container.client.get_blob_client("a.md").set_blob_metadata({"oids": "ada"})
    assert await container.ingest("a.md") == ("indexed", "1 passage")


async def test_images_of_a_new_version_name_those_who_may_see_it_before_the_index_follows(
    azurite: Azurite, container: Container
) -> None:
    images = BlobStore.of(azurite.connection_string, f"pages-{uuid4()}")
    target = Target(container.index, None, container.store, PageImages(images, None, wanted=True))
    container.index.fault = Unavailable("It is full.")
    await container.upload("a.pdf", (FILES / "three-pages.pdf").read_bytes(), oids="ada", groups="staff")
    with pytest.raises(Unavailable, match="full"):
        await ingest_stored("a.pdf", target)
    names = [name async for name in images.names()]
    assert len(names) == 3
    for name in names:
        image = await images.find(name)
        assert image
        assert image.rights == Rights(("ada",), ("staff",))
    await images.aclose()


@pytest.mark.parametrize(
    ("name", "expected", "reason"),
    [
        ("music.mp3", "skipped", "no format"),
        ("README", "skipped", "no format"),
        (".hidden.md", "skipped", "hidden"),
        (".git/a.md", "skipped", "hidden"),
        ("a//b.md", "failed", "rename it"),
        ("../a.md", "failed", "rename it"),
        ("", "failed", "rename it"),
        ("two\nlines.md", "failed", "rename it"),
        ("a\tb.md", "failed", "rename it"),
    ],
)
async def test_what_is_no_document_is_told_and_touches_nothing(
    container: Container, name: str, expected: str, reason: str
) -> None:
    if name and not name.startswith(".."):
        await container.upload(name, "Text.")
    outcome, detail = await container.ingest(name)
    assert outcome == expected
    assert reason in detail
    assert container.index.writes == []


async def test_what_cannot_be_read_is_final_and_leaves_nothing_in_the_index(container: Container) -> None:
    await container.upload("a.pdf", (FILES / "three-pages.pdf").read_bytes())
    await container.ingest("a.pdf")
    for content, reason in (((FILES / "damaged.pdf").read_bytes(), "damaged"), (b"", "empty")):
        await container.upload("a.pdf", content)
        outcome, detail = await container.ingest("a.pdf")
        assert (outcome, container.index.files) == ("failed", {})
        assert reason in detail
    assert await container.store.find("a.pdf")


class Counting(FileStore):
    """A store that tells how often a document was read."""

    reads = 0

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        self.reads += 1
        async for piece in super().read(document, start, length):
            yield piece


async def test_what_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(100 * 1024 * 1024 + 1)
    store = Counting(tmp_path)
    report = await ingest_stored("huge.txt", Target(MemoryIndex(), None, store))
    assert store.reads == 0
    assert (report.outcome.value, report.detail) == ("failed", "is larger than 100 MiB; split it.")


async def test_a_fault_of_the_moment_is_raised_and_the_index_stays_as_it_was(container: Container) -> None:
    container.embedder = LengthEmbedder()
    await container.upload("a.md", "Old.")
    await container.ingest("a.md")
    await container.upload("a.md", "New.")
    container.embedder.fault = Unavailable("The embedding service is down.")
    with pytest.raises(Unavailable):
        await container.ingest("a.md")
    assert container.texts("a.md") == ["Old."]
    container.embedder.fault = None
    assert await container.ingest("a.md") == ("indexed", "1 passage")


async def test_a_storage_account_that_is_gone_is_no_deleted_document(container: Container) -> None:
    async with Azurite() as service:
        gone = BlobStore.of(service.connection_string, "content")
    await container.upload("a.md", "Text.")
    await container.ingest("a.md")
    with pytest.raises(Unavailable):
        await ingest_stored("a.md", Target(container.index, None, gone))
    await gone.aclose()
    assert container.texts("a.md") == ["Text."]


class Meanwhile(LengthEmbedder):
    """An embedder in whose time things happen, one at each call."""

    def __init__(self, *happening: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.happening = list(happening)

    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        if self.happening:
            await self.happening.pop(0)()
        return await super().embed(texts)


async def test_a_change_while_it_is_indexed_is_what_the_index_holds_in_the_end(container: Container) -> None:
    async def change() -> None:
        await container.upload("a.md", "Second.", oids="ada")

    container.embedder = Meanwhile(change)
    await container.upload("a.md", "First.")
    assert await container.ingest("a.md") == ("indexed", "1 passage")
    assert container.texts("a.md") == ["Second."]
    assert container.index.passages("a.md")[0].oids == ("ada",)


async def test_a_document_that_goes_while_it_is_indexed_is_not_in_the_index(container: Container) -> None:
    async def delete() -> None:
        await container.client.delete_blob("a.md")

    container.embedder = Meanwhile(delete)
    await container.upload("a.md", "Text.")
    assert await container.ingest("a.md") == ("removed", "")
    assert container.index.files == {}


async def test_a_document_that_changes_all_the_time_is_tried_again_later(container: Container) -> None:
    async def change() -> None:
        await container.upload("a.md", f"Version {uuid4()}.")

    container.embedder = Meanwhile(change, change, change)
    await container.upload("a.md", "First.")
    with pytest.raises(Unavailable, match="again and again"):
        await container.ingest("a.md")


async def test_of_several_at_once_the_last_to_write_has_the_present_state(container: Container) -> None:
    """The first is held up until the second, which was told of the next version, is done."""
    done = asyncio.Event()

    async def wait() -> None:
        await container.upload("a.md", "Second.")
        second = asyncio.create_task(container.ingest("a.md"))
        second.add_done_callback(lambda _: done.set())
        await asyncio.wait_for(done.wait(), 60)

    container.embedder = Meanwhile(wait)
    await container.upload("a.md", "First.")
    await container.ingest("a.md")
    assert container.texts("a.md") == ["Second."]
    assert container.index.writes == ["a.md", "a.md", "a.md"]


async def test_a_persons_own_document_may_hold_as_much_as_an_attachment(tmp_path: Path) -> None:
    sandboxes = sandbox_for_documents(), sandbox_for_own_documents()
    target = Target(MemoryIndex(), None, FileStore(tmp_path), None, None, *sandboxes)
    pages = many_pages_pdf(501, words=1)
    for name, says in (("a.pdf", "holds no text"), (".people/ada/a.pdf", "more than 500 pages")):
        with pytest.raises(UnreadableError, match=says):
            await read_passages(LoadedDocument(name, pages, Origin.STORED, "1", Rights()), target)
