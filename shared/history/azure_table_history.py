"""History in Azure Table Storage. Imports `azure.data.tables`: import it late.

An owner's entities are one partition with two kinds of rows:

    RowKey c-{id}                     the head of a conversation: what lists show, and its current generation
    RowKey m-{id}-{generation}-{row}  the messages of a generation: JSON, cut into binary properties and rows

A write puts all messages into rows of a new generation. Then it sets this generation in the head, on condition that the
head has not changed since it was read (by its ETag); if it has, the write starts again. So readers see all of a write
or nothing of it, concurrent writers lose no messages, and a write that is interrupted changes nothing. The rows that it
leaves go with a later write. The properties are binary because these hold 64 KiB of UTF-8, while the limit of a string
property counts UTF-16.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import uuid4

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import TableEntity, UpdateMode
from azure.data.tables.aio import TableClient

from shared.chat_types import PartHealth
from shared.errors import NotFound, TooLarge, Unavailable
from shared.history import MAX_LISTED, Conversation, ListPosition, Mode, StoredMessage, contents
from shared.history.azure_table import HistoryTable, is_without_table

_PROPERTY_BYTES = 64 * 1024
"""Limit of a binary property."""
_ROW_BYTES = 11 * _PROPERTY_BYTES
"""Bytes of messages in an entity. An entity may have 1 MiB; as base64 in JSON the request stays below that too."""
_UNCOUNTED_CHATS = 100
"""Conversations that an owner may start in this process before they are counted again, which takes a few requests."""
_LEFTOVER_AGE = timedelta(hours=1)
"""Age from which rows of a generation that is not the current one are leftovers; no write takes as long."""
_COUNTED_OWNERS = 10_000
"""Owners whose last count is kept."""
_TRIES = 60
"""How often a read or a write starts again because another writer was faster."""
_LONGEST_PAUSE_SECONDS = 0.1
"""Longest wait before it starts again; the first waits are shorter."""


@dataclass(frozen=True, slots=True)
class _Head:
    """A conversation's head entity."""

    partition: str
    conversation: Conversation
    generation: str = ""
    """The current generation of rows."""
    rows: int = 0
    """Number of rows in it."""
    deleted: bool = False
    """Being deleted: it is no longer found, and the next attempt to delete it removes the rest."""
    etag: str = ""
    """The ETag of the entity when it was read."""


