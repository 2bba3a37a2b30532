"""The stand-in for Event Grid beside Azurite: it tells of what comes and goes, once each, also over a restart."""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from local.blob_events import BlobEvents
from shared.triggers.content_events import names_in
from tests.stand_ins.azurite import Azurite

pytestmark = pytest.mark.asyncio(loop_scope="module")

CREATED, DELETED = "Microsoft.Storage.BlobCreated", "Microsoft.Storage.BlobDeleted"


class Watched:
    """A container, its queue, and what watches it."""

    def __init__(self, azurite: Azurite, told: Path) -> None:
        name = f"c{uuid4().hex}"
        self.container = ContainerClient.from_connection_string(azurite.connection_string, name)
        self.queue = QueueClient.from_connection_string(azurite.connection_string, name)
        self.told = told

    async def next_events(self, count: int) -> list[dict[str, Any]]:
        """Watch until so many events have come."""
        events: list[dict[str, Any]] = []
        watching = asyncio.create_task(BlobEvents(self.container, self.queue, self.told).run())
        async with asyncio.timeout(20):
            while len(events) < count or not await self._is_recorded():
                with suppress(ResourceNotFoundError):
                    async for message in self.queue.receive_messages():
                        events.append(json.loads(b64decode(message.content)))
                        await self.queue.delete_message(message)
                await asyncio.sleep(0.02)
        watching.cancel()
        await asyncio.wait({watching})
        return events

    async def _is_recorded(self) -> bool:
        """Whether what is there has been told."""
        present = {blob.name: blob.etag async for blob in self.container.list_blobs()}
        try:
            return json.loads(self.told.read_bytes())["blobs"] == present
        except (OSError, ValueError, TypeError, KeyError):
            return False

    async def named(self, count: int) -> list[tuple[str, str]]:
        """The kind and the blob of each of the next events, sorted."""
        mark = f"/blobServices/default/containers/{self.container.container_name}/blobs/"
        return sorted(
            (event["eventType"], event["subject"].removeprefix(mark)) for event in await self.next_events(count)
        )


@pytest_asyncio.fixture(loop_scope="module")
async def watched(azurite: Azurite, tmp_path: Path) -> AsyncGenerator[Watched]:
    made = Watched(azurite, tmp_path / "data" / "blob-events.json")
    async with made.container, made.queue:
        await made.container.create_container()
        yield made


async def test_what_comes_and_goes_is_told_once_and_also_what_did_so_while_nobody_watched(watched: Watched) -> None:
    await watched.container.upload_blob("a.md", b"1")
    await watched.container.upload_blob("b.md", b"1")
    assert await watched.named(2) == [(CREATED, "a.md"), (CREATED, "b.md")]

    await watched.container.upload_blob("b.md", b"2", overwrite=True)
    await watched.container.delete_blob("a.md")
    assert await watched.named(2) == [(CREATED, "b.md"), (DELETED, "a.md")]

    await watched.container.upload_blob("c.md", b"1")
    assert await watched.named(1) == [(CREATED, "c.md")]


@pytest.mark.parametrize(
    "name", ["Übung #1 50%25 [neu]?.md", "a b/ä+ö & ü.txt", "💎.md", "e\u0301.md", "a//b.md", "%2e%2e.md"]
)
async def test_an_event_names_its_blob_whatever_is_in_the_name(watched: Watched, name: str) -> None:
    await watched.container.upload_blob(name, b"1")
    (event,) = await watched.next_events(1)
    damaged = event | {"subject": event["subject"] + "x"}
    for read in (event, damaged):
        assert name in names_in(json.dumps(read).encode(), watched.container.container_name)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"container": "another", "blobs": {"a.md": "1"}}'])
async def test_a_record_that_cannot_be_used_means_that_nothing_was_told(watched: Watched, damage: bytes) -> None:
    watched.told.parent.mkdir()
    watched.told.write_bytes(damage)
    await watched.container.upload_blob("a.md", b"1")
    assert await watched.named(1) == [(CREATED, "a.md")]
