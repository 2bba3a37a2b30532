"""Changes of a chat in the table, to be interrupted at each of their writes: `python -m tests.history.interrupted`."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from azure.data.tables.aio import TableClient

from shared.errors import NotFound
from shared.history import Edit, Mode, StoredMessage
from shared.history.azure_table import TABLE, HistoryTable
from shared.history.azure_table_history import AzureTableHistory
from shared.history.azure_table_rows import partition_of
from tests.history.kept_chats import said

MANY = tuple(said(number) for number in range(110))
"""More messages than a transaction takes."""
LARGE = (said(200, "x" * 300_000), said(201, "x" * 300_000))
"""More bytes than a transaction takes."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a chat."""

    before: Sequence[StoredMessage]
    """The messages before it."""
    after: Sequence[StoredMessage] | None
    """The messages after it; None: it deletes the chat."""
    run: Callable[[AzureTableHistory, str, str], Awaitable[object]]
    """Makes it, for an owner and a chat."""


def _writing(before: Sequence[StoredMessage], written: Sequence[StoredMessage]) -> Change:
    after = {each.id: each for each in (*before, *written)}
    return Change(before, (*after.values(),), lambda store, owner, chat: store.write(owner, chat, written))


def _delete(store: AzureTableHistory, owner: str, chat: str) -> Awaitable[object]:
    return store.delete(owner, chat)


def _rename(store: AzureTableHistory, owner: str, chat: str) -> Awaitable[object]:
    return store.write(owner, chat, [], Edit("Renamed"))


def _take_back(store: AzureTableHistory, owner: str, chat: str) -> Awaitable[object]:
    return store.write(owner, chat, [], Edit(taken_back=[said(3)]))


TURN = (said(4), said(5))
FEW = tuple(said(number) for number in range(4))
CHANGES = {
    "turn": _writing(FEW, TURN),
    "update": _writing(FEW, (said(3, "Changed"), *TURN)),
    "rename": Change(FEW, FEW, _rename),
    "take back": Change(FEW, FEW[:3], _take_back),
    "many": _writing(FEW, MANY),
    "large": _writing(FEW, LARGE),
    "delete": Change(MANY, None, _delete),
}


async def begin(store: AzureTableHistory, owner: str, change: Change) -> str:
    """Make the chat as it is before a change; return its id."""
    made = await store.create(owner, Mode.STANDARD, "Title")
    await store.write(owner, made.id, change.before)
    return made.id


async def assert_whole(store: AzureTableHistory, table: TableClient, owner: str, chat: str, change: Change) -> None:
    """Check that the chat is as before a change or as after it, that it goes on, and that a deletion leaves nothing.

    Args:
        store: A store that the interruption has not touched, to which all that was interrupted is a leftover.
        table: The table.
        owner: The chat's owner.
        chat: The chat's id.
        change: What was interrupted.
    """
    try:
        kept = await store.messages(owner, chat)
    except NotFound:
        assert change.after is None
        assert list(await store.conversations(owner)) == []
    else:
        assert list(kept) in (list(change.before), list(change.after or ()))
        (listed,) = await store.conversations(owner)
        assert (listed.id, listed.message_count) == (chat, len(kept))
        assert listed.last_message[:100] == kept[-1].content[:100]
        again = said(999)
        assert (await store.write(owner, chat, [*kept[:9], again])).title == listed.title
        assert list(await store.messages(owner, chat)) == [*kept, again]
        await store.delete(owner, chat)
    await store.conversations(owner)
    left = [row["RowKey"] async for row in table.query_entities(f"PartitionKey eq '{partition_of(owner)}'")]
    assert left in ([], ["n"])


async def main(connection_string: str, name: str, owner: str, chat: str) -> None:
    """Make one change, alone in a process."""
    client = TableClient.from_connection_string(connection_string, TABLE, retry_total=0)
    store = AzureTableHistory(HistoryTable(client))
    try:
        await CHANGES[name].run(store, owner, chat)
    finally:
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
