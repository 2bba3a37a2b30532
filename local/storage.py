"""A storage account, found by the `connection` of a trigger as the Functions host finds it, and how it is polled."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from azure.storage.blob.aio import BlobServiceClient, ContainerClient
from azure.storage.queue.aio import QueueClient, QueueServiceClient

from local import HostError

SHORTEST_WAIT_SECONDS = 0.1
"""Between two polls, after something came."""
LONGEST_WAIT_SECONDS = 1.0
"""Pause between two polls when the queue has been empty for a while."""

_log = logging.getLogger(__name__)
_REQUEST_OPTIONS: dict[str, Any] = {"retry_total": 0, "connection_timeout": 5, "read_timeout": 30}
"""Seconds, but for the number of retries: a poller asks again anyway."""

logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
logging.getLogger("azure.identity").setLevel(logging.ERROR)


class StorageAccount:
    """The queues and containers of an account; `aclose` closes all that was opened.

    Args:
        connection: the name of the setting, or what the names of several begin with; empty for `AzureWebJobsStorage`.
        environment: where it is looked up.

    Raises:
        HostError: there is none, or it is no connection string.
    """

    def __init__(self, connection: str, environment: Mapping[str, str]) -> None:
        self._name = connection or "AzureWebJobsStorage"
        self._environment = environment
        self._credential: AsyncTokenCredential | None = None
        self._opened: list[QueueServiceClient | BlobServiceClient] = []
        self._queues: QueueServiceClient | None = None
        self._blobs: BlobServiceClient | None = None

    def queue(self, name: str) -> QueueClient:
        """A queue, whether it exists or not."""
        if self._queues is None:
            self._queues = self._open(QueueServiceClient, "queueServiceUri")
        return self._queues.get_queue_client(name)

    def container(self, name: str) -> ContainerClient:
        """A container, whether it exists or not."""
        if self._blobs is None:
            self._blobs = self._open(BlobServiceClient, "blobServiceUri")
        return self._blobs.get_container_client(name)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._opened:
            await client.close()
        if self._credential:
            await self._credential.close()

    def _open[Client: (QueueServiceClient, BlobServiceClient)](self, kind: type[Client], address: str) -> Client:
        if connection_string := self._environment.get(self._name, "").strip():
            try:
                client = kind.from_connection_string(connection_string, **_REQUEST_OPTIONS)
            except ValueError as exc:
                raise HostError(f"{self._name} is no connection string of a storage account.") from exc
        elif url := self._environment.get(f"{self._name}__{address}", "").strip():
            client = kind(url, credential=self._signed_in(), **_REQUEST_OPTIONS)
        else:
            raise HostError(f"A trigger needs {self._name} or {self._name}__{address}, and neither is set.")
        self._opened.append(client)
        return client

    def _signed_in(self) -> AsyncTokenCredential:
        if self._credential is None:
            from azure.identity.aio import DefaultAzureCredential

            self._credential = DefaultAzureCredential()
        return self._credential


def is_loopback(url: str) -> bool:
    """Whether an account's address is this machine's: an emulator."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


async def keep_polling(poll: Callable[[], Awaitable[bool]], what: str) -> NoReturn:
    """Poll until cancelled. That the storage cannot be used is said once, and so is that it can be used again.

    Args:
        poll: asks once, and tells whether there was something; may raise what the SDK raises.
        what: is polled, for the log.
    """
    down, wait = False, SHORTEST_WAIT_SECONDS
    while True:
        wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        try:
            if await poll():
                wait = SHORTEST_WAIT_SECONDS
        except AzureError as exc:
            if not down:
                _log.warning("%s cannot be polled (%s); trying again until it can", what, type(exc).__name__)
            down = True
        else:
            if down:
                _log.warning("%s can be polled again", what)
            down = False
        await asyncio.sleep(wait)
