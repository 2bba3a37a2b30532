"""Language models that this machine serves: found at their ports, and named with the line to start with."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from local import model_servers

NOBODYS_PORT = 1


@pytest.mark.parametrize(
    ("body", "model"),
    [
        ('{"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "llama3.2:3b"}]}', "llama3.2:3b"),
        ('{"data": []}', None),
        ('{"data": [{"id": "a; rm -rf ~"}]}', None),
        ("<html>Jenkins</html>", None),
        ("[" * 200_000, None),
    ],
)
async def test_a_program_that_serves_a_chat_model_is_named_with_the_line_to_start_with(
    monkeypatch: pytest.MonkeyPatch, body: str, model: str | None
) -> None:
    async def models(_request: web.Request) -> web.Response:
        return web.Response(text=body)

    monkeypatch.setattr(model_servers, "_SECONDS", 60.0)  # how busy this machine is does not count
    app = web.Application()
    app.router.add_get("/v1/models", models)
    async with TestServer(app) as server:
        port = server.make_url("/").explicit_port or 0
        line = await model_servers.line_to_start_with({"LM Studio": NOBODYS_PORT, "Ollama": port})
    base = f"http://127.0.0.1:{port}/v1"
    assert line == (f"Ollama: OPENAI_BASE_URL={base} OPENAI_CHAT_MODEL={model} make run" if model else None)
