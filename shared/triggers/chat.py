"""The chat routes.

Each resolves the protocol, reads the body and starts the turn. A streamed response waits for its first piece before the
status 200 is sent, so that an early failure gets its own status.
"""

from collections.abc import Callable, Collection
from copy import replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, fold
from shared.errors import NotConfigured
from shared.runs.begin import Arrival, Followed, keeping_of, outlives
from shared.triggers.door import Call, Check, Handler, checked_first
from shared.triggers.errors import json_response
from shared.triggers.reading_runs import Earlier, address_of, shown_later
from shared.turns.accept import AcceptedRequest, Asker, RouteOptions, accept
from shared.verdicts import new_answer_id
from shared.web.streaming import (
    FIRST_PIECE_TIMEOUT_SECONDS,
    KEEP_ALIVE_SECONDS,
    TurnResponse,
    cancelled_on_disconnect,
    until_disconnected,
)
from shared.wire.ai_chat import AI_CHAT
from shared.wire.described import CHAT_ERRORS, Description, Question, describes
from shared.wire.prefer import Preferences, read_key, read_preferences
from shared.wire.protocol import Protocol, stream_bytes
from shared.wire.request_body import Body
from shared.wire.table import Resolved, resolve


def _resolves(options: RouteOptions) -> Check:
    """Make what resolves the protocol, and chooses the shape of errors, before the caller signs in."""

    def resolve_protocol(request: Request) -> None:
        headers = request.headers
        agent = headers.get("x-ms-useragent") or headers.get("user-agent", "")  # browsers let no page set the second
        named, content_type = request.path_params.get("protocol"), headers.get("content-type", "")
        default, messages_for = _said_by_settings()
        selected = resolve(named, content_type, default, agent)
        request.state.selected = selected
        request.state.protocol = selected.telling_errors(selected.protocol, messages_for)
        request.state.asked = _unread(selected.protocol, options)

    return resolve_protocol


def _said_by_settings() -> tuple[str, Collection[str]]:
    """Return the default protocol, and those whose errors are messages; if the settings are invalid, `ai-chat`."""
    try:
        settings = app.get_settings()
    except NotConfigured:
        return AI_CHAT.name, ()
    return settings.chat_default_protocol, settings.messages_for


def _question(route: RouteOptions, bare: str = "in the protocol that the body speaks") -> Callable[[Handler], Handler]:
    """Decorate the handler of a question; `bare` says which protocol it speaks where its path names none."""

    def decorate(handler: Handler) -> Handler:
        described = Description(
            errors=CHAT_ERRORS,
            tag="chat",
            visible=not route.streams,
            question=Question(team=route.team, streams=route.streams, bare=bare),
        )
        return checked_first(_resolves(route))(describes(described)(handler))

    return decorate


_WHOLE, _STREAM, _ALONE = RouteOptions(), RouteOptions(streams=True), RouteOptions(single_turn=True)
_TEAM, _TEAM_STREAM = RouteOptions(team=True), RouteOptions(team=True, streams=True)


@_question(_WHOLE)
async def chat(call: Call) -> Response:
    """Answer a conversation.

    Answers the last message of a conversation, with citations.
    """
    return await _answered(call, _WHOLE)


@_question(_STREAM)
async def chat_stream(call: Call) -> Response:
    """Stream an answer to a conversation.

    The answer comes in records while it is made. A failure after the first record is sent as the last record.
    """
    return await _answered(call, _STREAM)


@_question(_ALONE, "in the RAG chat protocol")
async def ask(call: Call) -> Response:
    """Answer a single question.

    Answers the last message and ignores earlier ones.
    """
    return await _answered(call, _ALONE)


@_question(_TEAM, "in Semantic Kernel's shape")
async def multi_agent_chat(call: Call) -> Response:
    """Let a team of agents answer.

    The messages of all agents, in one array. A failed agent sends the reason; the others still answer.
    """
    return await _answered(call, _TEAM)


@_question(_TEAM_STREAM, "in Semantic Kernel's shape")
async def multi_agent_chat_stream(call: Call) -> Response:
    """Stream the answers of a team of agents.

    Each agent's message is sent as a whole, as soon as it is complete.
    """
    return await _answered(call, _TEAM_STREAM)


