"""Documents in a store that is opened when the first of them is needed."""

from pathlib import Path

import pytest

from shared.documents import LateDocuments
from shared.documents.file_store import FileStore
from shared.errors import NotConfigured


async def test_nothing_is_opened_before_the_first_document_is_needed_and_then_once(tmp_path: Path) -> None:
    opened: list[FileStore] = []

    def open_store() -> FileStore:
        opened.append(FileStore(tmp_path))
        return opened[-1]

    late = LateDocuments(open_store)
    assert opened == []
    for name in ("a.md", "b.md", "c.txt"):
        await FileStore(tmp_path).keep(name, name.encode())
    found = await late.find("b.md")
    assert found
    assert [piece async for piece in late.read(found, 1, 3)] == [b".md"]
    assert [document.name async for document in late.find_all("a.md", lambda name: name.endswith(".md"))] == ["b.md"]
    assert {name async for name in late.names("c")} == {"c.txt"}
    assert (await late.check()).ok
    assert len(opened) == 1


async def test_a_store_that_cannot_be_opened_is_tried_again(tmp_path: Path) -> None:
    stores: list[FileStore] = []

    def open_store() -> FileStore:
        if not stores:
            raise NotConfigured("not yet")
        return stores[0]

    late = LateDocuments(open_store)
    with pytest.raises(NotConfigured, match="not yet"):
        await late.check()
    stores.append(FileStore(tmp_path))
    assert await late.find("a.md") is None
