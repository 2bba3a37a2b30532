"""What every built-in store in an SQLite file shares: its transactions, and what SQLite's errors mean for its users."""

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
_ANY_OTHER = "The {name} failed. {remedy} Report it if it stays."


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """How a file is spoken of when something is wrong with it."""

    name: str
    """What it is, such as `search index`."""
    remedy: str
    """What to do when it is damaged: a sentence."""

    @contextmanager
    def translated(self) -> Generator[None]:
        """Turn SQLite's errors and the file system's into ours.

        Raises:
            Unavailable: what is wrong with the file.
        """
        try:
            yield
        except apsw.Error as exc:
            raise Unavailable(self._sentence(_MESSAGES.get(type(exc), _ANY_OTHER))) from exc
        except OSError as exc:
            raise Unavailable(self._sentence(_MESSAGES[apsw.CantOpenError])) from exc

    @contextmanager
    def transaction(self, db: apsw.Connection, kind: Literal["DEFERRED", "IMMEDIATE"] = "DEFERRED") -> Generator[None]:
        """Commit what happens inside, or nothing of it if it raises.

        Not by apsw's own `with db:`, which waits for a busy file without letting go of Python's lock, so that no
        other thread runs meanwhile.

        Args:
            db: The connection.
            kind: `DEFERRED` to read, `IMMEDIATE` to write.

        Raises:
            Unavailable: what is wrong with the file.
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
