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
    Overloaded,
    RateLimited,
    TooLarge,
    TooSlowBody,
    Unavailable,
)
from shared.history import MAX_LISTED, Mode
from shared.wire.history_body import HistoryMessageBody, MessagesBody, NewChatBody

_MODE: Schema = {"type": "string", "enum": [mode.value for mode in Mode]}
_TIME: Schema = {"type": "string", "format": "date-time"}

_CHAT = record(
    {
        "id": STRING,
        "title": STRING,
        "lastMessage": described(STRING, "The beginning of the last message; empty if there is none."),
        "lastUpdated": _TIME,
        "messageCount": INTEGER,
        "mode": _MODE,
    },
    description="A chat, as in a list of chats.",
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
        "finishReason": described(STRING, "Why the answer is incomplete; missing if it ended with 'stop'."),
        "context": described({}, "As its writer sent it, such as an answer's sources and thoughts."),
    },
    description="A stored message.",
)
HISTORY_SCHEMAS: dict[str, Schema] = {"Chat": _CHAT, "ChatMessage": _MESSAGE}
"""Schemas of the answers of these routes, by name."""

ID_PARAMETER: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The chat's id.",
    "schema": STRING,
}
_MODE_PARAMETER: Schema = {
    "name": "mode",
    "in": "query",
    "required": False,
    "description": "The kind of chat.",
    "schema": _MODE,
}
_LIMIT_PARAMETER: Schema = {
    "name": "limit",
    "in": "query",
    "required": False,
    "description": "The number of chats in a page, at most.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": MAX_LISTED},
}
_CURSOR_PARAMETER: Schema = {
    "name": "cursor",
    "in": "query",
    "required": False,
    "description": "Where the page begins, as the `Link` header of the page before says.",
    "schema": STRING,
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
_BODY_ERRORS: tuple[ErrorType, ...] = (*_ERRORS, TooSlowBody, TooLarge, Overloaded)

HISTORY_ROUTES: tuple[PlainRoute, ...] = (
    PlainRoute(
        "chat-history",
        "get",
        "list_chats",
        "history",
        "List the caller's chats",
        "The newest first, of one mode or of all. If there are more, the header `Link` names the next page.",
        _ERRORS,
        answers={200: Answer("The chats.", schema=list_of(ref("Chat")))},
        parameters=(_MODE_PARAMETER, _LIMIT_PARAMETER, _CURSOR_PARAMETER),
    ),
    PlainRoute(
        "chat-history",
        "post",
        "start_chat",
        "history",
        "Start a chat",
        "Makes an empty chat. Later requests can use its id.",
        _BODY_ERRORS,
        answers={201: Answer("The chat.", schema=ref("Chat"))},
        body=ref(NewChatBody.__name__),
    ),
    PlainRoute(
        "chat-history/{id}/messages",
        "get",
        "get_chat_messages",
        "history",
        "Get the messages of a chat",
        "The oldest first.",
        _ERRORS,
        answers={200: Answer("The messages.", schema=list_of(ref("ChatMessage")))},
        parameters=(ID_PARAMETER,),
    ),
    PlainRoute(
        "chat-history/{id}",
        "put",
        "update_chat",
        "history",
        "Add messages to a chat, update them, or rename it",
        "A message replaces the one with the same id, or is added at the end. Other messages stay, and so does the "
        "title unless there is a new one.",
        _BODY_ERRORS,
        answers={200: Answer("The chat as it is now.", schema=ref("Chat"))},
        parameters=(ID_PARAMETER,),
        body=ref(MessagesBody.__name__),
    ),
    PlainRoute(
        "chat-history/{id}",
        "delete",
        "delete_chat",
        "history",
        "Delete a chat",
        "Deletes the chat with all its messages.",
        _ERRORS,
        answers={204: Answer("The chat is deleted.", None)},
        parameters=(ID_PARAMETER, _MODE_PARAMETER),
    ),
)
"""The routes, in the documents' order."""
