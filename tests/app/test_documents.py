"""`GET /content` over HTTP: the cited document, in parts too, and nothing else."""

import asyncio

import aiohttp
import pytest

from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""


async def test_a_citation_opens(embedded: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.get(embedded.url + "/content/plan.pdf#page=3") as response:
        assert await response.read() == bytes(range(256)) * 4
    assert response.content_type == "application/pdf"
    assert response.headers["accept-ranges"] == "bytes"


async def test_a_name_with_umlauts_opens(embedded: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.get(embedded.url + "/content/Kündigung.md") as response:
        assert "drei Monate" in await response.text()
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"


@pytest.mark.parametrize(
    ("asked", "status", "served"),
    [
        ("bytes=0-9", 206, bytes(range(10))),
        ("bytes=-2", 206, b"\xfe\xff"),
        ("bytes=1000-", 206, bytes(range(232, 256))),
        ("bytes=9999-", 416, b""),
    ],
)
async def test_a_part_can_be_asked_for(
    embedded: RunningHost, http: aiohttp.ClientSession, asked: str, status: int, served: bytes
) -> None:
    async with http.get(embedded.url + "/content/plan.pdf", headers={"range": asked}) as response:
        content = await response.read()
    assert response.status == status
    if status == 206:
        assert content == served
        assert response.headers["content-range"].endswith("/1024")


async def test_a_head_has_the_size_and_no_body(embedded: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.head(embedded.url + "/content/plan.pdf") as response:
        assert response.status == 200
        assert response.headers["content-length"] == "1024"


@pytest.mark.parametrize(
    "path",
    ["../index.sqlite", "..%2findex.sqlite", "%2e%2e/index.sqlite", "..%5cindex.sqlite", "/etc/passwd", "%00", ""],
)
async def test_nothing_else_is_served(embedded: RunningHost, path: str) -> None:
    """Sent raw: a client would tidy the path up first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", embedded.port)
    writer.write(f"GET /api/content/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.split(b" ")[1] in (b"404", b"400")
    assert b"SQLite" not in answer
    assert b"root:" not in answer
