"""Error responses, in the shape of the request's protocol."""

from collections.abc import Callable
from copy import replace

from starlette.requests import Request
from starlette.responses import Response

from shared import errors
from shared.chat_types import ChatRequest
from shared.events import Failed
from shared.web.responses import json_response
from shared.wire.ai_chat import AI_CHAT
from shared.wire.protocol import Protocol, Record
from shared.wire.reasons import beside


def _own_record(error: errors.SwitchboardError, invocation: str) -> Record:
    """Make the error of a route that speaks no protocol: the page says it in the language of its reader."""
    return {"error": errors.error_text(error, invocation), "code": error.code, **beside(error)}


_OWN = replace(AI_CHAT, error=_own_record)


def error_response(error: errors.SwitchboardError, request: Request) -> Response:
    """Make an error response in the shape of the request's protocol, or of the app's own routes if it has none.

    A route that speaks no protocol of the table puts what makes its errors into `error_record` of the request's state.
    """
    protocol: Protocol = getattr(request.state, "protocol", _OWN)
    record: Callable[[errors.SwitchboardError, str], Record] = getattr(request.state, "error_record", protocol.error)
    invocation = invocation_id(request)
    asked: ChatRequest | None = getattr(request.state, "asked", None)
    if asked and protocol.sends_inside(error, asked):
        told, content_type = protocol.error_answer(Failed(error, invocation), asked)
        response = Response(told, headers={"cache-control": "no-store", "content-type": content_type})
    elif protocol.plain_errors:
        headers = {"cache-control": "no-store"}
        response = Response(errors.error_text(error, invocation), error.status, headers, media_type="text/plain")
    else:
        response = json_response(record(error, invocation), status=error.status)
    response.headers.update(_waits(error, request))
    if isinstance(error, errors.NotSignedIn):
        response.headers["www-authenticate"] = _challenge(request, refused=error.refused)
    return response


_LONGEST_WAIT, _SHORT_WAIT = 60, 5
"""Seconds: the longest that is asked for, and the longest that clients shall wait without a word to their users."""
_PATIENT = ("core-rest-pipeline/", "ts-http-runtime/")
"""In `User-Agent`: what waits as long as it is asked to, three times, before it shows an error (AI Chat Protocol)."""


def _waits(error: errors.SwitchboardError, request: Request) -> dict[str, str]:
    """Ask clients to wait: they obey in silence, so a person is told of a long wait at once, by the sentence.

    Of an error of a service, which the app has asked several times, nothing is gained by repeating it; a client that
    does so all the same shall not do it within milliseconds.
    """
    is_limit = isinstance(error, errors.RateLimited | errors.Overloaded)
    if not (is_limit or error.status in (503, 504)):
        return {}
    seconds = error.retry_after if is_limit else _SHORT_WAIT
    agent = request.headers.get("x-ms-useragent") or request.headers.get("user-agent", "")
    is_obeyed = seconds <= _LONGEST_WAIT and not any(name in agent for name in _PATIENT)
    repeats = is_limit and seconds <= _SHORT_WAIT
    return {
        **({"retry-after": str(seconds)} if is_obeyed else {}),
        **({} if repeats else {"x-should-retry": "false"}),  # OpenAI's SDKs for Python and npm
    }


def _challenge(request: Request, *, refused: bool) -> str:
    """Tell how to sign in, and where to learn more if the route says so (RFC 6750, 3; RFC 9728, 5.1)."""
    metadata: str | None = getattr(request.state, "resource_metadata", None)
    told = [*(['error="invalid_token"'] if refused else []), *([f'resource_metadata="{metadata}"'] if metadata else [])]
    return f"Bearer {', '.join(told)}".rstrip()


def invocation_id(request: Request) -> str:
    """Return the platform's id of this invocation, from a header that the worker always sets."""
    return request.headers["x-ms-invocation-id"]
