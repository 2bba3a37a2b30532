"""The built-in history: conversations and messages in one SQLite file."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import apsw
import msgspec

from shared.chat_types import PartHealth
from shared.errors import Unavailable
from shared.history import MOST_MESSAGES, NEWEST, NO_EDIT, Conversation, Edit, Mode, Page, StoredMessage, contents
from shared.outbound.sqlite_file import SqliteFile, SqliteStore, in_file

_SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
_LIST = """
SELECT id, title, mode, last_message, last_updated, message_count, pinned FROM conversations
WHERE owner = :owner AND mode = ifnull(:mode, mode) AND pinned >= :pinned
    AND (:time IS NULL OR last_updated < :time OR (last_updated = :time AND id > :id))
ORDER BY last_updated DESC, id LIMIT :limit
"""
_FIND = """
SELECT id, title, mode, last_message, last_updated, message_count, pinned FROM conversations
WHERE owner = :owner AND id = :id
"""
_FILE = SqliteFile("chat history", "Restore `history.sqlite` in DATA_DIR, or delete it to start anew.")


class SqliteHistory(SqliteStore):
    """A `HistoryStore` in one file.

    Args:
        path: The file; it is made, with its folder, at the first use.
        max_chats: Maximum number of conversations of one owner.
    """

    def __init__(self, path: Path, max_chats: int = contents.MAX_CHATS) -> None:
        super().__init__(path, _FILE, _SCHEMA)
        self._max_chats = max_chats

    @in_file
    def create(
        self, db: apsw.Connection, owner: str, mode: Mode, title: str, session_id: str | None = None
    ) -> Conversation:
        """Start an empty conversation, or return that of the session."""
        made = session_id or str(uuid4())
        db.execute(
            "INSERT INTO conversations (id, owner, title, mode, last_updated) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            (made, owner, title, mode.value, _time(datetime.now(UTC))),
        )
        count = db.execute("SELECT count(*) FROM conversations WHERE owner = ?", (owner,)).get
        contents.require_room_for_chat(msgspec.convert(count, int) - 1, self._max_chats)
        return _find(db, owner, made)

    @in_file
    def conversations(self, db: apsw.Connection, owner: str, page: Page = NEWEST) -> Sequence[Conversation]:
        """List a page of the owner's conversations, newest first."""
        time, last_id = (_time(page.after.last_updated), page.after.id) if page.after else (None, None)
        values = {"owner": owner, "mode": page.mode, "limit": page.limit, "pinned": page.pinned}
        values |= {"time": time, "id": last_id}
        return [_conversation(row) for row in db.execute(_LIST, values)]

    @in_file
    def messages(
        self, db: apsw.Connection, owner: str, conversation_id: str, newest: int = MOST_MESSAGES
    ) -> Sequence[StoredMessage]:
        """Return the newest messages, oldest first."""
        _find(db, owner, conversation_id)
        rows = db.execute(
            "SELECT message FROM messages WHERE conversation = ? ORDER BY position DESC LIMIT ?",
            (conversation_id, newest),
        )
        return contents.paired([contents.decode_message(msgspec.convert(row[0], bytes)) for row in rows][::-1])

    @in_file
    def write(
        self,
        db: apsw.Connection,
        owner: str,
        conversation_id: str,
        messages: Sequence[StoredMessage],
        edit: Edit = NO_EDIT,
    ) -> Conversation:
        """Replace the message with the same id, or add at the end, for each message; remove those taken back."""
        conversation = _find(db, owner, conversation_id)
        if edit.pinned is not None:
            db.execute("UPDATE conversations SET pinned = ? WHERE id = ?", (edit.pinned, conversation_id))
            if not messages and not edit.title:
                return _find(db, owner, conversation_id)
        db.executemany(
            "DELETE FROM messages WHERE conversation = ? AND id = ?",
            ((conversation_id, message.id) for message in edit.taken_back),
        )
        db.executemany(
            "INSERT INTO messages (conversation, id, message) VALUES (?, ?, ?) "
            "ON CONFLICT (conversation, id) DO UPDATE SET message = excluded.message",
            ((conversation_id, message.id, contents.encode(message)) for message in messages),
        )
        new_title = edit.title or contents.title_without(
            contents.title_after(conversation, messages), edit.taken_back, _all(db, conversation_id)
        )
        count, last = _measure(db, conversation_id, {message.id: message for message in messages})
        db.execute(
            "UPDATE conversations SET title = ?, last_message = ?, last_updated = ?, message_count = ? WHERE id = ?",
            (new_title, last, _time(datetime.now(UTC)), count, conversation_id),
        )
        return _find(db, owner, conversation_id)

    @in_file
    def delete(self, db: apsw.Connection, owner: str, conversation_id: str) -> None:
        """Delete a conversation with everything in it."""
        _find(db, owner, conversation_id)
        db.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))

    @in_file
    def delete_older(self, db: apsw.Connection, before: datetime) -> None:
        """Delete all conversations that were last written before a time."""
        db.execute("DELETE FROM conversations WHERE last_updated < ?", (_time(before.astimezone(UTC)),))

    async def check(self) -> PartHealth:
        """Check that the file can be written, and count its conversations."""
        try:
            count = await self._count()
        except Unavailable as error:
            return PartHealth("embedded", ok=False, detail=f"Chats are not kept. {error.message}", needed=False)
        detail = "A SQLite file in DATA_DIR. For Azure Table Storage set HISTORY_BACKEND=azure-table."
        return PartHealth("embedded", ok=True, detail=detail, facts={"conversations": count}, needed=False)

    @in_file
    def _count(self, db: apsw.Connection) -> int:
        db.pragma("user_version", db.pragma("user_version"))  # fails if the file cannot be written
        return msgspec.convert(db.execute("SELECT count(*) FROM conversations").get, int)


