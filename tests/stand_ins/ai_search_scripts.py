"""Faults of the stand-in for Azure AI Search, on demand."""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from aiohttp import web

from shared.chat_types import Json
from tests.stand_ins.local_server import LocalServer

type Operation = Literal["search", "write", "lookup", "count", "definition", "create", "delete", "list", "stats"]
"""What a request wants."""
type Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Scripted(LocalServer):
    """A server that can be told how to answer next: any request, or one that wants this."""

    def __init__(self, tls: ssl.SSLContext | None, *, largest: int) -> None:
        super().__init__(tls, largest=largest)
        self._scripts: deque[tuple[Operation | None, Reply | None]] = deque()

    def fail(
        self,
        status: int,
        *,
        message: str = "scripted",
        code: str = "",
        headers: Mapping[str, str] | None = None,
        times: int = 1,
        on: Operation | None = None,
    ) -> None:
        """Answer the next requests with an error."""

        async def send(_request: web.Request) -> web.StreamResponse:
            error: Json = {"error": {"code": code, "message": message}}
            return web.json_response(error, status=status, headers=headers)

        for _ in range(times):
            self._scripts.append((on, send))

    def let_pass(self, *, times: int = 1, on: Operation | None = None) -> None:
        """Answer the next requests as always."""
        self._scripts.extend((on, None) for _ in range(times))

    def reply(
        self, body: bytes, *, status: int = 200, content_type: str = "application/json", on: Operation | None = None
    ) -> None:
        """Answer the next request with these very bytes."""

        async def send(_: web.Request) -> web.StreamResponse:
            return web.Response(body=body, status=status, content_type=content_type)

        self._scripts.append((on, send))

    def hang(self, *, on: Operation | None = None) -> None:
        """Never answer the next request."""

        async def send(_: web.Request) -> web.StreamResponse:
            await asyncio.Event().wait()
            raise AssertionError

        self._scripts.append((on, send))

    def hang_up(self, *, times: int = 1, on: Operation | None = None) -> None:
        """Close the connection of the next requests without an answer."""

        async def send(request: web.Request) -> web.StreamResponse:
            if request.transport:
                request.transport.abort()
            await asyncio.Event().wait()
            raise AssertionError

        for _ in range(times):
            self._scripts.append((on, send))

    def cut_off(self, *, times: int = 1, on: Operation | None = None) -> None:
        """Break the answers to the next requests off half way."""

        async def send(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"value": [')
            if request.transport:
                request.transport.close()
            return response

        for _ in range(times):
            self._scripts.append((on, send))

    def script_for(self, operation: Operation) -> Reply | None:
        """How to answer this request, if somebody has said so; it is said once."""
        for script in self._scripts:
            if script[0] in {None, operation}:
                self._scripts.remove(script)
                return script[1]
        return None
