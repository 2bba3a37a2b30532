"""Hostile files as attachments: the caller gets a sentence, and the app goes on serving others."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from tests.app.test_answers import body
from tests.app.test_multipart import ROUTE, form
from tests.hostile.files import HOSTILE_FILES
from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

TYPES = {
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
PDF = Path(__file__).parents[1] / "reading" / "files" / "three-pages.pdf"


async def attach(http: aiohttp.ClientSession, host: RunningHost, media_type: str, data: bytes) -> tuple[int, str]:
    async with http.post(host.url + ROUTE, data=form(("messages[0].files[0]", media_type, data))) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("name", ["self-drawing.pdf", "nested-12x10.pdf", "bomb.docx", "laughs.docx", "breaks.html"])
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
    assert (await attach(http, built_in, "application/pdf", await asyncio.to_thread(PDF.read_bytes)))[0] == 200
