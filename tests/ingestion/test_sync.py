"""The index follows a container that others fill, by a listing of it: nothing is read that has not changed."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import ContainerClient

from shared.chat_types import Passage
from shared.documents import Rights, StoredDocument
from shared.documents.blob_store import BlobStore
from shared.documents.failures import failures_in, note_failure
from shared.errors import NotConfigured, Unavailable
from shared.ingestion.changes import ingest_stored
from shared.ingestion.document import Target
from shared.ingestion.ingest import sync_stored
from shared.ingestion.page_images import PageImages
from shared.retrieval import FileEntry
from tests.ingestion.memory_index import LengthEmbedder, Lines, MemoryIndex, followed, ingest, outcomes, reason
from tests.stand_ins.azurite import Azurite

FILES = Path(__file__).parents[1] / "reading" / "files"


class WatchedStore(BlobStore):
    """A container's documents: it tells what was read, and in the time of reading or listing things may happen."""

    def __init__(self, container: ContainerClient) -> None:
        super().__init__(container)
        self.reads: list[str] = []
        self.before_reading: list[Callable[[], Awaitable[object]]] = []
        self.after_listing: list[Callable[[], Awaitable[object]]] = []
        self.after_finding: list[Callable[[], Awaitable[object]]] = []

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        self.reads.append(document.name)
        if self.before_reading:
            await self.before_reading.pop(0)()
        async for piece in super().read(document, start, length):
            yield piece

    async def find(self, name: str) -> StoredDocument | None:
        found = await super().find(name)
        if self.after_finding:
            await self.after_finding.pop(0)()
        return found

    async def find_all(
        self, after: str = "", wanted: Callable[[str], bool] | None = None
    ) -> AsyncGenerator[StoredDocument]:
        async for document in super().find_all(after, wanted):
            yield document
        while self.after_listing:
            await self.after_listing.pop(0)()


class Place:
    """A container, and the index that follows it."""

    def __init__(self, connection: str, root: Path) -> None:
        name = f"content-{uuid4()}"
        self.client = ContainerClient.from_connection_string(
            connection, name, max_single_put_size=1024, max_block_size=1024
        )
        self.store = WatchedStore(ContainerClient.from_connection_string(connection, name))
        self.images = BlobStore.of(connection, f"{name}-pages")
        self.index = MemoryIndex()
        self.embedder: LengthEmbedder | None = None
        self.with_images = False
        self.lines = Lines()
        self.docs = root

    def target(self) -> Target:
        pages = PageImages(self.images, None, wanted=self.with_images)
        return Target(self.index, self.embedder, self.store, pages)

    async def upload(self, name: str, content: str | bytes, **metadata: str) -> None:
        await self.client.upload_blob(name, content, overwrite=True, metadata=metadata)

    async def describe(self, name: str, **metadata: str) -> None:
        await self.client.get_blob_client(name).set_blob_metadata(metadata)

    async def sync(self) -> dict[str, str]:
        return outcomes(await self.report())

    async def report(self) -> Lines:
        self.index.writes.clear()
        self.store.reads.clear()
        self.lines = await followed(partial(sync_stored, self.target()))
        return self.lines

    async def ingest_folder(self) -> dict[str, str]:
        return outcomes(await ingest(self.docs, self.target()))

    async def failures(self) -> dict[str, str]:
        return {one.name: one.detail for one in await failures_in("", self.store, None)}

    def texts(self, name: str) -> list[str]:
        return [passage.content for passage in self.index.passages(name)]

    async def image_names(self) -> set[str]:
        return {name async for name in self.images.names()}


@pytest.fixture
async def place(azurite: Azurite, tmp_path: Path) -> AsyncGenerator[Place]:
    place = Place(azurite.connection_string, tmp_path)
    async with place.client:
        await place.client.create_container()
        yield place
        await place.store.aclose()
        await place.images.aclose()


LARGE = "Long. " * 1000
"""More than the client sends at once: the service makes no MD5 of it."""


async def test_documents_come_change_and_go(place: Place) -> None:
    await place.upload("leave/a.md", "First.")
    await place.upload("b.md", "Text.")
    await place.upload("c.md", "Text.")
    assert await place.sync() == {"leave/a.md": "indexed", "b.md": "indexed", "c.md": "indexed"}
    await place.upload("leave/a.md", "Second.")
    await place.client.delete_blob("b.md")
    await place.upload("d.md", "Text.")
    assert await place.sync() == {"leave/a.md": "indexed", "b.md": "removed", "c.md": "unchanged", "d.md": "indexed"}
    assert place.texts("leave/a.md") == ["Second."]
    assert set(place.index.files) == {"leave/a.md", "c.md", "d.md"}


