"""Headers of the answers of all routes, as the Functions host needs them, and routes that are looked at with HEAD."""

import re
from urllib.parse import quote

import aiohttp
import pytest

from function_app import ROUTES
from shared.wire.table import PROTOCOLS
from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAME = quote("Zoë/Müller.md")
MESSAGES = [{"role": "user", "content": "Was zahlt Zoës Zahnärztin?"}]
BODY = {"messages": MESSAGES, "input": MESSAGES, "model": "Zoë", "title": "Ä", "answer_id": "ü", "verdict": "good"}
WALKED = [(method, route.path) for route in ROUTES for method in route.methods.split() or ("GET", "HEAD", "PATCH")]


def address(path: str, protocol: str) -> str:
    """Return a path with letters beyond ASCII in its parameters."""
    path = path.replace("{protocol}", protocol).replace("{*path}", NAME)
    return re.sub(r"\{\w+\}", quote("Zoë"), path)


async def status(http: aiohttp.ClientSession, method: str, url: str, **sent: object) -> int:
    """Ask, and check the headers of the answer: for one beyond ASCII the Functions host sends an empty 500."""
    async with http.request(method, url, **sent) as response:  # pyright: ignore[reportArgumentType]
        for name, value in response.raw_headers:
            assert name.isascii(), name
            assert value.isascii(), (name, value)
        assert response.status != 500, await response.text()
        return response.status


async def test_headers_of_all_routes_are_ascii(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    for number, (method, path) in enumerate(WALKED):
        protocol = [*PROTOCOLS][number % len(PROTOCOLS)]
        url = f"{built_in.url}/{address(path, protocol)}?q={quote('ä')}"
        body = BODY if method in ("POST", "PUT") else None
        await status(http, method, url, json=body, headers={"Accept": "*/*"})


async def test_headers_of_a_document_with_a_name_beyond_ascii_are_ascii(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    url = f"{built_in.url}/documents/{NAME}"
    assert (
        await status(http, "PUT", url, data="Zoë pays 80 %.".encode(), headers={"Content-Type": "text/markdown"}) < 300
    )
    for method in ("GET", "HEAD"):
        assert await status(http, method, f"{built_in.url}/content/{NAME}") == 200
    assert await status(http, "DELETE", url) < 300


@pytest.mark.parametrize("path", ["health", "v1/models", "openapi.json", "swagger.json"])
async def test_probes_may_look_with_head(built_in: RunningHost, http: aiohttp.ClientSession, path: str) -> None:
    async with http.head(f"{built_in.url}/{path}") as head, http.get(f"{built_in.url}/{path}") as get:
        assert (head.status, await head.read()) == (get.status, b"")
        assert head.headers["Content-Type"] == get.headers["Content-Type"]
