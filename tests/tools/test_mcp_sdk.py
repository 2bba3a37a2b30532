"""MCP servers of the official Python SDK, in both eras, as agents get their tools."""

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from shared.tools import ToolResult
from tests.tools.serving import call, context, definition, mcp_server, tool_servers, tools_of

ERAS = ["2026-07-28", "sessions", "no sessions"]
EACH_ERA = pytest.mark.parametrize("era", ERAS)


def crm() -> MCPServer:
    server = MCPServer("crm")

    @server.tool()
    def look(number: int) -> dict[str, int]:
        """Look up an order."""
        if number < 0:
            raise ToolError("no such order")
        return {"number": number}

    @server.tool()
    def drop(name: str) -> str:
        """Drop an order."""
        return f"{name} is dropped"

    @server.tool()
    def secret() -> str:
        """Tell what nobody allowed."""
        return "secret"

    return server


@EACH_ERA
async def test_agents_get_what_the_file_allows_and_call_it(era: str) -> None:
    async with mcp_server(crm(), era) as url, tool_servers(definition(url)) as servers:
        tools = await tools_of(servers)
        assert {
            title: (tool.definition.name, tool.needs_consent, tool.is_repeatable) for title, tool in tools.items()
        } == {
            "crm.look": ("crm_look", False, True),
            "crm.drop": ("crm_drop", True, False),
        }
        look, drop = tools["crm.look"], tools["crm.drop"]
        assert look.definition.description == "Look up an order."
        assert look.definition.parameters["required"] == ["number"]
        assert await call(look, number=7) == ToolResult('{"number":7}')
        assert await call(drop, context("turn-2"), name="Ä") == ToolResult("Ä is dropped")
        failed = await call(look, number=-1)
        assert failed.is_error
        assert "no such order" in failed.text
        assert [*await tools_of(servers, "crm.look", "tickets.*")] == ["crm.look"]
        assert (await servers.check()).ok


async def test_a_definition_has_the_same_digest_in_each_era() -> None:
    digests = set[tuple[str, ...]]()
    for era in ERAS:
        async with mcp_server(crm(), era) as url, tool_servers(definition(url)) as servers:
            digests.add(tuple(tool.digest for tool in (await tools_of(servers)).values()))
    assert len(digests) == 1
