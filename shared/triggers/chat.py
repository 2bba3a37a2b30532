"""The chat routes.

Each resolves the protocol, reads the body and starts the turn. A streamed response waits for its first piece before the
status 200 is sent, so that an early failure gets its own status.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.accepting import Asker, accept
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, fold
from shared.core.running_turn import RunningTurn
from shared.errors import ContentFiltered, NotConfigured, SwitchboardError
from shared.events import Failed
from shared.public_url import base_url
from shared.service import Service
from shared.settings import Settings
from shared.triggers.budget import admit, key_of
from shared.triggers.errors import answering, deadline_of, invocation_id, json_response
from shared.triggers.receiving import read_body
from shared.triggers.streaming import (
    FIRST_PIECE_TIMEOUT_SECONDS,
    KEEP_ALIVE_SECONDS,
    TurnResponse,
    cancelled_on_disconnect,
    until_disconnected,
)
from shared.turns import begin_turn
from shared.wire.ai_chat import AI_CHAT
from shared.wire.protocol import Protocol, stream_bytes
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS, Resolved, resolve


@answering
async def chat(request: Request) -> Response:
    """`POST /chat`: the answer as one JSON document, or as a stream if the body asks for it."""
    return await _whole_or_streamed(request, *await _start_turn(request))


@answering
async def chat_completions(request: Request) -> Response:
    """`POST /v1/chat/completions`: the same in OpenAI's protocol, by the team of agents if the model names it."""
    return await _whole_or_streamed(request, *await _start_turn(request, unless_pinned="openai"))


@answering
async def ag_ui(request: Request) -> Response:
    """`POST /ag-ui`: the answer in AG-UI, which is always a stream."""
    return await _streamed(request, *await _start_turn(request, unless_pinned="ag-ui", streams=True))


@answering
async def responses(request: Request) -> Response:
    """`POST /v1/responses`: the same in OpenAI's newer protocol."""
    return await _whole_or_streamed(request, *await _start_turn(request, unless_pinned="openai-responses"))


@answering
async def ask(request: Request) -> Response:
    """`POST /ask`: answer the last message alone, in the RAG chat protocol unless the route names another."""
    return await _whole_or_streamed(request, *await _start_turn(request, unless_pinned="rag-chat", single_turn=True))


@answering
async def chat_stream(request: Request) -> Response:
    """`POST /chat/stream`: the answer as a stream."""
    return await _streamed(request, *await _start_turn(request, streams=True))


async def answer_team(request: Request) -> Response:
    """Return all agents' messages in one array; the protocol is `semantic-kernel` unless the route names another."""
    protocol, asked, turn = await _start_turn(request, unless_pinned="semantic-kernel", team=True)
    if protocol.answer is None:
        return await _streamed(request, protocol, asked, turn)
    return await _whole(request, protocol, asked, turn, protocol.team_answer)


@answering
async def team_stream(request: Request) -> Response:
    """`POST /multi-agent-chat/stream`: stream each agent's message as soon as it is complete."""
    return await _streamed(request, *await _start_turn(request, unless_pinned="semantic-kernel", team=True))


@answering
async def nothing_to_resume(request: Request) -> Response:
    """`GET /ai-sdk/chat/{id}/stream`: 204, since an answer stops when its caller leaves. A 404 would be an error."""
    request.state.protocol = PROTOCOLS["ai-sdk"]
    service = await app.get_service()
    await service.identity.caller(request.headers)
    return Response(status_code=204)


async def _start_turn(
    request: Request,
    *,
    unless_pinned: str | None = None,
    single_turn: bool = False,
    team: bool = False,
    streams: bool = False,
) -> tuple[Protocol, ChatRequest, RunningTurn]:
    """Read and check the request, and start its turn.

    Args:
        request: The HTTP request; its route may name the protocol.
        unless_pinned: Protocol to use if the route names none; None: the body selects it.
        single_turn: Whether to ignore the earlier messages.
        team: Whether the team of agents answers.
        streams: Whether the answer is a stream, whatever the body says.

    Returns:
        The protocol, the request without its files, which may only stay in memory as long as the turn, and the turn.
    """
    selected = resolved(request, unless_pinned)
    request.state.protocol = selected.protocol
    service = await app.get_service()
    settings = service.settings
    seconds = settings.agents_deadline_seconds if team else settings.chat_deadline_seconds
    if selected.protocol.waits_briefly and not streams:
        seconds = min(seconds, settings.agents_deadline_seconds)
    deadline = deadline_of(request, seconds)
    asker = await asker_of(request, service)
    admit(request, service, asker.caller)
    with ExitStack() as held:
        body = await read_body(request, selected.reader, deadline, held)
        request.state.protocol = protocol = _protocol_of(selected, body, settings)
        accepted = accept(protocol, body, asker, settings, team=team, streams=streams, single_turn=single_turn)
        del body  # its texts hold the files once more
        if accepted.team:
            deadline = deadline_of(request, settings.agents_deadline_seconds)
        status_within = FIRST_PIECE_TIMEOUT_SECONDS if accepted.request.stream else None
        beginning = begin_turn(service, accepted, asker, deadline, status_within=status_within)
        asked, turn = await (until_disconnected(request, beginning) if accepted.files else beginning)
        turn.when_ended(held.pop_all().close)
    return protocol, asked, turn


async def asker_of(request: Request, service: Service) -> Asker:
    """Find out who asks.

    Raises:
        NotSignedIn, NotAllowed: the caller has to sign in, or may not call.
    """
    caller = await service.identity.caller(request.headers)
    return Asker(
        caller=caller,
        budget_key=key_of(request, service, caller),
        invocation_id=invocation_id(request),
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


def _protocol_of(resolved: Resolved, body: Body, settings: Settings) -> Protocol:
    """Return the protocol of the request whose body was read, with errors as the settings want them."""
    protocol = resolved.of(body.json)
    return replace(protocol, error_message=None) if settings.semantic_kernel_errors == "status" else protocol


def _default_protocol() -> str:
    """Return `CHAT_DEFAULT_PROTOCOL`; if the settings are invalid, `ai-chat` for the error response."""
    try:
        return app.get_settings().chat_default_protocol
    except NotConfigured:
        return AI_CHAT.name


async def _whole_or_streamed(request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn) -> Response:
    if asked.stream or protocol.answer is None:
        return await _streamed(request, protocol, asked, turn)
    return await _whole(request, protocol, asked, turn, protocol.answer)


async def _whole(
    request: Request,
    protocol: Protocol,
    asked: ChatRequest,
    turn: RunningTurn,
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


async def _streamed(request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn) -> Response:
    async with cancelled_on_disconnect(request, turn):
        failure = await turn.settled(FIRST_PIECE_TIMEOUT_SECONDS)
    in_stream = protocol.refuses_in_stream and failure and isinstance(failure.error, ContentFiltered)
    if failure and protocol.error_message is None and not in_stream:
        raise failure.error
    lines = stream_bytes(protocol, asked, turn.batches(KEEP_ALIVE_SECONDS))
    return TurnResponse(lines, {"content-type": protocol.framing.content_type, **protocol.stream_headers}, turn)
