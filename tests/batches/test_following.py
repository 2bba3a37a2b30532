"""Those who follow one batch share what it costs."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from shared.batches import NEW, Stored
from shared.batches.desk import Batches
from shared.batches.folder_objects import FolderObjects
from shared.batches.in_process import InProcess
from shared.batches.records import State, digest
from shared.parts import build_service
from shared.service import Service
from shared.settings import Settings

BATCH = "0" * 32


class Counted(FolderObjects):
    """The folder, and what was read of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read_names: list[str] = []

    async def read(self, name: str) -> Stored | None:
        self.read_names.append(name)
        return await super().read(name)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return build_service(Settings.read({"DATA_DIR": str(tmp_path)}))


async def nobody(batch_id: str) -> None:
    raise AssertionError(batch_id)


async def test_all_who_follow_a_batch_share_a_look_and_one_who_leaves_ends_it_for_nobody(
    tmp_path: Path, service: Service
) -> None:
    store = Counted(tmp_path / "batches")
    now = time.time()
    await store.write(f"{BATCH}/state", msgspec.json.encode(State(digest("owner"), now, now)), NEW)
    batches = Batches(store, InProcess(nobody), service)
    following = [asyncio.ensure_future(batches.look(BATCH, "owner", 0)) for _ in range(50)]
    await asyncio.sleep(0)
    following[0].cancel()
    left, *looks = await asyncio.gather(*following, return_exceptions=True)
    assert isinstance(left, asyncio.CancelledError)
    assert all(not isinstance(look, BaseException) and look[1] == () for look in looks)
    assert store.read_names == [f"{BATCH}/{part}" for part in ("state", "result", "messages/0")]
