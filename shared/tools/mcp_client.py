"""An MCP server as a client sees it: lists its tools and calls them. Imports aiohttp: import it late.

Requests of the revision 2026-07-28 stand alone. A server that does not know them is asked in the older way: with a
session for each turn, which is ended some time after its last request.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, cast

import msgspec

from shared.chat_types import Json, RequestContext
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.tools import ToolResult, mcp_messages
from shared.tools.mcp_transport import McpTransport, RpcFailure, Session, SessionGone, decoded
from shared.tools.served import Offered

_MOST_PAGES = 20
_LARGEST_DEFINITION = 200_000
"""Bytes of a tool's definition."""
_IDLE_SECONDS = 60.0
"""How long a session is kept after its last request."""
_FRESH_SECONDS = 300.0
"""How long a list is used again if the server does not say."""
_LONGEST_FRESH_SECONDS = 3600.0
_OF_NO_ERA = frozenset({401, 403, 408, 429})
"""HTTP statuses that do not tell which revisions a server knows."""

_log = logging.getLogger("switchboard.tools")


class _Welcome(msgspec.Struct, frozen=True, rename="camel"):
    protocol_version: str


class _Supported(msgspec.Struct, frozen=True):
    supported: list[str]


class McpClient:
    """One server, as a `Source` of tools.

    Args:
        transport: What messages to it are sent by.
        allowed: Names of the tools that agents may have; others are not looked at.
    """

    def __init__(self, transport: McpTransport, allowed: Collection[str]) -> None:
        self._transport = transport
        self._allowed = allowed
        self._is_legacy = False
        self._sessions: dict[str, Session] = {}
        """By the id of the turn; by an empty id if the server keeps none."""

    async def offered(self, context: RequestContext) -> tuple[list[Offered], float]:
        """Ask for the tools; return them, and for how many seconds they hold.

        Raises:
            ServiceFault: there is no list.
        """
        try:
            tools, seconds = await self._list(context)
        except RpcFailure as failure:
            _log.warning("a tool server refuses to list its tools: error %s", failure.error.code)
            raise ServiceFault(Fault(Reason.NOT_ACCEPTED)) from None
        # In a thread: a hundred tools may have megabytes.
        return await asyncio.to_thread(lambda: [offered for raw in tools if (offered := self._offered(raw))]), seconds

    def _offered(self, raw: msgspec.Raw) -> Offered | None:
        """Make an offer of a definition; None if it is none that can be used."""
        name = decoded(raw, mcp_messages.ListedTool).name
        if not isinstance(name, str) or name not in self._allowed:
            return None
        if memoryview(raw).nbytes > _LARGEST_DEFINITION:
            _log.warning("%s is not offered: its definition is over %d bytes", name, _LARGEST_DEFINITION)
            return None
        tool = decoded(raw, dict[str, Any])
        description = tool.get("description") or ""
        told: Any = tool.get("inputSchema") or {}
        if not (isinstance(description, str) and isinstance(told, dict)):
            return None
        schema: dict[str, Json] = {"type": "object"}
        schema |= {key: value for key, value in cast("dict[str, Json]", told).items() if value is not None}
        repeated = mcp_messages.header_parameters(schema)
        if repeated is None:
            return None
        call = partial(self._call, name, repeated)
        return Offered(name, description, schema, mcp_messages.digest_of(mcp_messages.defined(tool)), call)

    async def _list(self, context: RequestContext) -> tuple[list[msgspec.Raw], float]:
        if not self._is_legacy:
            try:
                return await self._pages(context, None)
            except RpcFailure as failure:
                if _is_modern_only(failure.error):
                    raise
            except ServiceFault as refused:
                if not 400 <= (refused.fault.status or 0) < 500 or refused.fault.status in _OF_NO_ERA:
                    raise
        try:
            found = await self._in_session(context, lambda session: self._pages(context, session))
        except (RpcFailure, ServiceFault):
            self._is_legacy = False
            raise
        self._is_legacy = True
        return found

    async def _call(
        self,
        name: str,
        repeated: Mapping[tuple[str, ...], str],
        arguments: Mapping[str, Json],
        context: RequestContext,
    ) -> ToolResult:
        """Call a tool; `repeated` are the arguments that headers repeat, see `header_parameters`."""
        params: dict[str, Json] = {"name": name, "arguments": {**arguments}}
        headers = {"mcp-name": mcp_messages.header_value(name), **mcp_messages.parameter_headers(repeated, arguments)}
        try:
            if self._is_legacy:
                raw = await self._in_session(
                    context, lambda session: self._transport.ask("tools/call", params, context, session)
                )
            else:
                raw = await self._transport.ask("tools/call", params, context, None, headers)
        except RpcFailure as failure:
            if failure.error.code in (mcp_messages.HEADER_MISMATCH, mcp_messages.UNSUPPORTED_VERSION):
                return ToolResult("The tool has changed: it can be used with the next question.", is_error=True)
            return ToolResult(
                mcp_messages.shortened(failure.error.message or "") or "The server refused the call.", is_error=True
            )
        result = decoded(raw, mcp_messages.CallResult)
        if result.result_type == "input_required":
            asked = result.question()
            return ToolResult(
                "The tool asks the user back before it goes on, which is not possible here, so nothing was done. Ask "
                "the user yourself what it needs to know, or do without it." + (f" It asks: {asked}" if asked else ""),
                is_error=True,
            )
        try:
            return ToolResult(result.text(), is_error=result.is_error is True)
        except (msgspec.DecodeError, UnicodeError):
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER)) from None

    async def aclose(self) -> None:
        """End the sessions."""
        for session in [*self._sessions.values()]:
            self._end(session)
        await self._transport.settle()

    async def _pages(self, context: RequestContext, session: Session | None) -> tuple[list[msgspec.Raw], float]:
        tools: list[msgspec.Raw] = []
        cursor, seconds = None, _FRESH_SECONDS
        for _ in range(_MOST_PAGES):
            params: dict[str, Json] = {"cursor": cursor} if cursor else {}
            page = decoded(await self._transport.ask("tools/list", params, context, session), mcp_messages.ToolPage)
            tools += page.tools or ()
            if page.ttl_ms is not None:
                seconds = page.ttl_ms / 1000
            cursor = page.next_cursor
            if not cursor:
                break
        else:
            _log.warning("a tool server has more than %d pages of tools; the others are not read", _MOST_PAGES)
        return tools, min(max(seconds, 0), _LONGEST_FRESH_SECONDS)

    async def _in_session[T](self, context: RequestContext, work: Callable[[Session], Awaitable[T]]) -> T:
        """Do work in the session of the turn, and again in a new one if the server has forgotten it."""
        for _ in range(2):
            session = None
            try:
                session = await self._session(context)
                return await work(session)
            except SessionGone:
                if session:
                    self._forget(session)
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER))

    async def _session(self, context: RequestContext) -> Session:
        if shared := self._sessions.get(""):
            return shared
        session = self._sessions.setdefault(context.invocation_id, Session(context))
        async with session.opening:
            if not session.version:
                try:
                    await self._begin(session)
                except BaseException:
                    self._forget(session)
                    raise
        if session.id:
            if session.closing:
                session.closing.cancel()
            session.closing = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._end, session)
        else:
            self._forget(session)
            self._sessions[""] = session
        return session

    async def _begin(self, session: Session) -> None:
        params: dict[str, Json] = {
            "protocolVersion": mcp_messages.LEGACY[0],
            "capabilities": {},
            "clientInfo": {**mcp_messages.CLIENT},
        }
        welcome = decoded(await self._transport.ask("initialize", params, session.context, session), _Welcome)
        if welcome.protocol_version not in mcp_messages.LEGACY:
            raise ServiceFault(Fault(Reason.WRONG_SERVICE))
        session.version = welcome.protocol_version
        await self._transport.notify("notifications/initialized", {}, session.context, session)

    def _forget(self, session: Session) -> None:
        self._sessions = {turn: one for turn, one in self._sessions.items() if one is not session}
        if session.closing:
            session.closing.cancel()

    def _end(self, session: Session) -> None:
        self._forget(session)
        if session.id:
            self._transport.aside(self._transport.end(session))


def _is_modern_only(error: mcp_messages.RpcError) -> bool:
    """Whether an error says that the server knows no revision that we know."""
    try:
        supported = msgspec.convert(error.data, _Supported).supported
    except msgspec.ValidationError:
        return False
    return error.code == mcp_messages.UNSUPPORTED_VERSION and not any(
        version in supported for version in mcp_messages.LEGACY
    )
