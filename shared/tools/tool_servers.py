"""The tools of the agents file's servers, as agents get them. Imports aiohttp: import it late.

A tool is offered if the file names it and its definition is the one that was pinned, or else the one that this process
saw first. A server that is down offers nothing, and the turn goes on without it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from shared.chat_types import ChatRequest, Json, PartHealth, RequestContext
from shared.tools import Tool
from shared.tools.mcp_client import McpClient
from shared.tools.mcp_transport import McpTransport
from shared.tools.sending import Connections
from shared.tools.served import Served
from shared.tools.servers import ToolServer, fits
from shared.tools.signing_in import sign_in_of

_CHECK_SECONDS = 3.0
"""Time limit of a health check."""


class ToolServers:
    """The servers of the agents file, as a `ToolSource`.

    Args:
        servers: Each of them.
        connections: What their requests are sent with; closed by `aclose`.
    """

    def __init__(self, servers: Sequence[Served], connections: Connections) -> None:
        self._servers = servers
        self._connections = connections

    @classmethod
    def from_definitions(cls, definitions: Iterable[ToolServer], environment: Mapping[str, str]) -> "ToolServers":
        """Make the servers that the agents file defines.

        Raises:
            NotConfigured: a setting with a key is missing.
        """
        connections = Connections()
        return cls(
            [
                Served(one, McpClient(McpTransport(one.url, connections, sign_in_of(one.name, one.auth, environment))))
                for one in definitions
            ],
            connections,
        )

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
        return tuple(tool for tool in tools if any(fits(pattern, tool.title) for pattern in patterns))

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
        await self._connections.aclose()
