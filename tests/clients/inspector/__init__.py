"""MCP's inspector, installed and run by its command line."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import NODE

FOLDER = Path(__file__).parent


async def ask(url: str, question: str) -> dict[str, Any]:
    """Call the tool `ask`; return what was printed."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, FOLDER / "node_modules" / ".bin" / "mcp-inspector", "--cli", url, "--transport", "http"),
        *("--method", "tools/call", "--tool-name", "ask", "--tool-arg", f"question={question}"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        cwd=FOLDER / "node_modules",  # it makes a folder of its own where it runs
        env={"PATH": f"{NODE.parent}:{os.environ['PATH']}"},
    )
    printed, _ = await process.communicate()
    return json.loads(printed)
