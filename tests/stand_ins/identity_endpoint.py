"""The endpoint that gives tokens of the app's identity, as App Service and Functions offer it."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.stand_ins.local_server import LocalServer


class _Endpoint(LocalServer):
    def __init__(self, token: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._token = token

    async def _serve(self, request: web.Request) -> web.Response:
        self.asked.append(request.query["resource"])
        expires = str(int(time.time()) + 3600)
        return web.json_response(
            {"access_token": self._token, "expires_on": expires, "token_type": "Bearer", "resource": self.asked[-1]}
        )


@asynccontextmanager
async def identity_endpoint(token: str) -> AsyncGenerator[tuple[dict[str, str], list[str]]]:
    """Give this token to whoever asks.

    Yields:
        The environment that points the app at the endpoint, and the resources that were asked for.
    """
    async with _Endpoint(token) as server:
        yield {"IDENTITY_ENDPOINT": f"{server.endpoint}/msi/token", "IDENTITY_HEADER": "header"}, server.asked
