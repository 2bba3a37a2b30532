"""MCP as its two npm packages speak it, in both eras, against the running app."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.app.conftest import hosted
from tests.app.guarded import BAD, guarded
from tests.app.test_answers import QUESTION
from tests.clients.mcp import KINDS, run
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("npm_mcp")]
"""One loop with the stand-in that the tests script."""

EACH_KIND = pytest.mark.parametrize("kind", KINDS)


@EACH_KIND
async def test_a_client_finds_searches_reads_and_asks(built_in: RunningHost, kind: str) -> None:
    steps: tuple[tuple[str, dict[str, str]], ...] = (
        ("search", {"query": QUESTION}),
        ("fetch", {"id": "plan.pdf#page=3"}),
        ("ask", {"question": QUESTION}),
        ("fetch", {"id": "nothing.md"}),
        ("ask", {}),
        ("delete", {}),
    )
    printed = await run(f"{built_in.url}/mcp", kind, *steps)
    assert printed["version"] == ("2026-07-28" if kind == "modern" else "2025-11-25")
    assert printed["server"]["name"] == "switchboard"
    assert printed["tools"] == ["search", "fetch", "ask"]
    found, read, answer, unknown, missing, no_tool = printed["steps"]
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    assert {one["id"] for one in found["structuredContent"]["results"]} == {"plan.pdf#page=3", "dental.md"}
    assert read["structuredContent"]["text"] == "The Standard plan pays 80 % of dental care."
    assert f"[plan.pdf#page=3]: {built_in.url}/content/plan.pdf#page=3" in answer["content"][0]["text"]
    assert [result["isError"] for result in (found, read, answer, unknown, missing)] == [False] * 3 + [True] * 2
    assert no_tool["code"] == -32602


@EACH_KIND
async def test_a_tool_that_fails_says_why(app: RunningHost, openai: OpenAIStandIn, kind: str) -> None:
    openai.fail(401, code="invalid_api_key")
    openai.reply("80 %.")
    printed = await run(f"{app.url}/mcp", kind, *[("ask", {"question": QUESTION})] * 2)
    down, answer = printed["steps"]
    assert down["isError"]
    assert "(invocation " in down["content"][0]["text"]
    assert answer["content"][0]["text"] == "80 %."


@pytest.mark.parametrize("kind", one_in(3, KINDS))
async def test_what_the_guard_stops_is_a_failure(data_dir: Path, openai: OpenAIStandIn, kind: str) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard:
        openai.reply(f"A {BAD}. ")
        printed = await run(f"{under_guard.host.url}/mcp", kind, ("ask", {"question": "Hello?"}))
    (stopped,) = printed["steps"]
    assert stopped["isError"]
    assert BAD not in json.dumps(stopped)


@pytest.mark.parametrize("kind", one_in(3, KINDS))
async def test_a_limit_is_told_with_its_sentence(data_dir: Path, kind: str) -> None:
    async with hosted(data_dir, {"LIMIT_CALLER_REQUESTS_PER_MINUTE": "1"}) as host:
        printed = await run(f"{host.url}/mcp", kind, *[("search", {"query": "dental"})] * 2)
    found, limited = printed["steps"]
    assert found["isError"] is False
    assert "(invocation " in limited["message"]


async def test_clients_at_the_same_time_get_each_their_own(built_in: RunningHost) -> None:
    names = {"sdk": "plan.pdf", "client": "dental.md", "modern": "Kündigung.md"}
    printed = await asyncio.gather(
        *(run(f"{built_in.url}/mcp", kind, ("fetch", {"id": names[kind]})) for kind in KINDS)
    )
    assert [one["steps"][0]["structuredContent"]["id"] for one in printed] == [*names.values()]
