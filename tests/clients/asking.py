"""A client in another language or environment: it asks as a line of JSON says, and prints what it got as a line."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 180
"""How long an answer may take: a client's packages may have to be compiled first, on a busy machine."""

LONGEST_LINE = 2**24
"""Bytes of a line that a client prints."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the client gave to its caller."""

    pieces: list[str]
    """The text, in the pieces that it came in."""
    finish: str | None = None
    """Why the text ended."""
    usage: dict[str, Any] | None = None
    """The tokens."""
    annotations: list[dict[str, Any]] | None = None
    """What the text cites."""
    context: dict[str, Any] | None = None
    """Our own key."""
    error: dict[str, Any] = field(default_factory=dict[str, Any])
    """What it threw; empty if nothing."""
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    """What it kept of keys that it does not know."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Client:
    """The running client."""

    process: asyncio.subprocess.Process

    async def ask(self, url: str, kind: str, body: dict[str, Any], key: str = "any") -> Seen:
        """Let it ask; `kind` is one that the client's own file names."""
        return Seen(**await self.give({"url": url, "key": key, "kind": kind, "body": body}))

    async def give(self, given: dict[str, Any]) -> Any:
        """Give it a line of JSON, and return what it prints for it."""
        if not (self.process.stdin and self.process.stdout):
            raise RuntimeError
        self.process.stdin.write(json.dumps(given).encode() + b"\n")
        async with asyncio.timeout(ANSWER_SECONDS):
            line = await self.process.stdout.readline()
        return json.loads(line)

    async def end(self) -> None:
        """Let it end: it has no more lines."""
        if self.process.stdin:
            self.process.stdin.close()
        await self.process.wait()


@asynccontextmanager
async def running(*command: str | Path) -> AsyncGenerator[Client]:
    """Start a client, and end it afterwards."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
        limit=LONGEST_LINE,
    )
    client = Client(process)
    try:
        yield client
    finally:
        await client.end()
