"""Reads and writes the messages of one chat in the table. Imports `azure.data.tables`: import it late.

A turn is one transaction: its messages, a mark for each of their ids, the head, and the head's entry in the list. What
is too large for a transaction is written as a new generation of all messages, to which a transaction then switches the
head. Before that, an entity says that the new generation is to be removed. It goes in the transaction that switches,
which leaves one for the old generation: whatever is interrupted, what is not current is known, and can be removed.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from copy import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from uuid import uuid4

from azure.core.exceptions import AzureError
from azure.data.tables import TableEntity, UpdateMode
from azure.data.tables.aio import TableClient

from shared.history import MOST_MESSAGES, Conversation, Edit, StoredMessage, contents
from shared.history import azure_table_rows as entities
from shared.history.azure_table_rows import Changed, Head, Operation
from shared.outbound.azure_service.storage import found

FEW = 20
"""Up to so many entities are read one by one; for more a whole range is read."""
type Writes = Mapping[int, tuple[StoredMessage, ...]]
"""The messages that each write added, by its number."""


def new_name() -> str:
    """Make the name of a generation or of a change."""
    return uuid4().hex[:16]


async def read(table: TableClient, head: Head, newest: int = MOST_MESSAGES) -> tuple[StoredMessage, ...]:
    """Read the newest messages of a head, oldest first.

    Raises:
        Changed: another writer has replaced some of them meanwhile.
    """
    latest: list[tuple[StoredMessage, ...]] = []
    missing = min(newest, head.conversation.message_count)
    if missing:
        async with aclosing(_writes(table, head, max(1, newest // 2))) as writes:
            async for number, messages in writes:
                if number != head.writes - 1 - len(latest):
                    raise Changed
                latest.append(messages)
                missing -= len(messages)
                if missing <= 0:
                    break
    if missing > 0:
        raise Changed
    return tuple(chain.from_iterable(reversed(latest)))[-newest:]


async def write(
    table: TableClient, head: Head, messages: Sequence[StoredMessage], edit: Edit, change: str, *, are_new: bool
) -> Head:
    """Replace the message with the same id, or add at the end, for each message; return the new head.

    Args:
        table: The table.
        head: The head that was read.
        messages: The messages; no two have the same id.
        edit: What changes besides.
        change: The name of this change.
        are_new: Whether to try first as if none of the messages were there.

    Raises:
        Changed: another writer has changed the head meanwhile, or some of the messages are there.
        TooLarge: there would be too many messages, or too many bytes of them.
    """
    if edit.taken_back:
        return await _write_all(table, head, messages, edit, change)
    numbers = {} if are_new else await _numbers(table, head, messages)
    kept = await _kept(table, head, {*numbers.values()})
    added = tuple(message for message in messages if message.id not in numbers)
    known = [message for message in messages if message.id in numbers]
    updated = {
        number: contents.merged(old, [message for message in known if numbers[message.id] == number])
        for number, old in kept.items()
    }
    updated = {number: new for number, new in updated.items() if new != kept[number]}
    bodies = {number: contents.encode(new) for number, new in updated.items()}
    before = [len(contents.encode(kept[number])) for number in updated]
    if added:
        bodies[head.writes] = contents.encode(added)
    conversation = _after(head, edit, added, added or updated.get(head.writes - 1, ()))
    size = head.size + sum(map(len, bodies.values())) - sum(before)
    new = replace(
        head,
        conversation=conversation,
        writes=head.writes + bool(added),
        size=size,
        version=head.version + 1,
        change=change,
    )
    operations: list[Operation] = [
        *entities.changed(head, new),
        *(
            ("upsert", entity, {"mode": UpdateMode.REPLACE})
            for number, body in bodies.items()
            for entity in entities.pieces_of(new, number, body)
        ),
        *(("create", entities.mark_entity(new, message.id, head.writes)) for message in added),
    ]
    length = max(sum(before), sum(map(len, bodies.values())))
    if length > entities.MOST_BYTES or len(operations) > entities.MOST_OPERATIONS:
        return await _write_all(table, head, messages, edit, change)
    contents.require_room(conversation.message_count, size)
    await entities.commit(table, operations)
    return new


async def _write_all(
    table: TableClient, head: Head, messages: Sequence[StoredMessage], edit: Edit, change: str
) -> Head:
    """Write all messages as a new generation; else like `write`."""
    gone = {message.id for message in edit.taken_back}
    kept = [message for message in await read(table, head) if message.id not in gone]
    merged = contents.merged(kept, messages)
    portions = [*_portions(merged)]
    bodies = [contents.encode(some) for some in portions]
    conversation = _after(head, edit, merged[len(kept) :], merged)
    title = edit.title or contents.title_without(conversation.title, edit.taken_back, merged)
    last_message = conversation.last_message if merged else ""
    contents.require_room(len(merged), sum(map(len, bodies)))
    new = Head(
        head.partition,
        replace(conversation, title=title, last_message=last_message, message_count=len(merged)),
        new_name(),
        len(bodies),
        sum(map(len, bodies)),
        head.version + 1,
        change,
    )
    await entities.commit(table, [entities.removal(new, is_begun=False)])
    try:
        for operations in _transactions(new, portions, bodies):
            await entities.commit(table, operations)
        await entities.commit(
            table, [*entities.changed(head, new), ("delete", entities.removal_keys(new)), entities.removal(head)]
        )
    except Changed:
        # If it was done, and only the answer was lost, this entity went with it.
        if await found(table, head.partition, entities.removal_keys(new)["RowKey"]):
            await remove_generation(table, new)
        raise
    await remove_generation(table, head)
    return new


async def remove_generation(table: TableClient, head: Head) -> None:
    """Remove the messages of a head that is not current; what fails now is done later."""
    with suppress(AzureError, Changed):
        await entities.remove(table, head.partition, head.prefix, entities.removal_keys(head)["RowKey"])


def _portions(messages: Iterable[StoredMessage]) -> Iterator[list[StoredMessage]]:
    """Divide messages into writes of about `PROPERTY_BYTES`."""
    some: list[StoredMessage] = []
    size = 0
    for message in messages:
        length = len(contents.encode(message))
        if some and size + length > entities.PROPERTY_BYTES:
            yield some
            some, size = [], 0
        some.append(message)
        size += length
    if some:
        yield some


def _transactions(
    head: Head, portions: Iterable[Sequence[StoredMessage]], bodies: Iterable[bytes]
) -> Iterator[list[Operation]]:
    """Make the transactions that write a generation."""
    operations: list[Operation] = []
    size = 0
    for number, (messages, body) in enumerate(zip(portions, bodies, strict=True)):
        marks = (entities.mark_entity(head, message.id, number) for message in messages)
        for entity in (*entities.pieces_of(head, number, body), *marks):
            length = min(len(body), entities.MOST_BYTES) if "pieces" in entity else 0
            if len(operations) == entities.MOST_OPERATIONS or size + length > entities.MOST_BYTES:
                yield operations
                operations, size = [], 0
            operations.append(("create", entity))
            size += length
    if operations:
        yield operations


def _after(head: Head, edit: Edit, added: Sequence[StoredMessage], latest: Sequence[StoredMessage]) -> Conversation:
    """Return what lists show after a write; without a latest message, the last one of the chat stays."""
    old = head.conversation
    is_pin = edit.pinned is not None and not (edit.title or added or latest)
    # Its entry in the list gets another key, also if the clocks of two instances differ.
    later = max(datetime.now(UTC), old.last_updated + timedelta(microseconds=1))
    return replace(
        old,
        title=edit.title or contents.title_after(old, added),
        last_message=contents.preview(latest[-1].content) if latest else old.last_message,
        last_updated=old.last_updated if is_pin else later,
        message_count=old.message_count + len(added),
        pinned=old.pinned if edit.pinned is None else edit.pinned,
    )


async def _numbers(table: TableClient, head: Head, messages: Iterable[StoredMessage]) -> dict[str, int]:
    """Read which writes have added the messages that are there, by the ids of these."""
    if not head.conversation.message_count:
        return {}
    ids = {entities.mark_key(head, message.id): message.id for message in messages}
    if len(ids) <= FEW:
        marks = await asyncio.gather(*(found(table, head.partition, key) for key in ids))
    else:
        marks = [
            mark
            async for mark in entities.rows_in(table, head.partition, f"{head.prefix}i", select=["RowKey", "number"])
        ]
    return {ids[mark["RowKey"]]: mark["number"] for mark in marks if mark and mark["RowKey"] in ids}


async def _kept(table: TableClient, head: Head, numbers: set[int]) -> Writes:
    """Read the messages that some writes added."""
    if len(numbers) > FEW:
        kept = [one async for one in _writes(table, head) if one[0] in numbers]
    else:
        kept = [one for number in numbers async for one in _writes(table, head, number=number)]
    if len(kept) < len(numbers):
        raise Changed
    return dict(kept)


async def _writes(
    table: TableClient, head: Head, page: int | None = None, number: int | None = None
) -> AsyncGenerator[tuple[int, tuple[StoredMessage, ...]]]:
    """Yield the number of each write that added messages, with these, the latest first; with a number, only that one.

    A page of entities is read at once. Writes later than the head are left out; one that is newer raises `Changed`.
    """
    prefix, above = f"{head.prefix}m", entities.write_key(head, head.writes - 1)
    if number is not None:
        prefix, above = f"{entities.write_key(head, number)}-", ""
    pieces: list[TableEntity] = []
    async with aclosing(entities.rows_in(table, head.partition, prefix, above=above, page=page)) as rows:
        async for row in rows:
            if row["version"] > head.version:
                raise Changed
            pieces.append(row)
            if len(pieces) == row["pieces"]:
                yield entities.number_of(row), contents.decode_messages(entities.bytes_of(pieces))
                pieces = []
