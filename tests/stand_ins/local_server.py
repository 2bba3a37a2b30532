"""What the stand-ins that speak HTTP have in common: a server on this machine, on a port of its own."""

import asyncio
import json
import ssl
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

_CAUGHT_UP = "/.caught-up"
"""An address that no service has."""


@dataclass(slots=True)
class Failure:
    """An answer that is no result."""

    status: int
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: str | None = None
    """None: an error as Azure's AI services tell it."""
    content_type: str = "application/json"

    def response(self) -> web.Response:
        """The answer."""
        error = json.dumps({"error": {"code": "Code", "message": "a message"}})
        body = error if self.body is None else self.body
        return web.Response(status=self.status, headers=self.headers, text=body, content_type=self.content_type)


class LocalServer(ABC):
    """The server, as an async context manager; what stands in for a service says how it answers.

    Args:
        tls: For https, without which no client sends a token; then the address is that of `localhost`.
        largest: Bytes of a request that can be read.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, *, largest: int = 64 * 1024 * 1024) -> None:
        self.endpoint = ""
        """Its address, once it listens."""
        self._tls = tls
        application = web.Application(client_max_size=largest)
        application.router.add_get(_CAUGHT_UP, _nothing)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.2, access_log=None)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        port = self._runner.addresses[0][1]
        self.endpoint = f"https://localhost:{port}" if self._tls else f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def caught_up(self) -> None:
        """Wait until all that was sent to the server so far has come in; not with TLS.

        An app that gives up a turn may have sent a request just before: it would take what is scripted afterwards. A
        server takes in connections, and what they bring, in their order.
        """
        reader, writer = await asyncio.open_connection(*self._runner.addresses[0])
        writer.write(f"GET {_CAUGHT_UP} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
        await writer.wait_closed()

    @abstractmethod
    async def _serve(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, whatever its address."""


async def _nothing(_: web.Request) -> web.Response:
    return web.Response()
