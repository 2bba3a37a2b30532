"""The retriever of the built-in index as a part of the app: its file, its health, whole documents and deadlines."""

import asyncio
import resource
import shutil
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path

import apsw
import pytest

from shared.chat_types import Access, Extent, Passage, RequestContext
from shared.errors import TooLarge, TooSlow, Unavailable
from shared.retrieval import MOST_READ, FileEntry, Retriever, SearchQuery
from shared.retrieval.sqlite.index import SqliteIndex
from tests.retrieval.retriever_contract import CONTEXT, HANDBOOK, LIBRARY, RetrieverContract, passage
from tests.retrieval.sqlite.filled_index import fill, opened
from tests.stand_ins.hashed_embedder import HashedEmbedder


class TestSqliteByText(RetrieverContract):
    @pytest.fixture
    async def retriever(self, path: Path) -> AsyncGenerator[Retriever]:
        await fill(path, LIBRARY)
        async with opened(path) as retriever:
            yield retriever


async def test_what_was_left_out_of_a_file_is_known_to_those_who_may_see_it(path: Path) -> None:
    index = SqliteIndex(path)
    secret = replace(passage("a", "Glasses."), oids=("anna",))
    await index.replace(FileEntry(secret.sourcefile, "1", [secret], left_out="hidden sheet Pay"))
    await index.aclose()
    async with opened(path) as retriever:
        assert await retriever.extent(secret.sourcefile, Access("anna")) == Extent(1, 1, "hidden sheet Pay")
        assert await retriever.extent(secret.sourcefile, Access("ben")) is None


async def test_without_a_file_nothing_is_found_and_the_health_says_what_to_run(path: Path) -> None:
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
        health = await retriever.check()
    assert result.passages == ()
    assert not health.ok
    assert "make index" in health.detail


async def test_an_index_that_appears_later_is_found(path: Path) -> None:
    async with opened(path) as retriever:
        await retriever.search(SearchQuery("glasses"), CONTEXT)
        await fill(path, LIBRARY)
        assert (await retriever.search(SearchQuery("glasses"), CONTEXT)).passages


async def test_an_index_that_was_deleted_and_made_anew_is_read_anew(path: Path) -> None:
    await fill(path, [passage("old", "Glasses.")])
    async with opened(path) as retriever:
        await retriever.search(SearchQuery("glasses"), CONTEXT)
        shutil.rmtree(path.parent)
        assert (await retriever.search(SearchQuery("glasses"), CONTEXT)).passages == ()
        await fill(path, [passage("new", "Glasses.")])
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert [found.id for found in result.passages] == ["new"]


async def test_an_index_that_took_the_place_of_another_between_two_searches_is_read(path: Path) -> None:
    await fill(path, [passage("old", "Glasses.")])
    async with opened(path) as retriever:
        await retriever.search(SearchQuery("glasses"), CONTEXT)
        shutil.rmtree(path.parent)
        await fill(path, [passage("new", "Glasses.")])
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert [found.id for found in result.passages] == ["new"]


async def test_an_index_on_a_full_disk_is_read_and_what_is_written_when_there_is_room_again(path: Path) -> None:
    await fill(path, [passage("old", "Glasses.")])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with opened(path) as retriever:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # as on a full disk: no file grows
        try:
            result = await retriever.search(SearchQuery("glasses"), CONTEXT)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert [found.id for found in result.passages] == ["old"]
        await fill(path, [passage("new", "Glasses.")])
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert {found.id for found in result.passages} == {"old", "new"}


async def test_the_health_counts_documents_and_passages(path: Path) -> None:
    embedder = HashedEmbedder()
    await fill(path, LIBRARY, embedder)
    async with opened(path, embedder) as retriever:
        health = await retriever.check()
    assert health.kind == "embedded"
    assert health.facts == {"documents": 5, "passages": 5, "vectors": True}


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.sqlite"
    path.write_bytes(b"not a database, but long enough to look like one " * 100)
    return path