def _find(db: apsw.Connection, owner: str, conversation_id: str) -> Conversation:
    """Return the owner's conversation with that id; raise NotFound if there is none."""
    contents.require_id(conversation_id)
    found = db.execute(_FIND, {"owner": owner, "id": conversation_id}).fetchone()
    if found is None:
        raise contents.no_such_chat()
    return _conversation(found)


def _all(db: apsw.Connection, conversation_id: str) -> Iterator[StoredMessage]:
    """Read the messages of a conversation one by one."""
    for row in db.execute("SELECT message FROM messages WHERE conversation = ? ORDER BY position", (conversation_id,)):
        yield contents.decode_message(msgspec.convert(row[0], bytes))


def _measure(db: apsw.Connection, conversation_id: str, written: Mapping[str, StoredMessage]) -> tuple[int, str]:
    """Return the number of messages in a conversation, and a preview of the last one; raise TooLarge over the limits.

    The messages that were just written are given by their ids: these need not be read again, which takes memory.
    """
    totals = db.execute(
        "SELECT count(*), ifnull(sum(length(message)), 0), max(position) FROM messages WHERE conversation = ?",
        (conversation_id,),
    ).fetchone()
    count, size, last = msgspec.convert(totals, tuple[int, int, int | None])
    contents.require_room(count, size)
    if last is None:
        return 0, ""
    message = written.get(msgspec.convert(db.execute("SELECT id FROM messages WHERE position = ?", (last,)).get, str))
    if message is None:
        kept = db.execute("SELECT message FROM messages WHERE position = ?", (last,)).get
        message = contents.decode_message(msgspec.convert(kept, bytes))
    return count, contents.preview(message.content)


def _conversation(row: tuple[object, ...]) -> Conversation:
    return Conversation(*msgspec.convert(row, tuple[str, str, Mode, str, datetime, int, bool], strict=False))


def _time(moment: datetime) -> str:
    """Format a time so that it sorts as text."""
    return moment.isoformat(timespec="microseconds")
