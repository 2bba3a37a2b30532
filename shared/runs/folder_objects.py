"""Objects in a SQLite file of a folder: the built-in store. Several processes of one machine may use it.

A file for each object costs ten times as much CPU time, most of it in the file system.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import msgspec

from shared.outbound.sqlite_file import BUSY_MILLISECONDS, SqliteFile, enable_wal
from shared.runs import NEW, Conflict, New, Stored

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL,
    etag INTEGER NOT NULL,
    written REAL NOT NULL
) STRICT
"""
_INSERT = "INSERT INTO objects VALUES (?, ?, random(), ?) ON CONFLICT DO NOTHING RETURNING etag"
_REPLACE = "UPDATE objects SET data = ?, etag = random(), written = ? WHERE name = ? AND etag = ? RETURNING etag"
_LIST = "SELECT name FROM objects WHERE name > ? AND name < ? AND (? IS NULL OR written < ?) ORDER BY name LIMIT ?"
_LISTED_TOGETHER = 500
"""Names that are listed without a pause."""
_AFTER_ALL = "~"
"""Comes after all characters of names."""
_FILE = SqliteFile("store of runs", "Delete `batches/objects.sqlite` in DATA_DIR to start anew.")


class FolderObjects:
    """An `ObjectStore` in a folder, which is made at its first use.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(1)  # what waits for other processes keeps no thread from other work
        self._db: apsw.Connection | None = None

    async def read(self, name: str) -> Stored | None:
        """Read an object; None if there is none."""
        for data, etag in await self._run("SELECT data, etag FROM objects WHERE name = ?", name):
            return Stored(msgspec.convert(data, bytes), str(etag))
        return None

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        """Write an object whole, if its version is the expected one; see `ObjectStore.write`."""
        if etag is NEW:
            written = await self._run(_INSERT, name, data, time.time())
        else:
            written = await self._run(_REPLACE, data, time.time(), name, int(etag))
        if not written:
            raise Conflict
        return str(written[0][0])

    async def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        await self._run("DELETE FROM objects WHERE name = ?", name)

    async def names(self, prefix: str = "", *, before: float | None = None) -> AsyncGenerator[str]:
        """List the names that begin with `prefix`, of objects that were last written before a Unix time."""
        last = prefix
        while rows := await self._run(_LIST, last, prefix + _AFTER_ALL, before, before, _LISTED_TOGETHER):
            for (name,) in rows:
                yield (last := str(name))

    async def _run(self, statement: str, *values: str | bytes | float | None) -> "list[tuple[apsw.SQLiteValue, ...]]":
        """Run a statement in a thread; return its rows, or raise Unavailable if the file cannot be used."""

        def work() -> "list[tuple[apsw.SQLiteValue, ...]]":
            with _FILE.translated():
                self._db = self._db or self._opened()
                return self._db.execute(statement, values).fetchall()

        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _opened(self) -> apsw.Connection:
        self._folder.mkdir(parents=True, exist_ok=True)
        db = apsw.Connection(str(self._folder / "objects.sqlite"))
        db.set_busy_timeout(BUSY_MILLISECONDS)
        db.pragma("auto_vacuum", "full")
        db.pragma("secure_delete", True)  # of what is deleted nothing stays, once the log is empty
        enable_wal(db)
        db.execute(_SCHEMA)
        return db