async def test_a_damaged_index_is_named_with_what_to_do(damaged: Path) -> None:
    async with opened(damaged) as retriever:
        with pytest.raises(Unavailable, match="make index"):
            await retriever.search(SearchQuery("glasses"), CONTEXT)
        health = await retriever.check()
    assert not health.ok


async def test_an_index_of_a_newer_version_is_refused_with_what_to_do(path: Path) -> None:
    await fill(path, LIBRARY)
    with apsw.Connection(str(path)) as db:
        db.pragma("user_version", 99)
    db.close()
    async with opened(path) as retriever:
        with pytest.raises(Unavailable, match=r"newer version.*make index"):
            await retriever.search(SearchQuery("glasses"), CONTEXT)


async def test_a_file_is_read_in_order_and_a_page_of_it_alone(path: Path) -> None:
    index = SqliteIndex(path)
    await index.replace(FileEntry("book.pdf", "1", HANDBOOK))
    await index.replace(FileEntry("a[b].md", "1", [Passage("x", "Brackets.", "a%5Bb%5D.md", "a[b].md")]))
    await index.aclose()
    async with opened(path) as retriever:
        assert [found.id for found in await retriever.read("book.pdf", CONTEXT)] == [one.id for one in HANDBOOK]
        page = await retriever.read("book.pdf#page=2", CONTEXT)
        assert [found.id for found in page] == [one.id for one in HANDBOOK[3:6]]
        for name in ("a%5Bb%5D.md", "a[b].md"):
            assert [found.id for found in await retriever.read(name, CONTEXT)] == ["x"]


async def test_a_file_with_too_many_passages_is_not_read_in_part(path: Path) -> None:
    index = SqliteIndex(path)
    many = [Passage(str(number), "Text.", "long.txt", "long.txt") for number in range(MOST_READ)]
    await index.replace(FileEntry("long.txt", "1", many[1:]))
    async with opened(path) as retriever:
        assert len(await retriever.read("long.txt", CONTEXT)) == MOST_READ - 1
        await index.replace(FileEntry("long.txt", "2", many))
        with pytest.raises(TooLarge, match="too many to read at once"):
            await retriever.read("long.txt", CONTEXT)
    await index.aclose()


async def test_without_an_index_nothing_is_read(path: Path) -> None:
    async with opened(path) as retriever:
        assert await retriever.read("book.pdf", CONTEXT) == ()


async def test_a_search_past_the_deadline_is_too_slow(path: Path) -> None:
    await fill(path, LIBRARY)
    over = RequestContext("test", deadline=asyncio.get_running_loop().time() - 1)
    async with opened(path) as retriever:
        with pytest.raises(TooSlow):
            await retriever.search(SearchQuery("glasses"), over)


async def test_who_waits_for_the_file_lets_the_rest_of_the_process_go_on(path: Path) -> None:
    await fill(path, LIBRARY)
    holder = apsw.Connection(str(path))
    holder.pragma("journal_mode", "delete")
    holder.execute("BEGIN EXCLUSIVE")
    async with opened(path) as retriever:
        searching = asyncio.create_task(retriever.search(SearchQuery("vision", top=1), CONTEXT))
        await asyncio.wait([searching], timeout=0.2)
        assert not searching.done()
        holder.execute("ROLLBACK")
        assert [found.id for found in (await searching).passages] == ["vision"]
    holder.close()


async def test_searches_see_whole_files_while_an_index_is_written(path: Path) -> None:
    def version(number: int) -> list[Passage]:
        return [replace(passage(f"{part}", f"glasses edition{number}"), sourcefile="book.md") for part in range(20)]

    writer = SqliteIndex(path)
    await writer.replace(FileEntry("book.md", "0", version(0)))
    seen: list[set[str]] = []

    async def write() -> None:
        for number in range(1, 20):
            await writer.replace(FileEntry("book.md", str(number), version(number)))

    async with opened(path) as retriever:
        writing = asyncio.create_task(write())
        while not writing.done():
            result = await retriever.search(SearchQuery("glasses", top=50), CONTEXT)
            assert len(result.passages) == 20
            seen.append({found.content for found in result.passages})
        await writing
    await writer.aclose()
    assert all(len(contents) == 1 for contents in seen)
