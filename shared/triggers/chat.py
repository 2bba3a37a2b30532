"""The chat routes.

Each resolves the protocol, reads the body and starts the turn. A streamed response waits for its first piece before the
status 200 is sent, so that an early failure gets its own status.
"""

from collections.abc import Callable, Collection
from copy import replace

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, fold
from shared.core.running_turn import RunningTurn
from shared.errors import NotConfigured
from shared.triggers.consent import go_on
from shared.triggers.door import Call, Check, checked_first
from shared.triggers.errors import deadline_of, json_response
from shared.triggers.kept_turns import Followed, Kept, Route, begin_run
from shared.turns.accept import accept
from shared.turns.begin import begin_turn
from shared.verdicts import new_answer_id
from shared.web.streaming import (
    FIRST_PIECE_TIMEOUT_SECONDS,
    KEEP_ALIVE_SECONDS,
    TurnResponse,
    cancelled_on_disconnect,
    until_disconnected,
)
from shared.wire.ai_chat import AI_CHAT
from shared.wire.protocol import Protocol, stream_bytes
from shared.wire.table import Resolved, resolve


def _resolves(route: Route) -> Check:
    """Make what resolves the protocol, and chooses the shape of errors, before the caller signs in."""

    def resolve_protocol(request: Request) -> None:
        headers = request.headers
        agent = headers.get("x-ms-useragent") or headers.get("user-agent", "")  # browsers let no page set the second
        named, content_type = request.path_params.get("protocol"), headers.get("content-type", "")
        default, messages_for = _said_by_settings()
        selected = resolve(named, content_type, default, agent)
        request.state.selected = selected
        request.state.protocol = selected.telling_errors(selected.protocol, messages_for)
        request.state.asked = _unread(selected.protocol, route)

    return resolve_protocol


def _said_by_settings() -> tuple[str, Collection[str]]:
    """Return the default protocol, and those whose errors are messages; if the settings are invalid, `ai-chat`."""
    try:
        settings = app.get_settings()
    except NotConfigured:
        return AI_CHAT.name, ()
    return settings.chat_default_protocol, settings.messages_for


_WHOLE, _STREAM, _ALONE = Route(), Route(streams=True), Route(single_turn=True)
_TEAM, _TEAM_STREAM = Route(team=True), Route(team=True, streams=True)


@checked_first(_resolves(_WHOLE))
async def chat(call: Call) -> Response:
    """`POST /chat`: the answer as one JSON document, or as a stream if the body asks for it."""
    return await _answered(call, _WHOLE)


@checked_first(_resolves(_ALONE))
async def ask(call: Call) -> Response:
    """`POST /ask`: answer the last message alone."""
    return await _answered(call, _ALONE)


@checked_first(_resolves(_STREAM))
async def chat_stream(call: Call) -> Response:
    """`POST /chat/stream`: the answer as a stream."""
    return await _answered(call, _STREAM)


@checked_first(_resolves(_TEAM))
async def team_batch(call: Call) -> Response:
    """`POST /multi-agent-chat/batch`: the messages of all agents in one array."""
    return await _answered(call, _TEAM)


@checked_first(_resolves(_TEAM_STREAM))
async def team_stream(call: Call) -> Response:
    """`POST /multi-agent-chat/stream`: stream each agent's message as soon as it is complete."""
    return await _answered(call, _TEAM_STREAM)


async def _answered(call: Call, route: Route) -> Response:
    """Read and check the request, start its turn, and answer it."""
    request, service, settings = call.request, call.service, call.settings
    selected: Resolved = request.state.selected
    seconds = settings.agents_deadline_seconds if route.team else settings.chat_deadline_seconds
    if selected.protocol.waits_briefly and not route.streams:
        seconds = min(seconds, settings.agents_deadline_seconds)
    deadline = deadline_of(request, seconds)
    asker = call.asker()
    body = await call.read(selected.reader, deadline)
    protocol = selected.telling_errors(selected.of(body.json), settings.messages_for)
    request.state.protocol = protocol
    if protocol.name == "openai-responses":
        from shared.triggers.kept_responses import with_kept_items

        body = await with_kept_items(body, call.owner)
    accepted = accept(protocol, body, asker, settings, **structs.asdict(route))
    request.state.asked = accepted.request
    if decided := await go_on(request, service, accepted, asker):
        asked, followed = decided
        if protocol.name == "openai-responses":  # requests to come refer to it
            asked = replace(asked, turn_id=followed.run_id, is_kept=True)
        return await _respond(request, protocol, asked, followed, route)
    run = await begin_run(request, service, protocol, accepted, Kept(asker, body, route))
    if isinstance(run, Response):
        return run
    if run:
        return await _respond(request, protocol, *run, route)
    del body  # its texts hold the files once more
    if accepted.team:
        deadline = deadline_of(request, settings.agents_deadline_seconds)
    status_within = FIRST_PIECE_TIMEOUT_SECONDS if accepted.request.stream else None
    beginning = begin_turn(service, accepted, asker, deadline, status_within=status_within)
    asked, turn = await (until_disconnected(request, beginning) if accepted.files else beginning)
    turn.when_ended(call.held.pop_all().close)
    return await _respond(request, protocol, asked, turn, route)


def _unread(protocol: Protocol, route: Route) -> ChatRequest:
    """Make what stands for a request until its body is understood, for errors that are told in an answer."""
    return ChatRequest((), stream=route.streams or protocol.answer is None, turn_id=new_answer_id())


async def _respond(
    request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn | Followed, route: Route
) -> Response:
    encode = protocol.team_answer if route.team else protocol.answer
    if asked.stream or protocol.answer is None or encode is None:
        response = await _streamed(request, protocol, asked, turn)
    else:
        response = await _whole(request, protocol, asked, turn, encode)
    if isinstance(turn, Followed):
        response.headers["location"] = turn.location
    response.headers["vary"] = "Prefer"
    return response


async def _whole(
    request: Request,
    protocol: Protocol,
    asked: ChatRequest,
    turn: RunningTurn | Followed,
    encode: Callable[[ChatRequest, Answer], Json],
) -> Response:
    async with cancelled_on_disconnect(request, turn):
        answer = await fold(turn.events(), filter_ends=protocol.filter_ends)
    return json_response(encode(asked, answer))


async def _streamed(request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn | Followed) -> Response:
    async with cancelled_on_disconnect(request, turn):
        failure = await turn.settled(FIRST_PIECE_TIMEOUT_SECONDS)
    if failure and not protocol.tells_inside(failure.error, asked):
        raise failure.error
    lines = stream_bytes(protocol, asked, turn.batches(KEEP_ALIVE_SECONDS))
    headers = {"content-type": protocol.framing.content_type, **protocol.stream_headers}
    if isinstance(turn, Followed) and not turn.ends_when_left:
        return StreamingResponse(lines, headers={"cache-control": "no-cache", **headers})
    return TurnResponse(lines, headers, turn)
