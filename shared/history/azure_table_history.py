"""History in Azure Table Storage. Imports `azure.data.tables`: import it late.

`azure_table_rows` says which entities there are. Whatever changes a chat is one transaction on the condition that its
head is as it was read (by its ETag), or it starts again. So readers see all of it or nothing, concurrent writers lose
nothing, and no crash leaves half of it. What has to be removed afterwards is noted in the same transaction, and removed
with the next list or deletion if that breaks off.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from uuid import uuid4

from azure.core.exceptions import AzureError
from azure.data.tables.aio import TableClient

from shared.chat_types import PartHealth
from shared.errors import NotFound, Unavailable
from shared.history import MOST_MESSAGES, NEWEST, NO_EDIT, Conversation, Edit, Mode, Page, StoredMessage, contents
from shared.history import azure_table_rows as entities
from shared.history.azure_table import HistoryTable
from shared.history.azure_table_writing import FEW, new_name, read, write
from shared.outbound.azure_service.storage import found

_LEFTOVER_AGE = timedelta(hours=1)
"""Age from which a generation that is being written is a leftover; no write takes as long."""
_MOST_PAGE = 1_000
"""Entities that the service returns at once, at most."""


class AzureTableHistory:
    """A `HistoryStore` in a table.

    Args:
        table: The table.
        max_chats: Maximum number of conversations of one owner; a few more if some are started at the same time.
        leftover_age: Age from which what an interrupted write has left is removed.
    """

    def __init__(
        self, table: HistoryTable, max_chats: int = contents.MAX_CHATS, leftover_age: timedelta = _LEFTOVER_AGE
    ) -> None:
        self._table = table
        self.aclose = table.aclose
        self._max_chats = max_chats
        self._leftover_age = leftover_age

    async def create(self, owner: str, mode: Mode, title: str, session_id: str | None = None) -> Conversation:
        """Start an empty conversation, or return that of the session."""
        made = Conversation(session_id or str(uuid4()), title, mode, "", datetime.now(UTC), 0)
        head = entities.Head(entities.partition_of(owner), made, new_name())
        may_be_there = session_id is not None

        async def work(table: TableClient) -> Conversation:
            nonlocal may_be_there
            if may_be_there:
                with suppress(NotFound):
                    return (await _find(table, head.partition, made.id)).conversation
            may_be_there = True
            await entities.commit(table, [*entities.started(head), await self._counted(table, head.partition)])
            return made

        return await self._table.run(work)

    async def conversations(self, owner: str, page: Page = NEWEST) -> Sequence[Conversation]:
        """List a page of the owner's conversations, newest first."""
        partition = entities.partition_of(owner)
        async with self._table.ready() as table:
            await self._tidy(table, partition)
            modes = [page.mode] if page.mode else [*Mode]
            listed = await asyncio.gather(*(_listed(table, partition, mode, page) for mode in modes))
        newest_first = sorted(chain.from_iterable(listed), key=lambda one: (-one.last_updated.timestamp(), one.id))
        return newest_first[: page.limit]

    async def messages(self, owner: str, conversation_id: str, newest: int = MOST_MESSAGES) -> Sequence[StoredMessage]:
        """Return the newest messages, oldest first."""

        async def work(table: TableClient) -> Sequence[StoredMessage]:
            head = await _find(table, entities.partition_of(owner), conversation_id)
            return contents.paired(await read(table, head, newest))

        return await self._table.run(work)

    async def write(
        self, owner: str, conversation_id: str, messages: Sequence[StoredMessage], edit: Edit = NO_EDIT
    ) -> Conversation:
        """Replace the message with the same id, or add at the end, for each message; remove those taken back."""
        messages = contents.merged((), messages)
        tried: set[str] = set()

        async def work(table: TableClient) -> Conversation:
            head = await _find(table, entities.partition_of(owner), conversation_id)
            if head.change in tried:  # by a transaction whose answer was lost
                return head.conversation
            # Most messages are new, and their marks refuse the transaction if they are not.
            are_new = not tried and len(messages) <= FEW
            tried.add(change := new_name())
            return (await write(table, head, messages, edit, change, are_new=are_new)).conversation

        return await self._table.run(work)

    async def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation with everything in it."""
        await self._delete(entities.partition_of(owner), conversation_id)

    async def delete_older(self, before: datetime) -> None:
        """Delete all conversations that were last written before a time: the whole table is read for it."""
        values = {"before": before.astimezone(UTC).isoformat()}
        async with self._table.ready() as table:
            heads = table.query_entities(
                "RowKey ge 'h-' and RowKey lt 'h.' and last_updated lt @before",
                parameters=values,
                select=["PartitionKey", "RowKey"],
            )
            for head in [head async for head in heads]:
                with suppress(NotFound):  # its owner has deleted it meanwhile
                    await self._delete(head["PartitionKey"], head["RowKey"][2:], before)

    async def _delete(self, partition: str, conversation_id: str, before: datetime | None = None) -> None:
        """Delete a conversation, or leave it if it was last written at a time or later."""
        tried = False

        async def work(table: TableClient) -> None:
            nonlocal tried
            try:
                head = await _find(table, partition, conversation_id)
            except NotFound:
                if tried:  # by another request, or by an own transaction whose answer was lost
                    return
                raise
            if before and head.conversation.last_updated >= before:
                return
            tried = True
            await entities.commit(table, entities.deleted(head))
            with suppress(AzureError):  # the chat is gone, and what is left of it goes with the next list
                await self._tidy(table, head.partition)

        await self._table.run(work)

    async def check(self) -> PartHealth:
        """Check that the table can be used."""
        try:
            async with self._table.ready() as table:
                await found(table, "health", "h")
        except Unavailable as error:
            return PartHealth("azure-table", ok=False, detail=error.message, needed=False)
        return PartHealth("azure-table", ok=True, detail="Azure Table Storage", needed=False)

    async def _counted(self, table: TableClient, partition: str) -> entities.Operation:
        """Return the operation that counts one more conversation of an owner; raise TooLarge if there may be no more.

        Deletions are not counted: where there seem to be too many, they are counted anew.
        """
        counted = await found(table, partition, "n")
        count: int = counted["chats"] if counted else self._max_chats
        if count >= self._max_chats:
            count = sum([1 async for _ in entities.rows_in(table, partition, "h-", select=["RowKey"])])
        contents.require_room_for_chat(count, self._max_chats)
        return "upsert", {**entities.keys(partition, "n"), "chats": count + 1}

    async def _tidy(self, table: TableClient, partition: str) -> None:
        """Remove what is to be removed of an owner's chats."""
        before = datetime.now(UTC) - self._leftover_age
        for row in [row async for row in entities.rows_in(table, partition, "d-")]:
            if row["is_begun"] or row.metadata["timestamp"] < before:
                with suppress(AzureError, entities.Changed):
                    await entities.remove(table, partition, row["prefix"], row["RowKey"])


async def _find(table: TableClient, partition: str, conversation_id: str) -> entities.Head:
    """Read the head of a conversation in its owner's partition; raise NotFound if there is none."""
    contents.require_id(conversation_id)
    if entity := await found(table, partition, f"h-{conversation_id}"):
        return entities.head_of(entity)
    raise contents.no_such_chat()


async def _listed(table: TableClient, partition: str, mode: Mode, page: Page) -> list[Conversation]:
    """Read the conversations of one mode that may be on a page."""
    listed: list[Conversation] = []
    above = entities.list_key(mode, page.after) if page.after else ""
    only = "pinned eq true" if page.pinned else ""
    at_once = min(page.limit, _MOST_PAGE)
    async with aclosing(entities.rows_in(table, partition, f"l-{mode}-", above=above, only=only, page=at_once)) as rows:
        async for row in rows:
            listed.append(entities.conversation_of(row, row["RowKey"][-36:]))
            if len(listed) == page.limit:
                break
    return listed
