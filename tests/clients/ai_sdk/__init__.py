"""Vercel's AI SDK from npm, in several versions, installed and run."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import NODE, install_clients

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
    process = await asyncio.create_subprocess_exec(
        NODE,
        FOLDER / "chat.mjs",
        *(version, api),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    told = {"id": chat_id, "messages": messages, "steps": steps}
    printed, complaints = await process.communicate(json.dumps(told).encode())
    assert process.returncode == 0, complaints.decode()
    return json.loads(printed)["steps"]
