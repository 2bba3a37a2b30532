"""Transactions and error messages that all built-in stores in SQLite files share."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import apsw

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
_WAL_RETRY_SECONDS = 0.01
"""Time between two tries to turn on the write-ahead log."""


@dataclass(frozen=True, slots=True)
class SqliteFile:
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
