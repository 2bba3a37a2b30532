"""Request in, response out: the only module that knows FastAPI.

A chat request: read the body, find its protocol, start the turn, and wait for the model's first words before
answering 200, so that an early failure keeps its real status.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import wraps

from azurefunctions.extensions.http.fastapi import FileResponse, Request, Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from shared import app
from shared.chat_types import ChatRequest, Json, RequestContext
from shared.content import find_document
from shared.core.fold import fold
from shared.core.running_turn import RunningTurn, log_fault
from shared.description.documents import openapi_json, swagger_json
from shared.errors import InternalError, NotConfigured, RateLimited, SwitchboardError
from shared.history import HistoryStore, owner_of
from shared.identity import ANONYMOUS
from shared.wire.ai_chat import AI_CHAT
from shared.wire.ai_chat_2024_01_28 import AI_CHAT_2024_01_28
from shared.wire.framing import encode_json
from shared.wire.history_body import (
    HISTORY_BODY_LIMIT,
    MESSAGES_EXAMPLE,
    NEW_CHAT_EXAMPLE,
    conversation_json,
    message_json,
    parse_messages,
    parse_new_chat,
    read_mode,
)
from shared.wire.json_body import JsonReader
from shared.wire.multipart import is_form
from shared.wire.protocol import Protocol
from shared.wire.request_body import chat_reader, read_body
from shared.wire.stream import stream_bytes
from shared.wire.table import NAMES, PROTOCOLS, inferred, pinned, taking_files

FIRST_WORDS_SECONDS = 2.0
"""How long the status waits for the model."""
HEARTBEAT_SECONDS = 15.0
"""A stream that is silent for longer carries a keep-alive: Azure cuts what stays idle."""

type Handler = Callable[[Request], Awaitable[Response]]


def _answering(handler: Handler) -> Handler:
    """Make a handler answer whatever happens: an exception would reach the caller as the worker's bare 500."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except SwitchboardError as error:
            return _error_response(error, request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception as error:  # noqa: BLE001 (this is the outer edge, and log_fault logs it)
            log_fault(error, _invocation_id(request))
            return _error_response(InternalError(), request)

    return answer


@_answering
async def chat(request: Request) -> Response:
    """`POST /chat`: one answer as a JSON document, or streamed if the body says so."""
    return await _whole_or_streamed(request, *await _start_turn(request))


@_answering
async def ask(request: Request) -> Response:
    """`POST /ask`: the same for a question on its own, in the RAG chat protocol unless pinned."""
    return await _whole_or_streamed(request, *await _start_turn(request, default=AI_CHAT_2024_01_28, single_turn=True))


@_answering
async def chat_stream(request: Request) -> Response:
    """`POST /chat/stream`: a streamed answer."""
    return await _streamed(request, *await _start_turn(request))


@_answering
async def list_chats(request: Request) -> Response:
    """`GET /chat-history`: the caller's chats, newest first."""
    history, owner = await _history()
    mode = read_mode(request.query_params.get("mode"))
    return _json_response([conversation_json(chat) for chat in await history.conversations(owner, mode)])


@_answering
async def start_chat(request: Request) -> Response:
    """`POST /chat-history`: a new chat, and what a list shows of it."""
    history, owner = await _history()
    body = await read_body(request.stream(), lambda: JsonReader(example=NEW_CHAT_EXAMPLE))
    return _json_response(conversation_json(await history.create(owner, *parse_new_chat(body.json))), status=201)


@_answering
async def chat_messages(request: Request) -> Response:
    """`GET /chat-history/{id}/messages`: what was said, oldest first."""
    history, owner = await _history()
    messages = await history.messages(owner, request.path_params["id"])
    return _json_response([message_json(message) for message in messages])


@_answering
async def update_chat(request: Request) -> Response:
    """`PUT /chat-history/{id}`: messages to add or to update, and what a list shows of the chat now."""
    history, owner = await _history()
    body = await read_body(request.stream(), lambda: JsonReader(HISTORY_BODY_LIMIT, MESSAGES_EXAMPLE))
    messages = parse_messages(body.json, datetime.now(UTC))
    return _json_response(conversation_json(await history.write(owner, request.path_params["id"], messages)))


@_answering
async def delete_chat(request: Request) -> Response:
    """`DELETE /chat-history/{id}`: a chat with everything in it."""
    history, owner = await _history()
    read_mode(request.query_params.get("mode"))  # only checked: the id alone says which chat
    await history.delete(owner, request.path_params["id"])
    return Response(status_code=204)


@_answering
async def content(request: Request) -> Response:
    """`GET /content/{path}`: a source document."""
    service = await app.get_service()
    path = request.path_params.get("path") or ""  # a catch-all that catches nothing is left out
    document = await asyncio.to_thread(find_document, service.content_dir, path)
    return FileResponse(document.path, headers=document.headers)


@_answering
async def health(_request: Request) -> Response:
    """`GET /health`: 200 when every part that answers need can be used, else 503; the body says which and why."""
    try:
        service = await app.get_service()
    except NotConfigured as error:
        return _json_response({"status": "unavailable", "error": error.message, "parts": {}}, status=error.status)
    parts = await service.check()
    usable = all(part.ok for part in parts.values() if part.needed)
    whole = all(part.ok for part in parts.values())
    body: dict[str, Json] = {
        "status": "ok" if whole else "degraded" if usable else "unavailable",
        "protocols": list[Json](PROTOCOLS),
        "parts": {
            name: {"kind": part.kind, "ok": part.ok, "detail": part.detail, **part.facts}
            for name, part in parts.items()
        },
    }
    return _json_response(body, status=200 if usable else 503)


@_answering
async def openapi(_request: Request) -> Response:
    """`GET /openapi.json`: what the app offers, in OpenAPI 3.1."""
    return Response(await asyncio.to_thread(openapi_json), media_type="application/json")


@_answering
async def swagger(_request: Request) -> Response:
    """`GET /swagger.json`: the same in Swagger 2.0."""
    return Response(await asyncio.to_thread(swagger_json), media_type="application/json")


class _TurnResponse(StreamingResponse):
    """A turn as a stream. Owns the turn: however sending ends, the turn ends too."""

    def __init__(self, protocol: Protocol, request: ChatRequest, turn: RunningTurn) -> None:
        super().__init__(
            stream_bytes(protocol, request, turn.batches(HEARTBEAT_SECONDS)),
            headers={"content-type": protocol.framing.content_type, "cache-control": "no-cache"},
        )
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._turn.cancel()


async def _history() -> tuple[HistoryStore, str]:
    """What keeps chats, and the owner whose chats they are."""
    service = await app.get_service()
    return service.history, owner_of(ANONYMOUS)


async def _start_turn(
    request: Request, *, default: Protocol | None = None, single_turn: bool = False
) -> tuple[Protocol, ChatRequest, RunningTurn]:
    """Read and check the request, and set its turn going.

    Args:
        request: Its route may pin the protocol.
        default: What it speaks unless pinned; None: what its body tells.
        single_turn: Whether the earlier messages do not count.
    """
    name = request.path_params.get("protocol")
    known = pinned(name) if name else default
    if not known and is_form(_content_type(request)):
        known = taking_files()
    request.state.protocol = known or AI_CHAT
    service = await app.get_service()
    deadline = asyncio.get_running_loop().time() + service.settings.chat_deadline_seconds
    unless_told = service.settings.chat_default_protocol
    request.state.protocol = known or NAMES[unless_told]
    body = await read_body(request.stream(), lambda: chat_reader(_content_type(request), known))
    request.state.protocol = protocol = known or inferred(body.json, unless_told)
    asked = replace(protocol.parse(body.json), single_turn=single_turn)
    asked = await service.attach(asked, body.files)
    context = RequestContext(_invocation_id(request), deadline, ANONYMOUS)
    return protocol, asked, RunningTurn(service.turn(asked, context), context)


async def _whole_or_streamed(request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn) -> Response:
    if asked.stream:
        return await _streamed(request, protocol, asked, turn)
    async with _cancelled_when_caller_leaves(request, turn):
        answer = await fold(turn.events())
    return _json_response(protocol.answer(asked, answer))


async def _streamed(request: Request, protocol: Protocol, asked: ChatRequest, turn: RunningTurn) -> Response:
    async with _cancelled_when_caller_leaves(request, turn):
        failure = await turn.settled(FIRST_WORDS_SECONDS)
    if failure:
        raise failure.error
    return _TurnResponse(protocol, asked, turn)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "")


@asynccontextmanager
async def _cancelled_when_caller_leaves(request: Request, turn: RunningTurn) -> AsyncGenerator[None]:
    """Until the response takes over, nobody else sees the caller go."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        turn.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except BaseException:
        turn.cancel()  # a turn that nobody waits for any more must not go on until its deadline
        raise
    finally:
        watcher.cancel()


def _json_response(document: Json, status: int = 200) -> Response:
    return Response(encode_json(document), status_code=status, media_type="application/json")


def _error_response(error: SwitchboardError, request: Request) -> Response:
    """The error in the shape of the protocol that the request turned out to speak."""
    protocol: Protocol = getattr(request.state, "protocol", AI_CHAT)
    response = _json_response(protocol.error(error, _invocation_id(request)), status=error.status)
    if isinstance(error, RateLimited):
        response.headers["retry-after"] = str(error.retry_after)
    return response


def _invocation_id(request: Request) -> str:
    """The platform's id of this invocation; the worker found this request by it."""
    return request.headers["x-ms-invocation-id"]
