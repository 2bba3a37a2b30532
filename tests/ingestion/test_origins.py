"""A folder is ingested into a container that others use too, and into an index that others fill: theirs stays."""

from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob.aio import ContainerClient

from shared.chat_types import Caller, Passage
from shared.documents import Rights
from shared.documents.blob_store import BlobStore
from shared.documents.own import folder_of
from shared.errors import Unavailable
from shared.ingestion.changes import ingest_stored, write
from shared.ingestion.document import Target
from shared.ingestion.ingest import sync_stored
from shared.retrieval import FileEntry
from tests.ingestion.memory_index import Lines, MemoryIndex, Workplace, ingest, outcomes, reason
from tests.stand_ins.azurite import Azurite

OWN = f"{folder_of(Caller(key='ada'))}own.md"
FILES = Path(__file__).parents[1] / "reading" / "files"


class SharedPlace(Workplace):
    """A folder of documents, the container that they go to, and the index."""

    def __init__(self, root: Path, container: ContainerClient, store: BlobStore) -> None:
        super().__init__(root)
        self.container = container
        self.store = store

    def target(self) -> Target:
        return Target(self.index, self.embedder, self.store)

    async def ingest(self) -> Lines:
        self.index.writes.clear()
        return await ingest(self.docs, self.target())

    async def upload(self, name: str, content: str, **metadata: str) -> None:
        """What others do, and a trigger then."""
        await self.container.upload_blob(name, content, overwrite=True, metadata=metadata)
        await ingest_stored(name, self.target())

    async def stored(self) -> set[str]:
        return {name async for name in self.store.names()}

    async def bytes_of(self, name: str) -> bytes:
        return await (await self.container.download_blob(name)).readall()


@pytest.fixture
async def place(azurite: Azurite, tmp_path: Path) -> AsyncGenerator[SharedPlace]:
    name = f"content-{uuid4()}"
    async with ContainerClient.from_connection_string(azurite.connection_string, name) as client:
        await client.create_container()
        store = BlobStore.of(azurite.connection_string, name)
        yield SharedPlace(tmp_path, client, store)
        await store.aclose()


async def test_a_folder_goes_into_the_container_and_what_is_gone_leaves_it(place: SharedPlace) -> None:
    place.write("a.md", "Text.")
    place.write("leave/b.md", "Text.")
    assert outcomes(await place.ingest()) == {"a.md": "indexed", "leave/b.md": "indexed"}
    assert await place.stored() == set(place.index.files) == {"a.md", "leave/b.md"}
    (place.docs / "leave" / "b.md").unlink()
    assert outcomes(await place.ingest()) == {"leave/b.md": "removed", "a.md": "unchanged"}
    assert await place.stored() == set(place.index.files) == {"a.md"}


async def test_what_people_added_for_themselves_is_indexed_at_once_and_stays(place: SharedPlace) -> None:
    await write(OWN, b"Text.", None, Rights(("ada",)), place.target())
    assert set(place.index.files) == await place.stored() == {OWN}
    place.write("a.md", "Text.")
    await place.ingest()
    await sync_stored(place.target(), lines := Lines())
    assert outcomes(lines) == {"a.md": "unchanged"}
    await ingest_stored(OWN, place.target())  # a trigger that is told of it
    assert set(place.index.files) == await place.stored() == {OWN, "a.md"}


async def test_what_others_uploaded_and_what_others_indexed_stays(place: SharedPlace) -> None:
    await place.upload("uploaded.md", "Uploaded.")
    await place.container.upload_blob("picture.png", b"Not for the index.")
    for name, mark in (("demo.pdf", ""), ("other.pdf", "0123abcd"), ("third.pdf", "folders: no")):
        await place.index.replace(FileEntry(name, mark, [Passage("1", "Text.", name, name)]))
    place.write("a.md", "Text.")
    assert outcomes(await place.ingest()) == {"a.md": "indexed"}
    (place.docs / "a.md").unlink()
    place.write("b.md", "Text.")
    assert outcomes(await place.ingest()) == {"a.md": "removed", "b.md": "indexed"}
    assert await place.stored() == {"uploaded.md", "picture.png", "b.md"}
    assert set(place.index.files) == {"uploaded.md", "demo.pdf", "other.pdf", "third.pdf", "b.md"}


async def test_the_same_bytes_are_unchanged_wherever_they_came_from_and_stay_who_brought_them(
    place: SharedPlace,
) -> None:
    await place.upload("uploaded.md", "Same.")
    place.write("uploaded.md", "Same.")
    place.write("brought.md", "Same.")
    assert outcomes(await place.ingest()) == {"brought.md": "indexed", "uploaded.md": "unchanged"}
    place.index.writes.clear()
    assert (await ingest_stored("brought.md", place.target())).outcome.value == "unchanged"
    assert place.index.writes == []
    for name in ("uploaded.md", "brought.md"):
        (place.docs / name).unlink()
    assert outcomes(await place.ingest()) == {"brought.md": "removed"}
    assert await place.stored() == {"uploaded.md"}


