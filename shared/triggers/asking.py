"""What a request over HTTP says before its body is read: who asks, by which URL, and in which protocol."""

from starlette.requests import Request

from shared import app
from shared.errors import NotConfigured
from shared.service import Service
from shared.settings import Settings
from shared.triggers.budget import key_of
from shared.triggers.errors import invocation_id
from shared.turns.accept import Asker
from shared.web.public_url import base_url
from shared.wire.ai_chat import AI_CHAT
from shared.wire.table import Resolved, resolve

_LONGEST_ACCEPT_LANGUAGE = 200
"""Characters of `Accept-Language` that are read."""


async def asker_of(request: Request, service: Service) -> Asker:
    """Find out who asks.

    Raises:
        NotSignedIn, NotAllowed: the caller has to sign in, or may not call.
    """
    caller = await service.identity.caller(request.headers)
    if service.caller_tokens:
        service.caller_tokens.keep(caller, request.headers)
    return Asker(
        caller=caller,
        budget_key=key_of(request, service, caller),
        invocation_id=invocation_id(request),
        accept_language=request.headers.get("accept-language", "")[:_LONGEST_ACCEPT_LANGUAGE],
        trace_parent=request.headers.get("traceparent", ""),
        base_url=own_url(request, service.settings),
    )


def own_url(request: Request, settings: Settings) -> str:
    """Return the URL below which the links of a request's answer are."""
    return base_url(settings.public_url, request.url.scheme, request.headers.get("host", ""))


def resolved(request: Request, unless_pinned: str | None) -> Resolved:
    """Resolve the protocol by the route, else by `unless_pinned`, else by the client's name for itself."""
    headers = request.headers
    agent = headers.get("x-ms-useragent") or headers.get("user-agent", "")  # browsers let no page set the second
    name = request.path_params.get("protocol") or unless_pinned
    return resolve(name, headers.get("content-type", ""), _default_protocol(), agent)


def _default_protocol() -> str:
    """Return `CHAT_DEFAULT_PROTOCOL`; if the settings are invalid, `ai-chat` for the error response."""
    try:
        return app.get_settings().chat_default_protocol
    except NotConfigured:
        return AI_CHAT.name
