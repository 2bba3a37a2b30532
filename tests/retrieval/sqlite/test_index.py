import asyncio
import threading
from array import array
from collections.abc import AsyncGenerator, Iterator
from copy import replace
from pathlib import Path

import apsw
import pytest

from shared.chat_types import Passage, RetrievalMode
from shared.errors import Unavailable
from shared.retrieval import FileEntry, SearchQuery
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever
from tests.retrieval.index_contract import WORD, Held, PassageIndexContract, marks_of
from tests.retrieval.retriever_contract import CONTEXT, passage
from tests.stand_ins.hashed_embedder import HashedEmbedder, hashed_vector


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "down" / "index.sqlite"


@pytest.fixture
async def index(path: Path) -> AsyncGenerator[SqliteIndex]:
    index = SqliteIndex(path, "hashed")
    yield index
    await index.aclose()


@pytest.fixture
def held(path: Path) -> Held:
    async def read() -> dict[str, Passage]:
        retriever = SqliteRetriever(path, None)
        try:
            result = await retriever.search(SearchQuery(WORD, RetrievalMode.TEXT, top=50), CONTEXT)
        finally:
            await retriever.aclose()
        return {one.id: replace(one, score=None) for one in result.passages}

    return read


class TestSqliteIndex(PassageIndexContract):
    pass


async def found(path: Path, text: str, mode: RetrievalMode | None = None) -> list[str]:
    retriever = SqliteRetriever(path, HashedEmbedder() if mode else None)
    try:
        result = await retriever.search(SearchQuery(text, mode, top=50), CONTEXT)
    finally:
        await retriever.aclose()
    return [one.id for one in result.passages]


async def test_each_file_keeps_its_fingerprint(index: SqliteIndex) -> None:
    await index.replace(FileEntry("a.md", "one", [passage("a1", "Glasses.")]))
    await index.replace(FileEntry("b.md", "two", []))
    await index.replace(FileEntry("a.md", "three", [passage("a1", "Glasses.")]))
    assert await marks_of(index) == {"a.md": "three", "b.md": "two"}


async def test_all_of_many_files_are_told(index: SqliteIndex) -> None:
    marks = {f"{number:04}.md": str(number) for number in range(1_001)}
    await index.replace(*(FileEntry(name, mark, []) for name, mark in marks.items()))
    assert await marks_of(index) == marks


async def test_what_a_file_held_before_is_no_longer_found(index: SqliteIndex, path: Path) -> None:
    await index.replace(FileEntry("a.md", "1", [passage("a1", "Glasses."), passage("a2", "Lenses.")]))
    await index.replace(FileEntry("a.md", "2", [passage("a1", "Parking.")]))
    assert await found(path, "glasses lenses") == []
    assert await found(path, "parking") == ["a1"]


async def test_a_removed_file_is_found_no_more_by_text_or_vector(index: SqliteIndex, path: Path) -> None:
    await index.replace(FileEntry("a.md", "1", [passage("a1", "Glasses.")], [hashed_vector("Glasses.")]))
    await index.replace(FileEntry("b.md", "1", [passage("b1", "Parking.")], [hashed_vector("Parking.")]))
    await index.remove("a.md")
    assert await found(path, "glasses") == []
    assert await found(path, "glasses", RetrievalMode.VECTORS) == ["b1"]
    assert await marks_of(index) == {"b.md": "1"}


async def test_a_file_that_fails_half_way_leaves_the_old_one_in_place(index: SqliteIndex, path: Path) -> None:
    await index.replace(FileEntry("a.md", "1", [passage("a1", "Glasses.")]))
    await index.replace(FileEntry("b.md", "1", [passage("b1", "Parking.")]))
    with pytest.raises(Unavailable):
        await index.replace(FileEntry("a.md", "2", [passage("a2", "Lenses."), passage("b1", "An id of another file.")]))
    assert await found(path, "glasses lenses") == ["a1"]
    assert (await marks_of(index))["a.md"] == "1"


async def test_vectors_of_a_new_model_replace_those_of_the_old_one(path: Path) -> None:
    for model, dims in (("small", 8), ("hashed", 64)):
        index = SqliteIndex(path, model)
        await index.replace(FileEntry("a.md", model, [passage("a1", "Glasses.")], [hashed_vector("Glasses.", dims)]))
        await index.aclose()
    assert await found(path, "glasses", RetrievalMode.VECTORS) == ["a1"]


async def test_an_index_that_is_written_again_without_an_embedding_model_has_no_vectors(path: Path) -> None:
    for model in ("hashed", None):
        index = SqliteIndex(path, model)
        vectors = [hashed_vector("Glasses.")] if model else None
        await index.replace(FileEntry("a.md", str(model), [passage("a1", "Glasses.")], vectors))
        await index.aclose()
    retriever = SqliteRetriever(path, HashedEmbedder())
    health = await retriever.check()
    await retriever.aclose()
    assert health.facts["vectors"] is False
    assert await found(path, "glasses", RetrievalMode.HYBRID) == ["a1"]


