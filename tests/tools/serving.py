"""Tool servers for tests: those of the official Python SDK, run in this process, and what asks them."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import uvicorn
from mcp.server.mcpserver import MCPServer

from shared.chat_types import ChatRequest, Json, Message, RequestContext, Role
from shared.identity import CallerTokens
from shared.retrieval import Retriever
from shared.settings import Settings
from shared.tools import Tool, ToolContext, ToolResult
from shared.tools.servers import ToolServer
from shared.tools.tool_servers import ToolServers

QUESTION = ChatRequest((Message(Role.USER, "Drop x."),))
UNKNOWN = "It is not known whether it was done."
NO_ANSWER = "Error: The server of crm sent something that is no answer, or too long."


def context(turn: str = "turn-1", seconds: float = 30, **more: Any) -> RequestContext:
    return RequestContext(turn, asyncio.get_running_loop().time() + seconds, **more)


@asynccontextmanager
async def served(app: Any) -> AsyncGenerator[str]:
    """Serve an ASGI app; yield its URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def mcp_server(server: MCPServer, era: str = "2026-07-28") -> AsyncGenerator[str]:
    """Serve an MCP server of the SDK; yield its URL. `era` is a revision, or `sessions` or `no sessions` of before."""
    app = server.streamable_http_app(stateless_http=era == "no sessions")
    async with served(app if era == "2026-07-28" else older(app)) as url:
        yield f"{url}/mcp"


def definition(url: str, **more: Any) -> ToolServer:
    """A server as the agents file has it, with a tool for reading and one that needs consent."""
    return ToolServer.model_validate(
        {"name": "crm", "url": url, "tools": {"look": {"approval": "never"}, "drop": {}}} | more
    )


@asynccontextmanager
async def tool_servers(
    *definitions: Any,
    settings: Settings | None = None,
    tokens: CallerTokens | None = None,
    keys: Mapping[str, str] | None = None,
    folder: Path = Path(),
) -> AsyncGenerator[ToolServers]:
    servers = ToolServers(definitions, folder, settings or Settings.read({}), keys or {}, tokens)
    try:
        yield servers
    finally:
        await servers.aclose()


async def tools_of(servers: ToolServers, *patterns: str, of: RequestContext | None = None) -> dict[str, Tool]:
    found: Sequence[Tool] = await servers.tools_for(patterns or ("crm.*",), of or context(), QUESTION)
    return {tool.title: tool for tool in found}


async def call(tool: Tool, of: RequestContext | None = None, **arguments: Json) -> ToolResult:
    return await tool.call(arguments, ToolContext(QUESTION, of or context(), cast("Retriever", None), 0))


def older(app: Any) -> Any:
    """Make a server know the older revisions only: it refuses others as the SDK did then."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (b"mcp-protocol-version", b"2026-07-28") in scope["headers"]:
            body = b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}'
            kind = (b"content-type", b"application/json")
            await send({"type": "http.response.start", "status": 400, "headers": [kind]})
            await send({"type": "http.response.body", "body": body})
        else:
            await app(scope, receive, send)

    return answer
