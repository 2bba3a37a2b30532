"""Transactions and error messages that all built-in stores in SQLite files share."""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from types import CoroutineType
from typing import Any, Concatenate, Literal

import apsw
import msgspec

from shared.errors import Unavailable

_MESSAGES: dict[type[apsw.Error], str] = {
    apsw.NotADBError: "The {name} is damaged. {remedy}",
    apsw.CorruptError: "The {name} is damaged. {remedy}",
    apsw.BusyError: "The {name} is busy. Try again in a moment.",
    apsw.LockedError: "The {name} is busy. Try again in a moment.",
    apsw.FullError: "The disk of the {name} is full. Make room, or move DATA_DIR.",
    apsw.CantOpenError: "The {name} cannot be opened. Check that DATA_DIR may be read and written.",
    apsw.ReadOnlyError: "The {name} cannot be written. Check that DATA_DIR may be read and written.",
    apsw.PermissionsError: "The {name} cannot be opened. Check that DATA_DIR may be read and written.",
    apsw.IOError: "The {name} cannot be read or written. Check the disk that DATA_DIR is on.",
}
_OTHER_ERROR = "The {name} failed. {remedy} Report it if it stays."
BUSY_MILLISECONDS = 10_000
"""How long to wait for another process that writes; a transaction takes far less."""
_SCHEMA_VERSION = 2
"""The `user_version` of a `SqliteStore`'s file; 0 means that it has no schema yet."""
_WAL_RETRY_SECONDS = 0.01
"""Time between two tries to turn on the write-ahead log."""


class SqliteFile(msgspec.Struct, frozen=True):
    """Transactions of one SQLite file, and its names in error messages."""

    name: str
    """Name of the file's contents, such as `search index`."""
    remedy: str
    """What to do if the file is damaged, as a sentence."""

    @contextmanager
    def translated(self) -> Generator[None]:
        """Turn errors of SQLite and the file system into ours.

        Raises:
            Unavailable: the file cannot be used; says why and what to do.
        """
        try:
            yield
        except apsw.Error as exc:
            raise Unavailable(self._sentence(_MESSAGES.get(type(exc), _OTHER_ERROR))) from exc
        except OSError as exc:
            raise Unavailable(self._sentence(_MESSAGES[apsw.CantOpenError])) from exc

    @contextmanager
    def transaction(self, db: apsw.Connection, kind: Literal["DEFERRED", "IMMEDIATE"] = "DEFERRED") -> Generator[None]:
        """Run the block as one transaction: commit at its end, or roll back if it raises.

        apsw's own `with db:` is not used: while it waits for a busy file it holds Python's lock, so no other thread can
        run.

        Args:
            db: The connection.
            kind: `DEFERRED` to read, `IMMEDIATE` to write.

        Raises:
            Unavailable: the file cannot be used; says why and what to do.
        """
        with self.translated():
            db.execute(f"BEGIN {kind}")
            try:
                yield
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _sentence(self, template: str) -> str:
        return template.format(name=self.name, remedy=self.remedy)


class SqliteStore:
    """A file that each call opens again, with SQLite's rollback journal.

    That costs little, works on a network share, and the app goes on with a file that is deleted or restored meanwhile.

    Args:
        path: The file; it is made, with its folder, at the first use.
        file: Its transactions.
        schema: SQL that makes its tables.
    """

    def __init__(self, path: Path, file: SqliteFile, schema: str) -> None:
        self._path = path
        self._file = file
        self._schema = schema
        self._lock = asyncio.Lock()

    async def run[T](self, work: Callable[[apsw.Connection], T]) -> T:
        """Do some work on the file, in a transaction and a thread."""
        async with self._lock:  # calls wait for the file here, not each in a thread
            return await asyncio.to_thread(self._transact, work)

    def _transact[T](self, work: Callable[[apsw.Connection], T]) -> T:
        with self._file.translated():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(apsw.Connection(str(self._path))) as db:
                db.set_busy_timeout(BUSY_MILLISECONDS)
                db.pragma("foreign_keys", True)
                db.pragma("secure_delete", True)
                with self._file.transaction(db, "IMMEDIATE"):
                    self._prepare(db)
                    return work(db)

    def _prepare(self, db: apsw.Connection) -> None:
        """Make the schema if the file has none; raise Unavailable if another version of this app wrote the file."""
        version = db.pragma("user_version")
        if version == 0:
            db.execute(self._schema)
            db.pragma("user_version", _SCHEMA_VERSION)
        elif version != _SCHEMA_VERSION:
            raise Unavailable(
                f"The {self._file.name} was written by another version of this app. Use that version, or move "
                f"`{self._path.name}` out of DATA_DIR to start anew."
            )


def in_file[Store: SqliteStore, **P, T](
    work: Callable[Concatenate[Store, apsw.Connection, P], T],
) -> Callable[Concatenate[Store, P], CoroutineType[Any, Any, T]]:
    """Decorate the method of a store whose work is one transaction: `SqliteStore.run` gives it the file."""

    @wraps(work)
    async def run(store: Store, /, *args: P.args, **named: P.kwargs) -> T:
        return await store.run(lambda db: work(store, db, *args, **named))

    return run


def enable_wal(db: apsw.Connection) -> None:
    """Turn on the write-ahead log, so that readers and writers do not wait for each other.

    SQLite ignores its busy timeout here: if another process does the same, it fails at once. So this function waits.
    """
    until = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(_WAL_RETRY_SECONDS)
        else:
            break
    db.pragma("synchronous", "normal")
