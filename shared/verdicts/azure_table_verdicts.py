"""Verdicts in the table of the chats. Imports `azure.data.tables`: import it late.

In an owner's partition, beside the owner's chats (`azure_table_rows` of the history):

    RowKey a-{answer}         what an answer was, until it is too old to be judged
    RowKey c-{chat}-{answer}  says that the answer is of this chat; it stays as long as the answer or its verdict

In partitions of their own:

    PartitionKey verdicts     RowKey v-{answer}  a verdict with its answer; later answers come first
    PartitionKey e-{day}      RowKey {owner}     says that the owner has answers of this day, since 1970

`owner` and `chat` are digests. So all of a chat is found in its owner's partition, and what is too old by its day,
whoever asked.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import batched
from typing import Any

import msgspec
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableEntity, UpdateMode
from azure.data.tables.aio import TableClient

from shared.history import azure_table_rows as entities
from shared.history.azure_table import HistoryTable
from shared.outbound.azure_service.storage import found
from shared.verdicts import Judged, KeptAnswer, Verdict, no_such_answer, oldest_id

_VERDICTS = "verdicts"
_OF_JUDGED = ("PartitionKey", "RowKey", "owner", "chat")
"""What of a verdict's row leads to its answer."""
_DAY_MILLISECONDS = 24 * 60 * 60 * 1000
_LAST_TIME = 16**12 - 1
"""The highest time in the id of an answer."""


class AzureTableVerdicts:
    """A `VerdictStore` in the table of the chats.

    Args:
        table: The table.
    """

    def __init__(self, table: HistoryTable) -> None:
        self._table = table
        self.aclose = table.aclose
        self._day = 0
        self._with_answers: set[str] = set()
        """The owners who are known to have answers of that day."""

    async def add(self, owner: str, answer: KeptAnswer) -> None:
        """Keep what an answer was, and at one answer of 256 delete those that are too old."""
        partition = entities.partition_of(owner)
        kept: list[entities.Operation] = [("upsert", _answer_entity(partition, answer), {"mode": UpdateMode.REPLACE})]
        if answer.chat:  # an answer that comes again keeps the mark that it is judged
            kept.append(("upsert", _chat_keys(partition, _digest(answer.chat), answer.id), {"mode": UpdateMode.MERGE}))

        async def work(table: TableClient) -> None:
            await self._note_day(table, partition, _day_of(answer.id))
            await entities.commit(table, kept)
            if answer.id.endswith("00"):
                await _delete_too_old(table, oldest_id())

        await self._table.run(work)

    async def judge(self, owner: str, answer_id: str, verdict: Verdict) -> bool:
        """Keep a verdict, in place of an earlier one."""
        partition = entities.partition_of(owner)
        async with self._table.ready() as table:
            earlier = await found(table, _VERDICTS, _verdict_key(answer_id))
            kept = earlier or await found(table, partition, f"a-{answer_id}")
            if kept is None or kept["owner"] != partition:
                raise no_such_answer()
            entity = {
                **kept,
                **entities.keys(_VERDICTS, _verdict_key(answer_id)),
                "verdict": msgspec.json.encode(verdict),
            }
            if earlier:
                await _update(table, entity, UpdateMode.REPLACE)
                return False
            if kept["chat"]:
                marked = {**_chat_keys(partition, kept["chat"], answer_id), "is_judged": True}
                await _update(table, marked, UpdateMode.MERGE)
            try:
                await table.create_entity(entity)
            except ResourceExistsError:  # the same caller, at the same time
                await _update(table, entity, UpdateMode.REPLACE)
                return False
            if not await found(table, partition, f"a-{answer_id}"):  # its chat was deleted meanwhile
                await table.delete_entity(entity)
                raise no_such_answer()
        return True

    async def page(self, limit: int, after: str | None = None) -> Sequence[Judged]:
        """List what was judged, the newest answers first."""
        listed: list[Judged] = []
        above = _verdict_key(after) if after else ""
        async with (
            self._table.ready() as table,
            aclosing(entities.rows_in(table, _VERDICTS, "v-", above=above, page=limit)) as rows,
        ):
            async for row in rows:
                answer = msgspec.json.decode(entities.bytes_of([row]), type=KeptAnswer)
                listed.append(Judged(answer, msgspec.json.decode(row["verdict"], type=Verdict)))
                if len(listed) == limit:
                    break
        return listed

    async def answers_of(self, owner: str) -> Sequence[tuple[KeptAnswer, Verdict | None]]:
        """Return all that is kept of an owner's answers."""
        partition = entities.partition_of(owner)
        async with self._table.ready() as table:
            rows = [row async for row in entities.rows_in(table, partition, "a-")]
            rows += await _judged_of(table, partition)  # they come last, so that they count
        answers = [msgspec.json.decode(entities.bytes_of([row]), type=KeptAnswer) for row in rows]
        verdicts = [msgspec.json.decode(row.get("verdict", b"null"), type=Verdict | None) for row in rows]
        return [*{answer.id: (answer, verdict) for answer, verdict in zip(answers, verdicts, strict=True)}.values()]

    async def forget(self, owner: str, chat: str | None) -> None:
        """Delete the answers of a chat, or of all of an owner, and their verdicts."""
        partition = entities.partition_of(owner)
        if chat is None:
            await self._table.run(partial(_delete_all_of, partition))
            return

        async def work(table: TableClient) -> None:
            open_ones: list[entities.Operation] = []
            for row in [row async for row in entities.rows_in(table, partition, f"c-{_digest(chat)}-")]:
                answer_id = row["RowKey"].rpartition("-")[2]
                if row.get("is_judged"):
                    # `judge` looks for the answer last, and as long as this row is there, the others can be found.
                    await table.delete_entity(entities.keys(partition, f"a-{answer_id}"))
                    await table.delete_entity(entities.keys(_VERDICTS, _verdict_key(answer_id)))
                    await table.delete_entity(row)
                else:
                    open_ones += _deleted(entities.keys(partition, f"a-{answer_id}"), row)
            for some in batched(open_ones, entities.MOST_OPERATIONS, strict=False):
                await entities.commit(table, some)

        await self._table.run(work)

    async def delete_older(self, before: datetime) -> None:
        """Delete the answers of before a time, and their verdicts."""
        oldest = oldest_id(before)
        async with self._table.ready() as table:
            await _delete_too_old(table, oldest)
            judged = entities.rows_in(table, _VERDICTS, "v-", above=_verdict_key(oldest), select=_OF_JUDGED)
            for row in [row async for row in judged]:
                await _delete_judged(table, row)

    async def _note_day(self, table: TableClient, partition: str, day: int) -> None:
        """Note that an owner has answers of a day, once a process."""
        if day != self._day:
            self._day, self._with_answers = day, set()
        if partition not in self._with_answers:
            await table.upsert_entity(entities.keys(_day_key(day), partition))
            self._with_answers.add(partition)


