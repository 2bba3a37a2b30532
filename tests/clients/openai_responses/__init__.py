"""OpenAI's npm package and AI SDK's provider for OpenAI, installed and run."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import NODE

FOLDER = Path(__file__).parent


async def respond(client: str, url: str, **asked: Any) -> dict[str, Any]:
    """Let a client of `responses.mjs` ask; return what it gave back, and what it has `thrown`."""
    process = await asyncio.create_subprocess_exec(
        NODE,
        FOLDER / "responses.mjs",
        *(client, url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    printed, complaints = await process.communicate(json.dumps(asked).encode())
    assert process.returncode == 0, complaints.decode()
    return json.loads(printed)
