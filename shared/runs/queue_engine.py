"""Runs runs by a queue of the app's own storage account. Imports `azure.storage.queue`: import this module late.

A message holds the id of a run and nothing else. The queue trigger of `function_app.py` takes it, at whatever
instance, so that scale-out, redelivery and poison messages are the platform's.
"""

from contextlib import suppress
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue.aio import QueueClient

from shared.outbound.azure_service.storage import OWN, close_client, made_when_missing, open_client, storage_errors
from shared.runs.in_process import InProcess
from shared.settings import Settings

_OPTIONS: dict[str, Any] = {
    "connection_timeout": 5,
    "read_timeout": 10,
    "retry_total": 2,
    "initial_backoff": 0,
    "increment_base": 1,
    "random_jitter_range": 1,
}
"""Timeouts, and retries with the pauses between them, in seconds: somebody waits for the 202."""


def open_queue(settings: Settings, name: str) -> QueueClient:
    """Open a queue of the app's own storage account.

    Raises:
        NotConfigured: the connection string is none.
    """
    connection = settings.azure_web_jobs_storage
    address = None if connection else settings.azure_web_jobs_storage_queues
    return open_client(QueueClient, connection, address, name, **_OPTIONS)


WATCH_SECONDS = 30
"""After so many seconds a message of the queue lets somebody look at a run that has begun elsewhere."""


class QueueEngine:
    """An `Engine` by a queue, which is made when the first message is sent.

    A run begins in this process if there is room, since an idle queue is looked into only now and then. Its message
    comes later in that case: it finds a run whose process has died.

    Args:
        queue: Client of the queue.
        here: Runs runs in this process.
    """

    def __init__(self, queue: QueueClient, here: InProcess) -> None:
        self._queue = queue
        self._here = here

    @classmethod
    def from_settings(cls, settings: Settings, here: InProcess) -> "QueueEngine":
        """Make the engine of the account that the settings name.

        Raises:
            NotConfigured: the connection string is none.
        """
        return cls(open_queue(settings, settings.batch_queue), here)

    async def start(self, run_id: str) -> None:
        """Put a run into the queue, and begin it here if there is room."""
        if not self._here.has_room:
            await self._send(run_id, 0)
            return
        await self._send(run_id, WATCH_SECONDS)
        await self._here.start(run_id)

    async def watch(self, run_id: str) -> None:
        """Put a run into the queue for a later look."""
        await self._send(run_id, WATCH_SECONDS)

    async def _send(self, run_id: str, seconds: int) -> None:
        with storage_errors(OWN):
            await made_when_missing(
                lambda: self._queue.send_message(run_id, visibility_timeout=seconds), self._queue.create_queue
            )

    async def check(self) -> None:
        """Ask for the queue, which the first message makes."""
        with storage_errors(OWN), suppress(ResourceNotFoundError):
            await self._queue.get_queue_properties()

    async def aclose(self) -> None:
        """Close the connections."""
        await close_client(self._queue)
