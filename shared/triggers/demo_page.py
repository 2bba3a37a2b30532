"""The routes that azure-search-openai-demo's web page needs besides chat, below a protocol that it speaks."""

from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Caller
from shared.errors import BadRequest, NotFound
from shared.history import UNTITLED, HistoryStore, Mode, is_session_id, owner_of
from shared.triggers.budget import admit
from shared.triggers.chat_history import chats_that, delete_all_of
from shared.triggers.errors import answering, deadline_of, json_response
from shared.web.receiving import read_body
from shared.wire import demo_page as bodies
from shared.wire.history_body import HISTORY_BODY_LIMIT, read_page
from shared.wire.request_body import JsonReader
from shared.wire.table import require_demo_protocol


@answering
async def demo_config(request: Request) -> Response:
    """`GET /{protocol}/config`: the options that the page shows. Open to all: the page asks before anyone signs in."""
    _require_demo(request)
    service = await app.get_service()
    return json_response(bodies.config_json(service.settings, sees_images=service.sees_images))


@answering
async def demo_auth_setup(request: Request) -> Response:
    """`GET /{protocol}/auth_setup`: how users of the page sign in. Open to all, as above."""
    _require_demo(request)
    return json_response(bodies.auth_setup_json(app.get_settings()))


@answering
async def list_demo_chats(request: Request) -> Response:
    """`GET /{protocol}/chat_history/sessions`: the caller's chats that the page has kept, newest first."""
    history, caller = await _history(request)
    count = request.query_params.get("count", "10")
    if not (len(count) <= 3 and count.isascii() and count.isdigit() and 1 <= int(count) <= bodies.MAX_DEMO_CHATS):
        raise BadRequest(f"count: should be a number from 1 to {bodies.MAX_DEMO_CHATS}.")
    query = request.query_params
    token = query.get("continuationToken") or query.get("continuation_token") or ""  # the page; its server
    after = read_page({"cursor": token}).after
    chats = await chats_that(is_session_id, history, owner_of(caller), Mode.STANDARD, int(count) + 1, after)
    return json_response(bodies.demo_chats_json(chats, caller.oid or "", int(count)))


@answering
async def demo_chat(request: Request) -> Response:
    """`GET /{protocol}/chat_history/sessions/{id}`: the questions and answers of a chat."""
    history, caller = await _history(request)
    chat_id = request.path_params["id"]
    messages = await history.messages(owner_of(caller), chat_id)
    return json_response(bodies.demo_chat_json(chat_id, caller.oid or "", messages))


@answering
async def keep_demo_chat(request: Request) -> Response:
    """`POST /{protocol}/chat_history`: keep a chat. The page sends all of it after each answer."""
    history, caller = await _history(request)
    owner = owner_of(caller)
    deadline = deadline_of(request, app.get_settings().chat_deadline_seconds)
    with ExitStack() as held:
        body = await read_body(request, partial(JsonReader, HISTORY_BODY_LIMIT, bodies.CHAT_EXAMPLE), deadline, held)
        chat_id, messages = bodies.parse_demo_chat(body.json, datetime.now(UTC))
        kept = await history.create(owner, Mode.STANDARD, UNTITLED, chat_id)
        # Of a chat that has grown, all but the last question and answer is as it was kept.
        first = max(0, kept.message_count - 2) if kept.message_count < len(messages) else 0
        await history.write(owner, chat_id, messages[first:])
    return json_response({}, status=201)


@answering
async def delete_demo_chat(request: Request) -> Response:
    """`DELETE /{protocol}/chat_history/sessions/{id}`: delete a chat."""
    history, caller = await _history(request)
    await delete_all_of(history, owner_of(caller), request.path_params["id"])
    return Response(status_code=204)


@answering
async def demo_not_offered(request: Request) -> Response:
    """Refuse what the demo's own server can do and this app does not: speech."""
    _require_demo(request)
    raise NotFound("This app makes no speech, and /config tells the page so.")


def _require_demo(request: Request) -> None:
    """Check the protocol that the route names, and answer errors in it."""
    request.state.protocol = require_demo_protocol(request.path_params["protocol"])


async def _history(request: Request) -> tuple[HistoryStore, Caller]:
    """Return the history store, and the caller."""
    _require_demo(request)
    service = await app.get_service()
    caller = await service.identity.caller(request.headers)
    admit(request, service, caller)
    return service.history, caller
