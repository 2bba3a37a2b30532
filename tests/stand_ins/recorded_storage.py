"""A relay in front of Azurite that writes down which requests pass: to tables, blobs and queues."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web
from yarl import URL

from tests.stand_ins.azurite import SERVICES, Azurite
from tests.stand_ins.counted_storage import OF_A_CONNECTION


class RecordedStorage:
    """The relay of a storage account.

    Args:
        session: Sends the requests on.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.passed: Counter[str] = Counter()
        """How many requests of a kind have passed, such as `table list`."""
        self.connection_string = ""
        """What an app needs to use it."""
        self._session = session

    def service(self, name: str, port: int) -> web.Application:
        """Make the relay of one service."""

        async def pass_on(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            if kind := _kind_of(name, request):
                self.passed[f"{name} {kind}"] += 1
            url = URL(
                f"http://127.0.0.1:{port}{request.raw_path}", encoded=True
            )  # a part of what the caller has signed
            async with self._session.request(
                request.method, url, data=body or None, headers=request.headers, skip_auto_headers=("Content-Type",)
            ) as got:
                answer = await got.read()
            headers = {name: value for name, value in got.headers.items() if name.lower() not in OF_A_CONNECTION}
            return web.Response(status=got.status, body=answer, headers=headers)

        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", pass_on)
        return app


def _kind_of(service: str, request: web.Request) -> str | None:
    """Return what a request does: `read`, `list` or `write`; None: the host of the queue triggers sends it."""
    if service == "queue":
        return "write" if request.method == "POST" else None
    if request.method not in ("GET", "HEAD"):
        return "write"
    return "list" if "()" in request.path or request.query.get("comp") == "list" else "read"


@asynccontextmanager
async def recorded(azurite: Azurite) -> AsyncGenerator[RecordedStorage]:
    """Start a relay in front of a service."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        relay = RecordedStorage(session)
        relay.connection_string = azurite.connection_string
        runners: list[web.AppRunner] = []
        try:
            for name, port in zip(SERVICES, azurite.ports, strict=True):
                runner = web.AppRunner(relay.service(name, port), access_log=None)
                runners.append(runner)
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                own = f":{runner.addresses[0][1]}/"
                relay.connection_string = relay.connection_string.replace(f":{port}/", own)
            yield relay
        finally:
            for runner in runners:
                await runner.cleanup()
