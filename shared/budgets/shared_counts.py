"""Adds up what is used at all instances, through a table. Imports `azure.data.tables`: import it late.

Each instance has one entity a day, which only it writes:

    PartitionKey  the day (UTC), such as 20261122
    RowKey        the instance, a name of this process
    counts        its `Counts` in MessagePack

An entity holds whole counts, not what was added, so a write that is repeated or lost changes nothing, and writers never
meet. What was used at the others is the sum of their entities. No request waits for any of this: a task that runs
while requests come writes and reads every few seconds. If the table fails, each instance counts for itself.
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
from shared.errors import NotConfigured
from shared.outbound.azure_service.signing_in import app_identity
from shared.settings import Settings

TABLE = "SwitchboardBudgets"
"""The table's name; it is made at the first use."""
SYNC_SECONDS = 3.0
"""Between two exchanges."""
_EXCHANGE_TIMEOUT_SECONDS = 10.0
_KEPT_DAYS = 2
"""Entities of earlier days are removed; a day more than is needed, as the clocks of instances differ."""
_MOST_REMOVED = 1_000
"""Entities of earlier days that are removed at once."""
_RETRIES: dict[str, Any] = {"retry_total": 1, "connection_timeout": 5, "read_timeout": 5}

_log = logging.getLogger("switchboard.budgets")


class SharedCounts:
    """Keeps a ledger in step with those of other instances.

    Args:
        ledger: What counts here.
        client: Knows the account, and how to sign in.
        credential: What signs the client in, if it is to be closed with it.
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
        ledger.changed = self._soon

    @classmethod
    def from_settings(cls, settings: Settings, ledger: Ledger) -> "SharedCounts":
        """Through the table that the settings name.

        Raises:
            NotConfigured: AzureWebJobsStorage is no connection string.
        """
        if settings.limit_table_endpoint:
            return cls.at(settings.limit_table_endpoint, ledger)
        connection = settings.azure_web_jobs_storage
        return cls.of(connection.get_secret_value() if connection else "", ledger)

    @classmethod
    def at(cls, endpoint: str, ledger: Ledger) -> "SharedCounts":
        """Through the tables of an account, by its address, with the app's identity."""
        credential = app_identity()
        return cls(ledger, TableClient(endpoint, TABLE, credential=credential, **_RETRIES), credential)

    @classmethod
    def of(cls, connection_string: str, ledger: Ledger) -> "SharedCounts":
        """Through the tables of an account, by its connection string.

        Raises:
            NotConfigured: it is none.
        """
        try:
            return cls(ledger, TableClient.from_connection_string(connection_string, TABLE, **_RETRIES))
        except ValueError as exc:
            raise NotConfigured("AzureWebJobsStorage: should be the connection string of a storage account.") from exc

    async def exchange(self) -> None:
        """Write what was used here, and read what was used elsewhere. A failure is logged once."""
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

    async def aclose(self) -> None:
        """End the task, and close the connections."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._client.close()
        if self._credential:
            await self._credential.close()

    def _soon(self) -> None:
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
        except ResourceNotFoundError:  # there is no table yet, or somebody removed it
            with suppress(ResourceExistsError):
                await self._client.create_table()
            await self._client.upsert_entity(entity, UpdateMode.REPLACE)
        async with aclosing(_entities(self._client, f"PartitionKey eq '{_partition(today)}'")) as found:
            entities = {entity["RowKey"]: entity async for entity in found}
        self._ledger.learn(_elsewhere(entities, self._instance))
        if self._cleared != today:
            await self._remove_before(today - timedelta(days=_KEPT_DAYS - 1))
            self._cleared = today

    async def _remove_before(self, day: date) -> None:
        async with aclosing(_entities(self._client, f"PartitionKey lt '{_partition(day)}'")) as found:
            count = 0
            async for entity in found:
                with suppress(ResourceNotFoundError):  # another instance was faster
                    await self._client.delete_entity(entity)
                count += 1
                if count == _MOST_REMOVED:
                    break


async def _entities(client: TableClient, query: str) -> AsyncGenerator[TableEntity]:
    async for entity in client.query_entities(query):
        yield entity


def _partition(day: date) -> str:
    return day.strftime("%Y%m%d")


def _elsewhere(entities: dict[str, TableEntity], instance: str) -> Counts:
    """The sum of the others' counts. Their requests fade with the age of the entity, by the service's own clock."""
    requests: dict[str, float] = {}
    tokens: dict[str, int] = {}
    fresh = entities[instance].metadata["timestamp"] if instance in entities else None
    for name, entity in entities.items():
        if name == instance:
            continue
        try:
            counts = msgspec.msgpack.decode(entity["counts"], type=Counts)
        except (KeyError, TypeError, msgspec.DecodeError):
            continue  # not of ours
        for digest, count in counts.tokens.items():
            tokens[digest] = tokens.get(digest, 0) + count
        written = entity.metadata["timestamp"]
        age = (fresh - written).total_seconds() if fresh and written else MINUTE
        fading = min(1.0, max(0.0, 1 - age / MINUTE))
        for digest, count in counts.requests.items() if fading else ():
            requests[digest] = requests.get(digest, 0) + count * fading
    return Counts(requests, tokens)
