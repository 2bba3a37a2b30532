"""Where the batches of a test are: in a folder, or in Azurite; and a caller that polls them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp

from shared.runs import ObjectStore
from shared.runs.blob_objects import BlobObjects
from shared.runs.folder_objects import FolderObjects
from shared.settings import Settings
from tests.app.conftest import PASSAGES
from tests.small_index import write_index
from tests.stand_ins.azurite import Azurite

BATCH = "/multi-agent-chat/batch"
LATER = {"Prefer": "respond-async"}
SAID_BY = "AuthorName"


@dataclass(frozen=True, slots=True)
class Place:
    """Where batches are kept, apart from those of all other tests."""

    data_dir: Path
    """`DATA_DIR`, with a small index."""
    settings: Mapping[str, str]
    """What the app needs beside it."""
    store: ObjectStore
    """The same place for the test."""

    async def names(self, part: str = "") -> list[str]:
        """What is kept, of all batches."""
        return sorted([name async for name in self.store.names() if part in name])


@asynccontextmanager
async def place_of(kind: str, data_dir: Path, azurite: Azurite) -> AsyncGenerator[Place]:
    """Make a place: `folder` or `queue`."""
    await write_index(data_dir, PASSAGES)
    if kind == "folder":
        yield Place(data_dir, {}, FolderObjects(data_dir / "batches"))
        return
    settings = {"AzureWebJobsStorage": azurite.connection_string, "BATCH_QUEUE": f"b{uuid4().hex}"}
    store = BlobObjects(Settings.read(settings))
    yield Place(data_dir, settings, store)
    await store.aclose()


async def accepted(http: aiohttp.ClientSession, url: str, sent: Any, **headers: str) -> str:
    """Ask for later; return the batch's address."""
    async with http.post(url, json=sent, headers=LATER | headers) as response:
        assert response.status == 202, await response.text()
        return pending(response)


def pending(response: aiohttp.ClientResponse) -> str:
    """Check a response of a batch that has not ended; return the batch's address."""
    assert response.headers["Cache-Control"] == "no-store"
    assert int(response.headers["Retry-After"]) > 0
    location = response.headers["Location"]
    assert location.startswith("http://127.0.0.1:")
    return location


async def polled(
    http: aiohttp.ClientSession, location: str, headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Poll until a batch has ended; return its status and its body."""
    async with asyncio.timeout(90):
        while True:
            async with http.get(location, headers=headers) as response:
                if response.status != 202:
                    return response.status, await response.json()
                assert pending(response) == location
            await asyncio.sleep(0.1)


async def until(is_so: Callable[[], Awaitable[object]], seconds: float = 60) -> None:
    """Wait until something elsewhere is so."""
    async with asyncio.timeout(seconds):
        while not await is_so():  # noqa: ASYNC110 (what it waits for is in another process)
            await asyncio.sleep(0.05)


async def said_so_far(http: aiohttp.ClientSession, location: str, count: int) -> list[Any]:
    """Poll until so many messages are done; return them."""
    async with asyncio.timeout(60):
        while True:
            async with http.get(location) as response:
                standing = await response.json()
                assert response.status == 202, standing
            if len(standing["messages"]) >= count:
                return standing["messages"]
            await asyncio.sleep(0.1)


def contents(messages: Any) -> list[tuple[str, str]]:
    """Who said what, in Semantic Kernel's shape."""
    return [(message[SAID_BY], message["Content"]) for message in messages]
