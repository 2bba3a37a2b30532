"""Chats in the table as the app kept them before: all messages of a chat as one text, cut into rows."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

from azure.data.tables.aio import TableClient

from shared.history import StoredMessage, contents

_PROPERTY = 64 * 1024
_ROW = 11 * _PROPERTY


async def write_older(
    table: TableClient, owner: str, title: str, messages: Sequence[StoredMessage], *, deleted: bool = False
) -> str:
    """Write a chat; return its id."""
    made, generation, partition = str(uuid4()), uuid4().hex[:16], sha256(owner.encode()).hexdigest()
    body = contents.encode_messages(messages) if messages else b""
    rows = [body[start : start + _ROW] for start in range(0, len(body), _ROW)]
    for number, row in enumerate(rows):
        parts = {
            f"part{place:02}": row[start : start + _PROPERTY]
            for place, start in enumerate(range(0, len(row), _PROPERTY))
        }
        key = f"m-{made}-{generation}-{number:03}"
        await table.create_entity({"PartitionKey": partition, "RowKey": key, **parts})
    await table.create_entity(
        {
            "PartitionKey": partition,
            "RowKey": f"c-{made}",
            "title": title,
            "mode": "standard",
            "last_message": messages[-1].content[:200] if messages else "",
            "last_updated": datetime.now(UTC).isoformat(),
            "message_count": len(messages),
            "generation": generation if messages else "",
            "rows": len(rows),
            "deleted": deleted,
        }
    )
    return made
