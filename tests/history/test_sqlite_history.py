"""The built-in history: the contract, and what can happen to a file."""

import asyncio
import os
import resource
from pathlib import Path

import apsw
import pytest

from shared.errors import Unavailable
from shared.history import Mode
from shared.history.sqlite_history import SqliteHistory
from tests.history.history_contract import HistoryContract
from tests.history.kept_chats import new_owner, said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history.sqlite"


def kept_in(file: Path) -> bytes:
    return file.read_bytes()


def put_into(file: Path, contents: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(contents)


class TestSqliteHistory(HistoryContract):
    @pytest.fixture
    def history(self, path: Path) -> SqliteHistory:
        return SqliteHistory(path)

    @pytest.fixture
    def lone_history(self, history: SqliteHistory) -> SqliteHistory:
        return history

    @pytest.fixture
    def history_of_three(self, path: Path) -> SqliteHistory:
        return SqliteHistory(path, max_chats=3)


async def test_what_was_kept_is_there_for_the_next_process(path: Path) -> None:
    owner = new_owner()
    made = await SqliteHistory(path).create(owner, Mode.STANDARD, "t")
    await SqliteHistory(path).write(owner, made.id, [said(0)])
    assert list(await SqliteHistory(path).messages(owner, made.id)) == [said(0)]


async def test_processes_that_write_at_the_same_time_lose_nothing(path: Path) -> None:
    owner, stores = new_owner(), [SqliteHistory(path) for _ in range(3)]
    made = await stores[0].create(owner, Mode.STANDARD, "t")
    await asyncio.gather(*(stores[n % 3].write(owner, made.id, [said(n)]) for n in range(30)))
    assert len(await stores[0].messages(owner, made.id)) == 30


async def test_nothing_of_a_deleted_conversation_stays_in_the_file(path: Path) -> None:
    owner, history = new_owner(), SqliteHistory(path)
    made = await history.create(owner, Mode.STANDARD, "Quagga title")
    await history.write(owner, made.id, [said(0, "Zebrafish")])
    assert b"Zebrafish" in kept_in(path)
    await history.delete(owner, made.id)
    assert not [word for word in (b"Zebrafish", b"Quagga") if word in kept_in(path)]


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 8_000])
async def test_a_damaged_file_is_named_and_left_as_it_is(path: Path, damage: bytes) -> None:
    put_into(path, damage)
    history = SqliteHistory(path)
    with pytest.raises(Unavailable, match="chat history is damaged"):
        await history.create("o", Mode.STANDARD, "t")
    health = await history.check()
    assert (health.ok, health.needed) == (False, False)
    assert "damaged" in health.detail
    assert kept_in(path) == damage


async def test_a_place_where_nothing_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match="DATA_DIR"):
        await SqliteHistory(tmp_path / "file" / "history.sqlite").conversations("o")


async def test_health_says_that_nothing_can_be_kept_while_the_disk_is_full(path: Path) -> None:
    history, before = SqliteHistory(path), resource.getrlimit(resource.RLIMIT_FSIZE)
    assert (await history.check()).ok
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # no file grows
    try:
        health = await history.check()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not health.ok
    assert health.detail.startswith("Chats are not kept. ")
    assert (await history.check()).ok


async def test_a_file_of_another_version_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    apsw.Connection(os.fspath(path)).pragma("user_version", 99)
    with pytest.raises(Unavailable, match="another version"):
        await SqliteHistory(path).conversations("o")


async def test_a_file_that_is_deleted_meanwhile_begins_anew(path: Path) -> None:
    history = SqliteHistory(path)
    await history.create("o", Mode.STANDARD, "t")
    await asyncio.to_thread(path.unlink)
    assert list(await history.conversations("o")) == []
    await history.create("o", Mode.STANDARD, "t")
    assert len(await SqliteHistory(path).conversations("o")) == 1
