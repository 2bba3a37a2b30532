"""Time limits of answers that a request waits for, kept or not."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body
from tests.runs.acting import agents_file, crm
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

RESPONSE = {"model": "switchboard", "input": "Are dental implants paid?"}
RESUMABLE = body("Are dental implants paid?") | {"context": {"overrides": {"resumable": True}}}
ASKED: tuple[tuple[str, Any], ...] = (
    ("/chat", body()),
    ("/chat", RESUMABLE),
    ("/semantic-kernel/chat", body()),
    ("/v1/responses", RESPONSE),
    ("/v1/responses", RESPONSE | {"store": False}),
    ("/multi-agent-chat/batch", body()),
    ("/multi-agent-chat/stream", body()),
)


async def status_of(http: aiohttp.ClientSession, url: str, sent: Any) -> tuple[int, str]:
    async with http.post(url, json=sent) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("agent", ["", "Clerk"])
async def test_an_answer_that_a_request_waits_for_has_its_deadline_also_if_it_is_kept(
    agent: str, tmp_path: Path, http: aiohttp.ClientSession
) -> None:
    async with OpenAIStandIn() as openai, crm() as server:
        file = await asyncio.to_thread(agents_file, tmp_path, server.url)
        limits = {"CHAT_DEADLINE_SECONDS": "2", "AGENTS_DEADLINE_SECONDS": "2", "ERRORS_AS_MESSAGES": "none"}
        team = {"AGENTS_FILE": str(file)} | ({"CHAT_AGENT": agent} if agent else {})
        env = openai.settings | NO_VECTORS | limits | team
        async with hosted(tmp_path, env) as host:
            for _ in ASKED:
                openai.hang()
            answers = await asyncio.gather(*(status_of(http, host.url + path, sent) for path, sent in ASKED))
    assert [status for status, _ in answers[:5]] == [504] * 5
    assert all("took too long" in answer for _, answer in answers[5:])
