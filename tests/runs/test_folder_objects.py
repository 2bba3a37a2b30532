"""Objects in a folder: the contract, and what processes do to each other."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from shared.errors import Unavailable
from shared.runs import NEW
from shared.runs.folder_objects import FolderObjects
from tests.runs.store_contract import ObjectStoreContract

COUNT = """
import asyncio, sys
from pathlib import Path
from shared.runs import Conflict, NEW
from shared.runs.folder_objects import FolderObjects

async def count():
    store = FolderObjects(Path(sys.argv[1]))
    for _ in range(100):
        while True:
            found = await store.read("a/count")
            try:
                await store.write("a/count", str(int(found.data) + 1).encode(), found.etag)
                break
            except Conflict:
                pass

asyncio.run(count())
"""


@pytest.fixture
def store(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "batches")


class TestFolderObjects(ObjectStoreContract):
    pass


def test_no_write_of_several_processes_is_lost(store: FolderObjects, tmp_path: Path) -> None:
    asyncio.run(store.write("a/count", b"0", NEW))
    counting = [
        subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path / "batches")], cwd=Path(__file__).parents[2])
        for _ in range(3)
    ]
    assert [process.wait(60) for process in counting] == [0, 0, 0]
    found = asyncio.run(store.read("a/count"))
    assert found
    assert found.data == b"300"


async def test_a_folder_that_cannot_be_used_is_an_error_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Unavailable, match="DATA_DIR"):
        await FolderObjects(tmp_path / "file").write("a/state", b"", NEW)


async def test_others_have_their_turn_while_many_names_are_listed(store: FolderObjects) -> None:
    for number in range(1500):
        await store.write(f"a/{number}", b"", NEW)
    turns: list[str] = []
    async for name in store.names():
        turns.append(name)
        if len(turns) == 1:
            asyncio.get_running_loop().call_soon(turns.append, "another's turn")
    assert turns.index("another's turn") < 600
    assert len(turns) == 1501
