"""The routes of azure-search-openai-demo's web page besides chat, as data."""

from functools import partial
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, Field, with_config

from shared.description.history_routes import HISTORY_ERRORS, ID_PARAMETER
from shared.description.routes import (
    ABOUT_THE_APP,
    BODY_ERRORS,
    CALLER_ERRORS,
    OPEN_ERRORS,
    Answer,
    Parameter,
    PlainRoute,
)
from shared.description.schemas import Kind, one_of_these
from shared.errors import AlreadyThere, NotFound, RateLimited, TooLarge, Unreadable
from shared.wire.demo_page import MAX_DEMO_CHATS, DemoChatBody
from shared.wire.table import NAMES


@with_config(extra="allow")
class DemoConfig(TypedDict):
    """The options that the page shows."""


class DemoScopes(TypedDict):
    """A request for a token."""

    scopes: list[str]


class DemoAuthSetup(TypedDict):
    """How users of the page sign in."""

    useLogin: Annotated[bool, Field(description="Whether the page signs users in.")]
    requireAccessControl: bool
    enableUnauthenticatedAccess: bool
    msalConfig: Annotated[dict[str, Any], Field(description="Configuration of MSAL.js.")]
    loginRequest: DemoScopes
    tokenRequest: DemoScopes


class DemoListedChat(TypedDict):
    """A chat in the list."""

    id: str
    entra_oid: str
    title: str
    timestamp: Annotated[int, Field(description="When it was last written, in Unix milliseconds.")]


class DemoChats(TypedDict):
    """The chats that the page has kept."""

    sessions: list[DemoListedChat]
    continuation_token: Annotated[str | None, Field(description="Where the next page of the list begins.")]


_Answer = Annotated[
    dict[str, Any], Field(description="The answer as it came, in the shape of every version of the page.")
]


class DemoMessage(TypedDict):
    """What was done."""

    message: str


class DemoFileBody(BaseModel):
    """The document that is deleted."""

    filename: str = Field(description="Its name, as the list has it.")


class DemoChat(TypedDict):
    """A chat: each question with its answer."""

    id: str
    entra_oid: str
    answers: list[Annotated[list[str | _Answer], Field(min_length=2, max_length=2)]]


PAGES = [name for name, protocol in NAMES.items() if protocol.demo_page]
_PROTOCOL = Parameter("path", "protocol", "A protocol that the page speaks.", one_of_these(PAGES))
_COUNT = Parameter("query", "count", "How many chats.", Annotated[int, Field(ge=1, le=MAX_DEMO_CHATS)])
_AFTER = Parameter("query", "continuationToken", "The token of the list before.")
_open = partial(PlainRoute, tag=ABOUT_THE_APP, errors=OPEN_ERRORS, visible=False)
_DOCUMENT_ERRORS = (*CALLER_ERRORS, NotFound, RateLimited)
_documents = partial(PlainRoute, tag="documents", errors=_DOCUMENT_ERRORS, visible=False)
_chats = partial(PlainRoute, tag="history", errors=HISTORY_ERRORS, visible=False)


def _setup(path: str, operation: str, summary: str, kind: Kind) -> PlainRoute:
    about = "For the web page of azure-search-openai-demo."
    return _open(
        "get", f"{{protocol}}/{path}", operation, summary, about, {200: Answer("The answer.", kind)}, (_PROTOCOL,)
    )


DEMO_ROUTES = (
    _setup("config", "get_demo_config", "Get the options of the demo's page", DemoConfig),
    _setup("auth_setup", "get_demo_auth_setup", "Get how users of the demo's page sign in", DemoAuthSetup),
    _chats(
        "post",
        "{protocol}/chat_history",
        "keep_demo_chat",
        "Keep a chat of the demo's page",
        "The page sends the whole chat after each answer.",
        {201: Answer("The chat is kept.", dict[str, Any])},
        (_PROTOCOL,),
        errors=(*HISTORY_ERRORS, TooLarge),
        body=DemoChatBody,
    ),
    _chats(
        "get",
        "{protocol}/chat_history/sessions",
        "list_demo_chats",
        "List the caller's chats that the demo's page has kept",
        "The newest first.",
        {200: Answer("The chats.", DemoChats)},
        (_PROTOCOL, _COUNT, _AFTER),
    ),
    _chats(
        "get",
        "{protocol}/chat_history/sessions/{id}",
        "get_demo_chat",
        "Get a chat of the demo's page",
        "Each question with its answer, the oldest first.",
        {200: Answer("The chat.", DemoChat)},
        (_PROTOCOL, ID_PARAMETER),
    ),
    _chats(
        "delete",
        "{protocol}/chat_history/sessions/{id}",
        "delete_demo_chat",
        "Delete a chat of the demo's page",
        "Deletes the chat with all its messages.",
        {204: Answer("The chat is deleted.")},
        (_PROTOCOL, ID_PARAMETER),
    ),
    _documents(
        "post",
        "{protocol}/upload",
        "demo_upload",
        "Add a document that only the caller sees",
        "A form with one file, in a part named 'file'. It replaces one of the same name.",
        {200: Answer("It is indexed.", DemoMessage)},
        (_PROTOCOL,),
        errors=(*_DOCUMENT_ERRORS, *BODY_ERRORS, AlreadyThere, Unreadable),
    ),
    _documents(
        "get",
        "{protocol}/list_uploaded",
        "demo_list_uploaded",
        "List the names of these documents",
        "By name.",
        {200: Answer("The names.", list[str])},
        (_PROTOCOL,),
    ),
    _documents(
        "post",
        "{protocol}/delete_uploaded",
        "demo_delete_uploaded",
        "Delete one of these documents",
        "Deletes it from the index and from the store.",
        {200: Answer("It is deleted.", DemoMessage)},
        (_PROTOCOL,),
        errors=(*_DOCUMENT_ERRORS, *BODY_ERRORS, AlreadyThere),
        body=DemoFileBody,
    ),
    _open(
        "post",
        "{protocol}/speech",
        "demo_speech",
        "Say what the demo's server has and this app has not",
        "This app makes no speech.",
        parameters=(_PROTOCOL,),
    ),
)
"""The routes, in the documents' order."""