async def test_vectors_without_the_name_of_their_model_are_refused(path: Path) -> None:
    index = SqliteIndex(path)
    with pytest.raises(ValueError, match="name of their model"):
        await index.replace(FileEntry("a.md", "1", [passage("a1", "Glasses.")], [[1.0]]))


@pytest.mark.parametrize(("version", "age"), [(8, "another"), (99, "a newer")])
async def test_an_index_of_another_version_is_left_alone(
    index: SqliteIndex, path: Path, version: int, age: str
) -> None:
    await index.replace(FileEntry("a.md", "1", [passage("a1", "Glasses.")]))
    await index.aclose()
    db = apsw.Connection(str(path))
    db.pragma("user_version", version)
    db.close()
    with pytest.raises(Unavailable, match=rf"{age} version.*delete the index and run `make index`"):
        await marks_of(index)


async def test_two_writers_wait_for_each_other(index: SqliteIndex, path: Path) -> None:
    await marks_of(index)
    other = SqliteIndex(path, "hashed")

    async def write(writer: SqliteIndex, name: str) -> None:
        for number in range(10):
            await writer.replace(FileEntry(f"{name}{number}.md", "1", [passage(f"{name}{number}", "Glasses.")]))

    await asyncio.gather(write(index, "a"), write(other, "b"))
    await other.aclose()
    assert len(await marks_of(index)) == 20


async def test_two_that_make_the_index_at_once_both_write_to_it(path: Path) -> None:
    path.parent.mkdir(parents=True)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    index = SqliteIndex(path)
    writing = asyncio.create_task(index.replace(FileEntry("a.md", "1", [passage("a1", "Glasses.")])))
    await asyncio.wait([writing], timeout=0.2)
    assert not writing.done()
    other.execute("COMMIT")
    await writing
    await index.aclose()
    other.close()
    assert await found(path, "glasses") == ["a1"]


class _HeldUp(list[Passage]):
    """Passages that let no writer pass until they are told to."""

    def __init__(self, passages: list[Passage]) -> None:
        super().__init__(passages)
        self.reached = threading.Event()
        self.released = threading.Event()

    def __iter__(self) -> Iterator[Passage]:
        self.reached.set()
        assert self.released.wait(30)
        return super().__iter__()


async def test_a_write_that_is_cancelled_half_way_is_whole_before_the_next_one_begins(index: SqliteIndex) -> None:
    passages = _HeldUp([passage("a1", "Glasses.")])
    writing = asyncio.create_task(index.replace(FileEntry("a.md", "1", passages)))
    assert await asyncio.to_thread(passages.reached.wait, 30)
    reading = asyncio.create_task(marks_of(index))
    for _ in range(2):
        writing.cancel()
        await asyncio.wait([reading], timeout=0.1)
        assert not reading.done()
    passages.released.set()
    assert await reading == {"a.md": "1"}
    assert writing.cancelled()


async def test_a_folder_that_cannot_be_written_is_named_with_what_to_check(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match="DATA_DIR"):
        await marks_of(SqliteIndex(tmp_path / "file" / "index.sqlite"))


async def test_words_of_removed_passages_no_longer_count_as_frequent(index: SqliteIndex, path: Path) -> None:
    await index.replace(FileEntry("a.md", "1", [passage(f"a{number}", "Glasses and lenses.") for number in range(9)]))
    await index.remove("a.md")
    await index.replace(FileEntry("b.md", "1", [passage("b1", "Lenses.")]))
    db = apsw.Connection(str(path))
    counts = db.execute("SELECT term, doc FROM vocabulary").fetchall()
    sizes = db.execute("SELECT language, passages FROM languages WHERE passages").fetchall()
    db.close()
    assert (counts, sizes) == ([("b", 1), ("lens", 1), ("lens…", 1)], [("en", 1)])


async def test_of_an_own_document_that_is_deleted_no_word_and_no_vector_stays_in_the_file(
    index: SqliteIndex, path: Path
) -> None:
    def left() -> tuple[int, ...]:
        marks = (b"quagga", b"okapi", b"gone.txt", array("f", vector).tobytes())
        files = [
            file.read_bytes() for file in path.parent.iterdir()
        ]  # the log too, as a process leaves it that is killed
        return tuple(sum(file.count(mark) for file in files) for mark in marks)

    vector, name = hashed_vector("gone"), ".people/ada/gone.txt"
    await index.replace(FileEntry("kept.md", "1", [passage("kept", "The okapi stays.")], [hashed_vector("kept")]))
    for number in range(2):  # the second is in the place of the first
        texts = [passage(f"{name}-{number}-{place}", f"The quagga {place} is in no other.") for place in range(40)]
        await index.replace(FileEntry(name, str(number), texts, [vector] * len(texts)))
    assert all(await asyncio.to_thread(left))
    await index.remove(name)
    quaggas, okapis, names, vectors = await asyncio.to_thread(left)
    assert (quaggas, names, vectors) == (0, 0, 0)
    assert okapis
