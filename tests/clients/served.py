"""Scripts of clients that `served.mjs` runs: a process stays for the next test, which then has its packages loaded."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.clients.ai_chat_protocol import NODE
from tests.clients.asking import LONGEST_LINE, Client

SERVER = Path(__file__).parent / "served.mjs"
_idle: dict[Path, list[Client]] = {}


async def served(script: Path, *arguments: str, asked: Any) -> Any:
    """Run a script once; return what it exports."""
    waiting = _idle.setdefault(script, [])
    client = waiting.pop() if waiting else await _start(script)
    try:
        told = await client.give({"arguments": arguments, "asked": asked})
    except BaseException:
        client.process.kill()
        await client.process.wait()
        raise
    waiting.append(client)
    assert "failed" not in told, told["failed"]
    return json.loads(told["outcome"])


async def end_served(folder: Path) -> None:
    """End the processes of the scripts of a folder."""
    for script in [script for script in _idle if script.parent == folder]:
        for client in _idle.pop(script):
            await client.end()


async def _start(script: Path) -> Client:
    return Client(
        await asyncio.create_subprocess_exec(
            *(NODE, SERVER, script),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
            limit=LONGEST_LINE,
        )
    )
