"""The file of the built-in index: its schema, and connections to it for writing and for reading."""

import asyncio
import math
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from shared.errors import Unavailable
from shared.outbound.sqlite_file import BUSY_MILLISECONDS, SqliteFile, enable_wal
from shared.retrieval import PassageTerms

SCHEMA_VERSION = 9
"""Version of the schema, stored in the file's `user_version`. 0 means that the file has no schema."""

LISTS = ("headings", "oids", "groups")
"""Columns of passages that are lists, in JSON."""
COLUMNS = (
    *("id", "content", "sourcepage", "sourcefile", "title", "table_head", "date", "sensitivity", "category", *LISTS),
)
"""Columns of passages, which have the names of their fields."""

_SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")

_CACHE_KIB = 8192
"""Memory of a connection for pages of the file: a search reads some hundred, all over the file."""

_FILE = SqliteFile("search index", "Delete it and run `make index` to build it again.")
translated = _FILE.translated
transaction = _FILE.transaction


class EmbeddingInfo(NamedTuple):
    """The model that made the vectors of an index."""

    model: str
    """The embedding model's name."""
    dimensions: int
    """Numbers in a vector."""


def open_for_writing(path: Path) -> apsw.Connection:
    """Open the index, and create it if there is none.

    Raises:
        Unavailable: the file cannot be used.
    """
    with translated():
        path.parent.mkdir(parents=True, exist_ok=True)
        db = _prepare(apsw.Connection(str(path)))
        enable_wal(db)
        db.pragma("foreign_keys", True)
        db.pragma("secure_delete", True)  # what somebody deletes is gone from the file
        with transaction(db, "IMMEDIATE"):
            if not has_schema(db):
                db.execute(_SCHEMA)
        return db


def open_for_reading(path: Path) -> apsw.Connection:
    """Open an index that exists.

    Raises:
        Unavailable: the file cannot be used.
    """
    with translated():
        try:  # readers, too, write files of the write-ahead log beside the index
            return _reader(str(path), apsw.SQLITE_OPEN_READWRITE if may_write(path) else apsw.SQLITE_OPEN_READONLY)
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
            # The log is not there and cannot be made, as on a full disk: all is in the index.
            name = f"{path.absolute().as_uri()}?immutable=1"
            return _reader(name, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def may_write(path: Path) -> bool:
    """Whether a file and its folder may be written, as they may not where `DATA_DIR` is mounted to be read only."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _reader(name: str, flags: int) -> apsw.Connection:
    db = _prepare(apsw.Connection(name, flags=flags))
    db.pragma("query_only", True)
    db.pragma("cache_size", -_CACHE_KIB)
    db.pragma("user_version")  # opens the file
    return db


def has_schema(db: apsw.Connection) -> bool:
    """Whether the file has the schema; an empty file has none.

    Raises:
        Unavailable: another version of this app wrote the file.
    """
    version = db.pragma("user_version")
    if version not in (0, SCHEMA_VERSION):
        age = "a newer" if isinstance(version, int) and version > SCHEMA_VERSION else "another"
        raise Unavailable(
            f"The search index was written by {age} version of this app. Use that version, or delete the index and "
            "run `make index` to build it again."
        )
    return version == SCHEMA_VERSION


def add_terms(db: apsw.Connection, passages: Iterable[tuple[int, PassageTerms]]) -> None:
    """Add the terms of passages, each with its row id."""
    rows = [(rowid, made.language, made.compact, made.context, made.searched) for rowid, made in passages]
    db.executemany(
        "INSERT INTO stemmed (rowid, language, terms, context) VALUES (?, ?, ?, ?)", (row[:4] for row in rows)
    )
    db.executemany("INSERT INTO passage_terms (rowid, terms) VALUES (?, ?)", ((row[0], row[4]) for row in rows))


def embedding_info(db: apsw.Connection) -> EmbeddingInfo | None:
    """The model of the index's vectors; None if it has no vectors."""
    row = db.execute("SELECT model, dimensions FROM embedding").fetchone()
    return None if row is None else msgspec.convert(row, EmbeddingInfo)


def vector_blob(vector: Sequence[float]) -> bytes | None:
    """Encode a vector for sqlite-vec: 32-bit floats.

    Returns:
        None for a vector without a direction (zeros, infinities, NaN): it has no cosine, and would disturb the ranking.
    """
    return array("f", vector).tobytes() if 0 < math.hypot(*vector) < math.inf else None


def _prepare(db: apsw.Connection) -> apsw.Connection:
    db.set_busy_timeout(BUSY_MILLISECONDS)
    db.enable_load_extension(True)
    db.load_extension(_sqlite_vec())
    db.enable_load_extension(False)
    return db


@cache
def _sqlite_vec() -> str:
    """Return the path of sqlite-vec's library. Importing the package would load NumPy where that is installed."""
    package = find_spec("sqlite_vec")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("sqlite_vec")
    return str(Path(package.origin).with_name("vec0"))


class _FileId(NamedTuple):
    device: int
    inode: int
    time: int
    """When it was changed, in nanoseconds, where SQLite takes it for immutable; else 0, since SQLite notices."""


class _ReadConnection(NamedTuple):
    file: _FileId
    """The file that was opened. The path may name another file by now."""
    db: apsw.Connection


class SqliteReaders:
    """Connections for reading, one for each search that runs; idle ones are kept for the next search.

    Each read runs in a thread and in a transaction of its own, so it sees one state of the index.

    Args:
        path: The file of the index; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[_ReadConnection] = []
        self._closed = False

    async def run[T](self, read: Callable[[apsw.Connection], T]) -> T | None:
        """Call `read` with a connection, in a thread.

        Returns:
            The result of `read`; None if there is no index yet.

        Raises:
            Unavailable: the index cannot be read.
        """
        return await asyncio.to_thread(self._run, read)

    async def aclose(self) -> None:
        """Close the connections. One that is in use is closed when its read has ended."""
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
        if reader.db.open_flags & apsw.SQLITE_OPEN_URI and may_write(self._path):
            reader.db.close()  # there may soon be room, and then the file changes
        else:
            self._idle.append(reader)
        if self._closed:
            self._close_idle()
        return found

    def _take(self) -> _ReadConnection | None:
        """Take a connection to the file that is at the path now; it may have been replaced since the last read."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._close_idle()
            return None
        file = _FileId(status.st_dev, status.st_ino, 0 if may_write(self._path) else status.st_mtime_ns)
        while self._idle:
            try:
                reader = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if reader.file == file:
                return reader
            reader.db.close()
        return _ReadConnection(file, open_for_reading(self._path))

    def _close_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().db.close()
            except IndexError:  # another thread took it
                return
