"""The built-in index as a file: how it is opened, what is in it, and what its errors mean."""

import asyncio
import math
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec
import sqlite_vec

from shared.errors import Unavailable
from shared.outbound.sqlite_file import SqliteFile
from shared.words.terms import index_terms

SCHEMA_VERSION = 1
"""Kept in the file's `user_version`; 0 is a file without a schema."""

SCHEMA = f"""
CREATE TABLE files (sourcefile TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- No rowid is used twice: a search that runs while a file is replaced can miss a passage, but never mix up two.
CREATE TABLE passages (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    sourcepage TEXT NOT NULL,
    sourcefile TEXT NOT NULL REFERENCES files ON DELETE RESTRICT,
    category TEXT,
    oids TEXT NOT NULL,
    groups TEXT NOT NULL
) STRICT;
CREATE INDEX passages_by_file ON passages (sourcefile);
CREATE VIRTUAL TABLE passage_terms USING fts5 (
    content, content = '', contentless_delete = 1, tokenize = 'switchboard'
);
-- At most one row: what the vectors in `passage_vectors` were made with.
CREATE TABLE embedding (model TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
PRAGMA user_version = {SCHEMA_VERSION};
"""

_BUSY_MILLISECONDS = 10_000
"""How long to wait for another process that writes; a file's transaction takes far less."""
_PAUSE = 0.01
"""Seconds between two tries to have the file for oneself."""

_FILE = SqliteFile("search index", "Delete it and run `make index` to build it again.")
translated = _FILE.translated
transaction = _FILE.transaction


class EmbeddingInfo(NamedTuple):
    """What the vectors of an index were made with."""

    model: str
    """The embedding model's name."""
    dimensions: int
    """Numbers in a vector."""


def open_for_writing(path: Path) -> apsw.Connection:
    """Open the index, and make it where there is none.

    Raises:
        Unavailable: the file cannot be used; says why and what to do.
    """
    with translated():
        path.parent.mkdir(parents=True, exist_ok=True)
        db = _prepared(apsw.Connection(str(path)))
        _log_ahead(db)
        db.pragma("synchronous", "normal")
        db.pragma("foreign_keys", True)
        with transaction(db, "IMMEDIATE"):
            if not has_schema(db):
                db.execute(SCHEMA)
        return db


def open_for_reading(path: Path) -> apsw.Connection:
    """Open an index that exists.

    Raises:
        Unavailable: the file cannot be used; says why and what to do.
    """
    with translated():
        # Readers take part in the write-ahead log, so they too need to write beside the file.
        db = _prepared(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE))
        db.pragma("query_only", True)
        return db


def has_schema(db: apsw.Connection) -> bool:
    """Whether there is anything in the index.

    Raises:
        Unavailable: it was written by another version of this app.
    """
    version = db.pragma("user_version")
    if version not in (0, SCHEMA_VERSION):
        age = "a newer" if isinstance(version, int) and version > SCHEMA_VERSION else "another"
        raise Unavailable(
            f"The search index was written by {age} version of this app. Use that version, or delete the index and "
            "run `make index` to build it again."
        )
    return version == SCHEMA_VERSION


def embedding_info(db: apsw.Connection) -> EmbeddingInfo | None:
    """What the index's vectors were made with; None when it has none."""
    row = db.execute("SELECT model, dimensions FROM embedding").fetchone()
    return None if row is None else msgspec.convert(row, EmbeddingInfo)


def vector_blob(vector: Sequence[float]) -> bytes | None:
    """A vector as sqlite-vec reads it: 32-bit floats.

    Returns:
        None for a vector without a direction (zeros, infinities, NaN): it has no cosine, and spoils the ranking.
    """
    return array("f", vector).tobytes() if 0 < math.hypot(*vector) < math.inf else None


def _log_ahead(db: apsw.Connection) -> None:
    """Have what is written go to a log first, so that readers and writers do not wait for each other.

    The first time, SQLite gives up at once if somebody else does the same: there its own wait does not count.
    """
    until = time.monotonic() + _BUSY_MILLISECONDS / 1000
    while True:
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _prepared(db: apsw.Connection) -> apsw.Connection:
    db.set_busy_timeout(_BUSY_MILLISECONDS)
    # The tokenizer's registration reads the schema if nothing has yet, and while it waits for the file then, no other
    # thread of this process runs: not even the one that it waits for.
    db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.enable_load_extension(False)
    db.register_fts5_tokenizer("switchboard", _tokenizer)
    return db


def _tokenizer(
    _db: apsw.Connection, _args: list[str]
) -> Callable[[bytes, int, str | None], Iterable[str | tuple[str, ...]]]:
    """The FTS5 tokenizer: `index_terms` of what is indexed; a query's strings are terms already."""

    def tokenize(utf8: bytes, flags: int, _locale: str | None) -> Iterable[str | tuple[str, ...]]:
        text = utf8.decode()
        return [text] if flags & apsw.FTS5_TOKENIZE_QUERY else index_terms(text)

    return tokenize


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
