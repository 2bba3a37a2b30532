"""The chat routes.

Each resolves the protocol, reads the body and starts the turn. A streamed response waits for its first piece before the
status 200 is sent, so that an early failure gets its own status.
"""

from collections.abc import Callable
from contextlib import ExitStack
from copy import replace

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, fold
from shared.core.running_turn import RunningTurn
from shared.history import owner_of
from shared.triggers.asking import asker_of, resolved
from shared.triggers.budget import admit
from shared.triggers.consent import go_on
from shared.triggers.errors import answering, deadline_of, json_response
from shared.triggers.kept_turns import Followed, Kept, Route, begin_run
from shared.turns.accept import accept
from shared.turns.begin import begin_turn
from shared.verdicts import new_answer_id
from shared.web.receiving import read_body
from shared.web.streaming import (
    FIRST_PIECE_TIMEOUT_SECONDS,
    KEEP_ALIVE_SECONDS,
    TurnResponse,
    cancelled_on_disconnect,
    until_disconnected,
)
from shared.wire.protocol import Protocol, stream_bytes


@answering
async def chat(request: Request) -> Response:
    """`POST /chat`: the answer as one JSON document, or as a stream if the body asks for it."""
    return await _answered(request)


@answering
async def chat_completions(request: Request) -> Response:
    """`POST /v1/chat/completions`: the same in OpenAI's protocol, by the team of agents if the model names it."""
    return await _answered(request, unless_pinned="openai")


@answering
async def ag_ui(request: Request) -> Response:
    """`POST /ag-ui`: the answer in AG-UI, which is always a stream."""
    return await _answered(request, Route(streams=True), unless_pinned="ag-ui")


@answering
async def responses(request: Request) -> Response:
    """`POST /v1/responses`: the same in OpenAI's newer protocol."""
    return await _answered(request, unless_pinned="openai-responses")


@answering
async def ask(request: Request) -> Response:
    """`POST /ask`: answer the last message alone, in the RAG chat protocol unless the route names another."""
    return await _answered(request, Route(single_turn=True), unless_pinned="rag-chat")


@answering
async def chat_stream(request: Request) -> Response:
    """`POST /chat/stream`: the answer as a stream."""
    return await _answered(request, Route(streams=True))


@answering
async def team_batch(request: Request) -> Response:
    """`POST /multi-agent-chat/batch`: the messages of all agents in one array; `semantic-kernel` unless pinned."""
    return await _answered(request, Route(team=True), unless_pinned="semantic-kernel")


@answering
async def team_stream(request: Request) -> Response:
    """`POST /multi-agent-chat/stream`: stream each agent's message as soon as it is complete."""
    return await _answered(request, Route(team=True, streams=True), unless_pinned="semantic-kernel")


async def _answered(request: Request, route: Route = Route(), *, unless_pinned: str | None = None) -> Response:  # noqa: B008 (frozen)
    """Read and check the request, start its turn, and answer it.

    Args:
        request: The HTTP request; its route may name the protocol.
        route: What its route says of it.
        unless_pinned: Protocol to use if the route names none; None: the body selects it.
    """
    selected = resolved(request, unless_pinned)
    request.state.protocol = selected.telling_errors(selected.protocol, ())
    request.state.asked = _unread(selected.protocol, route)
    service = await app.get_service()
    settings = service.settings
    request.state.protocol = selected.telling_errors(selected.protocol, settings.messages_for)
    seconds = settings.agents_deadline_seconds if route.team else settings.chat_deadline_seconds
    if selected.protocol.waits_briefly and not route.streams:
        seconds = min(seconds, settings.agents_deadline_seconds)
    deadline = deadline_of(request, seconds)
    asker = await asker_of(request, service)
    admit(request, service, asker.caller)
    with ExitStack() as held:
        body = await read_body(request, selected.reader, deadline, held)
        protocol = selected.telling_errors(selected.of(body.json), settings.messages_for)
        request.state.protocol = protocol
        if protocol.name == "openai-responses":
            from shared.triggers.kept_responses import with_kept_items

            body = await with_kept_items(body, owner_of(asker.caller))
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
        turn.when_ended(held.pop_all().close)
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
