"""The routes of the chat history, as data."""

from typing import get_args

from shared.description.routes import Answer, ErrorType, PlainRoute
from shared.description.schemas import INTEGER, STRING, Schema, described, list_of, record, ref
from shared.errors import (
    BadRequest,
    InternalError,
    NotConfigured,
    NotFound,
    NotSignedIn,
    RateLimited,
    TooLarge,
    Unavailable,
)
from shared.history import Mode
from shared.wire.history_body import HistoryMessageBody, MessagesBody, NewChatBody

_MODE: Schema = {"type": "string", "enum": [mode.value for mode in Mode]}
_TIME: Schema = {"type": "string", "format": "date-time"}

_CHAT = record(
    {
        "id": STRING,
        "title": STRING,
        "lastMessage": described(STRING, "How the last message starts; empty when there is none."),
        "lastUpdated": _TIME,
        "messageCount": INTEGER,
        "mode": _MODE,
    },
    description="A chat as a list shows it.",
)
_MESSAGE = record(
    {
        "id": STRING,
        "content": STRING,
        "role": {"type": "string", "enum": [*get_args(HistoryMessageBody.model_fields["role"].annotation)]},
        "timestamp": described(STRING, "As its writer sent it."),
    },
    {
        "agentName": STRING,
        "agentIdentifier": STRING,
        "toolCall": {},
        "toolCallId": STRING,
        "finishReason": described(STRING, "How the answer ended, where that was not 'stop': it is not whole."),
    },
    description="A message that is kept.",
)
HISTORY_SCHEMAS: dict[str, Schema] = {"Chat": _CHAT, "ChatMessage": _MESSAGE}
"""Schemas of what these routes answer, by name."""

_ID: Schema = {"name": "id", "in": "path", "required": True, "description": "The chat's id.", "schema": STRING}
_OF_MODE: Schema = {
    "name": "mode",
    "in": "query",
    "required": False,
    "description": "What kind of chat.",
    "schema": _MODE,
}
_ERRORS: tuple[ErrorType, ...] = (
    BadRequest,
    NotSignedIn,
    NotFound,
    InternalError,
    Unavailable,
    NotConfigured,
    RateLimited,
)

HISTORY_ROUTES: tuple[PlainRoute, ...] = (
    PlainRoute(
        "chat-history",
        "get",
        "list_chats",
        "history",
        "List the caller's chats",
        "The newest first; of one mode, or all.",
        _ERRORS,
        answers={200: Answer("The chats.", schema=list_of(ref("Chat")))},
        parameters=(_OF_MODE,),
    ),
    PlainRoute(
        "chat-history",
        "post",
        "start_chat",
        "history",
        "Start a chat",
        "An empty chat, whose id later requests may name.",
        (*_ERRORS, TooLarge),
        answers={201: Answer("The chat.", schema=ref("Chat"))},
        body=ref(NewChatBody.__name__),
    ),
    PlainRoute(
        "chat-history/{id}/messages",
        "get",
        "get_chat_messages",
        "history",
        "Get what was said in a chat",
        "The oldest first.",
        _ERRORS,
        answers={200: Answer("The messages.", schema=list_of(ref("ChatMessage")))},
        parameters=(_ID,),
    ),
    PlainRoute(
        "chat-history/{id}",
        "put",
        "update_chat",
        "history",
        "Add messages to a chat, or update them",
        "Each message takes the place of the one with its id, or else comes at the end; the others stay.",
        (*_ERRORS, TooLarge),
        answers={200: Answer("The chat as it is now.", schema=ref("Chat"))},
        parameters=(_ID,),
        body=ref(MessagesBody.__name__),
    ),
    PlainRoute(
        "chat-history/{id}",
        "delete",
        "delete_chat",
        "history",
        "Delete a chat",
        "With everything in it.",
        _ERRORS,
        answers={204: Answer("It is deleted.", None)},
        parameters=(_ID, _OF_MODE),
    ),
)
"""In the order of the documents."""
