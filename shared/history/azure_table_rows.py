"""The entities of the history's table, and what is in them. Imports `azure.data.tables`: import it late.

An owner's entities are one partition, in which those with `a-` and `c-` are `azure_table_verdicts`':

    RowKey h-{id}                         the head of a conversation: what lists show, and its current generation
    RowKey l-{mode}-{time}-{id}           its entry in the list; later times come first
    RowKey g-{id}-{generation}-m{number}  the messages that one write added: JSON; later ones come first
    RowKey g-{id}-{generation}-i{hash}    of the id of a message: the number of the write that has the message
    RowKey d-{id}-{generation}            says that a generation is to be removed
    RowKey n                              how many conversations were started

Binary properties hold the JSON: 64 KiB of UTF-8, while the limit of a string property counts UTF-16.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import batched
from typing import Any

import msgspec
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError
from azure.data.tables import TableEntity, TableErrorCode, UpdateMode
from azure.data.tables.aio import TableClient

from shared.history import Conversation, ListPosition, Mode

PROPERTY_BYTES = 64 * 1024
"""Limit of a binary property."""
MOST_BYTES = 8 * PROPERTY_BYTES
"""Bytes of messages in an entity, and in a transaction. An entity may have 1 MiB; as base64 in JSON, and with all else
that a transaction may have, the request stays below that too, and the event loop sends it in a moment."""
MOST_OPERATIONS = 100
"""Limit of a transaction."""
_LAST_NUMBER = 9_999
"""Writes are numbered up to it, so that their keys can count down; a conversation has at most 1,000 messages."""
_LAST_MICROSECOND = 10**16 - 1
"""The same for times."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

type Operation = tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], Mapping[str, Any]]
"""One operation of a transaction, as the SDK takes it."""


class Head(msgspec.Struct, frozen=True):
    """A conversation's head entity."""

    partition: str
    conversation: Conversation
    generation: str
    """The current generation of its messages."""
    writes: int = 0
    """Number of writes that added messages to the generation."""
    size: int = 0
    """Bytes of the messages as JSON."""
    version: int = 0
    """Number of changes so far. What a change wrote has its version."""
    change: str = ""
    """A random name of the last change."""
    etag: str = ""
    """The ETag of the entity when it was read."""

    @property
    def list_key(self) -> str:
        """The key of its entry in the list."""
        place = ListPosition(self.conversation.last_updated, self.conversation.id)
        return list_key(self.conversation.mode, place)

    @property
    def prefix(self) -> str:
        """What the keys of its generation begin with."""
        return f"g-{self.conversation.id}-{self.generation}-"


_OF_HEAD = ("generation", "writes", "size", "version", "change")
"""Fields of a head that are properties of its entity."""


def partition_of(owner: str) -> str:
    """Hash the owner, since a key allows only some characters and a limited length."""
    return sha256(owner.encode()).hexdigest()


def keys(partition: str, row: str) -> dict[str, str]:
    """The keys of an entity."""
    return {"PartitionKey": partition, "RowKey": row}


def list_key(mode: Mode, place: ListPosition) -> str:
    """Make the key of a place in the list."""
    microseconds = (place.last_updated - _EPOCH) // timedelta(microseconds=1)
    return f"l-{mode}-{_LAST_MICROSECOND - microseconds:016}-{place.id}"


def write_key(head: Head, number: int) -> str:
    """Make what the keys of a write's messages begin with."""
    return f"{head.prefix}m{_LAST_NUMBER - number:04}"


def number_of(row: TableEntity) -> int:
    """Read the number of a write from the key of its messages."""
    return _LAST_NUMBER - int(row["RowKey"][-7:-3])


def mark_key(head: Head, message_id: str) -> str:
    """Make the key of a message's mark."""
    return f"{head.prefix}i{sha256(message_id.encode(errors='replace')).hexdigest()[:32]}"


def removal_keys(head: Head) -> dict[str, str]:
    """The keys of the entity that says that a head's generation is to be removed."""
    return keys(head.partition, f"d-{head.conversation.id}-{head.generation}")


def head_of(entity: TableEntity) -> Head:
    """Read a head."""
    return Head(
        entity["PartitionKey"],
        conversation_of(entity, entity["RowKey"][2:]),
        **{name: entity[name] for name in _OF_HEAD},
        etag=entity.metadata["etag"],
    )


def conversation_of(entity: TableEntity, conversation_id: str) -> Conversation:
    """Read what lists show of a conversation."""
    return msgspec.convert({**entity, "id": conversation_id}, Conversation)


def _list_properties(conversation: Conversation) -> dict[str, str | int]:
    return {
        "title": conversation.title,
        "mode": conversation.mode.value,
        "last_message": conversation.last_message,
        "last_updated": conversation.last_updated.isoformat(),
        "message_count": conversation.message_count,
        "pinned": conversation.pinned,
    }


def head_entity(head: Head) -> dict[str, str | int]:
    """Make the entity of a head."""
    return {
        **keys(head.partition, f"h-{head.conversation.id}"),
        **_list_properties(head.conversation),
        **{name: getattr(head, name) for name in _OF_HEAD},
    }


def list_entity(head: Head) -> dict[str, str | int]:
    """Make the entity of an entry in the list."""
    return {**keys(head.partition, head.list_key), **_list_properties(head.conversation)}


