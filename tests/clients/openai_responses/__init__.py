"""OpenAI's npm package and AI SDK's provider for OpenAI, installed and run."""

from pathlib import Path
from typing import Any

from tests.clients.served import served

FOLDER = Path(__file__).parent


async def respond(client: str, url: str, **asked: Any) -> dict[str, Any]:
    """Let a client of `responses.mjs` ask; return what it gave back, and what it has `thrown`."""
    return await served(FOLDER / "responses.mjs", client, url, asked=asked)
