"""The endpoint that gives tokens of the app's identity, as App Service and Functions offer it.

Source: Microsoft, 'How to use managed identities for App Service and Azure Functions', REST endpoint reference.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.stand_ins.local_server import LocalServer

_HEADER = "853b9a84-5bfa-4b22-a3f3-0b9a43d9ad8a"
"""What shows that a caller is in the app's own environment."""
_WHICH = {"client_id", "principal_id", "mi_res_id"}
"""Parameters that name a user-assigned identity; a request has at most one of them."""


class IdentityEndpoint(LocalServer):
    """The endpoint. It refuses what the platform refuses.

    Args:
        token: What it gives.
        client_id: The app's user-assigned identity; None: the app has one of its own.
    """

    def __init__(self, token: str, client_id: str | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        """The resources of the tokens that were given."""
        self.lifetime = 3600
        """How many seconds a token is valid."""
        self.answers: list[web.Response | None] = []
        """What it answers in place of the next tokens; None: it closes the connection."""
        self._token = token
        self._client_id = client_id

    @property
    def environment(self) -> dict[str, str]:
        """The environment that points the app at the endpoint."""
        return {"IDENTITY_ENDPOINT": f"{self.endpoint}/msi/token", "IDENTITY_HEADER": _HEADER}

    async def _serve(self, request: web.Request) -> web.Response:
        query = request.query
        if problem := self._problem(request):
            return web.json_response({"statusCode": 400, "message": problem}, status=400)
        if self.answers:
            answer = self.answers.pop(0)
            if answer is None and request.transport:
                request.transport.abort()
            return answer or web.Response()
        self.asked.append(query["resource"])
        return web.json_response(
            {
                "access_token": self._token,
                "client_id": self._client_id or "5e29463d-71da-4fe0-8e69-999b57db23b0",
                "expires_on": str(int(time.time()) + self.lifetime),
                "not_before": str(int(time.time())),
                "resource": query["resource"],
                "token_type": "Bearer",
            }
        )

    def _problem(self, request: web.Request) -> str | None:
        query = request.query
        which = {query[name] for name in _WHICH & query.keys()}
        if request.method != "GET" or request.headers.get("X-IDENTITY-HEADER") != _HEADER:
            return "The request is not from the app."
        if query.get("api-version") != "2019-08-01" or len(query) != 2 + len(which):
            return "The api-version, or a parameter, is not supported."
        if not query.get("resource") or query["resource"].endswith("/.default"):
            return "The resource is no URI of a service."
        if which != ({self._client_id} if self._client_id else set[str]()):
            return "No User Assigned or Delegated Managed Identity found for specified ClientId/ResourceId/PrincipalId."
        return None


@asynccontextmanager
async def identity_endpoint(token: str) -> AsyncGenerator[tuple[dict[str, str], list[str]]]:
    """Give this token to whoever asks.

    Yields:
        The environment that points the app at the endpoint, and the resources that were asked for.
    """
    async with IdentityEndpoint(token) as server:
        yield server.environment, server.asked