async def test_what_is_unchanged_is_neither_read_nor_written(place: Place) -> None:
    await place.upload("small.md", "Text.", groups="staff", oids="")
    await place.upload("large.md", LARGE, Oids="ada, ben")
    (place.docs / "brought.md").write_text("Text.")
    await place.ingest_folder()
    await ingest_stored("small.md", place.target())
    await ingest_stored("large.md", place.target())
    assert await place.sync() == {"small.md": "unchanged", "large.md": "unchanged", "brought.md": "unchanged"}
    assert (place.store.reads, place.index.writes) == ([], [])


async def test_the_same_bytes_written_anew_are_not_indexed_again_and_with_an_md5_not_even_read(place: Place) -> None:
    await place.upload("small.md", "Text.")
    await place.upload("large.md", LARGE)
    await place.sync()
    await place.upload("small.md", "Text.", note="By somebody else.")
    await place.upload("large.md", LARGE)
    assert await place.sync() == {"small.md": "unchanged", "large.md": "unchanged"}
    assert (place.store.reads, place.index.writes) == (["large.md"], [])


async def test_a_blob_that_grows_is_indexed_again_though_its_md5_stays(place: Place) -> None:
    blob = place.client.get_blob_client("log.txt")
    await blob.create_append_blob(content_settings=ContentSettings(content_md5=bytearray(16)))
    await blob.append_block(b"One. ")
    await place.sync()
    await blob.append_block(b"Two.")
    assert await place.sync() == {"log.txt": "indexed"}
    assert place.texts("log.txt") == ["One. Two."]


async def test_rights_that_change_in_the_metadata_count(place: Place) -> None:
    await place.upload("a.md", "Text.", oids="ada")
    (place.docs / "brought.md").write_text("Text.")
    await place.ingest_folder()
    await place.sync()
    await place.describe("a.md", groups="ada")
    await place.describe("brought.md", switchboard="kept", groups="staff")
    assert await place.sync() == {"a.md": "indexed", "brought.md": "indexed"}
    assert [place.index.passages(name)[0].groups for name in ("a.md", "brought.md")] == [("ada",), ("staff",)]
    assert place.index.passages("a.md")[0].oids == ()
    await place.describe("a.md", groups="")
    assert await place.sync() == {"a.md": "indexed", "brought.md": "unchanged"}
    assert place.index.passages("a.md")[0].oids == ("nobody",)
    assert await place.sync() == {"a.md": "unchanged", "brought.md": "unchanged"}


async def test_what_came_from_a_folder_and_what_others_indexed_stays(place: Place) -> None:
    (place.docs / "brought.md").write_text("Text.")
    (place.docs / "lost.md").write_text("Text.")
    await place.ingest_folder()
    await place.client.delete_blob("lost.md")
    for name, mark in (("demo.pdf", ""), ("other.pdf", "0123abcd"), ("third.pdf", "stores: no")):
        await place.index.replace(FileEntry(name, mark, [Passage("1", "Text.", name, name)]))
    await place.upload("a.md", "Text.")
    assert await place.sync() == {"a.md": "indexed", "brought.md": "unchanged"}
    assert set(place.index.files) == {"a.md", "brought.md", "lost.md", "demo.pdf", "other.pdf", "third.pdf"}
    await place.client.delete_blob("a.md")
    assert await place.sync() == {"a.md": "removed", "brought.md": "unchanged"}


async def test_what_another_deployment_brought_from_a_folder_is_indexed_as_such(place: Place) -> None:
    (place.docs / "brought.md").write_text("Text.")
    await place.ingest_folder()
    place.index = MemoryIndex()
    assert await place.sync() == {"brought.md": "indexed"}
    (place.docs / "brought.md").rename(place.docs / "other.md")
    assert await place.ingest_folder() == {"brought.md": "removed", "other.md": "indexed"}


async def test_what_others_have_written_over_a_copy_from_a_folder_is_theirs_though_it_is_the_same(place: Place) -> None:
    (place.docs / "a.md").write_text("Text.")
    (place.docs / "b.md").write_text("Text.")
    await place.ingest_folder()
    await place.upload("a.md", "Text.")
    assert await place.sync() == {"a.md": "indexed", "b.md": "unchanged"}
    (place.docs / "a.md").unlink()
    assert await place.ingest_folder() == {"b.md": "unchanged"}
    assert await place.sync() == {"a.md": "unchanged", "b.md": "unchanged"}
    assert place.store.reads == []
    await place.client.delete_blob("a.md")
    assert await place.sync() == {"a.md": "removed", "b.md": "unchanged"}