class AzureTableHistory:
    """A `HistoryStore` in a table.

    Args:
        table: The table.
        max_chats: Maximum number of conversations of one owner; each process may add up to 100 more.
        leftover_age: Age from which the rows of an interrupted write are removed.
    """

    def __init__(
        self, table: HistoryTable, max_chats: int = contents.MAX_CHATS, leftover_age: timedelta = _LEFTOVER_AGE
    ) -> None:
        self._table = table
        self._max_chats = max_chats
        self._leftover_age = leftover_age
        self._room: dict[str, int] = {}

    async def create(self, owner: str, mode: Mode, title: str, session_id: str | None = None) -> Conversation:
        """Start an empty conversation, or return that of the session."""
        made = Conversation(session_id or str(uuid4()), title, mode, "", datetime.now(UTC), 0)
        partition = _partition(owner)
        async with self._table.ready() as table:
            try:
                await self._require_room_for_chat(table, partition)
                await table.create_entity(_entity(_Head(partition, made)))
            except ResourceExistsError:  # also of a first try of the SDK whose answer was lost
                return (await _find(table, owner, made.id)).conversation
            except TooLarge:
                with suppress(NotFound):  # the session's conversation is there, or none is
                    return (await _find(table, owner, made.id)).conversation
                raise
        return made

    async def conversations(
        self, owner: str, mode: Mode | None = None, limit: int = MAX_LISTED, after: ListPosition | None = None
    ) -> Sequence[Conversation]:
        """List the owner's conversations, newest first."""
        found: list[Conversation] = []
        first = _order(after) if after else None
        async with self._table.ready() as table:
            async for entity in _range(table, _partition(owner), "c-"):
                head = _head(entity)
                if not head.deleted and mode in (None, head.conversation.mode):
                    found.append(head.conversation)
        return sorted((each for each in found if first is None or _order(each) > first), key=_order)[:limit]

    async def messages(self, owner: str, conversation_id: str) -> Sequence[StoredMessage]:
        """Return the messages, oldest first."""
        async with self._table.ready() as table:
            for attempt in range(_TRIES):
                kept = await _read(table, await _find(table, owner, conversation_id))
                if kept is not None:
                    return kept
                await _pause(attempt)
        raise _too_busy()

    async def write(
        self, owner: str, conversation_id: str, messages: Sequence[StoredMessage], title: str = ""
    ) -> Conversation:
        """Replace the message with the same id, or add at the end, for each message."""
        async with self._table.ready() as table:
            for attempt in range(_TRIES):
                head = await _find(table, owner, conversation_id)
                kept = await _read(table, head)
                if kept is not None and (new := await _replace(table, head, contents.merged(kept, messages), title)):
                    leftovers = _remove_leftovers(table, head, new, datetime.now(UTC) - self._leftover_age)
                    await asyncio.gather(_remove(table, head), leftovers)
                    return new.conversation
                await _pause(attempt)
        raise _too_busy()

    async def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation with everything in it."""
        async with self._table.ready() as table:
            head = await _find(table, owner, conversation_id, even_deleted=True)
            keys = _keys(head.partition, f"c-{conversation_id}")
            with suppress(ResourceNotFoundError):  # another request deleted it
                await table.update_entity({**keys, "deleted": True}, UpdateMode.MERGE)
            async for entity in _range(table, head.partition, f"m-{conversation_id}-", ["RowKey", "PartitionKey"]):
                await table.delete_entity(entity)
            await table.delete_entity(keys)

    async def _require_room_for_chat(self, table: TableClient, partition: str) -> None:
        """Count the owner's conversations, unless there was enough room for more of them at the last count.

        Raises:
            TooLarge: there are as many as may be.
        """
        if not self._room.get(partition):
            count = len([None async for _ in _range(table, partition, "c-", select=["RowKey"])])
            contents.require_room_for_chat(count, self._max_chats)
            if len(self._room) == _COUNTED_OWNERS:
                self._room.clear()
            self._room[partition] = min(self._max_chats - count, _UNCOUNTED_CHATS)
        self._room[partition] -= 1

    async def check(self) -> PartHealth:
        """Check that the table can be used."""
        try:
            async with self._table.ready() as table:
                async for _ in _range(table, "health", "c-"):
                    pass
        except Unavailable as error:
            return PartHealth("azure-table", ok=False, detail=error.message, needed=False)
        return PartHealth("azure-table", ok=True, detail="Azure Table Storage", needed=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._table.aclose()


async def _find(table: TableClient, owner: str, conversation_id: str, *, even_deleted: bool = False) -> _Head:
    """Read the head of the owner's conversation.

    Raises:
        NotFound: there is none.
    """
    contents.require_id(conversation_id)
    try:
        head = _head(await table.get_entity(_partition(owner), f"c-{conversation_id}"))
    except ResourceNotFoundError as error:
        if is_without_table(error):
            raise
        raise contents.no_such_chat() from None
    if head.deleted and not even_deleted:
        raise contents.no_such_chat()
    return head


async def _read(table: TableClient, head: _Head) -> tuple[StoredMessage, ...] | None:
    """Read the messages of a head; None if another writer has replaced them meanwhile."""
    try:
        rows = await asyncio.gather(*(table.get_entity(head.partition, key) for key in _row_keys(head)))
    except ResourceNotFoundError:
        return None
    if not rows:
        return ()
    return contents.decode_messages(
        b"".join(row[name] for row in rows for name in sorted(row) if name.startswith("part"))
    )


async def _replace(table: TableClient, head: _Head, messages: Sequence[StoredMessage], title: str) -> _Head | None:
    """Write the messages as a new generation and return its head; None if the head has changed since it was read.

    Raises:
        TooLarge: there are too many, or too many bytes of them.
        NotFound: the conversation has been deleted meanwhile.
    """
    body = contents.encode_messages(messages)
    contents.require_room(len(messages), len(body))
    pieces = [body[start : start + _ROW_BYTES] for start in range(0, len(body), _ROW_BYTES)]
    conversation = replace(
        head.conversation,
        title=title or contents.title_after(head.conversation, messages),
        last_message=contents.preview(messages[-1].content) if messages else "",
        last_updated=datetime.now(UTC),
        message_count=len(messages),
    )
    new = replace(head, conversation=conversation, generation=uuid4().hex[:16], rows=len(pieces))
    for key, piece in zip(_row_keys(new), pieces, strict=True):
        await table.upsert_entity(_row(new.partition, key, piece))
    if await _switch(table, new):
        return new
    await _remove(table, new)
    return None


async def _switch(table: TableClient, new: _Head) -> bool:
    """Write the head if it has not changed since it was read; return whether the new generation is the current one."""
    try:
        await table.update_entity(
            _entity(new), UpdateMode.REPLACE, etag=new.etag, match_condition=MatchConditions.IfNotModified
        )
    except (ResourceModifiedError, ResourceNotFoundError) as error:
        if is_without_table(error):
            raise
        # The SDK repeats a request whose answer was lost: then it was our own first try that changed the head.
        with suppress(ResourceNotFoundError):
            found = _head(await table.get_entity(new.partition, f"c-{new.conversation.id}"))
            return found.generation == new.generation
        return False
    return True


async def _remove(table: TableClient, head: _Head) -> None:
    """Delete the rows of an old generation; rows that cannot be deleted now are leftovers of a later write."""
    with suppress(AzureError):
        await asyncio.gather(*(table.delete_entity(_keys(head.partition, key)) for key in _row_keys(head)))


async def _remove_leftovers(table: TableClient, old: _Head, new: _Head, before: datetime) -> None:
    """Delete what interrupted writes have left: rows of neither generation that were written before a time."""
    prefix = f"m-{new.conversation.id}-"
    known = (f"{prefix}{old.generation}-", f"{prefix}{new.generation}-")
    with suppress(AzureError):
        async for row in _range(table, new.partition, prefix, ["PartitionKey", "RowKey", "Timestamp"]):
            if not row["RowKey"].startswith(known) and row.metadata["timestamp"] < before:
                await table.delete_entity(row)


async def _pause(attempt: int) -> None:
    await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE_SECONDS, 0.01 * 2**attempt)))  # noqa: S311 (no secret)


async def _range(
    table: TableClient, partition: str, prefix: str, select: list[str] | None = None
) -> AsyncGenerator[TableEntity]:
    """Yield the entities of a partition whose row keys have a prefix, page by page."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    keys = {"partition": partition, "first": prefix, "after": after}
    condition = "PartitionKey eq @partition and RowKey ge @first and RowKey lt @after"
    async for entity in table.query_entities(condition, parameters=keys, select=select):
        yield entity


