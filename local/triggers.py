"""The triggers that this host polls for, those of schedules, and the events of emulated blobs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NoReturn, Protocol

from local.blob_events import BlobEvents
from local.invocation import Call, Function
from local.queue_trigger import QueueTrigger
from local.settings_file import TriggerOptions
from local.storage import StorageAccount, is_loopback
from local.timer_trigger import TimerTrigger

CONTENT_CONNECTION = "CONTENT_STORAGE"
"""The connection of the account whose blobs Event Grid tells of in Azure."""


class _Poller(Protocol):
    async def run(self) -> NoReturn: ...


class Triggers:
    """Every queue and timer trigger of an app.

    Args:
        functions: the app's.
        invoke: starts an invocation in the worker.
        options: of `host.json`.
        environment: where connections are looked up.

    Raises:
        HostError: a trigger's storage account is not configured, or its schedule is none.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        invoke: Callable[[Call], Future[bool]],
        options: TriggerOptions,
        environment: Mapping[str, str],
    ) -> None:
        self._accounts: dict[str, StorageAccount] = {}
        self._invoke = invoke
        self._options = options
        self._environment = environment
        self._pollers: list[_Poller] = []
        for function in functions:
            self._pollers += self._pollers_of(function)

    async def run(self) -> None:
        """Poll until cancelled; return at once without such triggers."""
        async with asyncio.TaskGroup() as group:
            for poller in self._pollers:
                group.create_task(poller.run())

    async def aclose(self) -> None:
        """Close the connections."""
        for account in self._accounts.values():
            await account.aclose()

    def _pollers_of(self, function: Function) -> Sequence[_Poller]:
        if not function.source:
            return []
        if function.trigger == "timerTrigger":
            return [TimerTrigger(function, self._data_dir, self._invoke)]
        connection, name = function.text("connection"), function.text("queueName")
        account = self._accounts.setdefault(connection, StorageAccount(connection, self._environment))
        queue = account.queue(name)
        trigger = QueueTrigger(function, queue, account.queue(f"{name}-poison"), self._invoke, self._options)
        if connection != CONTENT_CONNECTION or not is_loopback(queue.url):
            return [trigger]
        container = account.container(self._environment.get("CONTENT_CONTAINER", "").strip() or "content")
        return [trigger, BlobEvents(container, queue, self._data_dir / "blob-events.json")]

    @property
    def _data_dir(self) -> Path:
        return Path(self._environment.get("DATA_DIR", "").strip() or ".data")
