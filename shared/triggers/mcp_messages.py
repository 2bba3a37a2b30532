"""Messages of MCP clients: who sent them, and the tools that they call."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from copy import replace
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import ChatRequest, Message, Overrides, RequestContext, Role
from shared.core.fold import Answer, each, fold
from shared.core.searching import search_query
from shared.documents.own import access_with_own
from shared.errors import NotAllowed, NotFound, SwitchboardError, TooSlow
from shared.events import ChatEvent, TextDelta
from shared.runs.begin import Arrival, Followed
from shared.service import Service
from shared.settings import Settings
from shared.triggers.budget import admit
from shared.triggers.door import Call as HttpCall
from shared.turns.accept import AcceptedRequest, Asker, RouteOptions, check_request
from shared.turns.begin import context_of, safe_retriever
from shared.web.public_url import known_url, own_url
from shared.web.responses import KEEP_ALIVE_SECONDS, TurnResponse, json_response, until_disconnected
from shared.wire.ai_chat import AI_CHAT
from shared.wire.framing import SSE
from shared.wire.mcp import EXAMPLE, NO_OBJECT, Call, Reply, error_record, receive, sign_in_record
from shared.wire.mcp_tools import MOST_RESULTS, ask_result, consent_result, failed_result, fetch_result, search_result
from shared.wire.protocol import Record
from shared.wire.request_body import Body, JsonReader

_PROTOCOL = "mcp"
"""In traces and logs."""
_PROGRESS_SECONDS = 1.0
"""Shortest time between two notifications of progress."""


def prepare(request: Request) -> None:
    """Choose the shape of errors, and check where a message comes from.

    Raises:
        NotAllowed: it comes from a web page whose origin may not call.
    """
    request.state.error_record = error_record
    settings = app.get_settings()
    _check_origin(request, settings)
    if settings.auth_mode == "bearer":
        request.state.resource_metadata = f"{own_url(request, settings)}/mcp/oauth-protected-resource"


async def reply(call: HttpCall) -> Response:
    """Reply to a message.

    Raises:
        SwitchboardError: it is not served; a tool that fails is a reply.
    """
    request, service, asker = call.request, call.service, call.asker
    reader = partial(JsonReader, example=EXAMPLE, list_key=NO_OBJECT, any_value=True)
    received = receive(request.headers, (await call.read(reader)).json)
    if isinstance(received, Reply):
        return _response(received)
    request.state.error_record = partial(error_record, request_id=received.id)
    access = access_with_own(call.caller, call.settings)
    admit(request, service, asker.budget_key)
    context = context_of(service, asker, call.deadline, access, _PROTOCOL)
    work = _Work(request, service, asker, context, received)
    if received.progress is not None and received.tool.name == "ask":
        return await _asked_with_progress(work)
    return _response(received.reply(await _result(work)))


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
    """Raise NotAllowed for a web page whose origin may not call, where the platform says which may.

    Source: Model Context Protocol, 'Streamable HTTP', 'Security & Endpoint'.
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
    call: Call
    """The call."""

    @property
    def argument(self) -> str:
        """The tool's argument.

        Raises:
            BadRequest: it has none.
        """
        return self.call.tool.read(self.call.arguments)

    def asked(self, overrides: Overrides) -> ChatRequest:
        """Make the question of the argument.

        Raises:
            TooLarge: it is too long.
        """
        asked = ChatRequest((Message(Role.USER, self.argument),), overrides, single_turn=True)
        check_request(asked, self.service.settings)
        return asked


async def _result(work: _Work) -> Record:
    """Run the tool, until the caller leaves; a failure is a result."""
    try:
        return await _RUN[work.call.tool.name](work)
    except SwitchboardError as error:
        return failed_result(error, work.context.invocation_id)


