"""The routes that azure-search-openai-demo's web page needs besides chat, below a protocol that it speaks."""

from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.errors import BadRequest, NotFound
from shared.history import UNTITLED, Mode, Page, is_session_id
from shared.triggers.chat_history import chats_that, delete_all_of
from shared.triggers.door import Call, checked_first
from shared.triggers.errors import json_response
from shared.wire import demo_page as bodies
from shared.wire.history_body import HISTORY_BODY_LIMIT, read_page
from shared.wire.request_body import JsonReader
from shared.wire.table import require_demo_protocol


def require_demo(request: Request) -> None:
    """Check the protocol that the path names, and choose it for errors."""
    request.state.protocol = require_demo_protocol(request.path_params["protocol"])


@checked_first(require_demo)
async def demo_config(_request: Request) -> Response:
    """`GET /{protocol}/config`: the options that the page shows. Open to all: the page asks before anyone signs in."""
    service = await app.get_service()
    return json_response(bodies.config_json(service.settings, sees_images=service.sees_images))


@checked_first(require_demo)
async def demo_auth_setup(_request: Request) -> Response:
    """`GET /{protocol}/auth_setup`: how users of the page sign in. Open to all, as above."""
    return json_response(bodies.auth_setup_json(app.get_settings()))


@checked_first(require_demo)
async def list_demo_chats(call: Call) -> Response:
    """`GET /{protocol}/chat_history/sessions`: the caller's chats that the page has kept, newest first."""
    query = call.request.query_params
    count = query.get("count", "10")
    if not (len(count) <= 3 and count.isascii() and count.isdigit() and 1 <= int(count) <= bodies.MAX_DEMO_CHATS):
        raise BadRequest(f"count: should be a number from 1 to {bodies.MAX_DEMO_CHATS}.")
    token = query.get("continuationToken") or query.get("continuation_token") or ""  # the page; its server
    page = Page(Mode.STANDARD, int(count) + 1, read_page({"cursor": token}).after)
    chats = await chats_that(is_session_id, call.service.history, call.owner, page)
    return json_response(bodies.demo_chats_json(chats, call.caller.oid or "", int(count)))


@checked_first(require_demo)
async def demo_chat(call: Call) -> Response:
    """`GET /{protocol}/chat_history/sessions/{id}`: the questions and answers of a chat."""
    messages = await call.service.history.messages(call.owner, call.id)
    return json_response(bodies.demo_chat_json(call.id, call.caller.oid or "", messages))


@checked_first(require_demo)
async def keep_demo_chat(call: Call) -> Response:
    """`POST /{protocol}/chat_history`: keep a chat. The page sends all of it after each answer."""
    history, owner = call.service.history, call.owner
    body = await call.read(partial(JsonReader, HISTORY_BODY_LIMIT, bodies.CHAT_EXAMPLE))
    chat_id, messages = bodies.parse_demo_chat(body.json, datetime.now(UTC))
    kept = await history.create(owner, Mode.STANDARD, UNTITLED, chat_id)
    # Of a chat that has grown, all but the last question and answer is as it was kept.
    first = max(0, kept.message_count - 2) if kept.message_count < len(messages) else 0
    await history.write(owner, chat_id, messages[first:])
    return json_response({}, status=201)


@checked_first(require_demo)
async def delete_demo_chat(call: Call) -> Response:
    """`DELETE /{protocol}/chat_history/sessions/{id}`: delete a chat."""
    await delete_all_of(call.service.history, call.owner, call.id)
    return Response(status_code=204)


@checked_first(require_demo)
async def demo_not_offered(_request: Request) -> Response:
    """Refuse what the demo's own server can do and this app does not: speech."""
    raise NotFound("This app makes no speech, and /config tells the page so.")
