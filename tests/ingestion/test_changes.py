"""Each two changes of a document, in any order of their steps: none is lost, none is left over, no right is widened.

Of the first change, some writes are done; then its process is killed, or waits for the second change. There is a case
for each number of writes. The store is a folder, or a container of Azurite that an index follows.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest

from shared.chat_types import Access
from shared.documents import PENDING, DocumentStore, Rights, StoredDocument, conflict, is_hidden
from shared.documents.blob_store import BlobStore
from shared.documents.failures import FAILED, failures_in
from shared.documents.file_store import FileStore
from shared.errors import AlreadyThere, NotAllowed, NotFound, SwitchboardError, Unavailable, Unreadable
from shared.ingestion.changes import delete, ingest_stored, write
from shared.ingestion.document import Target
from shared.ingestion.ingest import sync_stored
from shared.reading.sandbox import Sandbox, sandbox_for_documents
from tests.documents.store_contract import content
from tests.ingestion.memory_index import Lines, MemoryIndex
from tests.retrieval.index_contract import marks_of
from tests.stand_ins.azurite import Azurite

PLAN, MOVED, OTHER = "plan.md", "moved.md", "other.md"
PEOPLE = ("ada", "ben")
FIRST, SECOND, THIRD = "ada wrote this first.", "ada wrote this second.", "ben wrote this."


class Killed(BaseException):
    """The process ends."""


@dataclass
class Steps:
    """Counts the writes of a process, and does something before one of them."""

    at: int | None = None
    then: Callable[[], Awaitable[object]] | None = None
    done: int = 0

    async def write(self) -> None:
        if self.done == self.at:
            self.at = None
            if self.then is None:
                raise Killed
            await self.then()
        self.done += 1


def counted[T: (DocumentStore, MemoryIndex)](part: T, steps: Steps, *writes: str) -> T:
    """What another process has of a store or an index; calls of these methods count."""
    made = copy(part)
    for method in writes:
        setattr(made, method, partial(_counted, steps, getattr(part, method)))
    return made


async def _counted[**P, R](steps: Steps, method: Callable[P, Awaitable[R]], *arguments: P.args, **named: P.kwargs) -> R:
    await steps.write()
    return await method(*arguments, **named)


@dataclass
class Place:
    """What several processes share: a store and an index."""

    store: DocumentStore
    sandbox: Sandbox
    index: MemoryIndex = field(default_factory=MemoryIndex)

    def process(self, steps: Steps | None = None) -> Target:
        steps = steps or Steps()
        index = counted(self.index, steps, "replace", "remove")
        return Target(index, None, counted(self.store, steps, "keep", "remove"), sandbox=self.sandbox)

    async def documents(self) -> dict[str, StoredDocument]:
        found = [document async for document in self.store.find_all()]
        return {document.name: document for document in found if not is_hidden(document.name)}

    async def text(self, name: str) -> str | None:
        return (await content(self.store, name)).decode() if await self.store.find(name) else None

    async def follow(self) -> None:
        """What a container's trigger does by and by."""
        if self.store.is_shared:
            for name in (PLAN, MOVED):
                await ingest_stored(name, self.process())

    async def check_rights(self) -> None:
        """Nobody sees what another has written, in the store or in the index, at any time."""
        for name in self.index.files.keys() - {OTHER}:
            document = await self.store.find(name)
            text = await self.text(name) if document else None
            for person in PEOPLE:
                seen = [passage for passage in self.index.passages(name) if person in passage.oids]
                assert all(passage.content.startswith(person) for passage in seen)
                if document and text and seen and not document.rights.forbid(Access(person)):
                    assert text.startswith(person)

    async def check_in_step(self) -> None:
        """The index has what the store has, with its rights, and nothing is left to do."""
        documents = await self.documents()
        assert self.index.files.keys() == documents.keys()
        for name, document in documents.items():
            [passage] = self.index.passages(name)
            text = await self.text(name)
            assert passage.content == text
            assert passage.oids == document.rights.oids == (passage.content.split()[0],)
        assert [name async for name in self.store.names(PENDING)] == []
        assert await self.text(OTHER) == SECOND


async def put(target: Target, name: str, text: str, *, overwrite: bool = False) -> None:
    """Upload a document as its author, as the route does."""
    author = text.split(maxsplit=1)[0]
    replaces = await target.documents.find(name)
    if replaces and not overwrite:
        raise conflict(None)
    if replaces and replaces.rights.forbid(Access(author)):
        raise NotAllowed("It is another's.")
    await write(name, text.encode(), replaces, Rights((author,)), target)


async def upload(target: Target) -> None:
    await put(target, PLAN, THIRD)


