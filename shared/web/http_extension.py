"""HTTP streaming for Azure Functions' Python worker, on Starlette alone: the app's web extension.

The worker asks `azurefunctions.extensions.base` which module has registered itself there, and serves HTTP with the
`WebApp` and the `WebServer` of that module. Importing this module registers it. Microsoft's own extension,
`azurefunctions.extensions.http.fastapi`, does the same on FastAPI; docs/deploy.md tells how to use it instead.

Source: `azure_functions_runtime/http_v2.py`, releases 1.0 to 1.3.
"""

from collections.abc import Awaitable, Callable, Mapping

import azurefunctions.extensions.base as base
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

__all__ = ["Request", "Response", "WebApp", "WebServer"]

type Endpoint = Callable[[Request], Awaitable[Response]]


class _RouteParameters(base.RequestSynchronizer):
    """Passes on the parameters of the route, which only the Functions host knows."""

    def sync_route_params(self, request: Request, path_params: Mapping[str, str]) -> None:
        """Set `request.path_params`."""
        request.scope["path_params"] = dict(path_params)


class RequestType(metaclass=base.RequestTrackerMeta):
    """Registers what functions take."""

    request_type = Request
    synchronizer = _RouteParameters()


class ResponseType(metaclass=base.ResponseTrackerMeta):
    """Registers what functions return: this class and those made from it."""

    label = base.ResponseLabels.STANDARD
    response_type = Response


class WebApp(base.WebApp):
    """The worker's HTTP endpoint as an ASGI app, the same for every path and method."""

    def route(self, func: Endpoint) -> Endpoint:
        """Use the worker's endpoint, which waits for the function's response."""
        self._endpoint = func
        self._records = _records_of(func)
        return func

    def get_app(self) -> "WebApp":
        """Return what the server serves."""
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive, send)
        try:
            response = await self._endpoint(request)
        finally:
            self._records.pop(request.headers.get("x-ms-invocation-id"), None)
        await response(scope, receive, send)


class WebServer(base.WebServer):
    """Serves the app with uvicorn, on the worker's event loop."""

    async def serve(self) -> None:
        """Serve until cancelled. The caller is always the Functions host, which logs the requests itself."""
        config = uvicorn.Config(
            self.web_app,
            host=self.hostname,
            port=self.port,
            lifespan="off",
            ws="none",
            access_log=False,
            proxy_headers=False,
        )
        await uvicorn.Server(config).serve()


def _records_of(endpoint: Endpoint) -> dict[str | None, object]:
    """Return the worker's records of its invocations, or an empty dict if this release of it keeps none.

    The worker never deletes a record. Each holds 2 kB, so `WebApp` deletes it when the function has answered.
    """
    coordinator = getattr(endpoint, "__globals__", {}).get("http_coordinator")
    return getattr(coordinator, "_context_references", {})
