"""The endpoint that gives tokens of the app's identity, as App Service and Functions offer it."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.stand_ins.local_server import LocalServer

_HEADER = "853b9a84-5bfa-4b22-a3f3-0b9a43d9ad8a"
"""What shows that a caller is in the app's own environment."""


class _Endpoint(LocalServer):
    def __init__(self, token: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._token = token

    async def _serve(self, request: web.Request) -> web.Response:
        if request.headers.get("X-IDENTITY-HEADER") != _HEADER or request.query.get("api-version") != "2019-08-01":
            return web.json_response({"statusCode": 400, "message": "not as the platform asks"}, status=400)
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
        yield {"IDENTITY_ENDPOINT": f"{server.endpoint}/msi/token", "IDENTITY_HEADER": _HEADER}, server.asked