async def overwrite(target: Target) -> None:
    await put(target, PLAN, SECOND, overwrite=True)


async def remove(target: Target) -> None:
    """Delete it as Ada, as the route does."""
    document = await target.documents.find(PLAN)
    if document and document.rights.forbid(Access("ada")):
        raise NotFound("It is another's.")
    if not document and PLAN not in await marks_of(target.index):
        raise NotFound("There is none.")
    if (await delete(PLAN, document, target)).outcome != "removed":
        raise conflict(document)


async def rename(target: Target) -> None:
    await remove(target)
    await put(target, MOVED, FIRST)


async def sync(target: Target) -> None:
    await sync_stored(target, Lines())


type Change = Callable[[Target], Awaitable[None]]
CHANGES: Mapping[str, Change] = {each.__name__: each for each in (upload, overwrite, rename, remove, sync)}
FIRST_CHANGES = (
    *(("upload", "absent"), ("overwrite", "absent"), ("overwrite", "there")),
    *(("remove", "there"), ("rename", "there"), ("sync", "half deleted")),
)
"""Each change with something to do."""
WRITTEN = {"upload": THIRD, "overwrite": SECOND}
"""What a change leaves as the text of the plan if it comes last."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test of two changes each pair: `make test` takes half of them in a folder, a sixth in a container."""
    if "second" in metafunc.fixturenames:
        every, taken = (2, 0) if metafunc.cls is TestInAFolder else (6, 1)  # pyright: ignore[reportUnknownMemberType]
        pairs = [
            pytest.param(*first, second, marks=[] if (place + order) % every == taken else pytest.mark.nightly)
            for place, first in enumerate(FIRST_CHANGES)
            for order, second in enumerate(CHANGES)
        ]
        metafunc.parametrize(("first", "start", "second"), pairs)


type Making = Callable[[], DocumentStore]
"""Makes an empty store."""


@pytest.fixture(scope="module")
def done() -> dict[tuple[object, ...], object]:
    """What readers have returned, by their work."""
    return {}


@pytest.fixture
def sandbox(done: dict[tuple[object, ...], object]) -> Sandbox:
    """A sandbox that reads and splits each text once: there are few of them, and each is ingested hundreds of times."""
    made = sandbox_for_documents()
    run = made.run

    async def run_once[T](kind: type[T], work: str, data: bytes, *arguments: object) -> T:
        key = (kind, work, data, *map(str, arguments))
        if key not in done:
            done[key] = await run(kind, work, data, *arguments)
        return cast("T", deepcopy(done[key]))

    made.run = run_once
    return made


async def begin(store: DocumentStore, sandbox: Sandbox, start: str) -> Place:
    """Make a place with two documents, or with one of them absent, or with its deletion broken off."""
    place = Place(store, sandbox)
    await put(place.process(), OTHER, SECOND)
    if start != "absent":
        await put(place.process(), PLAN, FIRST)
    for name in (PLAN, OTHER):
        await ingest_stored(name, place.process())
    if start == "half deleted":
        with pytest.raises(Killed):
            await remove(place.process(Steps(at=2)))  # it is noted, and its passages are gone
        assert PLAN not in place.index.files
        assert await place.text(PLAN) == FIRST
    return place


async def succeeds(change: Change, target: Target) -> bool:
    """Make a change; False if it is refused, since the document is another one or another's."""
    try:
        await change(target)
    except (AlreadyThere, NotAllowed, NotFound):
        return False
    return True


