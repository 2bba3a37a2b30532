"""The MCP server that tests of tools let do what they say."""

from collections.abc import AsyncGenerator

import pytest

from tests.tools.listening import Mcp


@pytest.fixture
async def mcp() -> AsyncGenerator[Mcp]:
    async with Mcp() as server:
        yield server