def _order(place: Conversation | ListPosition) -> tuple[float, str]:
    """Return what lists are sorted by: newest first."""
    return -place.last_updated.timestamp(), place.id


def _partition(owner: str) -> str:
    """Hash the owner, since a key allows only some characters and a limited length."""
    return sha256(owner.encode()).hexdigest()


def _keys(partition: str, row: str) -> dict[str, str]:
    return {"PartitionKey": partition, "RowKey": row}


def _row_keys(head: _Head) -> list[str]:
    return [f"m-{head.conversation.id}-{head.generation}-{row:03}" for row in range(head.rows)]


def _row(partition: str, key: str, piece: bytes) -> dict[str, str | bytes]:
    parts = {
        f"part{number:02}": piece[start : start + _PROPERTY_BYTES]
        for number, start in enumerate(range(0, len(piece), _PROPERTY_BYTES))
    }
    return {**_keys(partition, key), **parts}


def _entity(head: _Head) -> dict[str, str | int | bool]:
    conversation = head.conversation
    return {
        **_keys(head.partition, f"c-{conversation.id}"),
        "title": conversation.title,
        "mode": conversation.mode.value,
        "last_message": conversation.last_message,
        "last_updated": conversation.last_updated.isoformat(),
        "message_count": conversation.message_count,
        "generation": head.generation,
        "rows": head.rows,
        "deleted": head.deleted,
    }


def _head(entity: TableEntity) -> _Head:
    conversation = Conversation(
        id=entity["RowKey"].removeprefix("c-"),
        title=entity["title"],
        mode=Mode(entity["mode"]),
        last_message=entity["last_message"],
        last_updated=datetime.fromisoformat(entity["last_updated"]),
        message_count=entity["message_count"],
    )
    return _Head(
        partition=entity["PartitionKey"],
        conversation=conversation,
        generation=entity["generation"],
        rows=entity["rows"],
        deleted=entity["deleted"],
        etag=entity.metadata["etag"],
    )


def _too_busy() -> Unavailable:
    return Unavailable("The chat is being written to by too many at once. Try again in a moment.")
