"""The HTTP server that callers see: finds the function, answers what the host itself answers, logs each invocation."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any
from uuid import uuid4

from aiohttp import web

from local import HostError
from local.invocation import TIMER_DATA, Call, Function, HttpData, succeeds
from local.limits import HEADER_BYTES, REQUEST_LINE_BYTES, Slots, find_excess
from local.origins import cors_headers, find_fault, is_preflight, preflight_headers
from local.proxy import LARGEST_BODY, BadBody, BodyTooLarge, Invoke, NotSent, Proxy, WorkerUnreachable, target
from local.routing import LONGEST_PATH, Matched, NotAllowed, Route, decode_path, find, hint_for, is_of_host
from local.settings_file import NO_LIMIT, Cors, Throttle
from local.worker import LOOPBACK

CLOSE_SECONDS = 1.0
"""For each connection to close."""
HEADERS_SECONDS = 60.0
"""For a connection to send the headers of its first request, or of its next."""
LOGGED_ORIGINS = 20
"""Refused origins that are logged, at most; each once."""
_ADMIN = "/admin/functions/"
"""Where the Functions host runs a function that no HTTP request triggers; here only those with a timer."""

_log = logging.getLogger(__name__)


class Front:
    """Listens on loopback; `start` and `stop` once each, both on the loop that it is to run on.

    Args:
        functions: by name, those with an HTTP trigger.
        routes: theirs, sorted by rank.
        invoke: starts an invocation in the worker.
        proxy: to the worker's HTTP server.
        shared_with: which other origins may call.
        home: the path of the routes' prefix; who asks for `/` is sent there if a function answers it.
        throttle: how many requests are taken.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        routes: Sequence[Route],
        invoke: Callable[[Call], Future[bool]],
        proxy: Proxy,
        shared_with: Cors,
        *,
        home: str = "/",
        throttle: Throttle = NO_LIMIT,
    ) -> None:
        self._functions = functions
        self._routes = routes
        self._invoke = invoke
        self._proxy = proxy
        self._cors = shared_with
        self._home = home
        self._slots = Slots(throttle)
        self._refused: set[str] = set()
        self._running: set[asyncio.Task[object]] = set()
        self._runner: web.ServerRunner | None = None

    async def start(self, port: int) -> int:
        """Listen.

        Args:
            port: 0 for any that is free.

        Returns:
            The port.

        Raises:
            HostError: it is taken, or not ours to take.
        """
        server = web.Server(
            self._answer,
            handler_cancellation=True,
            auto_decompress=False,
            max_line_size=2 * REQUEST_LINE_BYTES,  # what is a little over a limit gets its own answer
            max_field_size=2 * HEADER_BYTES,
            keepalive_timeout=HEADERS_SECONDS,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=CLOSE_SECONDS)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, LOOPBACK, port).start()
        except OSError as exc:
            reason = os.strerror(exc.errno) if exc.errno else "refused"
            raise HostError(f"Port {port} cannot be used ({reason}). Choose another one with PORT=….") from exc
        bound: tuple[str, int] = self._runner.addresses[0]
        return bound[1]

    async def stop(self, grace: float) -> None:
        """Stop accepting, let running requests end, then end them.

        Args:
            grace: how long they have, in seconds.
        """
        if self._runner is None:
            return
        for site in list(self._runner.sites):
            await site.stop()
        if self._running:
            _log.info("stopping: running requests have %.0f seconds to end", grace)
            await asyncio.wait(self._running, timeout=grace)
        for task in self._running:
            task.cancel()
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if task := asyncio.current_task():
            self._hold(task)
        self._log_refusal(request)
        if answer := self._answer_before(request):
            return answer
        extra = cors_headers(self._cors, request.headers)
        path = decode_path(target(request).partition("?")[0])
        match find(self._routes, request.method, path):
            case Matched(name, parameters):
                return await self._invocation(request, self._functions[name], parameters, extra)
            case NotAllowed(allowed):
                _log_miss(request.method, path, 405)
                return web.Response(status=405, headers={"Allow": ", ".join(allowed), **extra})
            case None if request.method == "POST" and (function := self._with_timer(path)):
                self._hold(asyncio.create_task(succeeds(Call(str(uuid4()), function, TIMER_DATA), self._invoke)))
                return web.Response(status=202, headers=extra)
            case None if path == "/" and isinstance(find(self._routes, request.method, self._home), Matched):
                return web.Response(status=307, headers={"Location": self._home, **extra})
            case None if is_of_host(path):
                return web.Response(status=401, headers=extra)
            case None:
                _log_miss(request.method, path, 404)
                hint = hint_for(self._routes, path)
                return web.Response(status=404, text=f"No function answers here. {hint}".strip(), headers=extra)

    def _answer_before(self, request: web.BaseRequest) -> web.Response | None:
        """Return the answer to a request for which no function is looked for."""
        if fault := find_fault(request.method, request.headers, self._cors):
            return web.Response(status=403, text=fault)
        if excess := find_excess(request):
            return excess
        if self._cors.origins and is_preflight(request.method, request.headers):
            return web.Response(status=204, headers=preflight_headers(self._cors, request.headers))
        return None

    def _hold(self, task: asyncio.Task[Any]) -> None:
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _with_timer(self, path: str) -> Function | None:
        """The function with a timer that an administrator's request names."""
        function = self._functions.get(path.removeprefix(_ADMIN)) if path.startswith(_ADMIN) else None
        return function if function and function.trigger == "timerTrigger" else None

    def _log_refusal(self, request: web.BaseRequest) -> None:
        """Log an origin whose page may not read the answer, once; a browser tells its user nothing that would help."""
        origin = request.headers.get("Origin", "")
        own = origin == f"http://{request.host}"
        if not origin or own or "Access-Control-Allow-Origin" in cors_headers(self._cors, request.headers):
            return
        if origin in self._refused or len(self._refused) >= LOGGED_ORIGINS:
            return
        self._refused.add(origin)
        _log.warning(
            "CORS: pages of %s may not read answers. Allow them with `make run CORS=...`, or in Host.CORS of "
            "local.settings.json: origins with commas, or *.",
            ascii(origin[:LONGEST_PATH]),
        )

    async def _invocation(
        self, request: web.BaseRequest, function: Function, parameters: Mapping[str, str], extra: Mapping[str, str]
    ) -> web.StreamResponse:
        call = Call(
            str(uuid4()),
            function,
            HttpData(request.method, target(request), parameters),
            trace_parent=request.headers.get("traceparent", ""),
            trace_state=request.headers.get("tracestate", ""),
        )
        if not await self._slots.take():
            return web.Response(status=429, headers=extra)
        began = time.monotonic()
        outcome = "failed"
        is_static = False

        invocations = list[Future[bool]]()

        def invoke() -> Future[bool]:
            invocations.append(self._invoke(call))
            return invocations[0]

        def answered(status: int) -> None:
            nonlocal outcome
            outcome = str(status)

        try:
            answer = await self._forward(request, call, invoke, extra, answered)
        except (asyncio.CancelledError, ConnectionResetError):
            # Either side is gone; aiohttp closes the caller's connection without ending the answer properly.
            if outcome == "failed":
                caller = request.transport
                outcome = "cancelled" if caller is None or caller.is_closing() else "broken off"
            raise
        else:
            is_static = "immutable" in answer.headers.get("Cache-Control", "")
            return answer
        finally:
            self._slots.free_after(invocations)
            milliseconds = round((time.monotonic() - began) * 1000)
            if not is_static:  # a page has dozens of such files, among whose lines its requests would be lost
                _log.info("%s %s %s %s %d ms", call.invocation_id, function.name, request.method, outcome, milliseconds)

    async def _forward(
        self,
        request: web.BaseRequest,
        call: Call,
        invoke: Invoke,
        extra: Mapping[str, str],
        answered: Callable[[int], None],
    ) -> web.StreamResponse:
        try:
            return await self._proxy.forward(request, call.invocation_id, invoke, extra, answered)
        except BadBody:
            answered(400)
            return web.Response(status=400, text="The request's body is malformed.", headers=extra)
        except BodyTooLarge:
            answered(413)
            return web.Response(status=413, text=f"The request's body is over {LARGEST_BODY:,} bytes.", headers=extra)
        except NotSent:
            answered(500)
            return web.Response(status=500, text="A header has a letter beyond ASCII.", headers=extra)
        except WorkerUnreachable as exc:
            _log.error("%s %s: the worker did not answer: %r", call.invocation_id, call.function.name, exc.__cause__)
            answered(500)
            return web.Response(status=500, text="The function did not answer.", headers=extra)


def _log_miss(method: str, path: str, status: int) -> None:
    """Log a request that no function answers, without its query, which may hold a key."""
    _log.info("no function: %s %s %d", method, ascii(path[:LONGEST_PATH]), status)
