"""The built-in store of verdicts: one SQLite file beside the history's."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import apsw
import msgspec

from shared.outbound.sqlite_file import SqliteFile, SqliteStore, in_file
from shared.verdicts import Judged, KeptAnswer, Verdict, no_such_answer, oldest_id

_SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
_FILE = SqliteFile("file of verdicts", "Restore `verdicts.sqlite` in DATA_DIR, or delete it to start anew.")
_encode, _decode = msgspec.json.encode, msgspec.json.decode


class SqliteVerdicts(SqliteStore):
    """A `VerdictStore` in one file.

    Args:
        path: The file; it is made, with its folder, at the first use.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, _FILE, _SCHEMA)

    @in_file
    def add(self, db: apsw.Connection, owner: str, answer: KeptAnswer) -> None:
        """Keep what an answer was, and delete those that are too old."""
        db.execute("DELETE FROM answers WHERE verdict IS NULL AND id < ?", (oldest_id(),))
        db.execute(
            "INSERT INTO answers (id, owner, chat, answer) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET answer = excluded.answer, chat = excluded.chat "
            "WHERE owner = excluded.owner",
            (answer.id, owner, answer.chat, _encode(answer)),
        )

    @in_file
    def judge(self, db: apsw.Connection, owner: str, answer_id: str, verdict: Verdict) -> bool:
        """Keep a verdict, in place of an earlier one."""
        own = (answer_id, owner)
        found = db.execute("SELECT verdict IS NULL FROM answers WHERE id = ? AND owner = ?", own).fetchone()
        if found is None:
            raise no_such_answer()
        db.execute("UPDATE answers SET verdict = ? WHERE id = ? AND owner = ?", (_encode(verdict), *own))
        return found == (1,)

    @in_file
    def page(self, db: apsw.Connection, limit: int, after: str | None = None) -> Sequence[Judged]:
        """List what was judged, the newest answers first."""
        rows = db.execute(
            "SELECT answer, verdict FROM answers WHERE verdict IS NOT NULL AND id < ? ORDER BY id DESC LIMIT ?",
            (after or "g", limit),  # after every hexadecimal digit
        )
        return [Judged(answer, verdict) for answer, verdict in _decoded(rows) if verdict]

    @in_file
    def answers_of(self, db: apsw.Connection, owner: str) -> Sequence[tuple[KeptAnswer, Verdict | None]]:
        """Return all that is kept of an owner's answers."""
        rows = db.execute("SELECT answer, ifnull(verdict, CAST('null' AS BLOB)) FROM answers WHERE owner = ?", (owner,))
        return _decoded(rows)

    @in_file
    def forget(self, db: apsw.Connection, owner: str, chat: str | None) -> None:
        """Delete the answers of a chat, or of all of an owner, and their verdicts."""
        if chat is None:
            db.execute("DELETE FROM answers WHERE owner = ?", (owner,))
        else:
            db.execute("DELETE FROM answers WHERE owner = ? AND chat = ? AND chat != ''", (owner, chat))

    @in_file
    def delete_older(self, db: apsw.Connection, before: datetime) -> None:
        """Delete the answers of before a time, and their verdicts."""
        db.execute("DELETE FROM answers WHERE id < ?", (oldest_id(before),))

    async def aclose(self) -> None:
        """Do nothing: each call closes the file."""


def _decoded(rows: Iterable[tuple[object, ...]]) -> list[tuple[KeptAnswer, Verdict | None]]:
    pairs = (msgspec.convert(row, tuple[bytes, bytes]) for row in rows)
    return [(_decode(answer, type=KeptAnswer), _decode(verdict, type=Verdict | None)) for answer, verdict in pairs]
