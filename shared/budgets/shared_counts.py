"""Adds up the counts of all instances, through a table. Imports `azure.data.tables`: import it late.

Each instance has one entity per day, which only it writes:

    PartitionKey  the day (UTC), such as 20261122
    RowKey        the instance, a name of this process
    counts        its `Counts` in MessagePack

An entity holds total counts, not increments, so a repeated write has no effect, the next write makes up for a lost one,
and writers never conflict. The counts of the other instances are the sum of their entities. No request waits for the
table: a background task reads and writes every `SYNC_SECONDS` while requests arrive. If the table fails, each instance
uses only its own counts.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableEntity, UpdateMode
from azure.data.tables.aio import TableClient

from shared.budgets.ledger import Counts, Ledger
from shared.budgets.standing import DAY, MINUTE
from shared.chat_types import PartHealth
from shared.errors import NotConfigured
from shared.outbound.azure_service.signing_in import app_identity
from shared.outbound.azure_service.transport import client_options
from shared.settings import Settings

TABLE = "SwitchboardBudgets"
"""Name of the table, which is created at the first use."""
SYNC_SECONDS = 3.0
"""Interval between two exchanges with the table, in seconds."""
_EXCHANGE_TIMEOUT_SECONDS = 10.0
"""Time limit for one exchange with the table, in seconds."""
_KEPT_DAYS = 2
"""Days, including today, whose entities are kept; one more than needed, since the clocks of instances differ."""
_MOST_REMOVED = 1_000
"""Maximum number of entities of earlier days that one exchange removes."""
_RETRIES: dict[str, Any] = {"retry_total": 1, "read_timeout": 5}

_log = logging.getLogger("switchboard.budgets")


class SharedCounts:
    """Exchanges the counts of a ledger with those of other instances.

    Args:
        ledger: The ledger of this instance.
        client: Client of the table.
        credential: Credential of the client, if it has to be closed with it.
    """

    def __init__(self, ledger: Ledger, client: TableClient, credential: AsyncTokenCredential | None = None) -> None:
        self._ledger = ledger
        self._client = client
        self._credential = credential
        self._instance = uuid4().hex
        self._has_changed = False
        self._is_failing = False
        self._cleared: date | None = None
        self._task: asyncio.Task[None] | None = None
        ledger.changed, ledger.check = self._exchange_soon, self.check

    @classmethod
    def from_settings(cls, settings: Settings, ledger: Ledger) -> "SharedCounts":
        """Use the table that the settings name.

        Raises:
            NotConfigured: AzureWebJobsStorage is not a connection string.
        """
        if settings.azure_web_jobs_storage_tables:
            return cls.at(settings.azure_web_jobs_storage_tables, ledger)
        connection = settings.azure_web_jobs_storage
        return cls.of(connection.get_secret_value() if connection else "", ledger)

    @classmethod
    def at(cls, endpoint: str, ledger: Ledger) -> "SharedCounts":
        """Use the tables of a storage account, given its endpoint, with the app's identity."""
        credential = app_identity()
        return cls(
            ledger, TableClient(endpoint, TABLE, credential=credential, **client_options(**_RETRIES)), credential
        )

    @classmethod
    def of(cls, connection_string: str, ledger: Ledger) -> "SharedCounts":
        """Use the tables of a storage account, given its connection string.

        Raises:
            NotConfigured: the text is not a connection string.
        """
        try:
            return cls(
                ledger, TableClient.from_connection_string(connection_string, TABLE, **client_options(**_RETRIES))
            )
        except ValueError as exc:
            raise NotConfigured("AzureWebJobsStorage: should be the connection string of a storage account.") from exc

    async def exchange(self) -> None:
        """Write the counts of this instance, and read those of the others. Repeated failures are logged once."""
        try:
            async with asyncio.timeout(_EXCHANGE_TIMEOUT_SECONDS):
                await self._exchange()
        except (AzureError, TimeoutError) as exc:
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
        await self._client.close()
        if self._credential:
            await self._credential.close()

    def _exchange_soon(self) -> None:
        self._has_changed = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._exchange_while_used())

    async def _exchange_while_used(self) -> None:
        while self._has_changed:
            self._has_changed = False
            await self.exchange()
            await asyncio.sleep(SYNC_SECONDS)

    async def _exchange(self) -> None:
        today = datetime.fromtimestamp(self._ledger.today * DAY, UTC).date()
        counts = msgspec.msgpack.encode(self._ledger.counts())
        entity = {"PartitionKey": _partition(today), "RowKey": self._instance, "counts": counts}
        try:
            await self._client.upsert_entity(entity, UpdateMode.REPLACE)
        except ResourceNotFoundError:  # the table is not created yet, or was deleted
            with suppress(ResourceExistsError):
                await self._client.create_table()
            await self._client.upsert_entity(entity, UpdateMode.REPLACE)
        async with aclosing(_entities(self._client, f"PartitionKey eq '{_partition(today)}'")) as found:
            entities = {entity["RowKey"]: entity async for entity in found}
        self._ledger.learn(_sum_of_others(entities, self._instance))
        if self._cleared != today:
            await self._remove_before(today - timedelta(days=_KEPT_DAYS - 1))
            self._cleared = today

    async def _remove_before(self, day: date) -> None:
        async with aclosing(_entities(self._client, f"PartitionKey lt '{_partition(day)}'")) as found:
            count = 0
            async for entity in found:
                with suppress(ResourceNotFoundError):  # another instance has removed it
                    await self._client.delete_entity(entity)
                count += 1
                if count == _MOST_REMOVED:
                    break


async def _entities(client: TableClient, query: str) -> AsyncGenerator[TableEntity]:
    async for entity in client.query_entities(query):
        yield entity


def _partition(day: date) -> str:
    return day.strftime("%Y%m%d")


def _sum_of_others(entities: dict[str, TableEntity], instance: str) -> Counts:
    """Sum up the counts of the other instances.

    Requests count less the older the entity is, and nothing after a minute. Ages are by the storage service's clock.
    """
    requests: dict[str, float] = {}
    tokens: dict[str, int] = {}
    fresh = entities[instance].metadata["timestamp"] if instance in entities else None
    for name, entity in entities.items():
        if name == instance:
            continue
        try:
            counts = msgspec.msgpack.decode(entity["counts"], type=Counts)
        except (KeyError, TypeError, msgspec.DecodeError):
            continue  # not an entity of this app
        for digest, count in counts.tokens.items():
            tokens[digest] = tokens.get(digest, 0) + count
        written = entity.metadata["timestamp"]
        age = (fresh - written).total_seconds() if fresh and written else MINUTE
        fading = min(1.0, max(0.0, 1 - age / MINUTE))
        for digest, count in counts.requests.items() if fading else ():
            requests[digest] = requests.get(digest, 0) + count * fading
    return Counts(requests, tokens)
