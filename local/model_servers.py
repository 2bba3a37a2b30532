"""Language models that a program on this machine serves: Ollama, LM Studio or llama.cpp."""

import asyncio
import re
from collections.abc import Mapping

import aiohttp
import msgspec

SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
"""Their usual ports. Each answers `GET /v1/models`, as OpenAI does."""
_SECONDS = 0.5
"""Time for all of them: the greeting waits for it."""
_MOST_BYTES = 100_000
_NAME = re.compile(r"[\w./:@-]{1,200}")
"""A model's name that a shell takes as it is."""


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


async def line_to_start_with(servers: Mapping[str, int] = SERVERS) -> str | None:
    """Find such a program with a model; return its name and the line that starts the app with it, or None.

    Args:
        servers: The ports of programs, by name.
    """
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(_SECONDS)) as session:
        found = await asyncio.gather(*(_asked(session, name, port) for name, port in servers.items()))
    return next(filter(None, found), None)


async def _asked(session: aiohttp.ClientSession, name: str, port: int) -> str | None:
    base = f"http://127.0.0.1:{port}/v1"
    try:
        async with session.get(f"{base}/models") as response:
            models = msgspec.json.decode(await response.content.read(_MOST_BYTES), type=_Models).data
    except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    chat = [model.id for model in models if "embed" not in model.id and _NAME.fullmatch(model.id)]
    return f"{name}: OPENAI_BASE_URL={base} OPENAI_CHAT_MODEL={chat[0]} make run" if chat else None
