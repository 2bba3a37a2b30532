"""Routes of the chat history."""

from collections.abc import Callable
from copy import replace
from datetime import UTC, datetime
from functools import partial

from starlette.responses import Response

from shared import app
from shared.chat_types import Caller
from shared.history import (
    MAX_LISTED,
    Conversation,
    HistoryStore,
    ListPosition,
    Page,
    is_of_chatui,
    owner_of,
    session_id_of,
)
from shared.history.searching import find_chats
from shared.history.sharing import stop_sharing
from shared.triggers.door import Call
from shared.triggers.errors import json_response
from shared.wire import history_body as bodies
from shared.wire.request_body import JsonReader


async def list_chats(call: Call) -> Response:
    """`GET /chat-history`: list the caller's chats, newest first, a page at a time.

    With `search`, those that have its words; a page may then have few or none, and name a next one all the same.
    Of those that all callers share who do not sign in, ChatUI, which names a mode, gets only its own: it opens the
    newest by itself.
    """
    history, owner = call.service.history, call.owner
    page = bodies.read_page(call.request.query_params)
    if page.search:
        found, last = await find_chats(history, owner, page.search.casefold().split(), page)
        response = json_response([bodies.conversation_json(chat) for chat in found])
        if last:
            response.headers["link"] = f'<{page.following(last)}>; rel="next"'
        return response
    one_more = replace(page, limit=page.limit + 1)
    if page.mode and owner == owner_of(Caller()):
        chats = await chats_that(is_of_chatui, history, owner, one_more)
    else:
        chats = await history.conversations(owner, one_more)
    response = json_response([bodies.conversation_json(chat) for chat in chats[: page.limit]])
    if len(chats) > page.limit:
        response.headers["link"] = f'<{page.following(chats[page.limit - 1])}>; rel="next"'
    return response


async def start_chat(call: Call) -> Response:
    """`POST /chat-history`: start a chat; the response is its entry in the list."""
    body = await call.read(partial(JsonReader, example=bodies.NEW_CHAT_EXAMPLE))
    chat = await call.service.history.create(call.owner, *bodies.parse_new_chat(body.json))
    return json_response(bodies.conversation_json(chat), status=201)


async def chat_messages(call: Call) -> Response:
    """`GET /chat-history/{id}/messages`: list the messages of a chat, oldest first."""
    messages = await call.service.history.messages(call.owner, call.id)
    return json_response([bodies.message_json(message) for message in messages])


async def update_chat(call: Call) -> Response:
    """`PUT /chat-history/{id}`: write messages, rename or pin a chat; the response is its entry in the list."""
    body = await call.read(partial(JsonReader, bodies.HISTORY_BODY_LIMIT, bodies.MESSAGES_EXAMPLE))
    update = bodies.parse_update(body.json, datetime.now(UTC))
    chat = await call.service.history.write(call.owner, call.id, *update)
    return json_response(bodies.conversation_json(chat))


async def delete_chat(call: Call) -> Response:
    """`DELETE /chat-history/{id}`: delete a chat with its messages."""
    bodies.read_mode(call.request.query_params.get("mode"))  # validated only: the id identifies the chat
    await delete_all_of(call.service.history, call.owner, call.id)
    return Response(status_code=204)


async def chats_that(
    belong: Callable[[str], bool], history: HistoryStore, owner: str, page: Page
) -> list[Conversation]:
    """List a page of the chats whose ids belong to a front end."""
    found: list[Conversation] = []
    some = page
    while len(found) < page.limit:
        chats = await history.conversations(owner, some)
        found += [chat for chat in chats if belong(chat.id)]
        if len(chats) < some.limit:
            break
        after = ListPosition(chats[-1].last_updated, chats[-1].id)
        some = replace(page, limit=min(2 * some.limit, MAX_LISTED), after=after)
    return found[: page.limit]


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
