"""Hostile files as attachments: the caller gets a sentence, and the app goes on serving others."""

import asyncio
import time
from pathlib import Path

import aiohttp
import pytest

from tests.app.test_answers import body
from tests.app.test_multipart import ROUTE, form
from tests.hostile.files import ENDLESS, ENDS, HOSTILE_FILES
from tests.local.running_host import RunningHost
from tests.reading.test_sandbox import children, is_server

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

TYPES = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".csv": "text/csv",
    ".rtf": "application/rtf",
}
PDF = Path(__file__).parents[1] / "reading" / "files" / "three-pages.pdf"


async def attach(http: aiohttp.ClientSession, host: RunningHost, media_type: str, data: bytes) -> tuple[int, str]:
    async with http.post(host.url + ROUTE, data=form(("messages[0].files[0]", media_type, data))) as response:
        return response.status, await response.text()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in ENDLESS else ()) for name in ENDS]
)
async def test_a_hostile_attachment_is_refused_and_others_are_read_meanwhile(
    built_in: RunningHost, http: aiohttp.ClientSession, name: str
) -> None:
    data = HOSTILE_FILES[name]()
    hostile = asyncio.create_task(attach(http, built_in, TYPES[Path(name).suffix], data))
    status, answer = await attach(http, built_in, "application/pdf", await asyncio.to_thread(PDF.read_bytes))
    assert status == 200, answer
    async with http.post(built_in.url + "/chat", json=body()) as response:
        assert response.status == 200
    status, answer = await hostile
    assert status in {400, 413}
    assert "messages[0].files[0]" in answer
    assert ENDS[name] in answer
    assert (await attach(http, built_in, "application/pdf", await asyncio.to_thread(PDF.read_bytes)))[0] == 200


async def test_a_reader_ends_when_its_caller_disconnects_and_those_of_others_go_on(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    data = HOSTILE_FILES["nested-lists.html"]()
    await attach(http, built_in, "text/plain", b"starts the server of the readers")
    staying = asyncio.create_task(attach(http, built_in, "text/html", data))
    (first,) = await asyncio.to_thread(wait_for_readers, built_in, 1)
    leaving = asyncio.create_task(attach(http, built_in, "text/html", data))
    await asyncio.to_thread(wait_for_readers, built_in, 2)
    leaving.cancel()  # closes the connection
    assert await asyncio.to_thread(wait_for_readers, built_in, 1) == {first}
    staying.cancel()
    await asyncio.to_thread(wait_for_readers, built_in, 0)
    await asyncio.wait([staying, leaving])


def wait_for_readers(host: RunningHost, count: int) -> set[int]:
    """Wait until the host's app has so many readers; return their process ids."""
    while len(found := readers_below(host.process.pid)) != count:
        time.sleep(0.01)
    return found


def readers_below(process: int) -> set[int]:
    """The readers among the descendants of a process: children of the server of readers."""
    if is_server(process):
        return set(children(process))
    return {reader for child in children(process) for reader in readers_below(child)}
