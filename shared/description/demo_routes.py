"""The routes of azure-search-openai-demo's web page besides chat, as data."""

from typing import Literal

from shared.description.history_routes import ID_PARAMETER
from shared.description.routes import ABOUT_THE_APP, Answer, ErrorType, PlainRoute
from shared.description.schemas import BOOLEAN, INTEGER, STRING, Schema, described, list_of, nullable, record, ref
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
from shared.wire.demo_page import MAX_DEMO_CHATS, DemoChatBody
from shared.wire.table import NAMES

_OBJECT: Schema = {"type": "object"}
_ANSWER = described(_OBJECT, "The answer as it came, in the shape of every version of the page.")
DEMO_SCHEMAS: dict[str, Schema] = {
    "DemoConfig": {"type": "object", "additionalProperties": True, "description": "The options that the page shows."},
    "DemoAuthSetup": record(
        {
            "useLogin": described(BOOLEAN, "Whether the page signs users in."),
            "requireAccessControl": BOOLEAN,
            "enableUnauthenticatedAccess": BOOLEAN,
            "msalConfig": described(_OBJECT, "Configuration of MSAL.js."),
            "loginRequest": record({"scopes": list_of(STRING)}),
            "tokenRequest": record({"scopes": list_of(STRING)}),
        },
        description="How users of the page sign in.",
    ),
    "DemoChats": record(
        {
            "sessions": list_of(
                record(
                    {
                        "id": STRING,
                        "entra_oid": STRING,
                        "title": STRING,
                        "timestamp": described(INTEGER, "When it was last written, in Unix milliseconds."),
                    }
                )
            ),
            "continuation_token": nullable(described(STRING, "Where the next page of the list begins.")),
        },
        description="The chats that the page has kept.",
    ),
    "DemoChat": record(
        {
            "id": STRING,
            "entra_oid": STRING,
            "answers": list_of({"type": "array", "items": {"anyOf": [STRING, _ANSWER]}, "minItems": 2, "maxItems": 2}),
        },
        description="A chat: each question with its answer.",
    ),
}
"""Schemas of the answers of these routes, by name."""


def _parameter(name: str, place: str, schema: Schema, description: str) -> Schema:
    required = place == "path"
    return {"name": name, "in": place, "required": required, "description": description, "schema": schema}


PAGES = [name for name, protocol in NAMES.items() if protocol.demo_page]
_PROTOCOL = _parameter("protocol", "path", {"type": "string", "enum": PAGES}, "A protocol that the page speaks.")
_COUNT = _parameter("count", "query", {"type": "integer", "minimum": 1, "maximum": MAX_DEMO_CHATS}, "How many chats.")
_AFTER = _parameter("continuationToken", "query", STRING, "The token of the list before.")
_SETUP_ERRORS: tuple[ErrorType, ...] = (NotFound, InternalError, NotConfigured)
_ERRORS: tuple[ErrorType, ...] = (*_SETUP_ERRORS, BadRequest, NotSignedIn, Unavailable, RateLimited)


def _setup(path: str, operation: str, schema: str, summary: str) -> PlainRoute:
    return PlainRoute(
        f"{{protocol}}/{path}",
        "get",
        operation,
        ABOUT_THE_APP,
        summary,
        "For the web page of azure-search-openai-demo.",
        _SETUP_ERRORS,
        visible=False,
        answers={200: Answer("The answer.", schema=ref(schema))},
        parameters=(_PROTOCOL,),
    )


_NOT_OFFERED: tuple[tuple[str, Literal["get", "post"]], ...] = (
    ("upload", "post"),
    ("list_uploaded", "get"),
    ("delete_uploaded", "post"),
    ("speech", "post"),
)
DEMO_ROUTES: tuple[PlainRoute, ...] = (
    _setup("config", "get_demo_config", "DemoConfig", "Get the options of the demo's page"),
    _setup("auth_setup", "get_demo_auth_setup", "DemoAuthSetup", "Get how users of the demo's page sign in"),
    PlainRoute(
        "{protocol}/chat_history",
        "post",
        "keep_demo_chat",
        "history",
        "Keep a chat of the demo's page",
        "The page sends the whole chat after each answer.",
        (*_ERRORS, TooLarge),
        visible=False,
        answers={201: Answer("The chat is kept.", schema=_OBJECT)},
        parameters=(_PROTOCOL,),
        body=ref(DemoChatBody.__name__),
    ),
    PlainRoute(
        "{protocol}/chat_history/sessions",
        "get",
        "list_demo_chats",
        "history",
        "List the caller's chats that the demo's page has kept",
        "The newest first.",
        _ERRORS,
        visible=False,
        answers={200: Answer("The chats.", schema=ref("DemoChats"))},
        parameters=(_PROTOCOL, _COUNT, _AFTER),
    ),
    PlainRoute(
        "{protocol}/chat_history/sessions/{id}",
        "get",
        "get_demo_chat",
        "history",
        "Get a chat of the demo's page",
        "Each question with its answer, the oldest first.",
        _ERRORS,
        visible=False,
        answers={200: Answer("The chat.", schema=ref("DemoChat"))},
        parameters=(_PROTOCOL, ID_PARAMETER),
    ),
    PlainRoute(
        "{protocol}/chat_history/sessions/{id}",
        "delete",
        "delete_demo_chat",
        "history",
        "Delete a chat of the demo's page",
        "Deletes the chat with all its messages.",
        _ERRORS,
        visible=False,
        answers={204: Answer("The chat is deleted.", None)},
        parameters=(_PROTOCOL, ID_PARAMETER),
    ),
    *(
        PlainRoute(
            f"{{protocol}}/{name}",
            method,
            f"demo_{name}",
            ABOUT_THE_APP,
            "Say what the demo's server has and this app has not",
            "This app takes no uploads from users and makes no speech.",
            _SETUP_ERRORS,
            visible=False,
            parameters=(_PROTOCOL,),
        )
        for name, method in _NOT_OFFERED
    ),
)
"""The routes, in the documents' order."""
