"""The chat routes.

Each resolves the protocol, reads the body and starts the turn. A streamed response waits for its first piece before the
status 200 is sent, so that an early failure gets its own status.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.accepting import accept
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, fold
from shared.core.running_turn import RunningTurn
from shared.errors import SwitchboardError
from shared.events import Failed
from shared.history import owner_of
from shared.settings import Settings
from shared.triggers.asking import asker_of, resolved
from shared.triggers.budget import admit
from shared.triggers.errors import answering, deadline_of, invocation_id, json_response
from shared.triggers.kept_turns import Followed, Kept, Route, begin_run
from shared.triggers.receiving import read_body
from shared.triggers.streaming import (
    FIRST_PIECE_TIMEOUT_SECONDS,
    KEEP_ALIVE_SECONDS,
    TurnResponse,
    cancelled_on_disconnect,
    until_disconnected,
)
from shared.turns import begin_turn
from shared.wire.protocol import Protocol, stream_bytes
from shared.wire.request_body import Body
from shared.wire.table import Resolved


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
    request.state.protocol = selected.protocol
    service = await app.get_service()
    settings = service.settings
    seconds = settings.agents_deadline_seconds if route.team else settings.chat_deadline_seconds
    if selected.protocol.waits_briefly and not route.streams:
        seconds = min(seconds, settings.agents_deadline_seconds)
    deadline = deadline_of(request, seconds)
    asker = await asker_of(request, service)
    admit(request, service, asker.caller)
    with ExitStack() as held:
        body = await read_body(request, selected.reader, deadline, held)
        request.state.protocol = protocol = _protocol_of(selected, body, settings)
        if protocol.name == "openai-responses":
            from shared.triggers.kept_responses import with_kept_items

            body = await with_kept_items(body, owner_of(asker.caller))
        accepted = accept(protocol, body, asker, settings, **asdict(route))
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


def _protocol_of(resolved: Resolved, body: Body, settings: Settings) -> Protocol:
    """Return the protocol of the request whose body was read, with errors as the settings want them."""
    protocol = resolved.of(body.json)
    return replace(protocol, error_message=None) if settings.semantic_kernel_errors == "status" else protocol


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
    try:
        async with cancelled_on_disconnect(request, turn):
            answer = await fold(turn.events(), filter_ends=protocol.filter_ends)
    except SwitchboardError as error:
        if protocol.error_message is None:
            raise
        return json_response([protocol.error_message(asked, Failed(error, invocation_id(request)))])
    return json_response(encode(asked, answer))


async def _streamed(request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn | Followed) -> Response:
    async with cancelled_on_disconnect(request, turn):
        failure = await turn.settled(FIRST_PIECE_TIMEOUT_SECONDS)
    if failure and protocol.error_message is None and not isinstance(failure.error, protocol.fails_in_stream):
        raise failure.error
    lines = stream_bytes(protocol, asked, turn.batches(KEEP_ALIVE_SECONDS))
    headers = {"content-type": protocol.framing.content_type, **protocol.stream_headers}
    if isinstance(turn, Followed) and not turn.ends_when_left:
        return StreamingResponse(lines, headers={"cache-control": "no-cache", **headers})
    return TurnResponse(lines, headers, turn)
