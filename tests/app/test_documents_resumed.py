"""A host that is killed while it changes a document: the next one finishes the change. The store is a folder."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import apsw
import pytest

from shared.documents import PENDING
from tests.app.batches import until
from tests.app.test_documents import ZEBRA, answer, delete, names, put
from tests.local.running_host import REPOSITORY, RunningHost, host_beside

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

STRIPELESS = b"Zebras have 7 stripes on the left side."
HOW_MANY = "How many stripes do zebras have?"


async def killed_at_the_index(
    data: Path,
    http: aiohttp.ClientSession,
    change: Callable[[RunningHost], Coroutine[Any, Any, object]],
    is_there: Callable[[], bool],
) -> None:
    """Upload a document, and begin a change of it; kill the host when the change waits for the index."""
    host = RunningHost(REPOSITORY, {"DATA_DIR": str(data)}, ("--port", "0"))
    try:
        await asyncio.to_thread(host.wait_for, "Switchboard is ready")
        assert (await put(http, host, "zebra.md", ZEBRA))[0] == 200
        index = apsw.Connection(str(data / "index.sqlite"))
        index.execute("BEGIN IMMEDIATE")  # whoever writes the index waits now
        changing = asyncio.create_task(change(host))

        async def is_waiting() -> bool:
            return await asyncio.to_thread(is_there)

        await until(is_waiting)
    finally:
        host.process.kill()
        await asyncio.to_thread(host.wait)
    index.execute("ROLLBACK")
    index.close()
    with pytest.raises(aiohttp.ClientError):
        await changing


def notes(data: Path) -> list[Path]:
    return [*(data / "content" / PENDING).glob("*")]


async def test_a_deletion_that_a_killed_host_has_begun_is_finished(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    await killed_at_the_index(
        tmp_path, http, lambda host: delete(http, host, "zebra.md"), lambda: bool(notes(tmp_path))
    )
    async with host_beside(env={"DATA_DIR": str(tmp_path)}) as host:
        await until_finished(tmp_path)
        assert await names(http, host) == []
        assert "42" not in await answer(http, host, HOW_MANY)
        assert await delete(http, host, "zebra.md") == 404
        assert (await put(http, host, "zebra.md", ZEBRA))[0] == 200


async def test_an_upload_that_a_killed_host_has_begun_is_finished(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    kept = tmp_path / "content" / "zebra.md"
    await killed_at_the_index(
        tmp_path,
        http,
        lambda host: put(http, host, "zebra.md?overwrite=true", STRIPELESS),
        lambda: kept.read_bytes() == STRIPELESS,
    )
    async with host_beside(env={"DATA_DIR": str(tmp_path)}) as host:
        await until_finished(tmp_path)
        assert "7" in await answer(http, host, HOW_MANY)
        async with http.get(f"{host.url}/content/zebra.md") as response:
            assert await response.read() == STRIPELESS


async def until_finished(data: Path) -> None:
    async def is_finished() -> bool:
        return not await asyncio.to_thread(notes, data)

    await until(is_finished)
