"""Adds up the counts of all instances, through a table. Imports `azure.data.tables`: import it late.

Each day (UTC) has a table of its own, which is deleted two days later:

    PartitionKey {aa}          RowKey {digest}  what a caller has used; `aa` begins its digest
    PartitionKey all-{group}   RowKey sum       what all callers have used at a group of instances
    PartitionKey all           RowKey sums      the sums of all groups, each in a property of its own

An instance adds to the row of a caller what it has counted itself, if the row is as it was read (by its ETag), and so
learns what the others have added. It does the same with the sum of its group, and one of the group copies that to the
sums, which all read. So an exchange takes as much however many instances there are. No request waits for the table: a
background task exchanges while requests come. If the table fails, each instance uses only its own counts.
"""

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime
from itertools import batched
from random import randrange
from typing import Any
from uuid import uuid4

import msgspec
from azure.core import MatchConditions, exceptions
from azure.data.tables import TableEntity, UpdateMode
from azure.data.tables.aio import TableClient, TableServiceClient
from pydantic import SecretStr

from shared.budgets.ledger import Account, Ledger, Scope
from shared.budgets.standing import DAY, Consumption
from shared.chat_types import PartHealth
from shared.outbound.azure_service.storage import close_client, found, is_without_table, open_client
from shared.outbound.azure_service.transport import client_options

TABLE = "SwitchboardBudgets"
"""What the names of the tables begin with; the day follows, such as 20261122."""
SYNC_SECONDS = 3.0
"""Interval between two exchanges with the table, in seconds."""
SOONEST_SECONDS = 0.2
"""Shortest interval, for counts that must be reported at once."""
_EXCHANGE_TIMEOUT_SECONDS = 10.0
"""Time limit for one exchange with the table, in seconds."""
_KEPT_DAYS = 2
"""Days, including today, whose tables are kept; one more than needed, since the clocks of instances differ."""
_GROUPS = 32
"""Groups of instances. Of 1,000 instances a group has some 30, which change its row ten times a second together."""
_AT_A_TIME = 20
"""Rows that are exchanged at the same time."""
_TRIES = 5
"""How often an exchange of a row starts again because another instance was faster."""
_RETRIES: dict[str, Any] = {"retry_total": 1, "read_timeout": 5}

_log = logging.getLogger("switchboard.budgets")


class _Sum(msgspec.Struct, frozen=True):
    """The sum of a group."""

    at: float
    """When it was copied, in Unix time."""
    usage: Consumption
    """What the group had used then."""