async def _search(work: _Work) -> Record:
    query = search_query(work.asked(Overrides(top=MOST_RESULTS)), work.context, work.argument)
    found = await until_disconnected(work.request, safe_retriever(work.service).search(query, work.context))
    return search_result(found.passages, work.asker.base_url)


async def _fetch(work: _Work) -> Record:
    passages = await until_disconnected(work.request, safe_retriever(work.service).read(work.argument, work.context))
    return await asyncio.to_thread(fetch_result, work.argument, passages, work.asker.base_url)


async def _ask(work: _Work) -> Record:
    followed = await _begun(work)
    try:
        answer = await until_disconnected(work.request, followed.answer())
    except SwitchboardError:
        await followed.read_whole()
        raise
    except BaseException:  # the caller has left
        followed.cancel()
        raise
    return await _answered(work, followed, answer)


async def _answered(work: _Work, followed: Followed, answer: Answer) -> Record:
    """Make the result of an answer. One that waits for consent stays; else the same question is asked anew."""
    if answer.open_calls:
        return consent_result(answer, work.asker.base_url, can_ask=work.call.can_ask)
    await followed.read_whole()
    return ask_result(answer, work.asker.base_url)


async def _begun(work: _Work) -> Followed:
    """Begin the run of a question on its own: it keeps no chat, and `ask_result` makes the links.

    Where runs are kept, the same question of the same caller finds the one whose answer nobody has read, or that has
    waited for consent. A user's decision lets that one go on.
    """
    question = replace(work.asked(Overrides()), decisions=work.call.decisions)
    accepted = AcceptedRequest(question, work.context.access, _PROTOCOL)
    arrival = Arrival(
        asker=work.asker,
        until=work.context.deadline,
        options=RouteOptions(single_turn=True),
        protocol=AI_CHAT.name,  # reads the body below
        keys=(f"{_PROTOCOL} {sha256(work.argument.encode(errors='surrogatepass')).hexdigest()}",),
        outlives=True,
    )
    body = Body({"messages": [{"role": "user", "content": work.argument}]})
    return await app.begin(accepted, arrival, body)


@dataclass(slots=True)
class _Reader:
    """Who reads an answer with its progress."""

    followed: Followed
    """The run."""
    has_left: bool = False
    """Whether the caller has left."""

    def cancel(self) -> None:
        """Note that the caller has left, and end a run that goes on for nobody else."""
        self.has_left = True
        self.followed.cancel()


async def _asked_with_progress(work: _Work) -> Response:
    """Answer a question by a stream of notifications and then the reply."""
    try:
        reader = _Reader(await _begun(work))
    except SwitchboardError as error:
        return _response(work.call.reply(failed_result(error, work.context.invocation_id)))
    return TurnResponse(_progress(work, reader), {"content-type": SSE.content_type}, reader)


async def _progress(work: _Work, reader: _Reader) -> AsyncGenerator[bytes]:
    events, told = list[ChatEvent](), 0.0
    async for batch in reader.followed.batches(KEEP_ALIVE_SECONDS):
        events += batch
        if reader.has_left:
            return
        if not batch:
            yield SSE.keep_alive
        elif (now := time.monotonic()) - told >= _PROGRESS_SECONDS:
            told = now
            written = sum(len(event.text) for event in events if isinstance(event, TextDelta))
            message = f"Writing the answer: {written:,} characters." if written else "Reading the documents."
            yield SSE.join((work.call.notification(len(events), message),))
    if reader.has_left:
        return
    try:
        result = await _answered(work, reader.followed, await fold(each(events)))
    except SwitchboardError as error:
        if not isinstance(error, TooSlow):  # the run may go on
            await reader.followed.read_whole()
        result = failed_result(error, work.context.invocation_id)
    if not reader.has_left:
        yield SSE.join((work.call.reply(result).document or {},))


_RUN: dict[str, Callable[[_Work], Awaitable[Record]]] = {"search": _search, "fetch": _fetch, "ask": _ask}
"""What each tool does, by its name."""
