"""Routes of the chat history."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Caller
from shared.history import (
    MAX_LISTED,
    Conversation,
    HistoryStore,
    ListPosition,
    Mode,
    is_of_chatui,
    owner_of,
    session_id_of,
)
from shared.history.searching import find_chats
from shared.history.sharing import stop_sharing
from shared.triggers.budget import admit
from shared.triggers.errors import answering, deadline_of, json_response
from shared.web.receiving import read_body
from shared.wire import history_body as bodies
from shared.wire.request_body import JsonReader


@answering
async def list_chats(request: Request) -> Response:
    """`GET /chat-history`: list the caller's chats, newest first, a page at a time.

    With `search`, those that have its words; a page may then have few or none, and name a next one all the same.
    Of those that all callers share who do not sign in, ChatUI, which names a mode, gets only its own: it opens the
    newest by itself.
    """
    history, owner = await _history(request)
    page = bodies.read_page(request.query_params)
    if page.search:
        words = page.search.casefold().split()
        place = (page.mode, page.limit, page.after)
        found, last = await find_chats(history, owner, words, *place, pinned=page.pinned)
        response = json_response([bodies.conversation_json(chat) for chat in found])
        if last:
            response.headers["link"] = f'<{page.following(last)}>; rel="next"'
        return response
    if page.mode and owner == owner_of(Caller()):
        chats = await chats_that(is_of_chatui, history, owner, page.mode, page.limit + 1, page.after, page.pinned)
    else:
        chats = await history.conversations(owner, page.mode, page.limit + 1, page.after, pinned=page.pinned)
    response = json_response([bodies.conversation_json(chat) for chat in chats[: page.limit]])
    if len(chats) > page.limit:
        response.headers["link"] = f'<{page.following(chats[page.limit - 1])}>; rel="next"'
    return response


@answering
async def start_chat(request: Request) -> Response:
    """`POST /chat-history`: start a chat; the response is its entry in the list."""
    history, owner = await _history(request)
    with ExitStack() as held:
        body = await read_body(request, partial(JsonReader, example=bodies.NEW_CHAT_EXAMPLE), _deadline(request), held)
        chat = await history.create(owner, *bodies.parse_new_chat(body.json))
    return json_response(bodies.conversation_json(chat), status=201)


@answering
async def chat_messages(request: Request) -> Response:
    """`GET /chat-history/{id}/messages`: list the messages of a chat, oldest first."""
    history, owner = await _history(request)
    messages = await history.messages(owner, request.path_params["id"])
    return json_response([bodies.message_json(message) for message in messages])


@answering
async def update_chat(request: Request) -> Response:
    """`PUT /chat-history/{id}`: write messages, rename or pin a chat; the response is its entry in the list."""
    history, owner = await _history(request)
    with ExitStack() as held:
        reader = partial(JsonReader, bodies.HISTORY_BODY_LIMIT, bodies.MESSAGES_EXAMPLE)
        body = await read_body(request, reader, _deadline(request), held)
        update = bodies.parse_update(body.json, datetime.now(UTC))
        chat = await history.write(owner, request.path_params["id"], *update)
    return json_response(bodies.conversation_json(chat))


@answering
async def delete_chat(request: Request) -> Response:
    """`DELETE /chat-history/{id}`: delete a chat with its messages."""
    history, owner = await _history(request)
    bodies.read_mode(request.query_params.get("mode"))  # validated only: the id identifies the chat
    await delete_all_of(history, owner, request.path_params["id"])
    return Response(status_code=204)


async def chats_that(
    belong: Callable[[str], bool],
    history: HistoryStore,
    owner: str,
    mode: Mode,
    count: int,
    after: ListPosition | None,
    pinned: bool = False,
) -> list[Conversation]:
    """List the first chats after a position whose ids belong to a front end."""
    found: list[Conversation] = []
    limit = count
    while len(found) < count:
        chats = await history.conversations(owner, mode, limit, after, pinned=pinned)
        found += [chat for chat in chats if belong(chat.id)]
        if len(chats) < limit:
            break
        limit = min(2 * limit, MAX_LISTED)
        after = ListPosition(chats[-1].last_updated, chats[-1].id)
    return found[:count]


async def delete_all_of(history: HistoryStore, owner: str, chat: str) -> None:
    """Delete a chat, its copy, the answers that are kept of it beside its messages, and what was said of them.

    Raises:
        NotFound: the owner has no such chat.
    """
    await stop_sharing(history, owner, chat)
    await history.delete(owner, chat)
    await stop_sharing(history, owner, chat)  # it may have been shared meanwhile
    runs, verdicts = await app.get_runs(), (await app.get_service()).verdicts
    for name in (chat, session_id_of(chat)):
        if runs:
            await runs.delete_of(owner, name)
        if verdicts:
            await verdicts.forget(owner, name)


async def _history(request: Request) -> tuple[HistoryStore, str]:
    """Return the history store, and the owner name of the caller's chats."""
    service = await app.get_service()
    caller = await service.identity.caller(request.headers)
    admit(request, service, caller)
    return service.history, owner_of(caller)


def _deadline(request: Request) -> float:
    """Return when the body has to be complete: as late as an answer."""
    return deadline_of(request, app.get_settings().chat_deadline_seconds)
