"""Chats with the app through Open WebUI's own server, as its page has them: see `../python/serving.py`.

What is shown of a question is what the server keeps of the answer, from which its page is drawn. While it is written
the page gets events by socket.io, and Stop ends the task that writes it.
"""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# (the packages are in the environment of this folder alone)

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import socketio

sys.path.append(str(Path(__file__).parents[1] / "python"))
from serving import Ask, serve

MODEL = "switchboard"
SETTINGS = {
    "BYPASS_PYDUB_PREPROCESSING": "true",
    "CORS_ALLOW_ORIGIN": "http://127.0.0.1",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_PERSISTENT_CONFIG": "true",
    "OFFLINE_MODE": "true",
    "OPENAI_API_KEY": "any",
    "RAG_EMBEDDING_ENGINE": "openai",
    "WEBUI_AUTH": "false",
    "WEBUI_SECRET_KEY": "signs the tokens of this run alone",
}


def chat(http: httpx.AsyncClient, token: str, url: str, *, api_type: str) -> Ask:
    """Begin a chat with the app at a URL, which an administrator connects first."""
    before: dict[str, Any] = {"chat_id": None, "parent_id": None}

    async def ask(question: str) -> AsyncGenerator[tuple[str, str]]:
        events = asyncio.Queue[Any]()
        page = socketio.AsyncClient()
        page.on("events", events.put)
        place: Any = {"socketio_path": "/ws/socket.io", "transports": ["websocket"]}
        await page.connect(str(http.base_url), auth={"token": token}, **place)
        try:
            if not before["chat_id"]:
                await connect(http, url, api_type)
            answer = str(uuid4())
            turn = {"id": str(uuid4()), "parentId": before["parent_id"], "role": "user", "content": question}
            body = before | {
                "model": MODEL,
                "stream": True,
                "messages": [{"role": "user", "content": question}],
                "id": answer,
                "session_id": page.get_sid("/"),
                "user_message": turn | {"childrenIds": [], "models": [MODEL]},
                "background_tasks": {},
                "features": {},
            }
            begun = (await http.post("/api/chat/completions", json=body)).raise_for_status().json()
            before.update(chat_id=begun["chat_id"], parent_id=answer)
            try:
                async for delta in deltas(events, answer):
                    yield "text", delta
            except (asyncio.CancelledError, GeneratorExit):
                for task in begun["task_ids"]:
                    await http.post(f"/api/tasks/stop/{task}")
                raise
            kept = (await http.get(f"/api/v1/chats/{begun['chat_id']}")).raise_for_status().json()
            message = kept["chat"]["history"]["messages"][answer]
            yield "whole", message["content"]
            problem = (message.get("error") or {}).get("content") or ""
            yield "error", problem if isinstance(problem, str) else problem["message"]
            for source in message.get("sources", ()):
                yield "source", source["metadata"][0]["source"]
        finally:
            await page.disconnect()

    return ask


async def connect(http: httpx.AsyncClient, url: str, api_type: str) -> None:
    """Save the connection as an administrator does, and list the models as the page does."""
    connection = {
        "ENABLE_OPENAI_API": True,
        "OPENAI_API_BASE_URLS": [f"{url}/v1"],
        "OPENAI_API_KEYS": ["any"],
        "OPENAI_API_CONFIGS": {"0": {"enable": True, "api_type": api_type}},
    }
    (await http.post("/openai/config/update", json=connection)).raise_for_status()
    models = (await http.get("/api/models", params={"refresh": True})).raise_for_status().json()
    assert MODEL in [model["id"] for model in models["data"]], models


async def deltas(events: asyncio.Queue[Any], answer: str) -> AsyncGenerator[str]:
    """The pieces of an answer, until nothing of the chat is written any more."""
    while True:
        event = await events.get()
        if event.get("message_id") != answer or event.get("shared"):
            continue
        told, data = event["data"]["type"], event["data"].get("data") or {}
        if data.get("type") == "response.output_text.delta":
            yield data["delta"]
        if told == "chat:active" and not data["active"]:
            return


async def main() -> None:
    """Run the server, and chat with it."""
    with socket.socket() as listening, tempfile.TemporaryDirectory() as folder:
        listening.bind(("127.0.0.1", 0))
        (Path(folder) / "build" / "static").mkdir(parents=True)
        (Path(folder) / "static").mkdir()
        places = {"DATA_DIR": folder, "FRONTEND_BUILD_DIR": f"{folder}/build", "STATIC_DIR": f"{folder}/static"}
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "uvicorn", "open_webui.main:app", "--fd", str(listening.fileno())),
            env={"PATH": os.environ["PATH"]} | SETTINGS | places,
            pass_fds=[listening.fileno()],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            listening.listen()
            base = f"http://127.0.0.1:{listening.getsockname()[1]}"
            async with httpx.AsyncClient(base_url=base, timeout=120) as http:
                signed_in = await http.post("/api/v1/auths/signin", json={"email": "", "password": ""})
                token = signed_in.raise_for_status().json()["token"]
                http.headers["Authorization"] = f"Bearer {token}"
                kinds = {"open-webui": "", "open-webui-responses": "responses"}
                await serve({name: partial(chat, http, token, api_type=kind) for name, kind in kinds.items()})
        finally:
            server.terminate()
            await server.wait()


if __name__ == "__main__":
    asyncio.run(main())
