"""The tools of the agents file's servers, as agents get them. Imports aiohttp: import it late.

A tool is offered if the file names it and its definition is the one that was pinned, or else the one that this process
saw first. A server that is down offers nothing, and the turn goes on without it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from shared.chat_types import ChatRequest, Json, PartHealth, RequestContext
from shared.errors import NotConfigured
from shared.identity import CallerTokens
from shared.outbound.sending import Connections
from shared.settings import Settings
from shared.tools import Tool, definitions
from shared.tools.api_client import ApiClient
from shared.tools.mcp_client import McpClient
from shared.tools.mcp_transport import McpTransport
from shared.tools.served import Served, Source
from shared.tools.servers import Api, ToolServer
from shared.tools.signing_in import SigningIn

_CHECK_SECONDS = 3.0
"""Time limit of a health check."""


class ToolServers:
    """The servers of an agents file, as a `ToolSource`.

    Args:
        agents: The file's MCP servers and APIs.
        folder: The file's folder, beside which documents of APIs are.
        settings: Those of the app.
        environment: The settings that the file names.
        tokens: The tokens of callers; None if nothing is called on their behalf.

    Raises:
        NotConfigured: a setting that a server needs is missing, or everybody could agree to everybody's calls.
    """

    def __init__(
        self,
        servers: Sequence[ToolServer | Api],
        folder: Path,
        settings: Settings,
        environment: Mapping[str, str],
        tokens: CallerTokens | None = None,
    ) -> None:
        _require_sign_in(servers, settings)
        self._connections = Connections()
        self._signing_in = SigningIn(settings, environment, tokens, self._connections)
        self._servers = [Served(one, self._source(one, folder)) for one in servers]

    def _source(self, server: ToolServer | Api, folder: Path) -> Source:
        sign_in = self._signing_in.to(server)
        if isinstance(server, Api):
            return ApiClient(server, folder, self._connections, sign_in)
        return McpClient(McpTransport(server.url, self._connections, sign_in), server.tools)

    async def tools_for(
        self,
        patterns: Sequence[str],
        context: RequestContext,
        request: ChatRequest,  # noqa: ARG002 (as `ToolSource` has it)
    ) -> tuple[Tool, ...]:
        """Return the tools that fit patterns of the agents file, such as `crm.*`; of a server that is down, none."""
        prefixes = {pattern.partition(".")[0] for pattern in patterns}
        wanted = [server for server in self._servers if server.name in prefixes]
        lists = await asyncio.gather(*(server.tools(context) for server in wanted))
        tools = (tool for tools in lists for tool in tools)
        return tuple(tool for tool in tools if any(definitions.fits(pattern, tool.title) for pattern in patterns))

    async def check(self) -> PartHealth:
        """Health: what each server offers, or what is wrong with it. The app answers without them."""
        context = RequestContext("health check", asyncio.get_running_loop().time() + _CHECK_SECONDS)
        states = await asyncio.gather(*(server.state(context) for server in self._servers))
        facts, problems = dict[str, Json](), list[str]()
        for server, (problem, offered) in zip(self._servers, states, strict=True):
            facts[server.name] = {"ok": not problem, "detail": problem or offered}
            problems += [f"{server.name}: {problem}"] if problem else []
        detail = " ".join(problems) or f"Tools of {', '.join(facts)}."
        return PartHealth("servers", ok=not problems, detail=detail, facts={"servers": facts}, needed=False)

    async def aclose(self) -> None:
        """End the sessions, and close the connections."""
        for server in self._servers:
            await server.aclose()
        await self._signing_in.aclose()
        await self._connections.aclose()


def _require_sign_in(servers: Sequence[ToolServer | Api], settings: Settings) -> None:
    if not settings.in_azure or settings.auth_mode != "none":
        return
    for server in servers:
        for name, allowed in server.allowed.items():
            if allowed.approval != "never":
                raise NotConfigured(
                    f"AUTH_MODE is none, and {server.name}.{name} needs a person's consent: everybody who reaches the "
                    "app could agree. Set AUTH_MODE, or `approval: never` for all tools in AGENTS_FILE that only read."
                )
