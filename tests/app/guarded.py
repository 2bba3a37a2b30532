"""The app under guard: its callers, its model and its safety service."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from shared.guard import Finding
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

BAD = "Zebrafish"
"""The word that the safety service blocks."""
NOTED = "sighing"
"""The word that it reports."""
LOOKED = Finding("HARM_CATEGORY", "HATE", detected=False, severity=0, risk_level="LOW", blocking=False)
"""What it says of a text in which it found nothing."""
NOTHING_FOUND = "Hello?"
"""No source has words of this question, so that its turn has one session with the safety service."""
PROTOCOLS = [
    "ai-chat",
    "ai-chat-2026-04",
    "ai-chat-2024-05-29",
    "ai-chat-2024-01-28",
    "semantic-kernel",
    "semantic-kernel-python",
]
"""Those that show what the guard does the same way; the tests of the other clients have theirs."""


@dataclass
class Guarded:
    """An app that asks a scripted safety service about a scripted model."""

    host: RunningHost
    rai: RaiStandIn
    openai: OpenAIStandIn
    http: aiohttp.ClientSession

    async def post(self, path: str, question: str = NOTHING_FOUND, **more: Any) -> tuple[int, str]:
        """Ask; return the status and the whole of what came back."""
        async with self.http.post(self.host.url + path, json=body(question, **more)) as response:
            answer = await response.text()
        await self.openai.caught_up()  # a refused turn may have asked the model
        return response.status, answer


@asynccontextmanager
async def guarded(data_dir: Path, openai: OpenAIStandIn, **settings: str) -> AsyncGenerator[Guarded]:
    """Run the app with these settings more; it enforces unless they say otherwise."""
    async with RaiStandIn() as rai, aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
        rai.find(BAD)
        rai.find(NOTED, "VIOLENCE", 2, blocking=False)
        async with hosted(data_dir, openai.settings | NO_VECTORS | rai.settings | settings) as host:
            yield Guarded(host, rai, openai, http)


def records(text: str) -> list[dict[str, Any]]:
    """What a stream holds, in any framing."""
    lines = (line.removeprefix("data: ") for line in text.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]
