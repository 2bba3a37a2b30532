"""CopilotKit's runtime, installed and run: the server between its page and an agent."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.clients.ai_chat_protocol import NODE

FOLDER = Path(__file__).parent


@asynccontextmanager
async def runtime(agent: str) -> AsyncGenerator[str]:
    """Serve it in front of an agent; yields the URL that its page asks."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, FOLDER / "runtime.mjs", agent),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "COPILOTKIT_TELEMETRY_DISABLED": "true"},
    )
    assert process.stdin
    assert process.stdout
    try:
        while not (line := (await process.stdout.readline()).decode()).startswith("http"):
            assert line, "CopilotKit's runtime did not start"
        yield line.strip()
    finally:
        process.stdin.close()
        await process.communicate()
