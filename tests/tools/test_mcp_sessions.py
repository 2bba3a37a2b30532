"""MCP servers of 2025-06-18: their sessions, and what they answer to notifications."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from tests.tools.listening import DROP, LOOK, Listening, Mcp
from tests.tools.serving import NO_ANSWER, UNKNOWN, call, context, definition, tool_servers, tools_of


class OlderMcp(Listening):
    """An MCP server of 2025-06-18 with sessions, which answers calls as events."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, int] = {}
        self.begun = 0
        self.ended: list[str] = []
        self.accepted: dict[str, Any] = {"status": 202}
        """What it answers to notifications."""
        self.forgets = False
        """Whether each session is gone at once."""
        self.asks = False
        """Whether it asks back in the answer to a call."""
        self.refused: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        session = self.sent[-1].headers.get("mcp-session-id", "")
        if self.sent[-1].method == "DELETE":
            self.ended.append(session)
            return web.Response(status=204)
        message = self.sent[-1].json
        if message.get("method") == "initialize":
            self.begun += 1
            self.sessions[str(self.begun)] = 1
            named = {"Mcp-Session-Id": str(self.begun)}
            welcome = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": welcome}, headers=named)
        if session not in self.sessions or self.forgets:
            return web.Response(status=404 if session else 400)
        if "id" not in message:
            return web.Response(**self.accepted)
        if "error" in message:
            self.refused.set_result(message["error"]["code"])
            return web.Response(status=202)
        if message["method"] == "tools/list":
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": Mcp().tools}})
        return await self._events(request, message, session)

    async def _events(self, request: web.Request, message: dict[str, Any], session: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"id: 1\ndata:\n\n")
        if self.asks:
            await response.write(b'data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}\n\n')
            await self.refused
        content = [{"type": "text", "text": f"done in session {session}"}]
        answer = web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})
        await response.write(f"event: message\ndata: {answer.text}\n\n".encode())
        return response


async def test_a_session_that_is_gone_is_begun_again_and_each_turn_has_its_own() -> None:
    async with OlderMcp() as server, tool_servers(definition(f"{server.endpoint}/mcp")) as servers:
        drop = (await tools_of(servers))["crm.drop"]
        assert (await call(drop, context("turn-1"))).text == "done in session 1"
        assert (await call(drop, context("turn-2"))).text == "done in session 2"
        server.sessions.clear()
        assert (await call(drop, context("turn-2"))).text == "done in session 3"
    assert {*server.ended} == {"1", "3"}


async def test_a_session_that_is_never_there_is_begun_twice_and_no_more() -> None:
    async with OlderMcp() as server, tool_servers(definition(f"{server.endpoint}/mcp")) as servers:
        drop = (await tools_of(servers))["crm.drop"]
        server.forgets = True
        assert (await call(drop, context("turn-2"))).text == f"{NO_ANSWER} {UNKNOWN}"
    assert server.begun == 3


async def test_a_session_that_is_named_after_it_has_begun_is_not_shared_with_others() -> None:
    class NamesLate(OlderMcp):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            message = self.sent[-1].json
            if request.headers.get("mcp-protocol-version") == "2026-07-28":
                return web.Response(status=400)
            if message["method"] in ("initialize", "notifications/initialized"):
                response = await super().answer(request)
                response.headers.pop("Mcp-Session-Id", None)
                return response
            if message["method"] == "tools/list":
                return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [LOOK, DROP]}})
            return web.json_response(
                {"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}},
                headers={"Mcp-Session-Id": "of-the-first"},
            )

    async with NamesLate() as server, tool_servers(definition(f"{server.endpoint}/mcp")) as servers:
        server.sessions[""] = 1
        drop = (await tools_of(servers))["crm.drop"]
        for turn in ("turn-1", "turn-2"):
            await call(drop, context(turn))
    assert not [sent for sent in server.sent if "mcp-session-id" in sent.headers]


async def test_a_question_in_an_open_answer_is_refused_and_the_answer_goes_on() -> None:
    async with OlderMcp() as server, tool_servers(definition(f"{server.endpoint}/mcp")) as servers:
        server.asks = True
        drop = (await tools_of(servers))["crm.drop"]
        assert (await call(drop)).text == "done in session 1"
        assert await asyncio.wait_for(server.refused, 20) == -32601


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 200},
        {"status": 200, "body": b"null", "content_type": "application/json"},
        {"status": 200, "body": b"ok", "content_type": "text/plain"},
        {"status": 200, "body": b"{", "content_type": "application/json"},
        {"status": 405, "body": b"<html>", "content_type": "text/html"},
    ],
    ids=["empty", "null", "text", "half", "refused"],
)
async def test_whatever_a_server_answers_to_a_notification_it_can_be_used(answer: dict[str, Any]) -> None:
    async with OlderMcp() as server, tool_servers(definition(f"{server.endpoint}/mcp")) as servers:
        server.accepted = answer
        assert (await call((await tools_of(servers))["crm.drop"])).text == "done in session 1"