async def test_a_new_embedding_model_is_followed(place: Place) -> None:
    await place.upload("a.md", "Text.")
    await place.sync()
    place.embedder = LengthEmbedder()
    assert await place.sync() == {"a.md": "indexed"}
    assert place.index.vectors["a.md"]
    assert await place.sync() == {"a.md": "unchanged"}
    place.embedder = LengthEmbedder("length-2")
    assert await place.sync() == {"a.md": "indexed"}


async def test_images_of_pages_follow_the_setting_the_rights_and_the_document(place: Place) -> None:
    await place.upload("a.pdf", (FILES / "three-pages.pdf").read_bytes())
    await place.upload("b.md", "Text.")
    await place.sync()
    place.with_images = True
    assert await place.sync() == {"a.pdf": "indexed", "b.md": "unchanged"}
    images = {"a.pdf/1.jpg", "a.pdf/2.jpg", "a.pdf/3.jpg"}
    assert await place.image_names() == images
    await place.describe("a.pdf", groups="staff")
    await place.sync()
    assert {image.rights async for image in place.images.find_all()} == {Rights((), ("staff",))}
    place.with_images = False
    assert await place.sync() == {"a.pdf": "indexed", "b.md": "unchanged"}
    assert await place.image_names() == set()
    place.with_images = True
    await place.sync()
    await place.client.delete_blob("a.pdf")
    assert await place.sync() == {"a.pdf": "removed", "b.md": "unchanged"}
    assert await place.image_names() == set()


async def test_what_is_no_document_is_skipped_and_what_could_be_read_once_is_removed(place: Place) -> None:
    for name in ("music.mp3", ".hidden.md", "a//b.md", "two\nlines.md", "folder"):
        await place.upload(name, "Text.", **({"hdi_isfolder": "true"} if name == "folder" else {}))
    for name in ("scan.png", "gone.png"):
        await place.index.replace(FileEntry(name, "stored:1", [Passage("1", "Text.", name, name)]))
    await place.upload("scan.png", "Text.")
    report = await place.report()
    assert outcomes(report) == {
        "music.mp3": "skipped",
        ".hidden.md": "skipped",
        "a//b.md": "failed",
        "two\nlines.md": "failed",
        "scan.png": "removed",
        "gone.png": "removed",
    }
    assert "no format" in reason(report, "music.mp3")
    assert "line break" in reason(report, "two\nlines.md")
    assert (place.index.files, place.store.reads) == ({}, [])


async def test_a_document_that_cannot_be_read_is_told_each_time_and_holds_up_no_other(place: Place) -> None:
    await place.upload("a.pdf", (FILES / "three-pages.pdf").read_bytes())
    await place.sync()
    await place.upload("a.pdf", (FILES / "damaged.pdf").read_bytes())
    await place.upload("empty.md", b"")
    await place.upload("z.md", "Text.")
    report = await place.report()
    assert outcomes(report) == {"a.pdf": "failed", "empty.md": "failed", "z.md": "indexed"}
    assert "damaged" in reason(report, "a.pdf")
    assert set(place.index.files) == {"z.md"}
    assert await place.sync() == {"a.pdf": "failed", "empty.md": "failed", "z.md": "unchanged"}
    assert list(await place.failures()) == ["a.pdf", "empty.md"]
    await place.upload("empty.md", b"No more.")
    await ingest_stored("empty.md", place.target())
    await place.client.delete_blob("a.pdf")
    await place.sync()
    assert await place.failures() == {}


async def test_what_is_noted_of_a_document_that_was_indexed_when_the_process_died_does_not_stay(place: Place) -> None:
    await place.upload("a.md", "Text.")
    await place.sync()
    await note_failure("a.md", "is damaged.", Rights(), place.store)  # as if this were not deleted yet
    await note_failure("folder.md", "is damaged.", Rights(), place.store, own=True)
    assert await place.sync() == {"a.md": "unchanged"}
    assert list(await place.failures()) == ["folder.md"]


async def test_what_is_too_large_is_not_even_read(place: Place) -> None:
    blob = place.client.get_blob_client("huge.txt")
    await blob.create_page_blob(100 * 1024 * 1024 + 512)
    report = await place.report()
    assert "larger than 100 MiB" in reason(report, "huge.txt")
    assert place.store.reads == []


async def test_a_fault_of_the_moment_is_told_and_the_next_time_goes_on(place: Place) -> None:
    await place.upload("a.md", "First.")
    await place.sync()
    await place.upload("a.md", "Second.")
    await place.upload("b.md", "Text.")
    place.index.fault = Unavailable("It is full.")
    report = await place.report()
    assert reason(report, "b.md") == "cannot be indexed now: It is full."
    assert (outcomes(report), place.texts("a.md")) == ({"a.md": "failed", "b.md": "failed"}, ["First."])
    place.index.fault = None
    assert await place.sync() == {"a.md": "indexed", "b.md": "indexed"}


