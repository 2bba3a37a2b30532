"""Request bodies and JSON answers of the chat history routes.

Source: ChatUI's `ApiHistoryService` and its `Message`. Unknown keys are ignored; `null` counts as missing.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from pydantic import FailFast, Field

from shared import history
from shared.chat_types import Json, Role
from shared.errors import BadRequest, is_error_text
from shared.history.sharing import cited_in
from shared.wire.framing import encode_json
from shared.wire.request_body import BodyModel, read_limit

HISTORY_BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of the body of a PUT, at most. It may contain a whole chat, which the store limits to the same size."""
MAX_HISTORY_MESSAGES = 10_000
"""Messages in the body of a PUT."""
LONGEST_SEARCH = 200
"""Characters of the words to search for."""
NEW_CHAT_EXAMPLE = '{"title": "…"}'
MESSAGES_EXAMPLE = '{"messages": [{"id": "…", "role": "user", "content": "…"}]}'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile("([0-9]{1,16})-([0-9a-f-]{36})")
"""The time of a chat's last update, in microseconds since 1970, and its id."""


ChatMode = Literal["standard", "multiAgent"]
MessageRole = Literal["user", "assistant", "system", "tool"]


class NewChatBody(BodyModel):
    """`POST /chat-history`."""

    mode: ChatMode = Field(default="standard", description="The kind of chat.")
    title: str | None = Field(default=None, max_length=200, description="The title in lists of chats.")
    elsewhere: bool = Field(default=False, description="Whether the front end that begins it is not ChatUI.")


class HistoryMessageBody(BodyModel):
    """One message of `PUT /chat-history/{id}`."""

    id: str = Field(min_length=1, max_length=200, description="Id of the message, unique in the chat.")
    role: MessageRole
    content: str
    timestamp: str | None = Field(default=None, max_length=100, description="Returned unchanged.")
    agent_name: str | None = Field(default=None, alias="agentName", max_length=200)
    agent_identifier: str | None = Field(default=None, alias="agentIdentifier", max_length=200)
    tool_call: Any = Field(default=None, alias="toolCall", description="Any JSON.")
    tool_call_id: str | None = Field(default=None, alias="toolCallId", max_length=200)
    finish_reason: str | None = Field(default=None, alias="finishReason", max_length=100)
    context: Any = Field(default=None, description="Any JSON, such as an answer's sources and thoughts.")


class MessagesBody(BodyModel):
    """`PUT /chat-history/{id}`."""

    messages: Annotated[list[HistoryMessageBody], FailFast()] = Field(
        default=[], max_length=MAX_HISTORY_MESSAGES, description="The messages to add, or to update by their ids."
    )
    title: str | None = Field(default=None, max_length=200, description="A new title in lists of chats.")
    pinned: bool | None = Field(default=None, description="Whether the chat is pinned; missing: as before.")


def read_mode(value: str | None) -> history.Mode | None:
    """Read the `mode` parameter of a request; None: all modes.

    Raises:
        BadRequest: the mode is unknown; lists the modes.
    """
    if not value:
        return None
    try:
        return history.Mode(value)
    except ValueError:
        raise BadRequest(f"mode: should be {' or '.join(f"'{mode}'" for mode in history.Mode)}.") from None


class ListedPage(history.Page, frozen=True):
    """The page of the caller's chats that a request is for."""

    search: str = ""
    """Words that the chats have; empty: all chats."""
    shared: bool = False
    """Whether only chats that are shared are listed."""

    def following(self, last: history.Conversation) -> str:
        """Return the query of the next page.

        Args:
            last: The last chat of this page.
        """
        query = {"mode": self.mode, "limit": self.limit, "search": self.search, "pinned": self.pinned and "true"}
        query["shared"] = self.shared and "true"
        query["cursor"] = cursor_after(last)
        return urlencode({name: value for name, value in query.items() if value})


def cursor_after(last: history.Conversation) -> str:
    """Make the text that says where the page after this chat begins; `read_page` reads it."""
    microseconds = (last.last_updated - _EPOCH) // timedelta(microseconds=1)
    return f"{microseconds}-{last.id}"


