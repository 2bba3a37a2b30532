"""The MCP clients of npm, installed and run: `@modelcontextprotocol/sdk`, and `/client`, which came after it."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import NODE

FOLDER = Path(__file__).parent
KINDS = ["sdk", "client", "modern"]
"""The older package, the newer one, and the newer one of 2026-07-28."""


async def run(url: str, kind: str, *steps: tuple[str, dict[str, Any]], token: str = "") -> dict[str, Any]:
    """Let a client call tools, each with its arguments; return what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, FOLDER / "client.mjs", url, kind, token),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    printed, _ = await process.communicate(json.dumps(steps).encode())
    return json.loads(printed)
