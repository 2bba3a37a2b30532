"""Servers for tests that answer as they are told and keep what they were sent."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.stand_ins.local_server import LocalServer

type Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]

LOOK: dict[str, Any] = {
    "name": "look",
    "description": "Look up.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
DROP: dict[str, Any] = LOOK | {"name": "drop", "description": "Drop it."}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that came in."""

    method: str
    path: str
    """With its query, as it was sent."""
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Listening(LocalServer):
    """A server that keeps all requests, and answers with 404 unless a subclass says otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Sent] = []

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.sent.append(Sent(request.method, request.raw_path, request.headers, await request.read()))
        return await self.answer(request)

    async def answer(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=404)


class Api(Listening):
    """An API that answers each request with the next response, or with `{}`."""

    def __init__(self) -> None:
        super().__init__()
        self.responses: list[web.Response] = []

    async def answer(self, _request: web.Request) -> web.StreamResponse:
        return self.responses.pop(0) if self.responses else web.json_response({})


class Mcp(Listening):
    """An MCP server of 2026-07-28, written by hand so that it can do what the SDK's do not."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = [LOOK, DROP]
        self.ttl_ms: float | None = None
        self.on_call: Answer | None = None
        """Answers a call in place of the text `done`."""
        self.on_list: Answer | None = None

    @property
    def url(self) -> str:
        """Where its tools are."""
        return f"{self.endpoint}/mcp"

    def asked(self, method: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.method == "POST" and sent.json.get("method") == method]

    async def answer(self, _request: web.Request) -> web.StreamResponse:
        message = self.sent[-1].json
        if message["method"] == "tools/list":
            if self.on_list:
                return await self.on_list(_request, message)
            more = {} if self.ttl_ms is None else {"ttlMs": self.ttl_ms}
            return result(message, {"tools": self.tools, **more})
        if self.on_call:
            return await self.on_call(_request, message)
        return result(message, {"content": [{"type": "text", "text": "done"}]})


def result(message: dict[str, Any], value: dict[str, Any]) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete", **value}})