def read_page(query: Mapping[str, str]) -> ListedPage:
    """Read the parameters of a request for a list of chats.

    Raises:
        BadRequest: a parameter is wrong; says what it accepts.
    """
    limit = read_limit(query, history.MAX_LISTED)
    after = None
    if cursor := query.get("cursor"):
        if not (parts := _CURSOR.fullmatch(cursor)):
            raise BadRequest("cursor: should be as in the Link header of the page before.")
        after = history.ListPosition(_EPOCH + timedelta(microseconds=int(parts[1])), parts[2])
    search = query.get("search", "").strip()
    if len(search) > LONGEST_SEARCH:
        raise BadRequest(f"search: should have at most {LONGEST_SEARCH} characters.")
    pinned, shared = (_is_set(query, name) for name in ("pinned", "shared"))
    return ListedPage(read_mode(query.get("mode")), limit, after, pinned, search, shared)


def _is_set(query: Mapping[str, str], name: str) -> bool:
    if query.get(name, "") not in ("", "true"):
        raise BadRequest(f"{name}: should be 'true', or left out.")
    return bool(query.get(name))


def parse_new_chat(body: Mapping[str, Json]) -> tuple[history.Mode, str, str | None]:
    """Read the mode and the title of a new chat, and make its id if its front end is not ChatUI.

    Raises:
        BadRequest: a key is wrong; names each wrong key and its accepted values.
    """
    chat = NewChatBody.read(body)
    return (
        history.Mode(chat.mode),
        (chat.title or "").strip() or history.UNTITLED,
        history.new_id_elsewhere() if chat.elsewhere else None,
    )


def parse_update(body: Mapping[str, Json], now: datetime) -> tuple[list[history.StoredMessage], history.Edit]:
    """Read the messages to add or to update, and what else changes.

    A message without a timestamp gets `now`.

    Raises:
        BadRequest: a key is wrong, or there is nothing; names each wrong key and its accepted values.
    """
    update = MessagesBody.read(body)
    title = (update.title or "").strip()
    if not title and update.pinned is None and body.get("messages") is None:
        raise BadRequest("messages: is missing. Send messages, a title, or `pinned`.")
    return [_message(message, now) for message in update.messages], history.Edit(title, update.pinned)


def conversation_json(chat: history.Conversation) -> dict[str, Json]:
    """The JSON of a chat in a list."""
    return {
        "id": chat.id,
        "title": chat.title,
        "lastMessage": chat.last_message,
        "lastUpdated": _time(chat.last_updated),
        "messageCount": chat.message_count,
        "mode": chat.mode.value,
        **({"pinned": True} if chat.pinned else {}),
        **({"found": chat.found} if chat.found else {}),
    }


def message_json(message: history.StoredMessage) -> dict[str, Any]:
    """The JSON of a message, without the keys that have no value; its tool call and context are already encoded."""
    fields = {field.alias or name: getattr(message, name) for name, field in HistoryMessageBody.model_fields.items()}
    return {
        key: value for key, value in fields.items() if value not in (None, history.NO_TOOL_CALL, history.NO_CONTEXT)
    }


def shared_json(copy: history.Conversation, messages: Iterable[history.StoredMessage]) -> dict[str, Any]:
    """The JSON of a shared chat."""
    shown = [
        {
            "role": message.role.value,
            "content": message.content,
            "timestamp": message.timestamp,
            "citations": cited_in(message),
            **({"agentName": message.agent_name} if message.agent_name else {}),
            **({"finishReason": message.finish_reason} if message.finish_reason else {}),
        }
        for message in messages
    ]
    return {"id": copy.id, "title": copy.title, "shared": _time(copy.last_updated), "messages": shown}


def _message(message: HistoryMessageBody, now: datetime) -> history.StoredMessage:
    # A client may show an error as an answer.
    is_error = message.role != "user" and is_error_text(message.content)
    return history.StoredMessage(
        id=message.id,
        role=Role(message.role),
        content=message.content,
        timestamp=_time(now) if message.timestamp is None else message.timestamp,
        agent_name=message.agent_name,
        agent_identifier=message.agent_identifier,
        tool_call=history.NO_TOOL_CALL if message.tool_call is None else msgspec.Raw(encode_json(message.tool_call)),
        tool_call_id=message.tool_call_id,
        finish_reason=message.finish_reason or ("error" if is_error else None),
        context=history.NO_CONTEXT if message.context is None else msgspec.Raw(encode_json(message.context)),
    )


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