def started(head: Head) -> list[Operation]:
    """The operations that make a conversation."""
    return [("create", head_entity(head)), ("create", list_entity(head))]


def changed(old: Head, new: Head) -> list[Operation]:
    """The operations that change a head and its entry in the list, if the head is as it was read."""
    head: Operation = ("update", head_entity(new), {"mode": UpdateMode.REPLACE, **unchanged(old.etag)})
    if new.list_key == old.list_key:
        return [head, ("update", list_entity(new), {"mode": UpdateMode.REPLACE})]
    return [head, ("delete", keys(old.partition, old.list_key)), ("create", list_entity(new))]


def deleted(head: Head) -> list[Operation]:
    """The operations after which a conversation is not found, if the head is as it was read."""
    return [
        ("delete", keys(head.partition, f"h-{head.conversation.id}"), unchanged(head.etag)),
        ("delete", keys(head.partition, head.list_key)),
        removal(head),
    ]


def removal(head: Head, *, is_begun: bool = True) -> Operation:
    """The operation that says that a head's generation is to be removed.

    Args:
        head: The head.
        is_begun: Whether it may be removed at once. Else it is being written, and is removed if that breaks off.
    """
    return "create", {**removal_keys(head), "prefix": head.prefix, "is_begun": is_begun}


def pieces_of(head: Head, number: int, body: bytes) -> list[dict[str, Any]]:
    """Make the entities of a write's messages: one, unless they are longer than an entity may be."""
    pieces = [body[start : start + MOST_BYTES] for start in range(0, len(body), MOST_BYTES)]
    return [
        {
            **keys(head.partition, f"{write_key(head, number)}-{place:02}"),
            "version": head.version,
            "pieces": len(pieces),
            **binary_parts(piece),
        }
        for place, piece in enumerate(pieces)
    ]


def binary_parts(piece: bytes) -> dict[str, bytes]:
    """Cut bytes into properties."""
    return {
        f"part{number:02}": piece[start : start + PROPERTY_BYTES]
        for number, start in enumerate(range(0, len(piece), PROPERTY_BYTES))
    }


def bytes_of(rows: Iterable[TableEntity]) -> bytes:
    """Join what `binary_parts` has cut."""
    return b"".join(row[name] for row in rows for name in sorted(row) if name.startswith("part"))


def mark_entity(head: Head, message_id: str, number: int) -> dict[str, str | int]:
    """Make the entity that says which write has a message."""
    return {**keys(head.partition, mark_key(head, message_id)), "number": number}


async def rows_in(
    table: TableClient,
    partition: str,
    prefix: str,
    last_prefix: str = "",
    *,
    above: str = "",
    only: str = "",
    select: Sequence[str] | None = None,
    page: int | None = None,
) -> AsyncGenerator[TableEntity]:
    """Yield the entities of a partition whose row keys have a prefix, in the order of the keys.

    Args:
        table: The table.
        partition: The partition.
        prefix: The prefix.
        last_prefix: A larger one: also those with it, and those between.
        above: Only those with larger keys; empty: all.
        only: A condition that they meet; empty: none.
        select: The properties to read; None: all.
        page: How many entities to read at once; None: as many as the service gives.
    """
    condition = f"PartitionKey eq @partition and RowKey {'gt' if above else 'ge'} @first and RowKey lt @after"
    if only:
        condition += f" and {only}"
    end = last_prefix or prefix
    values = {"partition": partition, "first": above or prefix, "after": end[:-1] + chr(ord(end[-1]) + 1)}
    async for entity in table.query_entities(condition, parameters=values, select=select, results_per_page=page):
        yield entity


class Changed(Exception):
    """What was read does not hold any more, or nobody knows whether it does. The way out is to start again."""


async def commit(table: TableClient, operations: Sequence[Operation]) -> None:
    """Do all of the operations, or none.

    Raises:
        Changed: an entity is not as they suppose, and none was done; or the answer was lost.
    """
    try:
        await table.submit_transaction(operations)
    except (ServiceRequestError, ServiceResponseError):  # the SDK repeats no `POST`
        raise Changed from None
    except HttpResponseError as error:
        if getattr(error, "error_code", None) in _NOT_AS_SUPPOSED:
            raise Changed from None
        raise


_NOT_AS_SUPPOSED = frozenset(
    {
        TableErrorCode.ENTITY_ALREADY_EXISTS,
        TableErrorCode.RESOURCE_NOT_FOUND,
        TableErrorCode.UPDATE_CONDITION_NOT_SATISFIED,
        TableErrorCode.CONDITION_NOT_MET,
    }
)


async def remove(table: TableClient, partition: str, prefix: str, removal_key: str) -> None:
    """Delete the entities of a generation, and at last the one that says that it is to be removed.

    Raises:
        Changed: another request removes them too, and may not have finished.
    """
    names = [row["RowKey"] async for row in rows_in(table, partition, prefix, select=["RowKey"])]
    for some in batched((*names, removal_key), MOST_OPERATIONS, strict=False):
        await commit(table, [("delete", keys(partition, name)) for name in some])


def unchanged(etag: str) -> dict[str, Any]:
    """Make the condition of an operation that an entity is as it was read."""
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}
