"""The door: what happens to every HTTP request before its handler, and to every response behind it.

A route of the table in `function_app.py` signs its caller in, counts the request in the caller's budget, and hands the
handler a `Call`. A route that is open to all is an `Open` there, and its handler gets the request alone.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from shared import app
from shared.audit import Audit
from shared.chat_types import Caller, Json
from shared.errors import InternalError, SwitchboardError, log_fault
from shared.history import owner_of
from shared.service import Service
from shared.settings import Settings
from shared.triggers.budget import admit, key_of, show_limits
from shared.triggers.errors import error_response, invocation_id
from shared.turns.accept import Asker
from shared.web import receiving
from shared.web.public_url import own_url
from shared.web.responses import TurnResponse
from shared.wire.request_body import Body, BodyReader
from shared.wire.table import NAMES

_FOR_PAGES = ("link", "location", "preference-applied", "retry-after", "www-authenticate", "x-should-retry")
"""Headers that pages of other origins need and browsers keep from them unless they are named (Fetch Standard, CORS)."""
_LONGEST_ACCEPT_LANGUAGE = 200
"""Characters of `Accept-Language` that are read."""


class Call(msgspec.Struct, frozen=True):
    """A request whose caller is known."""

    request: Request
    """The HTTP request."""
    service: Service
    """The parts of the app."""
    asker: Asker
    """Who calls, as turns know it."""
    arrived: float
    """When the request arrived, on the event loop's clock, in seconds."""
    held: ExitStack
    """Closed when the handler returns. A response that goes on afterwards takes its content over (`pop_all`)."""

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.service.settings

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return self.asker.caller

    @property
    def owner(self) -> str:
        """The name under which the caller's chats and answers are kept."""
        return owner_of(self.caller)

    @property
    def id(self) -> str:
        """The id in the path."""
        return self.request.path_params["id"]

    @property
    def deadline(self) -> float:
        """When an answer has to be complete, on the event loop's clock, in seconds."""
        return self.arrived + self.settings.chat_deadline_seconds

    @property
    def invocation_id(self) -> str:
        """The platform's id of this invocation."""
        return self.asker.invocation_id

    @property
    def own_url(self) -> str:
        """The URL below which the links of the answer are."""
        return self.asker.base_url

    async def read(self, choose: Callable[[], BodyReader], deadline: float | None = None) -> Body:
        """Read the body. It counts as memory that is used until `held` is closed.

        Args:
            choose: Makes the reader, which knows the largest size.
            deadline: When the body has to be complete; None: when the answer has to be.

        Raises:
            BadRequest, TooLarge, TooSlowBody, Overloaded: it is refused.
        """
        return await receiving.read_body(self.request, choose, deadline or self.deadline, self.held)


type Handler = Callable[[Call], Awaitable[Response]]
type OpenHandler = Callable[[Request], Awaitable[Response]]
type Check = Callable[[Request], Response | None]


class TableRoute[AnyHandler: Callable[..., object]](msgspec.Struct, frozen=True):
    """A line of the table of routes."""

    name: str
    """Name of the function in Azure. The Functions host tries routes in the order of these names."""
    methods: str
    """The HTTP methods, separated by spaces; empty: all."""
    path: str
    """The path below the route prefix, with parameters as ASP.NET Core writes them."""
    handler: AnyHandler
    """Answers. `tools/description/` has what it says of itself."""
    protocol: str | None = None
    """The protocol of a path that names none; None: the request selects it, or the route speaks none."""
    counted: bool = True
    """Whether the request is counted in the caller's budget; False: it is not, or the handler does it."""
    spends: bool = True
    """Whether a caller who has used up all tokens is refused."""
    audited: bool = False
    """Whether each request is in the audit record: it changes what others see, or takes something away for good."""
    is_open: ClassVar[bool] = False
    """Whether nobody signs in."""


class Route(TableRoute[Handler], frozen=True):
    """A route whose callers sign in, where the app has them sign in (`AUTH_MODE`)."""


class Open(TableRoute[OpenHandler], frozen=True):
    """A route that is open to all: nobody signs in, so that its handler gets no caller."""

    counted: bool = False
    is_open: ClassVar[bool] = True


unanswered: set[Request] = set()
"""Requests whose answers have not begun."""
_checks: dict[Handler | OpenHandler, Check] = {}
"""What handlers have checked before anybody signs in."""


