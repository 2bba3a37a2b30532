"""Health tells what is wrong with a model's name or a base URL, whatever the service lists; so does a chat.

The lists are those of Ollama, vLLM, llama.cpp and Azure OpenAI.
"""

import asyncio
import logging
from contextlib import suppress
from copy import replace

import pytest
from aiohttp import web

from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Json
from shared.errors import Unavailable
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection, ServedModel
from shared.outbound.openai_service.service import OpenAIService
from shared.settings import Settings
from tests.stand_ins.local_server import LocalServer
from tests.stand_ins.openai_connected import ask, error_of

OLLAMA: Json = {
    "object": "list",
    "data": [{"id": "llama3.2:latest", "object": "model", "created": 1731459124, "owned_by": "library"}],
}
VLLM: Json = {
    "object": "list",
    "data": [
        {
            "id": "Qwen/Qwen3-8B",
            "object": "model",
            "created": 1763856000,
            "owned_by": "vllm",
            "root": "Qwen/Qwen3-8B",
            "parent": None,
            "max_model_len": 32768,
        }
    ],
}
LLAMA_CPP: Json = {
    "models": [{"name": "/models/SmolLM2.gguf", "model": "/models/SmolLM2.gguf", "type": "model"}],
    "object": "list",
    "data": [{"id": "/models/SmolLM2.gguf", "object": "model", "created": 1763856000, "owned_by": "llamacpp"}],
}
AZURE: Json = {
    "object": "list",
    "data": [{"id": "gpt-4o-2024-08-06", "object": "model", "status": "succeeded", "created_at": 1724889600}],
}
MISSING: dict[str, Json] = {"error": {"message": "The model does not exist.", "code": "model_not_found"}}
COMPLETION: Json = {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi"}}]}


class Service(LocalServer):
    """A service with its API below `/v1`, which answers by the names of `served`; None: by any name."""

    def __init__(self, models: Json, served: frozenset[str] | None, prefix: str = "/v1") -> None:
        super().__init__()
        self.asked = 0
        self._models, self._served, self._prefix = models, served, prefix

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if (request.method, request.path) == ("GET", f"{self._prefix}/models"):
            return web.json_response(self._models)
        if (request.method, request.path) == ("POST", f"{self._prefix}/chat/completions"):
            self.asked += 1
            body = await request.json()
            if self._served is None or body["model"] in self._served:
                return web.json_response(COMPLETION)
            return web.json_response(MISSING, status=404)
        return web.Response(status=404, text="404 page not found")


def connection(base_url: str, model: str) -> OpenAIConnection:
    found = OpenAIConnection.from_settings(Settings.read({"OPENAI_BASE_URL": base_url, "OPENAI_CHAT_MODEL": model}))
    assert found
    return found


async def health(found: OpenAIConnection) -> str | None:
    """What is wrong, or None."""
    service = OpenAIService(found, timeouts=AnswerTimeouts(check=20))
    try:
        checked = await OpenAIChatModel(service).check()
    finally:
        await service.aclose()
    return None if checked.ok else checked.detail


@pytest.mark.parametrize(
    ("models", "served", "model", "asked"),
    [
        (OLLAMA, frozenset({"llama3.2"}), "llama3.2", 0),
        (VLLM, frozenset({"Qwen/Qwen3-8B"}), "Qwen/Qwen3-8B", 0),
        (LLAMA_CPP, None, "whatever", 1),
        ({"object": "list", "data": []}, frozenset({"unlisted"}), "unlisted", 1),
    ],
    ids=["Ollama, without its tag", "vLLM", "llama.cpp, by any name", "a list of nothing"],
)
async def test_a_model_that_answers_is_healthy_and_asked_for_a_token_only_where_it_is_not_listed(
    models: Json, served: frozenset[str] | None, model: str, asked: int
) -> None:
    async with Service(models, served) as service:
        found = OpenAIService(connection(f"{service.endpoint}/v1", model))
        await found.check()
        await found.check()
        await found.aclose()
        assert service.asked == asked


@pytest.mark.parametrize(("models", "name"), [(OLLAMA, "llama3.2:latest"), (VLLM, "Qwen/Qwen3-8B")])
async def test_a_model_that_is_missing_is_told_with_those_that_there_are_by_health_and_by_chat(
    models: Json, name: str
) -> None:
    async with Service(models, frozenset({name})) as service:
        found = connection(f"{service.endpoint}/v1", "gpt-4o")
        told = await health(found)
        assert told
        assert "OPENAI_CHAT_MODEL" in told
        assert name in told
        client = OpenAIService(found)
        assert (await error_of(OpenAIChatModel(client), Unavailable)).message == told
        await client.aclose()


@pytest.mark.parametrize("wrong", ["", "/v1/chat/completions", "/chat/completions", "/v1/models/"])
async def test_a_wrong_base_url_is_told_with_the_right_one(wrong: str) -> None:
    async with Service(VLLM, frozenset({"Qwen/Qwen3-8B"})) as service:
        told = await health(connection(service.endpoint + wrong, "Qwen/Qwen3-8B"))
        assert told
        assert f"OPENAI_BASE_URL should be {service.endpoint}/v1:" in told


@pytest.mark.parametrize(("served", "is_there"), [("my-deployment", True), ("other", False)])
async def test_a_deployment_of_azure_is_asked_since_azure_lists_models_only(served: str, is_there: bool) -> None:
    async with Service(AZURE, frozenset({served}), prefix="/openai/v1") as service:
        found = replace(
            connection(f"{service.endpoint}/openai/v1", "my-deployment"),
            kind="azure-openai",
            address_setting="AZURE_OPENAI_ENDPOINT",
            chat_model=ServedModel("my-deployment", "AZURE_OPENAI_CHAT_DEPLOYMENT"),
            api_key=Settings.read(
                {
                    "AZURE_OPENAI_ENDPOINT": service.endpoint,
                    "AZURE_OPENAI_CHAT_DEPLOYMENT": "my-deployment",
                    "AZURE_OPENAI_API_KEY": "key",
                }
            ).azure_openai_api_key,
        )
        told = await health(found)
        assert (told is None) is is_there
        assert is_there or "AZURE_OPENAI_CHAT_DEPLOYMENT" in str(told)


async def test_a_kept_connection_that_the_service_has_closed_is_replaced_at_once_and_without_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        chunk = b'data: {"id":"1","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        kind = b"content-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(chunk)
        writer.write(b"HTTP/1.1 200 OK\r\n" + kind + chunk)
        await writer.drain()
        with suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")  # the next request on this connection gets no answer
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        service = OpenAIService(connection(f"http://127.0.0.1:{port}/v1", "model"))
        model = OpenAIChatModel(service)
        with caplog.at_level(logging.INFO, "switchboard.openai"):
            assert await ask(model) == await ask(model)
        await service.aclose()
    assert connections == 2
    assert not [record for record in caplog.records if record.name.startswith("switchboard")]
