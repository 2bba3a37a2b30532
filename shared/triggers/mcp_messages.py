"""Messages of MCP clients: who sent them, and the tools that they call."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.accepting import AcceptedRequest, Asker, check_request
from shared.chat_types import ChatRequest, Message, Overrides, RequestContext, Role
from shared.core.fold import fold
from shared.core.searching import search_query
from shared.errors import NotAllowed, NotFound, SwitchboardError
from shared.identity import access_of
from shared.public_url import known_url
from shared.service import Service
from shared.settings import Settings
from shared.triggers.asking import asker_of, own_url
from shared.triggers.budget import admit
from shared.triggers.errors import deadline_of, json_response
from shared.triggers.receiving import read_body
from shared.triggers.streaming import cancelled_on_disconnect, until_disconnected
from shared.turns import begin_turn, context_of
from shared.wire.mcp import EXAMPLE, NO_OBJECT, Call, Reply, error_record, receive, sign_in_record
from shared.wire.mcp_tools import MOST_RESULTS, ask_result, failed_result, fetch_result, search_result
from shared.wire.protocol import Record
from shared.wire.request_body import JsonReader

_PROTOCOL = "mcp"
"""In traces and logs."""


async def reply(request: Request) -> Response:
    """Reply to a message.

    Raises:
        SwitchboardError: it is not served; a tool that fails is a reply.
    """
    request.state.error_record = error_record
    service = await app.get_service()
    settings = service.settings
    _check_origin(request, settings)
    if settings.auth_mode == "bearer":
        request.state.resource_metadata = f"{own_url(request, settings)}/mcp/oauth-protected-resource"
    asker = await asker_of(request, service)
    deadline = deadline_of(request, settings.chat_deadline_seconds)
    with ExitStack() as held:
        reader = partial(JsonReader, example=EXAMPLE, list_key=NO_OBJECT, any_value=True)
        received = receive(request.headers, (await read_body(request, reader, deadline, held)).json)
        if isinstance(received, Reply):
            return _response(received)
        request.state.error_record = partial(error_record, request_id=received.id)
        access = access_of(asker.caller, settings)
        admit(request, service, asker.caller)
        context = context_of(service, asker, deadline, access, _PROTOCOL)
        return _response(received.reply(await _result(request, service, received, asker, context)))


def sign_in(request: Request) -> Response:
    """Say where users of `POST /mcp` get their tokens.

    Raises:
        NotFound: they bring none of Entra ID, or App Service Authentication asks for them.
    """
    settings = app.get_settings()
    if settings.auth_mode != "bearer":
        raise NotFound("Nothing to sign in to: AUTH_MODE is not bearer here.")
    return json_response(sign_in_record(f"{own_url(request, settings)}/mcp", settings))


def _response(reply: Reply) -> Response:
    return Response(status_code=reply.status) if reply.document is None else json_response(reply.document, reply.status)


def _check_origin(request: Request, settings: Settings) -> None:
    """Refuse a web page whose origin may not call, where the platform says which may.

    Source: Model Context Protocol, 'Streamable HTTP', 'Security & Endpoint'.

    Raises:
        NotAllowed: it may not.
    """
    allowed, origin = settings.website_cors_allowed_origins, request.headers.get("origin")
    if not allowed or "*" in allowed or origin is None or origin.lower() in allowed:
        return
    if (known := known_url(settings.public_url)) and known.lower().startswith(f"{origin.lower()}/"):
        return
    raise NotAllowed("Pages of this origin may not call: allow it in the CORS setting of the Function App.")


@dataclass(frozen=True, slots=True)
class _Work:
    """A call of a tool, with what it is run with."""

    request: Request
    """The HTTP request."""
    service: Service
    """The parts of the app."""
    asker: Asker
    """Who asks."""
    context: RequestContext
    """What the asker may see, and until when."""
    argument: str
    """The tool's argument."""

    def asked(self, overrides: Overrides) -> ChatRequest:
        """Make the question of the argument.

        Raises:
            TooLarge: it is too long.
        """
        asked = ChatRequest((Message(Role.USER, self.argument),), overrides, single_turn=True)
        check_request(asked, self.service.settings)
        return asked


async def _result(request: Request, service: Service, call: Call, asker: Asker, context: RequestContext) -> Record:
    """Run the tool, until the caller leaves; a failure is a result."""
    try:
        work = _Work(request, service, asker, context, call.tool.read(call.arguments))
        return await _RUN[call.tool.name](work)
    except SwitchboardError as error:
        return failed_result(error, context.invocation_id)


async def _search(work: _Work) -> Record:
    query = search_query(work.asked(Overrides(top=MOST_RESULTS)), work.context, work.argument)
    found = await until_disconnected(work.request, work.service.retriever.search(query, work.context))
    return search_result(found.passages, work.asker.base_url)


async def _fetch(work: _Work) -> Record:
    passages = await until_disconnected(work.request, work.service.retriever.read(work.argument, work.context))
    return await asyncio.to_thread(fetch_result, work.argument, passages, work.asker.base_url)


async def _ask(work: _Work) -> Record:
    """The turn of a question on its own: it keeps no chat, and `ask_result` makes the links."""
    accepted = AcceptedRequest(work.asked(Overrides()), work.context.access, _PROTOCOL)
    _, turn = await begin_turn(work.service, accepted, work.asker, work.context.deadline)
    async with cancelled_on_disconnect(work.request, turn):
        return ask_result(await fold(turn.events()), work.asker.base_url)


_RUN: dict[str, Callable[[_Work], Awaitable[Record]]] = {"search": _search, "fetch": _fetch, "ask": _ask}
"""What each tool does, by its name."""
