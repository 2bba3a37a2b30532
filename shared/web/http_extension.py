"""HTTP streaming for Azure Functions' Python worker, on Starlette alone: the app's web extension.

The worker asks `azurefunctions.extensions.base` which module has registered itself there, and serves HTTP with the
`WebApp` and the `WebServer` of that module. Importing this module registers it. Microsoft's own extension,
`azurefunctions.extensions.http.fastapi`, does the same on FastAPI; CONTRIBUTING.md tells how to use it instead.

Source: `azure_functions_runtime/http_v2.py`, releases 1.0 to 1.3.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Protocol

import azurefunctions.extensions.base as base
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

__all__ = ["Request", "Response", "WebApp", "WebServer", "when_serving"]

type Endpoint = Callable[[Request], Awaitable[Response]]

ARRIVAL_SECONDS = 5
"""How long an invocation waits for its HTTP request, in seconds. The host tries to send it for some two."""
_RECORD_SECONDS = 60
"""How long the record of an invocation stays whose request has not come in time, in seconds."""


class NeverArrived(Exception):
    """The Functions host began an invocation and did not send its HTTP request."""


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
    """The worker's HTTP endpoint as an ASGI app, the same for every path and method.

    The worker never deletes the record of an invocation, which holds 2 kB. It goes when the function has answered.
    """

    def route(self, func: Endpoint) -> Endpoint:
        """Use the worker's endpoint, which waits for the function's response."""
        self._endpoint = func
        coordinator = getattr(func, "__globals__", {}).get("http_coordinator")
        self._records = getattr(coordinator, "_context_references", {})
        if coordinator:
            _limit_waiting(coordinator, self._records)
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
            server_header=False,
        )
        # Of an answer that breaks off on purpose the turn has logged why.
        logging.getLogger("uvicorn.error").addFilter(
            lambda record: "without completing response" not in str(record.msg)
        )
        await _Server(config).serve()


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and begin what was to begin then."""
        await super().startup(sockets)
        for begin in _begun_with_serving:
            begin()


_begun_with_serving: list[Callable[[], object]] = []


def when_serving(begin: Callable[[], object]) -> None:
    """Have a function called, on the event loop, as soon as requests can be answered."""
    _begun_with_serving.append(begin)


class _Coordinator(Protocol):
    """The worker's part that brings invocations and their HTTP requests together."""

    get_http_request_async: Callable[[str], Awaitable[Request]]
    """Waits for the request of an invocation."""


def _limit_waiting(coordinator: _Coordinator, records: dict[str | None, object]) -> None:
    """Make the worker wait for an HTTP request for a limited time only.

    The host sends an invocation and its HTTP request on two ways. It fails to send the second one if the caller leaves
    at once, and if a header's value is not ASCII; the worker's server refuses some others, such as an unknown method.
    The invocation would then hold one of the host's slots until `functionTimeout`, when the host restarts the worker.
    """
    wait = coordinator.get_http_request_async

    async def wait_a_while(invocation_id: str) -> Request:
        for _ in range(ARRIVAL_SECONDS):  # a loop that is held up for long has used up one second, not all
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    return await wait(invocation_id)
        # The worker writes the failure into the record, and a late request reads it there.
        asyncio.get_running_loop().call_later(_RECORD_SECONDS, records.pop, invocation_id, None)
        raise NeverArrived("The HTTP request of this invocation did not reach the app.")

    coordinator.get_http_request_async = wait_a_while
