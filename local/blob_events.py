"""A stand-in for Event Grid beside an emulated storage account: tells a queue of blobs that come and go.

It lists the container again and again, and writes the events that a subscription of the account's system topic writes
for `BlobCreated` and `BlobDeleted`. What was told is in a file in `DATA_DIR`, beside the index that was made of it.
"""

import asyncio
import json
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, cast
from uuid import uuid4

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from local.storage import keep_polling

_TOPIC = "/subscriptions/local/resourceGroups/local/providers/Microsoft.Storage/storageAccounts/{account}"


class BlobEvents:
    """Watches one container.

    Args:
        container: the container.
        queue: where the events go; made for the first ones.
        told: the file that keeps what was told.
    """

    def __init__(self, container: ContainerClient, queue: QueueClient, told: Path) -> None:
        self._container = container
        self._queue = queue
        self._file = told
        self._told = _read(told, container.url)

    async def run(self) -> NoReturn:
        """Watch until cancelled."""
        await keep_polling(self._poll, f"container {self._container.container_name}")

    async def _poll(self) -> bool:
        present: dict[str, str] = {}
        with suppress(ResourceNotFoundError):  # nobody has made the container yet
            async for blob in self._container.list_blobs():
                present[blob.name] = blob.etag
        if present == self._told:
            return False
        with suppress(ResourceExistsError):
            await self._queue.create_queue()
        for name in self._told.keys() - present.keys():
            await self._send(name, "Microsoft.Storage.BlobDeleted", "DeleteBlob", {})
        for name, etag in present.items():
            if self._told.get(name) != etag:
                await self._send(name, "Microsoft.Storage.BlobCreated", "PutBlob", {"eTag": etag.strip('"')})
        self._told = present
        await asyncio.to_thread(self._write)
        return True

    async def _send(self, name: str, kind: str, api: str, facts: dict[str, str]) -> None:
        event = {
            "topic": _TOPIC.format(account=self._container.account_name),
            "subject": f"/blobServices/default/containers/{self._container.container_name}/blobs/{name}",
            "eventType": kind,
            "id": str(uuid4()),
            "data": {
                "api": api,
                "requestId": str(uuid4()),
                **facts,
                "blobType": "BlockBlob",
                "url": self._container.get_blob_client(name).url,
                "storageDiagnostics": {"batchId": str(uuid4())},
            },
            "dataVersion": "",
            "metadataVersion": "1",
            "eventTime": datetime.now(UTC).isoformat(),
        }
        await self._queue.send_message(b64encode(json.dumps(event).encode()).decode())

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps({"container": self._container.url, "blobs": self._told}), "utf-8")


def _read(file: Path, container: str) -> dict[str, str]:
    """Read the blobs of this container that were reported before; none if the file is missing, foreign or damaged."""
    try:
        kept = cast("object", json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        return {}
    match kept:
        case {"container": str(of), "blobs": dict()} if of == container:
            return cast("dict[str, dict[str, str]]", kept)["blobs"]
        case _:
            return {}
