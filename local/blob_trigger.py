"""Blob triggers: a new or changed blob becomes an invocation, as the Functions host does it without Event Grid.

The container is listed again and again. After a restart every blob is new: nothing keeps a record of them.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import NoReturn
from uuid import uuid4

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobProperties
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from local.invocation import Call, Function, succeeds
from local.storage import keep_polling

POISON_QUEUE = "webjobs-blobtrigger-poison"

_log = logging.getLogger(__name__)


class BlobTrigger:
    """Works on one function's container, one blob at a time.

    Args:
        function: has a `blobTrigger`.
        container: its container.
        poison: is told of blobs that are given up; made for the first one.
        invoke: starts an invocation in the worker, and tells whether it succeeded.
        threshold: so many tries a blob has.
    """

    def __init__(
        self,
        function: Function,
        container: ContainerClient,
        poison: QueueClient,
        invoke: Callable[[Call], Future[bool]],
        threshold: int,
    ) -> None:
        self._function = function
        self._container = container
        self._poison = poison
        self._invoke = invoke
        self._threshold = threshold
        self._done: dict[str, str] = {}
        """The version of each blob that is done."""
        self._failed = Counter[tuple[str, str]]()
        """How often a version has failed that is to be tried again."""

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        await keep_polling(self._poll, f"container {self._container.container_name}")

    async def _poll(self) -> bool:
        present: set[str] = set()
        busy = False
        with suppress(ResourceNotFoundError):  # nobody has made the container yet
            async for blob in self._container.list_blobs(include=["metadata"]):
                present.add(blob.name)
                if self._done.get(blob.name) != blob.etag:
                    await self._work_on(blob)
                    busy = True
        for gone in self._done.keys() - present:
            del self._done[gone]
        return busy

    async def _work_on(self, blob: BlobProperties) -> None:
        client = self._container.get_blob_client(blob.name)
        try:
            download = await client.download_blob(etag=blob.etag, match_condition=MatchConditions.IfNotModified)
            data = await download.readall()
        except (ResourceModifiedError, ResourceNotFoundError):
            return  # the next listing tells what it is by then
        version = (blob.name, blob.etag)
        call = Call(str(uuid4()), self._function, data, self._metadata(blob, client.url))
        if not await succeeds(call, self._invoke):
            self._failed[version] += 1
            if self._failed[version] < self._threshold:
                return
            await self._give_up(blob)
        self._failed.pop(version, None)
        self._done[blob.name] = blob.etag

    def _metadata(self, blob: BlobProperties, url: str) -> dict[str, object]:
        return {
            "BlobTrigger": f"{self._container.container_name}/{blob.name}",
            "Uri": url,
            "Properties": {"Length": blob.size, "ETag": blob.etag},
            "Metadata": dict(blob.metadata or {}),
        }

    async def _give_up(self, blob: BlobProperties) -> None:
        with suppress(ResourceExistsError):
            await self._poison.create_queue()
        message = {
            "FunctionId": f"Host.Functions.{self._function.name}",
            "BlobType": "BlockBlob",
            "ContainerName": self._container.container_name,
            "BlobName": blob.name,
            "ETag": blob.etag,
        }
        await self._poison.send_message(json.dumps(message))
        _log.error(
            "%s: a blob was tried %d times; queue %s names it", self._function.name, self._threshold, POISON_QUEUE
        )