class Changes:
    """Tests that take the fixture `store`."""

    async def test_a_change_that_is_killed_and_the_next_one(
        self, store: Making, sandbox: Sandbox, first: str, start: str, second: str
    ) -> None:
        is_killed, writes = True, 0
        while is_killed:
            place = await begin(store(), sandbox, start)
            steps = Steps(at=writes)
            try:
                await succeeds(CHANGES[first], place.process(steps))
                is_killed = False
            except Killed:
                await place.check_rights()
            is_deleting = start == "half deleted" or (first in ("remove", "rename") and is_killed and writes > 0)
            is_done = await succeeds(CHANGES[second], place.process())
            await place.check_rights()
            if is_done and second in ("remove", "rename"):
                assert PLAN not in place.index.files  # at once, without a sync
            await place.follow()
            await sync(place.process())
            await place.check_rights()
            await place.check_in_step()
            assert [name async for name in place.store.names(FAILED)] == []
            text = await place.text(PLAN)
            if is_done and second in WRITTEN:
                assert text == WRITTEN[second]
            elif (is_done and second != "sync") or is_deleting:
                assert text is None
            else:
                assert text in {FIRST if start == "there" else None, WRITTEN.get(first)}
            writes += 1
        assert writes > 1

    async def test_a_change_in_the_midst_of_another(
        self, store: Making, sandbox: Sandbox, first: str, start: str, second: str
    ) -> None:
        waited, writes = True, 0
        while waited:
            place = await begin(store(), sandbox, start)
            done: list[str] = []

            async def between(place: Place = place, done: list[str] = done) -> None:
                await place.check_rights()
                done += [second] if await succeeds(CHANGES[second], place.process()) else []
                await place.check_rights()

            steps = Steps(writes, between)
            done += [first] if await succeeds(CHANGES[first], place.process(steps)) else []
            waited = steps.at is None
            await place.check_rights()
            await place.follow()
            await place.check_in_step()
            text = await place.text(PLAN)
            texts = {WRITTEN[name] for name in done if name in WRITTEN}
            is_deleted = start == "half deleted" or {"remove", "rename"} & {*done}
            if is_deleted:
                assert text in {None, *texts}
            else:
                assert text in (texts or {FIRST if start == "there" else None})
            writes += 1

    async def test_of_many_uploads_at_once_one_is_there_and_the_others_are_told(
        self, store: Making, sandbox: Sandbox
    ) -> None:
        place = await begin(store(), sandbox, "absent")
        texts = [f"ada wrote {number}." for number in range(8)]
        done = await asyncio.gather(
            *(write(PLAN, text.encode(), None, Rights(("ada",)), place.process()) for text in texts),
            return_exceptions=True,
        )
        [text] = [text for text, one in zip(texts, done, strict=True) if not isinstance(one, SwitchboardError)]
        assert sum(isinstance(one, AlreadyThere) for one in done) == 7
        await place.follow()
        await place.check_in_step()
        assert await place.text(PLAN) == text


class TestInAFolder(Changes):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Making:
        return lambda: FileStore(tmp_path / str(uuid4()))


class TestInAContainer(Changes):
    @pytest.fixture
    async def store(self, azurite: Azurite) -> AsyncGenerator[Making]:
        made: list[DocumentStore] = []

        def make() -> DocumentStore:
            made.append(BlobStore.of(azurite.connection_string, f"content-{uuid4()}"))
            return made[-1]

        yield make
        for each in made:
            await each.aclose()


async def test_a_deletion_that_fails_at_the_index_leaves_the_file_and_can_be_repeated(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    place = await begin(FileStore(tmp_path / "content"), sandbox, "there")

    async def fail() -> None:
        raise Unavailable("The disk is full.")

    with pytest.raises(Unavailable):
        await remove(place.process(Steps(1, fail)))
    assert await place.text(PLAN) == FIRST
    assert PLAN in place.index.files
    await remove(place.process())
    await place.check_in_step()
    assert await place.text(PLAN) is None


async def test_a_name_that_only_the_index_has_can_be_deleted(tmp_path: Path, sandbox: Sandbox) -> None:
    place = await begin(FileStore(tmp_path / "content"), sandbox, "there")
    await place.store.remove(PLAN)
    await remove(place.process())
    await place.check_in_step()


@pytest.mark.parametrize("replaced", [False, True])
async def test_an_upload_that_fails_at_the_index_leaves_what_was_there_in_step(
    tmp_path: Path, sandbox: Sandbox, *, replaced: bool
) -> None:
    place = await begin(FileStore(tmp_path / "content"), sandbox, "there" if replaced else "absent")

    async def fail() -> None:
        raise Unavailable("The disk is full.")

    with pytest.raises(Unavailable):
        await overwrite(place.process(Steps(2, fail)))
    await place.check_in_step()
    assert await place.text(PLAN) == (SECOND if replaced else None)


async def test_a_failure_is_noted_until_the_document_is_indexed_or_deleted_also_after_a_kill(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    store = FileStore(tmp_path / "content")
    place = Place(store, sandbox)
    is_killed, writes = True, 0
    while is_killed:
        for name in (PLAN, MOVED):
            with pytest.raises(Unreadable, match="The document is empty"):
                await write(name, b"", None, Rights((PEOPLE[0],)), place.process())
        assert {one.name for one in await failures_in("", store, Access(PEOPLE[0]))} == {PLAN, MOVED}
        assert await failures_in("", store, Access(PEOPLE[1])) == []
        try:
            await upload(place.process(Steps(at=writes)))
            is_killed = False
        except Killed:
            await sync(place.process())
        left = {one.name for one in await failures_in("", store, None)}
        assert left in ([{MOVED}] if PLAN in place.index.files else [{MOVED}, {MOVED, PLAN}])
        for name in (PLAN, MOVED):
            await delete(name, await store.find(name), place.process())
        assert await failures_in("", store, None) == []
        writes += 1
    assert writes > 3