async def _answered(call: Call, options: RouteOptions) -> Response:
    """Read and check the request, begin its run, and answer it."""
    request, settings = call.request, call.settings
    selected: Resolved = request.state.selected
    seconds = settings.agents_deadline_seconds if options.team else settings.chat_deadline_seconds
    if selected.protocol.waits_briefly and not options.streams:
        seconds = min(seconds, settings.agents_deadline_seconds)
    deadline, of_team = call.until(seconds), call.until(settings.agents_deadline_seconds)
    asker = call.asker()
    body = await call.read(selected.reader, deadline)
    protocol = selected.telling_errors(selected.of(body.json), settings.messages_for)
    request.state.protocol = protocol
    if protocol.completed:
        body = await protocol.completed(body, None if settings.batches == "off" else Earlier(call.owner, protocol.name))
    accepted = accept(protocol, body, asker, settings, options)
    request.state.asked = accepted.request
    prefers = read_preferences(request.headers.getlist("prefer"))
    arrival = _arrival(call, protocol, accepted, prefers, asker)
    arrival = replace(arrival, until=of_team if accepted.team else deadline, options=options)
    kept_body = body if arrival.keeping.in_journal else None
    del body  # its texts hold the files once more
    followed = await _begun(call, protocol, accepted, arrival, kept_body)
    if followed.run_id and followed.is_new and not arrival.is_waited_for:
        return await _later(request, protocol, followed, prefers, call.owner)
    return await _respond(request, protocol, followed, options)


def _unread(protocol: Protocol, options: RouteOptions) -> ChatRequest:
    """Make what stands for a request until its body is understood, for errors that are told in an answer."""
    return ChatRequest((), stream=options.streams or protocol.answer is None, turn_id=new_answer_id())


def _arrival(call: Call, protocol: Protocol, accepted: AcceptedRequest, prefers: Preferences, asker: Asker) -> Arrival:
    """Say how a request came in, and what its sender expects of the run."""
    request, headers = accepted.request, call.request.headers
    is_later = prefers.respond_async and protocol.answer is not None  # what only streams has nothing to poll
    keeping = keeping_of(call.service, accepted, is_later=is_later)
    return Arrival(
        asker=asker,
        keeping=keeping,
        until=call.deadline,
        protocol=protocol.name,
        path=call.request.url.path,
        status_within=FIRST_PIECE_TIMEOUT_SECONDS if request.stream else None,
        key=read_key(headers.getlist("idempotency-key")) if keeping.in_journal else None,
        outlives=is_later or outlives(call.settings, request),
        is_waited_for=not (is_later or (request.is_later and not request.stream)),
    )


async def _begun(
    call: Call, protocol: Protocol, accepted: AcceptedRequest, arrival: Arrival, body: Body | None
) -> Followed:
    """Begin the run of a request."""
    beginning = app.begin(accepted, arrival, body)
    followed = await (until_disconnected(call.request, beginning) if accepted.files and not body else beginning)
    followed.hold(call.held.pop_all().close)
    if protocol.unfinished and not followed.is_new:  # requests to come refer to it
        return replace(followed, request=replace(accepted.request, turn_id=followed.run_id, is_kept=True))
    return followed


async def _later(
    request: Request, protocol: Protocol, followed: Followed, prefers: Preferences, owner: str
) -> Response:
    """Answer with where the answer of a run can be read later."""
    if protocol.unfinished and followed.request.is_later:
        return json_response(protocol.unfinished(followed.request, "queued"))
    response = await shown_later(request, followed.run_id, owner, prefers.wait or 0)
    response.headers.update({"preference-applied": prefers.applied, "vary": "Prefer"})
    return response


async def _respond(request: Request, protocol: Protocol, followed: Followed, options: RouteOptions) -> Response:
    encode = protocol.team_answer if options.team else protocol.answer
    if followed.request.stream or protocol.answer is None or encode is None:
        response = await _streamed(request, protocol, followed)
    else:
        response = await _whole(request, protocol, followed, encode)
    if followed.run_id:
        response.headers["location"] = address_of(request, app.get_settings(), followed.run_id)
    response.headers["vary"] = "Prefer"
    return response


async def _whole(
    request: Request, protocol: Protocol, followed: Followed, encode: Callable[[ChatRequest, Answer], Json]
) -> Response:
    async with cancelled_on_disconnect(request, followed):
        answer = await fold(followed.events(), filter_ends=protocol.filter_ends)
    return json_response(encode(followed.request, answer))


async def _streamed(request: Request, protocol: Protocol, followed: Followed) -> Response:
    async with cancelled_on_disconnect(request, followed):
        failure = await followed.settled(FIRST_PIECE_TIMEOUT_SECONDS)
    if failure and not protocol.sends_inside(failure.error, followed.request):
        raise failure.error
    lines = stream_bytes(protocol, followed.request, followed.batches(KEEP_ALIVE_SECONDS))
    headers = {"content-type": protocol.framing.content_type, **protocol.stream_headers}
    if followed.outlives:
        return StreamingResponse(lines, headers={"cache-control": "no-cache", **headers})
    return TurnResponse(lines, headers, followed)
