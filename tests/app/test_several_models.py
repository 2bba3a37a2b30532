"""The running app with three endpoints of its model, of which two fail."""

import socket
from pathlib import Path

import aiohttp
import pytest

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body, read_lines
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_third_answers_and_health_says_so(data_dir: Path, http: aiohttp.ClientSession) -> None:
    async with OpenAIStandIn() as second, OpenAIStandIn() as third:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            nobody = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
            urls = f"{nobody}=5, {second.base_url}=5, {third.base_url}"
            async with hosted(data_dir, third.settings | NO_VECTORS | {"OPENAI_BASE_URL": urls}) as host:
                second.fail(429, headers={"Retry-After": "600"})
                for text in ("One.", "Two."):
                    third.reply(text)
                    async with http.post(f"{host.url}/chat/stream", json=body()) as response:
                        assert response.status == 200
                        lines = await read_lines(response)
                    assert "".join(line.get("delta", {}).get("content", "") for line in lines) == text
                async with http.get(f"{host.url}/health") as response:
                    assert response.status == 200
                    model = (await response.json())["parts"]["model"]
    assert list(model["answers"].values()) == [0, 0, 2]
    assert "cannot be reached" in model["detail"]
    assert len(second.chats) == 1
    assert third.api_key not in str(model)


async def test_a_whole_answer_comes_though_an_endpoint_breaks_off_which_then_rests(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    half = b'data: {"choices":[{"delta":{"content":"Half "}}]}\n\n'
    async with OpenAIStandIn() as faulty, OpenAIStandIn() as well:
        urls = f"{faulty.base_url}, {well.base_url}"
        async with hosted(data_dir, well.settings | NO_VECTORS | {"OPENAI_BASE_URL": urls}) as host:
            asked = body() | {"input": "What does it pay?", "model": "switchboard"}
            for path, first, second in (("/v1/responses", faulty, well), ("/chat", well, faulty)):
                first.reply_raw(half, cut=True)
                second.reply("All of it.")
                async with http.post(host.url + path, json=asked) as response:
                    answer = await response.text()
                assert (response.status, "All of it." in answer, "Half" in answer) == (200, True, False)
    assert [len(faulty.chats), len(well.chats)] == [2, 2]
