"""Conversations that the app keeps for clients that send only the newest message and a session state.

The first request gets a chat of its own in the history, whose id is the state. A later one with that state and a single
message gets the earlier messages back. The recorder writes each turn. If the store fails, or no chats are kept, the
question is answered alone.

Source: the sample backends of microsoft/ai-chat-protocol at 540122f, which keep a conversation under such an id.
"""

import asyncio
import logging
from collections.abc import Iterable
from copy import replace
from itertools import takewhile

from shared.chat_types import ChatRequest, ChatState, Message, RequestContext, Role
from shared.core import context_window, recorder
from shared.errors import NotFound, SwitchboardError
from shared.history import UNTITLED, HistoryStore, Mode, StoredMessage, new_id_elsewhere, owner_of

_log = logging.getLogger("switchboard.history")

_READ_TIMEOUT_SECONDS = 5.0
"""How long a question waits for the store."""
_MOST_MESSAGES = 200
"""How many of the newest messages are read: usually more than fit into the prompt, however long the chat is."""


async def resume(request: ChatRequest, context: RequestContext, history: HistoryStore, mode: Mode) -> ChatRequest:
    """Give a request the chat that its session state names, or a new one if it has no state.

    Only a request with a single message: a client that sends a conversation keeps it by itself.
    """
    if (
        request.single_turn
        or len(request.messages) != 1
        or (request.chat.session_state and not request.chat.conversation_id)
    ):
        return request
    owner = owner_of(context.caller)
    try:
        async with asyncio.timeout(_READ_TIMEOUT_SECONDS):
            if request.chat.conversation_id:
                kept = await history.messages(owner, request.chat.conversation_id, _MOST_MESSAGES)
                own = recorder.message_id(context, "question")  # there already if this turn has waited for a person
                earlier = _messages(takewhile(lambda one: one.id != own, kept))
                chat = replace(request.chat, regenerates=False)  # a lone message is always a new one
                return replace(request, messages=(*context_window.fit_history(earlier), *request.messages), chat=chat)
            chat = await history.create(owner, mode, UNTITLED, new_id_elsewhere())
            return replace(request, chat=ChatState.kept(chat.id))
    except NotFound:
        return request  # deleted, another owner's, never there, or nothing is kept: the caller must not learn which
    except SwitchboardError as error:
        _log.warning("invocation %s: answered without its chat: %s", context.invocation_id, error.message)
    except TimeoutError:
        _log.warning("invocation %s: answered without its chat: the store took too long", context.invocation_id)
    return request


def _messages(kept: Iterable[StoredMessage]) -> list[Message]:
    """Convert what was said; not what an agent of a team answered instead, nor what tools returned."""
    return [Message(one.role, one.content) for one in kept if one.role in (Role.USER, Role.ASSISTANT) and one.content]