async def test_a_trigger_that_does_not_see_what_the_command_wrote_makes_it_no_upload(place: SharedPlace) -> None:
    class Lagging(MemoryIndex):
        async def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
            if not sourcefile:
                async for one in super().fingerprints():
                    yield one

    place.index = Lagging()
    place.write("a.md", "Text.")
    await place.ingest()
    assert (await ingest_stored("a.md", place.target())).outcome.value == "indexed"
    (place.docs / "a.md").unlink()
    assert outcomes(await place.ingest()) == {"a.md": "removed"}


async def test_a_file_of_the_folder_takes_the_place_of_an_upload_and_keeps_its_rights(place: SharedPlace) -> None:
    await place.upload("a.md", "Uploaded.", oids="ada", groups="staff")
    place.write("a.md", "Brought.")
    assert outcomes(await place.ingest()) == {"a.md": "indexed"}
    assert await place.bytes_of("a.md") == b"Brought."
    (passage,) = place.index.passages("a.md")
    assert (passage.content, passage.oids, passage.groups) == ("Brought.", ("ada",), ("staff",))
    document = await place.store.find("a.md")
    assert document
    assert document.rights == Rights(("ada",), ("staff",))
    assert outcomes(await place.ingest()) == {"a.md": "unchanged"}


async def test_an_upload_in_the_place_of_a_file_is_the_uploaders_from_then_on(place: SharedPlace) -> None:
    place.write("a.md", "Brought.")
    await place.ingest()
    await place.upload("a.md", "Uploaded.")
    (place.docs / "a.md").unlink()
    assert outcomes(await place.ingest()) == {}
    assert await place.bytes_of("a.md") == b"Uploaded."
    assert set(place.index.files) == {"a.md"}


async def test_a_file_is_put_there_again_though_no_trigger_has_told_of_the_upload_in_its_place(
    place: SharedPlace,
) -> None:
    place.write("a.md", "Brought.")
    await place.ingest()
    await place.container.upload_blob("a.md", "Uploaded.", overwrite=True)
    assert outcomes(await place.ingest()) == {"a.md": "unchanged"}
    assert await place.bytes_of("a.md") == b"Brought."
    assert [passage.content for passage in place.index.passages("a.md")] == ["Brought."]


@pytest.mark.parametrize("is_there", [False, True], ids=["the file is gone", "the file is damaged"])
@pytest.mark.parametrize("content", ["Brought.", "Uploaded."])
async def test_an_upload_in_the_place_of_a_file_stays_though_no_trigger_has_told_of_it(
    place: SharedPlace, content: str, *, is_there: bool
) -> None:
    place.write("a.md", "Brought.")
    place.write("b.md", "Text.")
    await place.ingest()
    await place.container.upload_blob("a.md", content, overwrite=True)
    if is_there:
        place.write("a.md", "")
    else:
        (place.docs / "a.md").unlink()
    await place.ingest()
    assert await place.bytes_of("a.md") == content.encode()
    assert [passage.content for passage in place.index.passages("a.md")] == [content]
    assert place.index.files["a.md"][0].startswith("stored:")


async def test_a_damaged_file_does_not_take_away_an_upload_of_its_name(place: SharedPlace) -> None:
    await place.upload("a.md", "Uploaded.")
    place.write("a.md", "")
    assert outcomes(await place.ingest()) == {"a.md": "failed"}
    assert await place.bytes_of("a.md") == b"Uploaded."
    assert set(place.index.files) == {"a.md"}


async def test_a_copy_that_somebody_deleted_is_restored(place: SharedPlace) -> None:
    place.write("a.md", "Text.")
    await place.ingest()
    await place.container.delete_blob("a.md")
    assert outcomes(await place.ingest()) == {"a.md": "unchanged"}
    assert await place.stored() == {"a.md"}


async def test_a_name_that_the_container_cannot_have_is_told(place: SharedPlace) -> None:
    place.write("a\\b.md", "Text.")
    place.write("good.md", "Text.")
    report = await place.ingest()
    assert outcomes(report) == {"a\\b.md": "failed", "good.md": "indexed"}
    assert "backslash" in reason(report, "a\\b.md")


async def test_without_its_container_nothing_is_done(tmp_path: Path) -> None:
    async with Azurite() as service:
        store = BlobStore.of(service.connection_string, "content")
    place = Workplace(tmp_path)
    place.write("a.md", "Text.")
    await place.index.replace(FileEntry("b.md", "folder:1", []))
    with pytest.raises(Unavailable, match="CONTENT_STORAGE"):
        await ingest(place.docs, Target(place.index, None, store))
    await store.aclose()
    assert set(place.index.files) == {"b.md"}
