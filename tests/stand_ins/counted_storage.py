"""A relay in front of Azurite that counts what passes, and at which a process can be stopped."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from tests.stand_ins.azurite import Azurite

_LARGEST = 64 * 1024 * 1024


@dataclass
class Traffic:
    """What has passed."""

    requests: int = 0
    """Number of requests."""
    writes: int = 0
    """Those that may have changed something."""
    sent: int = 0
    """Bytes of bodies to the service."""
    received: int = 0
    """Bytes of bodies from the service."""

    @property
    def bytes(self) -> int:
        """Bytes in both directions."""
        return self.sent + self.received

    def take(self) -> "Traffic":
        """Return what has passed so far, and begin anew."""
        taken = Traffic(**vars(self))
        self.__init__()
        return taken


class CountedStorage:
    """The relay of a storage account's tables.

    Args:
        session: Asks the service.
        service: The service.
    """

    def __init__(self, session: aiohttp.ClientSession, service: Azurite) -> None:
        self.traffic = Traffic()
        self.on_write: Callable[[int, bool], bool] = lambda _number, _is_done: True
        """Called before and after each write with its number, from 1: whether it goes on. Else the connection ends."""
        self.before: Callable[[int], Awaitable[object]] = _nothing
        """Called before each request with its number, from 1."""
        self.is_gone = False
        """Whether every connection ends."""
        self._session = session
        self._service = service
        self.connection_string = ""
        """What an app needs to use it."""

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        """Ask the service what is asked here."""
        body = await request.read()
        _go_on(request, wanted=not self.is_gone)
        self.traffic.requests += 1
        await self.before(self.traffic.requests)
        self.traffic.sent += len(body)
        number = 0
        if request.method != "GET":
            self.traffic.writes += 1
            number = self.traffic.writes
            _go_on(request, wanted=self.on_write(number, False))
        url = f"http://127.0.0.1:{self._service.ports[-1]}{request.raw_path}"
        async with self._session.request(request.method, url, data=body or None, headers=request.headers) as response:
            answer = await response.read()
        self.traffic.received += len(answer)
        if number:
            _go_on(request, wanted=self.on_write(number, True))
        headers = {name: value for name, value in response.headers.items() if name.lower() not in OF_A_CONNECTION}
        return web.Response(status=response.status, body=answer, headers=headers)


OF_A_CONNECTION = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"})


async def _nothing(_number: int) -> None:
    pass


def _go_on(request: web.Request, *, wanted: bool) -> None:
    if not wanted:
        if request.transport:
            request.transport.abort()
        raise web.HTTPServiceUnavailable


@asynccontextmanager
async def counted(service: Azurite) -> AsyncGenerator[CountedStorage]:
    """Start a relay in front of a service, for its tables."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        relay = CountedStorage(session, service)
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/{path:.*}", relay.pass_on)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        own = f":{service.ports[-1]}/"
        relay.connection_string = service.connection_string.replace(own, f":{port}/")
        try:
            yield relay
        finally:
            await runner.cleanup()
