"""Verdicts in Azure Table Storage. Imports `azure.data.tables`: import it late.

    PartitionKey a-{day}    RowKey {owner}-{answer}  what an answer was; `day` is that of its id, since 1970
    PartitionKey verdicts   RowKey v-{answer}        a verdict with its answer; later answers come first

`owner` and the property `chat` are digests. Days are partitions so that those that are too old are found and deleted
together, whoever asked.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Any

import msgspec
from azure.core.exceptions import ResourceExistsError
from azure.data.tables import UpdateMode
from azure.data.tables.aio import TableClient

from shared.history.azure_table import HistoryTable
from shared.history.azure_table_rows import binary_parts, bytes_of, keys, partition_of, rows_in
from shared.outbound.azure_service.tables import found
from shared.verdicts import RETENTION_DAYS, Judged, KeptAnswer, Verdict, no_such_answer, oldest_id

TABLE = "SwitchboardVerdicts"
"""The table's name; it is made at the first use."""
_VERDICTS = "verdicts"
_DAY_MILLISECONDS = 24 * 60 * 60 * 1000
_LAST_TIME = 16**12 - 1
"""The highest time in the id of an answer."""


class AzureTableVerdicts:
    """A `VerdictStore` in a table.

    Args:
        table: The table.
    """

    def __init__(self, table: HistoryTable) -> None:
        self._table = table

    async def keep(self, owner: str, answer: KeptAnswer) -> None:
        """Keep what an answer was, and at one answer of 256 delete those that are too old."""
        async with self._table.ready() as table:
            await table.upsert_entity(_answer_entity(owner, answer), mode=UpdateMode.REPLACE)
            if answer.id.endswith("00"):
                await _delete_found(
                    table,
                    "PartitionKey ge 'a-' and PartitionKey lt @before",
                    {"before": _day_key(_day_of(oldest_id()))},
                )

    async def judge(self, owner: str, answer_id: str, verdict: Verdict) -> bool:
        """Keep a verdict, in place of an earlier one."""
        partition = partition_of(owner)
        async with self._table.ready() as table:
            earlier = await found(table, _VERDICTS, _verdict_key(answer_id))
            answer_keys = (_day_key(_day_of(answer_id)), f"{partition}-{answer_id}")
            kept = earlier or await found(table, *answer_keys)
            if kept is None or kept["owner"] != partition:
                raise no_such_answer()
            entity = {**kept, **keys(_VERDICTS, _verdict_key(answer_id)), "verdict": msgspec.json.encode(verdict)}
            if earlier:
                await table.upsert_entity(entity, mode=UpdateMode.REPLACE)
                return False
            try:
                await table.create_entity(entity)
            except ResourceExistsError:  # the same caller, at the same time
                await table.upsert_entity(entity, mode=UpdateMode.REPLACE)
                return False
            if not await found(table, *answer_keys):  # its chat was deleted meanwhile
                await table.delete_entity(entity)
                raise no_such_answer()
        return True

    async def page(self, limit: int, after: str | None = None) -> Sequence[Judged]:
        """List what was judged, the newest answers first."""
        listed: list[Judged] = []
        above = _verdict_key(after) if after else ""
        async with (
            self._table.ready() as table,
            aclosing(rows_in(table, _VERDICTS, "v-", above=above, page=limit)) as rows,
        ):
            async for row in rows:
                answer = msgspec.json.decode(bytes_of([row]), type=KeptAnswer)
                listed.append(Judged(answer, msgspec.json.decode(row["verdict"], type=Verdict)))
                if len(listed) == limit:
                    break
        return listed

    async def forget(self, owner: str, chat: str) -> None:
        """Delete the answers of a chat, and then their verdicts: `judge` looks for the answer last."""
        partition = partition_of(owner)
        of_chat = {"owner": partition, "chat": _digest(chat)}
        first = _day_of(oldest_id())
        in_day = "PartitionKey eq @day and RowKey ge @first and RowKey lt @last and chat eq @chat"
        ends = {"first": f"{partition}-", "last": f"{partition}."}
        async with self._table.ready() as table:
            await asyncio.gather(
                *(
                    _delete_found(table, in_day, {**of_chat, **ends, "day": _day_key(day)})
                    for day in range(first, first + RETENTION_DAYS + 2)
                )
            )
            judged = f"PartitionKey eq '{_VERDICTS}' and owner eq @owner and chat eq @chat"
            await _delete_found(table, judged, of_chat)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._table.aclose()


def _answer_entity(owner: str, answer: KeptAnswer) -> dict[str, Any]:
    partition = partition_of(owner)
    return {
        **keys(_day_key(_day_of(answer.id)), f"{partition}-{answer.id}"),
        "owner": partition,
        "chat": _digest(answer.chat) if answer.chat else "",
        **binary_parts(msgspec.json.encode(answer)),
    }


async def _delete_found(table: TableClient, condition: str, values: dict[str, str]) -> None:
    """Delete the entities of a query."""
    query = table.query_entities(condition, parameters=values, select=["PartitionKey", "RowKey"])
    async for row in query:  # one by one: another request may delete some of them too, which the SDK takes for done
        await table.delete_entity(row)


def _day_of(answer_id: str) -> int:
    """Return the day of an id, since 1970: of any, since callers send what they like."""
    return int(answer_id[:12], 16) // _DAY_MILLISECONDS


def _day_key(day: int) -> str:
    return f"a-{day:07}"


def _verdict_key(answer_id: str) -> str:
    return f"v-{_LAST_TIME - int(answer_id[:12], 16):012x}{answer_id[12:]}"


def _digest(chat: str) -> str:
    return sha256(chat.encode(errors="replace")).hexdigest()[:32]