async def _judged_of(table: TableClient, partition: str) -> list[TableEntity]:
    """Read an owner's verdicts: those of all owners are looked through for it."""
    return [row async for row in entities.rows_in(table, _VERDICTS, "v-", only=f"owner eq '{partition}'")]


async def _delete_judged(table: TableClient, verdict: TableEntity) -> None:
    """Delete a verdict and its answer: the verdict last, since it leads to the others."""
    key = verdict["RowKey"]
    answer_id = f"{_LAST_TIME - int(key[2:14], 16):012x}{key[14:]}"
    await table.delete_entity(entities.keys(verdict["owner"], f"a-{answer_id}"))
    await table.delete_entity(_chat_keys(verdict["owner"], verdict["chat"], answer_id))
    await table.delete_entity(verdict)


async def _delete_all_of(partition: str, table: TableClient) -> None:
    for row in await _judged_of(table, partition):
        await _delete_judged(table, row)
    rows = entities.rows_in(table, partition, "a-", "c-", select=["PartitionKey", "RowKey"])
    for some in batched([row async for row in rows], entities.MOST_OPERATIONS, strict=False):
        await entities.commit(table, [("delete", row) for row in some])


async def _delete_too_old(table: TableClient, oldest: str) -> None:
    """Delete the answers with lower ids. Those that were judged are kept with their verdicts."""
    before = {"before": _day_key(_day_of(oldest))}
    days = table.query_entities("PartitionKey ge 'e-' and PartitionKey lt @before", parameters=before)
    for noted in [day async for day in days]:
        partition, too_old = noted["RowKey"], f"RowKey lt 'a-{oldest}'"
        answers = entities.rows_in(table, partition, "a-", only=too_old, select=["PartitionKey", "RowKey", "chat"])
        for answer in [answer async for answer in answers]:
            chat_keys = _chat_keys(partition, answer["chat"], answer["RowKey"][2:])
            of_chat = await found(table, *chat_keys.values()) if answer["chat"] else None
            await entities.commit(table, _deleted(answer, None if of_chat and of_chat.get("is_judged") else of_chat))
        await table.delete_entity(noted)


def _deleted(answer: Mapping[str, str], of_chat: TableEntity | None) -> list[entities.Operation]:
    """Return the operations that delete an answer, and its row of a chat if nobody has judged it meanwhile."""
    deleted: list[entities.Operation] = [("delete", entities.keys(answer["PartitionKey"], answer["RowKey"]))]
    if of_chat:
        condition = entities.unchanged(of_chat.metadata["etag"])
        deleted.append(("delete", entities.keys(of_chat["PartitionKey"], of_chat["RowKey"]), condition))
    return deleted


async def _update(table: TableClient, entity: Mapping[str, Any], mode: UpdateMode) -> None:
    """Change an entity; raise NotFound if it was deleted meanwhile."""
    try:
        await table.update_entity(entity, mode=mode)
    except ResourceNotFoundError:
        raise no_such_answer() from None


def _answer_entity(partition: str, answer: KeptAnswer) -> dict[str, Any]:
    return {
        **entities.keys(partition, f"a-{answer.id}"),
        "owner": partition,
        "chat": _digest(answer.chat) if answer.chat else "",
        **entities.binary_parts(msgspec.json.encode(answer)),
    }


def _chat_keys(partition: str, digest: str, answer_id: str) -> dict[str, str]:
    return entities.keys(partition, f"c-{digest}-{answer_id}")


def _day_of(answer_id: str) -> int:
    """Return the day of an id, since 1970."""
    return int(answer_id[:12], 16) // _DAY_MILLISECONDS


def _day_key(day: int) -> str:
    return f"e-{day:07}"


def _verdict_key(answer_id: str) -> str:
    return f"v-{_LAST_TIME - int(answer_id[:12], 16):012x}{answer_id[12:]}"


def _digest(chat: str) -> str:
    return sha256(chat.encode(errors="replace")).hexdigest()[:32]
