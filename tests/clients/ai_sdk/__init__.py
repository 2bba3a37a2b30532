"""Vercel's AI SDK from npm, in several versions, installed and run."""

import json
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import install_clients
from tests.clients.served import served

FOLDER = Path(__file__).parent
VERSIONS = tuple(json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["dependencies"])
"""The oldest whose `finish` may have a reason, and the newest of 5, 6 and 7."""


def install_ai_sdk() -> None:
    """Install what `package-lock.json` names, unless it is there."""
    install_clients(FOLDER)


async def chat(
    version: str, api: str, *steps: dict[str, Any], messages: list[Any] | None = None, chat_id: str = "chat-1"
) -> list[Any]:
    """Let a chat of the SDK take these steps; return what its page has after each, as `chat.mjs` describes it."""
    asked = {"id": chat_id, "messages": messages, "steps": steps}
    return (await served(FOLDER / "chat.mjs", version, api, asked=asked))["steps"]