class SharedCounts:
    """Exchanges the counts of a ledger with those of other instances.

    Args:
        connection: Connection string of the storage account whose tables are used.
        ledger: The ledger of this instance.
        address: Address of its tables, in place of the connection string.

    Raises:
        NotConfigured: the connection string is none.
    """

    def __init__(self, connection: SecretStr | str | None, ledger: Ledger, address: str | None = None) -> None:
        self._ledger = ledger
        self._client = open_client(TableServiceClient, connection, address, **client_options(**_RETRIES))
        self._group = Account(f"all-{randrange(_GROUPS):02}")  # noqa: S311 (no secret)
        self._table: tuple[int, TableClient] | None = None
        self._is_failing = False
        self._is_urgent = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        ledger.changed, ledger.check = self._exchange_soon, self.check

    async def exchange(self, scope: Scope = "all") -> None:
        """Report what was counted here, and read what other instances counted. Repeated failures are logged once."""
        try:
            async with asyncio.timeout(_EXCHANGE_TIMEOUT_SECONDS):
                await self._exchange(scope)
        except (exceptions.AzureError, TimeoutError, LookupError, msgspec.DecodeError) as exc:
            self._table = None
            if not self._is_failing:
                _log.warning("the table of budgets fails (%s): this instance counts for itself", type(exc).__name__)
            self._is_failing = True
        else:
            if self._is_failing:
                _log.info("the table of budgets works again")
            self._is_failing = False

    async def check(self) -> PartHealth:
        """Check whether the table can be written and read."""
        await self.exchange()
        says = "A table of AzureWebJobsStorage counts for all instances."
        if self._is_failing:
            says = (
                "The table of budgets cannot be used, and each instance counts for itself. Check AzureWebJobsStorage, "
                "and give the app the role 'Storage Table Data Contributor', or the right key."
            )
        return PartHealth("azure-table", ok=not self._is_failing, detail=says, needed=False)

    async def aclose(self) -> None:
        """Cancel the background task, and close the connections."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await close_client(self._client)

    def _exchange_soon(self, is_urgent: bool) -> None:
        if is_urgent:
            self._is_urgent.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._exchange_while_used())

    async def _exchange_while_used(self) -> None:
        loop = asyncio.get_running_loop()
        while self._ledger.waits:
            self._is_urgent.clear()
            await self.exchange("soon")
            until = loop.time() + SYNC_SECONDS
            while not self._is_failing and await self._is_urgent_before(until - SOONEST_SECONDS):
                await asyncio.sleep(SOONEST_SECONDS)
                self._is_urgent.clear()
                await self.exchange("at once")
            await asyncio.sleep(until - loop.time())

    async def _is_urgent_before(self, until: float) -> bool:
        """Wait until counts must be reported at once; return False if the time is over before."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                return await self._is_urgent.wait()
        return False

    async def _exchange(self, scope: Scope) -> None:
        day = self._ledger.today
        table = await self._table_of(day)
        for some in batched(self._ledger.due(scope), _AT_A_TIME, strict=False):
            await asyncio.gather(*(self._exchange_caller(table, day, one) for one in some))
        if self._ledger.limits_all and (scope != "at once" or self._ledger.is_urgent(self._ledger.all)):
            await self._exchange_all(table, day, scope)

    async def _exchange_caller(self, table: TableClient, day: int, account: Account) -> None:
        used, sent = await self._added(table, day, (account.digest[:2], account.digest), account, account.unreported)
        self._ledger.exchanged(account, used, sent)

    async def _exchange_all(self, table: TableClient, day: int, scope: Scope) -> None:
        """Add to the sum of the group, copy it to the sums unless another has just done so, and learn the others'."""
        group = self._group
        group.shared, sent = await self._added(table, day, (group.digest, "sum"), group, self._ledger.all.unreported)
        stored = await found(table, "all", "sums") or TableEntity()
        sums = {name: msgspec.json.decode(stored[name], type=_Sum) for name in stored if name.startswith("g")}
        own, now = f"g{group.digest[-2:]}", self._ledger.clock.utc()
        copied = sums.pop(own, None)
        if scope == "at once" or copied is None or now - copied.at > SYNC_SECONDS / 2:
            copy = msgspec.json.encode(_Sum(now, group.shared)).decode()
            await table.upsert_entity({"PartitionKey": "all", "RowKey": "sums", own: copy}, UpdateMode.MERGE)
        used = group.shared.copy()
        for each in sums.values():
            used.add(each.usage)
        self._ledger.exchanged(self._ledger.all, used, sent)

    async def _added(
        self, table: TableClient, day: int, keys: tuple[str, str], account: Account, unreported: Consumption
    ) -> tuple[Consumption, Consumption]:
        """Add what is unreported to a row; return what is in it then, and what was added.

        With nothing to add the row is read only. Nothing is added if other instances were faster each time. The account
        knows the row as it was at its last exchange.
        """
        name, sent = uuid4().hex, unreported.copy()
        used, etag = account.shared, account.row[1] if sent and account.row and account.row[0] == day else None
        for _ in range(_TRIES):
            if etag is None:
                entity = await found(table, *keys)
                # A row that is not there goes on from what is known: at midnight, the requests of the last minute.
                used = msgspec.json.decode(entity["usage"], type=Consumption) if entity else account.shared
                etag = entity.metadata["etag"] if entity else None
                if not sent or (entity and entity["by"] == name):  # added, by a request whose answer was lost
                    account.row = (day, etag)
                    return used, sent
            new = used.copy().add(sent)
            new.requests_at(self._ledger.clock.utc())  # forgets those before the last minute
            row = {"PartitionKey": keys[0], "RowKey": keys[1], "by": name, "usage": msgspec.json.encode(new).decode()}
            if etag := await _put(table, row, etag):
                account.row = (day, etag)
                return new, sent
        account.row = (day, None)
        return used, Consumption()

    async def _table_of(self, day: int) -> TableClient:
        """Return the table of a day. The first time it is made, and those of earlier days are deleted."""
        if self._table is None or self._table[0] != day:
            first_kept = _name(day - _KEPT_DAYS + 1)
            async for table in self._client.query_tables(f"TableName ge '{TABLE}' and TableName lt '{first_kept}'"):
                with suppress(exceptions.HttpResponseError):  # another instance has deleted it
                    await self._client.delete_table(table.name)
            with suppress(exceptions.ResourceExistsError):
                await self._client.create_table(_name(day))
            self._table = (day, self._client.get_table_client(_name(day)))
        return self._table[1]


async def _put(table: TableClient, row: dict[str, str], etag: str | None) -> str | None:
    """Write a row if it is as it was read, or make it; return its ETag, or None if another instance was faster."""
    try:
        if etag is None:
            written = await table.create_entity(row)
        else:
            condition = MatchConditions.IfNotModified
            written = await table.update_entity(row, UpdateMode.REPLACE, etag=etag, match_condition=condition)
    except exceptions.ResourceNotFoundError as error:
        if is_without_table(error):
            raise
        return None
    except (exceptions.ResourceExistsError, exceptions.ResourceModifiedError):
        return None
    return written["etag"]


def _name(day: int) -> str:
    return TABLE + datetime.fromtimestamp(day * DAY, UTC).strftime("%Y%m%d")
