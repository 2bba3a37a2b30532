"""What no event told of: the daily sync brings the index into step with the container."""

import asyncio
import json
import re
from pathlib import Path

import aiohttp
import pytest

from tests.app.test_uploaded_documents import Container, ask, container, hosted, label, logged
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import EMBEDDINGS, OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

__all__ = ["container"]


async def forget_events(data_dir: Path, container: Container) -> None:
    """Note every blob as told of, as if Event Grid had lost the events of the last minutes."""
    told = {blob.name: blob.etag async for blob in container.blobs.list_blobs()}
    file = data_dir / "blob-events.json"
    await asyncio.to_thread(file.write_text, json.dumps({"container": container.blobs.url, "blobs": told}))


async def sync(http: aiohttp.ClientSession, host: RunningHost) -> None:
    """Run the daily sync now, as an administrator can, and wait until it has ended."""
    before = host.log()
    async with http.post(f"{host.url.removesuffix('/api')}/admin/functions/content_sync", json={}) as response:
        assert response.status == 202
    await asyncio.to_thread(host.wait_for, "content_sync (succeeded|failed)", after=before)


def summaries(host: RunningHost) -> list[str]:
    return re.findall(r" sync: (.*)", host.log())


async def test_lost_events_are_made_up_for_and_reported(
    tmp_path: Path, container: Container, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    for name in ("gone.md", "changed.md", "same.md"):
        await container.upload(name, f"The office opens at nine ({name}).".encode())
    await container.upload("broken.pdf", b"%PDF-")
    await container.upload("picture.exe", b"MZ")
    async with hosted(tmp_path, container.settings, openai.settings) as host:
        for name in ("gone.md", "changed.md", "same.md"):
            await logged(host, f"{label(name)}: indexed 1 passage")
        await logged(host, "([^$]*content_event succeeded){5}")
        await container.worked_off()

    await container.blobs.delete_blob("gone.md")
    await container.upload("changed.md", b"The office opens at ten.")
    await container.upload("new.md", b"The canteen opens at noon.")
    await forget_events(tmp_path, container)
    async with hosted(tmp_path, container.settings, openai.settings) as host:
        await logged(host, r"content_sync +timerTrigger, schedule 0 30 2 \* \* \*")
        await sync(http, host)
        await sync(http, host)
        points = (await ask(http, host, "When does the office open?"))["context"]["data_points"]["text"]
        assert sorted(points) == [
            "changed.md: The office opens at ten.",
            "new.md: The canteen opens at noon.",
            "same.md: The office opens at nine (same.md).",
        ]
    first, second, *_ = summaries(host)
    assert first == "2 indexed, 1 unchanged, 1 removed, 1 skipped, 1 failed"
    assert second == "3 unchanged, 1 skipped, 1 failed"
    for name, outcome in (("new.md", "indexed 1 passage"), ("changed.md", "indexed 1 passage"), ("gone.md", "removed")):
        assert f"{label(name)}: {outcome}" in host.log()
        assert name not in host.log()
    assert "content_event" not in re.sub(r"content_event +queueTrigger.*", "", host.log())


async def test_a_sync_that_fails_says_so(
    tmp_path: Path, container: Container, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with hosted(tmp_path, container.settings, openai.settings) as host:
        await container.blobs.delete_container()
        await sync(http, host)
        await logged(host, "sync: not possible now: There is no such container yet[^$]*content_sync failed")
        ended, _, _ = host.log().rpartition("content_sync failed")
        assert ended.count("Traceback") <= ended.count("content_sync failed") + 1


async def test_a_document_that_fails_for_the_moment_is_done_by_the_next_sync(
    tmp_path: Path, container: Container, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    await container.upload("flaky.md", b"The office opens at nine.")
    await forget_events(tmp_path, container)
    openai.fail(400, on=EMBEDDINGS, times=1)
    async with hosted(tmp_path, container.settings, openai.settings) as host:
        await sync(http, host)
        await sync(http, host)
        await logged(host, r"sync: 1 failed[^$]*sync: 1 indexed")
        await logged(host, f"{label('flaky.md')}: failed cannot be indexed now")
