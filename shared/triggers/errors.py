"""Responses that all handlers use: JSON documents, and errors in the shape of the request's protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from shared import errors
from shared.chat_types import ChatRequest, Json
from shared.events import Failed
from shared.triggers.budget import show_limits
from shared.wire.ai_chat import AI_CHAT
from shared.wire.framing import encode_json
from shared.wire.protocol import Protocol, Record

_FOR_PAGES = ("link", "location", "preference-applied", "retry-after", "www-authenticate")
"""Headers that pages of other origins need and browsers keep from them unless they are named (Fetch Standard, CORS)."""

type Handler = Callable[[Request], Awaitable[Response]]


def answering(handler: Handler) -> Handler:
    """Decorate a handler: every exception becomes an error response, and headers that all need are added to each.

    Without it, the worker sends a 500 without a body.
    """

    @wraps(handler)
    async def answer(request: Request) -> Response:
        request.state.arrived = asyncio.get_running_loop().time()
        response = show_limits(request, await attempt(request))
        response.headers["x-content-type-options"] = "nosniff"
        if named := [name for name in _FOR_PAGES if name in response.headers]:
            response.headers["access-control-expose-headers"] = ", ".join(named)
        return response

    async def attempt(request: Request) -> Response:
        try:
            return await handler(request)
        except errors.SwitchboardError as error:
            return error_response(error, request)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has disconnected and cannot read it
        except Exception as error:  # noqa: BLE001 (this is the outer edge, and log_fault logs it)
            errors.log_fault(error, invocation_id(request))
            return error_response(errors.InternalError(), request)

    return answer


def json_response(document: Json, status: int = 200) -> Response:
    """Make a response with a JSON document, which must not be cached."""
    headers = {"cache-control": "no-store"}
    return Response(encode_json(document), status_code=status, headers=headers, media_type="application/json")


def error_response(error: errors.SwitchboardError, request: Request) -> Response:
    """Make an error response in the shape of the request's protocol, or of `ai-chat` if none is resolved yet.

    A route that speaks no protocol of the table puts what makes its errors into `error_record` of the request's state.
    """
    protocol: Protocol = getattr(request.state, "protocol", AI_CHAT)
    record: Callable[[errors.SwitchboardError, str], Record] = getattr(request.state, "error_record", protocol.error)
    invocation = invocation_id(request)
    asked: ChatRequest | None = getattr(request.state, "asked", None)
    if asked and protocol.tells_inside(error, asked):
        told, content_type = protocol.told(Failed(error, invocation), asked)
        response = Response(told, headers={"cache-control": "no-store", "content-type": content_type})
    elif protocol.plain_errors:
        headers = {"cache-control": "no-store"}
        response = Response(errors.error_text(error, invocation), error.status, headers, media_type="text/plain")
    else:
        response = json_response(record(error, invocation), status=error.status)
    if isinstance(error, errors.RateLimited | errors.Overloaded):
        response.headers["retry-after"] = str(error.retry_after)
    if isinstance(error, errors.NotSignedIn):
        response.headers["www-authenticate"] = _challenge(request, refused=error.refused)
    return response


def _challenge(request: Request, *, refused: bool) -> str:
    """Tell how to sign in, and where to learn more if the route says so (RFC 6750, 3; RFC 9728, 5.1)."""
    metadata: str | None = getattr(request.state, "resource_metadata", None)
    told = [*(['error="invalid_token"'] if refused else []), *([f'resource_metadata="{metadata}"'] if metadata else [])]
    return f"Bearer {', '.join(told)}".rstrip()


def deadline_of(request: Request, seconds: float) -> float:
    """Return when a request must be answered: `seconds` after it arrived, on the event loop's clock."""
    arrived: float = request.state.arrived
    return arrived + seconds


def invocation_id(request: Request) -> str:
    """Return the platform's id of this invocation, from a header that the worker always sets."""
    return request.headers["x-ms-invocation-id"]
