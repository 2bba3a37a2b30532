"""Routes of the chat history, and of shared chats: copies that everybody may read who signs in."""

from collections.abc import Callable
from contextlib import suppress
from copy import replace
from datetime import UTC, datetime
from functools import partial

from starlette.responses import Response

from shared import app
from shared.chat_types import Caller, Json
from shared.documents.own import MINE
from shared.errors import NotAllowed, NotFound
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
from shared.history.sharing import link_of, links_of, read_shared, share, stop_sharing
from shared.triggers.door import Call
from shared.web.responses import json_response
from shared.wire import history_body as bodies
from shared.wire.history_body import shared_json
from shared.wire.request_body import JsonReader


async def list_chats(call: Call) -> Response:
    """List the caller's chats.

    The newest first, of one mode or of all. If there are more, the header `Link` names the next page.
    """
    # Of the chats that all callers share who do not sign in, ChatUI, which names a mode, gets only its own: it opens
    # the newest by itself.
    history, owner = call.service.history, call.owner
    page = bodies.read_page(call.request.query_params)
    if page.search:
        found, last = await find_chats(history, owner, page.search.casefold().split(), page)
    else:
        one_more = replace(page, limit=page.limit + 1)
        if page.mode and owner == owner_of(Caller()):
            chats = await chats_that(is_of_chatui, history, owner, one_more)
        else:
            chats = await history.conversations(owner, one_more)
        found, last = chats[: page.limit], chats[page.limit - 1] if len(chats) > page.limit else None
    following = page.following(last) if last else ""
    listed: list[Json] = [bodies.conversation_json(chat) for chat in found]
    if page.shared:
        links = await links_of(history, owner, [chat.id for chat in found])
        shown = zip(found, links, strict=True)
        listed = [{**bodies.conversation_json(chat), "shared": link} for chat, link in shown if link]
    return json_response(listed, following=following)


async def start_chat(call: Call) -> Response:
    """Start a chat.

    Makes an empty chat. Later requests can use its id.
    """
    body = await call.read(partial(JsonReader, example=bodies.NEW_CHAT_EXAMPLE))
    chat = await call.service.history.create(call.owner, *bodies.parse_new_chat(body.json))
    return json_response(bodies.conversation_json(chat), status=201)


async def get_chat_messages(call: Call) -> Response:
    """Get the messages of a chat.

    The oldest first.
    """
    messages = await call.service.history.messages(call.owner, call.id)
    return json_response([bodies.message_json(message) for message in messages])


async def update_chat(call: Call) -> Response:
    """Add messages to a chat, update them, rename or pin it.

    A message replaces the one with the same id, or is added at the end. Other messages stay, and so does the title
    unless there is a new one. A pin alone does not change when the chat was last updated.
    """
    body = await call.read(partial(JsonReader, bodies.HISTORY_BODY_LIMIT, bodies.MESSAGES_EXAMPLE))
    update = bodies.parse_update(body.json, datetime.now(UTC))
    chat = await call.service.history.write(call.owner, call.id, *update)
    return json_response(bodies.conversation_json(chat))


async def delete_chat(call: Call) -> Response:
    """Delete a chat.

    Deletes the chat with all its messages.
    """
    bodies.read_mode(call.request.query_params.get("mode"))  # validated only: the id identifies the chat
    await delete_all_of(call.service.history, call.owner, call.id)
    return Response(status_code=204)


async def delete_chats(call: Call) -> Response:
    """Delete all chats.

    Deletes every chat of the caller, as deleting each one does. If it breaks off, send it again.
    """
    history = call.service.history
    while chats := await history.conversations(call.owner):
        for chat in chats:
            with suppress(NotFound):  # another request has deleted it
                await delete_all_of(history, call.owner, chat.id)
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

    The chat goes last: as long as it is there, a request that breaks off can be sent again.

    Raises:
        NotFound: the owner has no such chat.
    """
    runs, verdicts = await app.get_runs(), (await app.get_service()).verdicts
    for name in (chat, session_id_of(chat)):
        if runs:
            await runs.delete_of(owner, name)
        if verdicts:
            await verdicts.forget(owner, name)
    await stop_sharing(history, owner, chat)
    await history.delete(owner, chat)
    await stop_sharing(history, owner, chat)  # it may have been shared meanwhile


async def share_chat(call: Call) -> Response:
    """Share a chat.

    Makes a copy of the chat as it is now, which everybody who signs in can read who has its link. A second time brings
    the copy up to date; its link stays.
    """
    link = await share(_history(call), call.owner, call.id, MINE)
    return json_response({"id": link, "url": f"{call.own_url}/shared/{link}"}, status=201)


async def get_share(call: Call) -> Response:
    """Look up whether a chat is shared.

    The link of its copy, if it has one.
    """
    link = await link_of(_history(call), call.owner, call.id)
    return json_response({"id": link, "url": f"{call.own_url}/shared/{link}"}) if link else Response(status_code=204)


async def stop_sharing_chat(call: Call) -> Response:
    """Stop sharing a chat.

    Deletes the copy. The chat stays, and has another link if it is shared again.
    """
    history = _history(call)
    await stop_sharing(history, call.owner, call.id)  # also of a chat that HISTORY_DAYS has deleted
    await history.messages(call.owner, call.id, newest=1)  # another's is not found
    return Response(status_code=204)


async def get_shared_chat(call: Call) -> Response:
    """Read a shared chat.

    Also one that another caller has shared.
    """
    return json_response(shared_json(*await read_shared(_history(call), call.id)))


def _history(call: Call) -> HistoryStore:
    """Return the history store; raise NotAllowed if nobody signs in here, so that all would be everybody."""
    if call.caller.id is None:
        raise NotAllowed("Nobody signs in here, so chats cannot be shared with those who do: set AUTH_MODE.")
    return call.service.history
