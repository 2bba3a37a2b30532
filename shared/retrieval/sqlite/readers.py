"""Connections that read the built-in index: one for each search that is under way, kept for the next."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from shared.retrieval.sqlite.file import has_schema, open_for_reading, transaction, translated


class _FileId(NamedTuple):
    device: int
    inode: int


class _Reader(NamedTuple):
    file: _FileId
    """The file that was opened; the path may name another by now."""
    db: apsw.Connection


class SqliteReaders:
    """Runs reads in threads, each in a transaction of its own: it sees one state of the index."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[_Reader] = []
        self._closed = False

    async def run[T](self, read: Callable[[apsw.Connection], T]) -> T | None:
        """Run `read` with a connection.

        Returns:
            None when there is no index yet.

        Raises:
            Unavailable: the index cannot be read; says why and what to do.
        """
        return await asyncio.to_thread(self._run, read)

    async def aclose(self) -> None:
        """Close the connections; one that is in use closes when its read is done."""
        self._closed = True
        await asyncio.to_thread(self._close_idle)

    def _run[T](self, read: Callable[[apsw.Connection], T]) -> T | None:
        with translated():
            reader = self._take()
        if reader is None:
            return None
        try:
            with transaction(reader.db):
                found = read(reader.db) if has_schema(reader.db) else None
        except BaseException:
            reader.db.close()
            raise
        self._idle.append(reader)
        if self._closed:
            self._close_idle()
        return found

    def _take(self) -> _Reader | None:
        """A connection to the file that is there now; another may have taken the place of the one that was."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._close_idle()
            return None
        file = _FileId(status.st_dev, status.st_ino)
        while self._idle:
            try:
                reader = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if reader.file == file:
                return reader
            reader.db.close()
        return _Reader(file, open_for_reading(self._path))

    def _close_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().db.close()
            except IndexError:  # another thread was faster
                return
