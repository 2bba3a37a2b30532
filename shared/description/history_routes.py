"""The routes of the chat history, as data."""

from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.description.routes import BODY_ERRORS, CALLER_ERRORS, Answer, Parameter, PlainRoute
from shared.description.schemas import Time
from shared.errors import BadRequest, NotAllowed, NotFound, RateLimited, TooLarge
from shared.history import MAX_LISTED
from shared.wire.history_body import LONGEST_SEARCH, ChatMode, MessageRole, MessagesBody, NewChatBody


class Chat(TypedDict):
    """A chat, as in a list of chats."""

    id: str
    title: str
    lastMessage: Annotated[str, Field(description="The beginning of the last message; empty if there is none.")]
    lastUpdated: Time
    messageCount: int
    mode: ChatMode
    pinned: NotRequired[Annotated[Literal[True], Field(description="The chat is pinned; missing if it is not.")]]


class ChatMessage(TypedDict):
    """A stored message."""

    id: str
    content: str
    role: MessageRole
    timestamp: Annotated[str, Field(description="As its writer sent it.")]
    agentName: NotRequired[str]
    agentIdentifier: NotRequired[str]
    toolCall: NotRequired[Any]
    toolCallId: NotRequired[str]
    finishReason: NotRequired[
        Annotated[str, Field(description="Why the answer is incomplete; missing if it ended with 'stop'.")]
    ]
    context: NotRequired[
        Annotated[Any, Field(description="As its writer sent it, such as an answer's sources and thoughts.")]
    ]


class ChatLink(TypedDict):
    """Where a shared chat is."""

    id: str
    url: Annotated[str, Field(description="The address of its copy.")]


class SharedMessage(TypedDict):
    """A message of a shared chat."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: str
    citations: Annotated[list[str], Field(description="The sources that it cites, without documents of one's own.")]
    agentName: NotRequired[str]
    finishReason: NotRequired[str]


class SharedChat(TypedDict):
    """A copy of a chat, as it was when it was shared."""

    id: str
    title: Annotated[str, Field(description="The beginning of its first question.")]
    shared: Time
    messages: list[SharedMessage]


ID_PARAMETER = Parameter("path", "id", "The chat's id.")
_MODE = Parameter("query", "mode", "The kind of chat.", ChatMode)
_LIMIT = Parameter(
    "query",
    "limit",
    "The number of chats in a page, at most.",
    Annotated[int, Field(ge=1, le=MAX_LISTED, default=MAX_LISTED)],
)
_CURSOR = Parameter("query", "cursor", "Where the page begins, as the `Link` header of the page before says.")
_SEARCH = Parameter(
    "query",
    "search",
    "Only chats whose title and texts have these words. A page looks at so many chats, and may have none of them.",
    Annotated[str, Field(max_length=LONGEST_SEARCH)],
)
_PINNED = Parameter("query", "pinned", "Only pinned chats.", Literal["true"])
HISTORY_ERRORS = (*CALLER_ERRORS, BadRequest, NotFound, RateLimited)
_BODY_ERRORS = (*HISTORY_ERRORS, *BODY_ERRORS)
_SHARING_ERRORS = (*HISTORY_ERRORS, NotAllowed, TooLarge)
_route = partial(PlainRoute, tag="history", errors=HISTORY_ERRORS)

HISTORY_ROUTES = (
    _route(
        "get",
        "chat-history",
        "list_chats",
        "List the caller's chats",
        "The newest first, of one mode or of all. If there are more, the header `Link` names the next page.",
        {200: Answer("The chats.", list[Chat])},
        (_MODE, _LIMIT, _SEARCH, _PINNED, _CURSOR),
    ),
    _route(
        "post",
        "chat-history",
        "start_chat",
        "Start a chat",
        "Makes an empty chat. Later requests can use its id.",
        {201: Answer("The chat.", Chat)},
        errors=_BODY_ERRORS,
        body=NewChatBody,
    ),
    _route(
        "get",
        "chat-history/{id}/messages",
        "get_chat_messages",
        "Get the messages of a chat",
        "The oldest first.",
        {200: Answer("The messages.", list[ChatMessage])},
        (ID_PARAMETER,),
    ),
    _route(
        "put",
        "chat-history/{id}",
        "update_chat",
        "Add messages to a chat, update them, rename or pin it",
        "A message replaces the one with the same id, or is added at the end. Other messages stay, and so does the "
        "title unless there is a new one. A pin alone does not change when the chat was last updated.",
        {200: Answer("The chat as it is now.", Chat)},
        (ID_PARAMETER,),
        errors=_BODY_ERRORS,
        body=MessagesBody,
    ),
    _route(
        "delete",
        "chat-history/{id}",
        "delete_chat",
        "Delete a chat",
        "Deletes the chat with all its messages.",
        {204: Answer("The chat is deleted.")},
        (ID_PARAMETER, _MODE),
    ),
    _route(
        "post",
        "chat-history/{id}/share",
        "share_chat",
        "Share a chat",
        "Makes a copy of the chat as it is now, which everybody who signs in can read who has its link. A second time "
        "brings the copy up to date; its link stays.",
        {201: Answer("The link.", ChatLink)},
        (ID_PARAMETER,),
        errors=_SHARING_ERRORS,
    ),
    _route(
        "delete",
        "chat-history/{id}/share",
        "stop_sharing_chat",
        "Stop sharing a chat",
        "Deletes the copy. The chat stays, and has another link if it is shared again.",
        {204: Answer("The chat is not shared.")},
        (ID_PARAMETER,),
        errors=_SHARING_ERRORS,
    ),
    _route(
        "get",
        "shared/{id}",
        "get_shared_chat",
        "Read a shared chat",
        "Also one that another caller has shared.",
        {200: Answer("The copy.", SharedChat)},
        (Parameter("path", "id", "The id of its link."),),
        errors=_SHARING_ERRORS,
    ),
)
"""The routes, in the documents' order."""
