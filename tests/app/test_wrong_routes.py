"""Requests to paths and with methods that the app does not have."""

import asyncio
import json
import runpy
from pathlib import Path

import aiohttp
import pytest

from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("method", "path", "nearest"),
    [
        ("GET", "/chats", "POST /api/chat"),
        ("POST", "/chat/streams", "POST /api/chat/stream"),
        ("POST", "/semantic-kernel/chats", "POST /api/semantic-kernel/chat"),
        ("GET", "/chat-history/12/message", "GET /api/chat-history/{id}/messages"),
        ("PATCH", "/healt", "GET or HEAD /api/health"),
        ("POST", "/ag-ui/config", "GET /api/rag-chat/config"),
        ("POST", "/ai-chat/confi", "GET /api/ai-chat/config"),
        ("GET", "/" + "x" * 4000, "GET /api/openapi.json"),
        ("POST", "/v1/messages", "Anthropic's protocol is not spoken here"),
        ("POST", "/v1/responses/compact", "Send the whole conversation"),
        ("GET", "/tags", "Ollama's protocol is not spoken here"),
        ("POST", "/threads/1/runs/stream", "LangGraph's protocol is not spoken here"),
        ("GET", "/info", "LangGraph's protocol is not spoken here"),
        ("POST", "/v1beta/models/gemini:generateContent", "Gemini's protocol is not spoken here"),
        ("POST", "/history/ensure", "sample-app-aoai-chatGPT needs its own server"),
        ("POST", "/openai/deployments/ada/embeddings", "there are chat/completions, responses and models"),
        ("POST", "/v1/embeddings", "there are chat/completions, responses and models"),
    ],
)
async def test_an_unknown_path_is_told_the_nearest_route(
    built_in: RunningHost, http: aiohttp.ClientSession, method: str, path: str, nearest: str
) -> None:
    async with http.request(method, f"{built_in.url}{path}?token=secret") as response:
        answer = await response.text()
    assert response.status == 404
    assert nearest in answer
    json.loads(answer)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/chat", "POST"),
        ("GET", "/Semantic-Kernel/Chat/Stream", "POST"),
        ("GET", "/rag-chat/ask", "POST"),
        ("POST", "/content/a/b.pdf", "GET, HEAD"),
        ("POST", "/chat-history/12", "PUT, DELETE"),
        ("PATCH", "/chat-history", "GET, POST, DELETE"),
        ("POST", "", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_one(
    built_in: RunningHost, http: aiohttp.ClientSession, method: str, path: str, allowed: str
) -> None:
    async with http.request(method, built_in.url + path) as response:
        answer = await response.text()
    assert (response.status, response.headers.get("Allow")) == (405, allowed)
    assert allowed.partition(",")[0] in answer


@pytest.mark.parametrize("path", ["/ai-chat-2024-05-29/chats", "/v1/embeddings", "/V1/responses/resp_1/items"])
async def test_the_error_has_the_shape_of_the_protocol_that_the_path_names(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(built_in.url + path) as response:
        assert response.status == 404
        assert (await response.json())["error"]["code"] == "not_found"


@pytest.mark.parametrize("path", ["/chat", "/semantic-kernel/chat", "/api2/chat"])
async def test_a_path_beside_the_prefix_is_told_the_nearest_route(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(built_in.url.removesuffix("/api") + path) as response:
        assert response.status == 404
        assert "POST /api/" in await response.text()


async def test_a_path_of_another_protocol_beside_the_prefix_is_told_what_to_do(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{built_in.url.removesuffix('/api')}/v1/messages") as response:
        assert response.status == 404
        assert "Anthropic's protocol is not spoken here" in await response.text()


async def test_the_log_has_the_path_in_one_short_line_and_not_the_query(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    for base in (built_in.url, built_in.url.removesuffix("/api")):
        marked = f"{base}/lo%1Bst-{len(base)}" + "y" * 5000
        async with http.get(f"{marked}?code=secret") as response:
            assert response.status == 404
        line = await asyncio.to_thread(built_in.wait_for, rf".*lo\\x1bst-{len(base)}y.*")
        assert len(line) < 500
        assert "GET" in line
    assert "secret" not in built_in.log()


async def test_azure_tries_the_function_for_other_paths_last() -> None:
    """The Functions host tries the routes in the order of the functions' names, whatever their letters' case."""
    functions = runpy.run_path(str(Path(__file__).parents[2] / "function_app.py"))["app"].get_functions()
    names = [function.get_function_name() for function in functions]
    catching = [
        f.get_function_name() for f in functions if json.loads(f.get_raw_bindings()[0]).get("route") == "{*path}"
    ]
    assert catching == [max(names, key=str.lower)]
