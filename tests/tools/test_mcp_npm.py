"""MCP servers of the npm packages, the older one and the newer one, as agents get their tools."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator

import pytest

from shared.tools import ToolResult
from tests.clients.ai_chat_protocol import NODE
from tests.clients.mcp import FOLDER
from tests.tools.serving import call, context, definition, tool_servers, tools_of


@pytest.fixture
async def urls() -> AsyncGenerator[dict[str, str]]:
    """The servers' URLs: `sdk` knows the revisions with sessions, `server` that of 2026-07-28."""
    process = await asyncio.create_subprocess_exec(
        *(NODE, FOLDER / "server.mjs"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    assert process.stdout
    assert process.stdin
    try:
        yield json.loads(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()


@pytest.mark.usefixtures("npm_mcp")
async def test_agents_get_the_tools_of_both_packages_and_call_them(urls: dict[str, str]) -> None:
    for url in urls.values():
        async with tool_servers(definition(url)) as servers:
            tools = await tools_of(servers)
            assert {title: tool.definition.description for title, tool in tools.items()} == {
                "crm.look": "Look up an order.",
                "crm.drop": "Drop an order.",
            }
            assert await call(tools["crm.look"], number=7) == ToolResult('{"number":7}')
            assert await call(tools["crm.look"], number=-1) == ToolResult("no such order", is_error=True)
            assert await call(tools["crm.drop"], context("turn-2"), name="Ä") == ToolResult("Ä is dropped")
            assert (await servers.check()).ok
