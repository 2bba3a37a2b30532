"""Documents in a folder: the contract, and that nothing outside of the folder is one."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from shared.documents.file_store import FileStore
from shared.errors import Unavailable
from tests.documents.store_contract import LARGE, StoreContract, Uploading, content


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "data" / "content")


@pytest.fixture
def upload(tmp_path: Path) -> Uploading:
    async def upload(name: str, data: bytes) -> None:
        (tmp_path / "new").write_bytes(data)
        (tmp_path / "new").replace(tmp_path / "data" / "content" / name)

    return upload


def below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


class TestFileStore(StoreContract):
    pass


async def test_a_link_that_leads_out_is_no_document_and_one_that_stays_is(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "content"
    folder.mkdir()
    (folder / "plan.pdf").write_bytes(b"plan")
    for name, target in {"out": tmp_path / "secret.txt", "up": tmp_path, "in": "plan.pdf", "loop": "loop"}.items():
        (folder / name).symlink_to(target)
    store = FileStore(folder)
    for name in ("out", "up/secret.txt", "loop", "up"):
        assert await store.find(name) is None
    assert await content(store, "in") == b"plan"


async def test_a_document_that_is_swapped_for_a_link_out_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("plan")
    store = FileStore(tmp_path / "content")
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "plan.txt").write_text("plan")
    document = await store.find("plan.txt")
    assert document
    (tmp_path / "content" / "plan.txt").unlink()
    (tmp_path / "content" / "plan.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(Unavailable):
        await anext(store.read(document))


async def test_what_is_no_file_is_no_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert await FileStore(tmp_path).find("pipe.txt") is None


async def test_empty_folders_go_and_others_stay(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "content")
    for name in ("a/b/c/d.md", "a/e.md"):
        await store.keep(name, b"x")
    await store.remove("a/b/c/d.md")
    assert below(tmp_path / "content") == ["a", "a/e.md"]
    await store.remove("a/e.md")
    assert below(tmp_path) == ["content"]


async def test_a_folder_that_cannot_be_used_is_told_with_its_setting(tmp_path: Path) -> None:
    (tmp_path / "content").write_text("a file in the way")
    with pytest.raises(Unavailable, match="DATA_DIR"):
        await FileStore(tmp_path / "content").keep("a.md", b"x")


async def test_copies_that_a_killed_process_left_go_and_those_in_progress_stay(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    hours_ago = time.time() - 2 * 3600
    for name in (".copy-left", ".copy-in-progress", "other"):
        (data / name).write_text("part of a document")
    for name in (".copy-left", "other"):
        os.utime(data / name, (hours_ago, hours_ago))
    await FileStore(data / "content").keep("plan.md", b"Text.")
    assert below(data) == [".copy-in-progress", "content", "content/plan.md", "other"]


async def test_a_list_is_in_the_order_of_names_and_knows_what_came_since_the_last(
    store: FileStore, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "content"
    for name in ("a/x.md", "a.md", "a/b/y.md", "ab.md", "Z.md", "ä.md"):
        await store.keep(name, b"1")
    (folder / "linked").symlink_to(folder / "a")
    for one in (folder, folder / "a"):
        os.utime(one, (0, 0))  # long ago: what is in it may be kept
    in_order = ["Z.md", "a.md", "a/b/y.md", "a/x.md", "ab.md", "ä.md"]
    for _ in range(2):
        assert [document.name async for document in store.find_all()] == in_order == sorted(in_order)
    await store.keep("a/new.md", b"1")
    await store.remove("ab.md")
    listed = [document.name async for document in store.find_all("", lambda name: name < "b")]
    assert listed == ["Z.md", "a.md", "a/b/y.md", "a/new.md", "a/x.md"]
    for number, after in enumerate(listed):
        assert [document.name async for document in store.find_all(after)] == [*listed, "ä.md"][number + 1 :]
    assert [document.name async for document in store.find_all("a/")] == ["a/b/y.md", "a/new.md", "a/x.md", "ä.md"]
    assert [document.name async for document in store.find_all("a/c")] == ["a/new.md", "a/x.md", "ä.md"]


async def test_who_looks_for_a_document_does_not_wait_for_all_who_read(store: FileStore) -> None:
    document = await store.keep("large.pdf", LARGE)
    readers = [store.read(document) for _ in range(60)]
    reading = [asyncio.ensure_future(anext(reader)) for reader in readers]
    await asyncio.sleep(0)  # each has asked for its first piece
    await store.find("large.pdf")
    assert sum(one.done() for one in reading) < 30
    await asyncio.gather(*reading)
    for reader in readers:
        await reader.aclose()
