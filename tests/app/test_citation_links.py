"""Citations that ChatUI shows as links, which open the document."""

import re
from pathlib import Path

import aiohttp
import pytest

from tests.app.conftest import hosted
from tests.app.test_answers import body

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the caller."""


@pytest.mark.parametrize("path", ["/semantic-kernel/chat", "/multi-agent-chat/batch"])
async def test_a_citation_is_a_link_that_opens_its_document(
    data_dir: Path, http: aiohttp.ClientSession, path: str
) -> None:
    async with hosted(data_dir, {"PUBLIC_URL": "https://app.example/api/"}) as host:
        async with http.post(host.url + path, json=body()) as response:
            text = "\n".join(message["content"] for message in await response.json())
        (link, *_) = re.findall(r"\[plan\.pdf#page=3\]\(https://app\.example/api(/\S+?)\)", text)
        async with http.get(host.url + link) as document:
            assert document.status == 200
        async with http.post(host.url + "/ai-chat/chat", json=body()) as response:
            assert "](http" not in (await response.json())["message"]["content"]