async def test_an_entry_that_was_not_finished_is_written_again(place: Place) -> None:
    await place.upload("a.md", "Text.")
    await place.sync()
    mark, passages = place.index.files["a.md"]
    place.index.files["a.md"] = (f"{mark} (unfinished)", passages)
    assert await place.sync() == {"a.md": "indexed"}
    assert place.index.files["a.md"][0] == mark


async def test_what_may_be_seen_by_too_many_is_done_before_what_is_new(place: Place) -> None:
    for name in ("x.md", "y.md", "z.md"):
        await place.upload(name, "Text.")
    await place.sync()
    await place.upload("a.md", "Text.")
    await place.describe("y.md", oids="ada")
    await place.client.delete_blob("z.md")
    await place.sync()
    assert place.lines.read == place.index.writes == ["z.md", "y.md", "a.md"]


async def test_without_its_container_or_with_an_empty_one_nothing_is_removed(azurite: Azurite, place: Place) -> None:
    await place.upload("a.md", "Text.")
    await place.sync()
    elsewhere = BlobStore.of(azurite.connection_string, f"content-{uuid4()}")
    with pytest.raises(NotConfigured, match="CONTENT_CONTAINER"):
        await sync_stored(Target(place.index, None, elsewhere), place.lines)
    await elsewhere.aclose()
    await place.client.delete_blob("a.md")
    with pytest.raises(NotConfigured, match="no documents in the container"):
        await place.sync()
    assert set(place.index.files) == {"a.md"}


async def test_an_empty_container_of_an_index_that_has_nothing_from_there_is_none_of_a_mistake(place: Place) -> None:
    await place.upload("a.md", "Text.")
    await place.client.delete_blob("a.md")
    assert await place.sync() == {}


async def test_a_listing_that_breaks_off_changes_nothing(place: Place) -> None:
    async def break_off() -> None:
        raise Unavailable("The storage account is busy.")

    await place.upload("a.md", "Text.")
    await place.upload("b.md", "Text.")
    await place.sync()
    await place.upload("a.md", "Other text.")
    await place.client.delete_blob("b.md")
    place.store.after_listing = [break_off]
    with pytest.raises(Unavailable, match="busy"):
        await place.sync()
    assert place.index.writes == []


async def test_what_happens_after_the_listing_counts(place: Place) -> None:
    for name in ("goes.md", "comes-back.md", "changes.md"):
        await place.upload(name, "First.")
    await place.sync()
    await place.upload("goes.md", "Second.")
    await place.client.delete_blob("comes-back.md")
    await place.upload("changes.md", "Second.", oids="ada")
    place.store.after_listing = [
        lambda: place.client.delete_blob("goes.md"),
        lambda: place.upload("comes-back.md", "Second."),
        lambda: place.upload("changes.md", "Third.", oids="ben"),
    ]
    assert await place.sync() == {"goes.md": "removed", "comes-back.md": "indexed", "changes.md": "indexed"}
    assert (place.texts("comes-back.md"), place.texts("changes.md")) == (["Second."], ["Third."])
    assert place.index.passages("changes.md")[0].oids == ("ben",)


async def test_what_happens_to_a_document_while_it_is_read_counts(place: Place) -> None:
    await place.upload("a.md", "First.")
    place.store.before_reading = [lambda: place.upload("a.md", "Second.")]
    assert await place.sync() == {"a.md": "indexed"}
    assert place.texts("a.md") == ["Second."]
    await place.upload("a.md", "Third.")
    place.store.before_reading = [lambda: place.client.delete_blob("a.md")]
    assert await place.sync() == {"a.md": "removed"}
    assert place.index.files == {}


async def test_an_upload_that_a_trigger_indexes_at_the_same_time_is_there_once_and_as_it_is_last(place: Place) -> None:
    async def upload_and_tell() -> None:
        await place.upload("a.md", "Second.", groups="staff")
        await ingest_stored("a.md", place.target())

    await place.upload("a.md", "First.")
    place.store.before_reading = [upload_and_tell]
    assert await place.sync() == {"a.md": "unchanged"}
    assert place.texts("a.md") == ["Second."]
    assert place.index.passages("a.md")[0].groups == ("staff",)
    assert place.index.writes == ["a.md"]


async def test_an_upload_while_a_copy_from_a_folder_is_being_removed_stays(place: Place) -> None:
    file = place.docs / "a.md"
    file.write_text("From the folder.")
    await place.ingest_folder()
    file.unlink()
    place.store.after_finding = [lambda: place.upload("a.md", "From others.")]
    await place.ingest_folder()
    assert place.texts("a.md") == ["From others."]
    assert await place.store.find("a.md")
