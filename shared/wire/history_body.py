"""The bodies and JSON shapes of the chat history routes.

Source: ChatUI's `ApiHistoryService` and its `Message`. Unknown keys are ignored; `null` counts as left out.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from shared.chat_types import Json, Role
from shared.errors import BadRequest
from shared.history import Conversation, Mode, StoredMessage
from shared.wire.request_body import BodyModel

HISTORY_BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of the body of a PUT, at most: it may have a whole chat, which the store limits to the same size."""
NEW_CHAT_EXAMPLE = '{"title": "…"}'
MESSAGES_EXAMPLE = '{"messages": [{"id": "…", "role": "user", "content": "…"}]}'
UNTITLED = "New Chat"
"""ChatUI's title for a chat without one."""


class NewChatBody(BodyModel):
    """`POST /chat-history`."""

    mode: Literal["standard", "multiAgent"] = Field(default="standard", description="What kind of chat it is.")
    title: str | None = Field(default=None, max_length=200, description="What lists show.")


class HistoryMessageBody(BodyModel):
    """One message of `PUT /chat-history/{id}`."""

    id: str = Field(min_length=1, max_length=200, description="Unique in the chat: says which message it is.")
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    timestamp: str | None = Field(default=None, max_length=100, description="Comes back as it was sent.")
    agent_name: str | None = Field(default=None, alias="agentName", max_length=200)
    agent_identifier: str | None = Field(default=None, alias="agentIdentifier", max_length=200)
    tool_call: Any = Field(default=None, alias="toolCall", description="Any JSON.")
    tool_call_id: str | None = Field(default=None, alias="toolCallId", max_length=200)
    finish_reason: str | None = Field(default=None, alias="finishReason", max_length=100)


class MessagesBody(BodyModel):
    """`PUT /chat-history/{id}`."""

    messages: list[HistoryMessageBody] = Field(description="The messages to add, or to update by their ids.")


def read_mode(value: str | None) -> Mode | None:
    """The `mode` of a query; None for all.

    Raises:
        BadRequest: lists the modes.
    """
    if not value:
        return None
    try:
        return Mode(value)
    except ValueError:
        raise BadRequest(f"mode: should be {' or '.join(f"'{mode}'" for mode in Mode)}.") from None


def parse_new_chat(body: Mapping[str, Json]) -> tuple[Mode, str]:
    """The mode and the title of a new chat.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    chat = NewChatBody.read(body)
    return Mode(chat.mode), (chat.title or "").strip() or UNTITLED


def parse_messages(body: Mapping[str, Json], now: datetime) -> list[StoredMessage]:
    """The messages to add or to update. One without a timestamp gets `now`.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    return [_message(message, now) for message in MessagesBody.read(body).messages]


def conversation_json(chat: Conversation) -> dict[str, Json]:
    """A chat as a list shows it."""
    return {
        "id": chat.id,
        "title": chat.title,
        "lastMessage": chat.last_message,
        "lastUpdated": _time(chat.last_updated),
        "messageCount": chat.message_count,
        "mode": chat.mode.value,
    }


def message_json(message: StoredMessage) -> dict[str, Json]:
    """A message, without the keys that have no value."""
    optional: dict[str, Json] = {
        "agentName": message.agent_name,
        "agentIdentifier": message.agent_identifier,
        "toolCall": message.tool_call,
        "toolCallId": message.tool_call_id,
        "finishReason": message.finish_reason,
    }
    return {
        "id": message.id,
        "content": message.content,
        "role": message.role.value,
        "timestamp": message.timestamp,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _message(message: HistoryMessageBody, now: datetime) -> StoredMessage:
    return StoredMessage(
        id=message.id,
        role=Role(message.role),
        content=message.content,
        timestamp=_time(now) if message.timestamp is None else message.timestamp,
        agent_name=message.agent_name,
        agent_identifier=message.agent_identifier,
        tool_call=message.tool_call,
        tool_call_id=message.tool_call_id,
        finish_reason=message.finish_reason,
    )


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