def checked_first[AnyHandler: (Handler, OpenHandler)](check: Check) -> Callable[[AnyHandler], AnyHandler]:
    """Decorate a handler: have something checked before the caller signs in.

    Args:
        check: Raises an error that does not depend on the caller, and may choose the shape of errors. A response that
            it returns is the answer.
    """

    def decorate(handler: AnyHandler) -> AnyHandler:
        _checks[handler] = check
        return handler

    return decorate


async def answer(route: Route | Open, request: Request, table: Sequence[Route | Open] = ()) -> Response:
    """Answer a request of a route. The table of all routes is for those that describe them.

    Every exception becomes an error response, and headers that all need are added to each. Without this, the worker
    sends a 500 without a body.
    """
    request.state.table = table
    request.state.arrived = asyncio.get_running_loop().time()
    unanswered.add(request)
    try:
        response = show_limits(request, await _attempt(route, request))
    finally:
        unanswered.discard(request)
    response.headers["x-content-type-options"] = "nosniff"
    if named := [name for name in _FOR_PAGES if name in response.headers]:
        response.headers["access-control-expose-headers"] = ", ".join(named)
    return response


async def _attempt(route: Route | Open, request: Request) -> Response:
    try:
        return await _handle(route, request)
    except SwitchboardError as error:
        return error_response(error, request)
    except ClientDisconnect:
        return Response(status_code=400)  # the client has disconnected and cannot read it
    except Exception as error:  # noqa: BLE001 (this is the outer edge, and log_fault logs it)
        log_fault(error, invocation_id(request))
        return error_response(InternalError(), request)


async def _handle(route: Route | Open, request: Request) -> Response:
    if route.protocol:
        request.path_params["protocol"] = route.protocol
        request.state.protocol = NAMES[route.protocol]
    check = _checks.get(route.handler)
    if response := check(request) if check else None:
        return response
    if isinstance(route, Open):
        return await route.handler(request)
    service = await app.get_service()
    headers = _signed(route, request)
    caller = await service.identity.caller(headers)
    if service.caller_tokens:
        service.caller_tokens.remember(caller, request.headers)
    asker = asker_of(request, service, caller)
    if route.counted:
        admit(request, service, asker.budget_key, spends=route.spends)
    with ExitStack() as held:
        call = Call(request, service, asker, request.state.arrived, held)
        return await (_recorded(route, call, service.audit) if route.audited and service.audit else route.handler(call))


async def _recorded(route: Route, call: Call, audit: Audit) -> Response:
    """Answer a request that changes something, with a line in the audit record before it and one before the answer."""
    about: dict[str, Json] = {"invocation": call.invocation_id, "act": route.name, "path": call.request.url.path}
    await audit.write("act", call.owner, None, **about, status="begun")
    try:
        response = await route.handler(call)
    except Exception as error:
        status = error.status if isinstance(error, SwitchboardError) else InternalError.status
        await audit.write("act", call.owner, None, **about, status=status)
        raise
    write = partial(audit.write, "act", call.owner, None, **about, status=response.status_code)
    if isinstance(response, TurnResponse):  # the lines of an upload's steps
        response.body_iterator = _to_the_outcome(response.body_iterator, write)
    else:
        await write()
    return response


async def _to_the_outcome(lines: AsyncIterable[Any], write: Callable[..., Awaitable[None]]) -> AsyncGenerator[bytes]:
    """Pass on the lines of steps; what came of them, which the last one says, is in the record before it is sent."""
    async for line in lines:
        said = msgspec.json.decode(line, type=dict[str, Any])
        if "detail" in said:
            await write(state=said["state"])
        yield line


def _signed(route: Route, request: Request) -> Headers:
    """Return a request's headers, with the key that clients of the route's own protocol send elsewhere."""
    name = NAMES[route.protocol].key_header if route.protocol else ""
    if not name or "authorization" in request.headers:
        return request.headers
    keys = [(b"authorization", f"Bearer {key}".encode("latin-1")) for key in request.headers.getlist(name)]
    return Headers(raw=[*request.headers.raw, *keys])


def asker_of(request: Request, service: Service, caller: Caller) -> Asker:
    """Return a caller as turns know one."""
    return Asker(
        caller=caller,
        budget_key=key_of(request, service, caller),
        invocation_id=invocation_id(request),
        accept_language=request.headers.get("accept-language", "")[:_LONGEST_ACCEPT_LANGUAGE],
        trace_parent=request.headers.get("traceparent", ""),
        base_url=own_url(request, service.settings),
    )
