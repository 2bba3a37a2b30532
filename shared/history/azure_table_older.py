"""Chats as the app kept them before: all messages of a chat were written anew at each turn.

    RowKey c-{id}                     the head
    RowKey m-{id}-{generation}-{row}  the messages: one JSON array, cut into rows

A head moves over when it is met: in the list, or when its chat is read, written or deleted. Its messages stay where
they are until the chat is written to.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import batched
from uuid import uuid4

from azure.core import MatchConditions
from azure.data.tables import TableEntity
from azure.data.tables.aio import TableClient

from shared.history import StoredMessage, contents
from shared.history.azure_table_rows import (
    MOST_OPERATIONS,
    Changed,
    Head,
    Operation,
    bytes_of,
    commit,
    conversation_of,
    keys,
    removal,
    started,
)
from shared.outbound.azure_service.tables import found


async def move(table: TableClient, entities: Sequence[TableEntity]) -> None:
    """Make heads of older ones; those that another request changes at this moment stay for the next time."""
    for some in batched(entities, MOST_OPERATIONS // 3, strict=False):
        try:
            await commit(table, [operation for entity in some for operation in _moved(entity)])
        except Changed:
            for entity in some:
                with suppress(Changed):
                    await commit(table, _moved(entity))


def _moved(entity: TableEntity) -> list[Operation]:
    rows: int = entity["rows"]
    head = Head(
        entity["PartitionKey"],
        conversation_of(entity, entity["RowKey"][2:]),
        entity["generation"] or uuid4().hex[:16],
        older_rows=rows,
    )
    condition = {"etag": entity.metadata["etag"], "match_condition": MatchConditions.IfNotModified}
    gone: Operation = ("delete", keys(entity["PartitionKey"], entity["RowKey"]), condition)
    return [gone, removal(head)] if entity["deleted"] else [gone, *started(head)]


async def read_older(table: TableClient, head: Head) -> tuple[StoredMessage, ...]:
    """Read the messages of a head whose messages have not moved over.

    Raises:
        Changed: another writer has moved them.
    """
    names = [f"{head.prefix}{head.generation}-{row:03}" for row in range(head.older_rows)]
    rows = await asyncio.gather(*(found(table, head.partition, name) for name in names))
    there = [row for row in rows if row]
    if len(there) < head.older_rows:
        raise Changed
    return contents.decode_messages(bytes_of(there))
