"""The boundary to chat history: conversations that belong to an owner, and the messages in them.

Every method takes the owner. A conversation of another owner is not found, as if it did not exist. A message has an id
that is unique in its conversation: a write replaces the message with that id or adds it. So clients can send a whole
conversation again (ChatUI's `updateChat`, 'the messages to add or update') or only new messages, and concurrent writers
do not lose each other's messages.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NoReturn, Protocol
from uuid import NAMESPACE_OID, uuid4, uuid5

import msgspec

from shared.chat_types import Caller, PartHealth, Role
from shared.errors import NotFound

UNTITLED = "New Chat"
"""Title of a chat that nobody gave one, as in ChatUI, until it takes the words of its first question."""
MOST_MESSAGES = 1_000
"""Messages in one conversation; a chat request may have as many."""
MAX_LISTED = 500
"""Conversations in one page of a list: usually some 200 kB."""
SESSION_ID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
"""A session id: a UUID of version 8, which RFC 9562 leaves to applications. Stores make ids of version 4."""
_SESSION_ID = re.compile(SESSION_ID_PATTERN)


def new_session_id(turn_id: str | None = None) -> str:
    """Make the id of a chat that its client keeps: in the browser, or here by sending the whole chat after each turn.

    The recorder adds nothing to such a chat, or each message would be there twice. A turn that begins again as a run of
    another process gives the same id.
    """
    return session_id_of(str(uuid5(NAMESPACE_OID, turn_id) if turn_id else uuid4()))


def session_id_of(chat_id: str) -> str:
    """Return the session id under which the playground asks in a chat that it keeps with `PUT`."""
    return f"{chat_id[:14]}8{chat_id[15:]}"


def new_id_elsewhere() -> str:
    """Make the id of a chat that another front end than ChatUI begins: a UUID of version 5, where stores make 4."""
    return str(uuid5(NAMESPACE_OID, uuid4().hex))


def is_of_chatui(chat_id: str) -> bool:
    """Whether a chat can be ChatUI's, by its id."""
    return chat_id[14:15] == "4"


def is_session_id(text: str) -> bool:
    """Whether a text is an id of `new_session_id`."""
    return _SESSION_ID.fullmatch(text) is not None


class Mode(StrEnum):
    """The kind of a conversation, with ChatUI's values."""

    STANDARD = "standard"
    MULTI_AGENT = "multiAgent"


class Conversation(msgspec.Struct, frozen=True):
    """A conversation without its messages, as lists show it."""

    id: str
    """A UUID, made by the store."""
    title: str
    """The title that its owner sees."""
    mode: Mode
    """The kind; it never changes."""
    last_message: str
    """The start of the last message; empty if there is none."""
    last_updated: datetime
    """Time of the last write, or of its creation, in UTC."""
    message_count: int
    """Number of messages."""
    pinned: bool = False
    """Whether its owner wants it first in lists."""
    found: str = ""
    """In a search: the text around the words in one of its messages; empty: all are in the title."""


class ListPosition(NamedTuple):
    """A place in the list of an owner's conversations: after the conversation with these values."""

    last_updated: datetime
    """When it was last updated."""
    id: str
    """Its id."""


class Page(msgspec.Struct, frozen=True):
    """Which part of an owner's conversations is listed."""

    mode: Mode | None = None
    """Their kind; None: all."""
    limit: int = MAX_LISTED
    """Maximum number of conversations."""
    after: ListPosition | None = None
    """Where the page begins; None: with the newest one."""
    pinned: bool = False
    """Whether only pinned ones are listed."""


NEWEST = Page()
"""The newest conversations, of all kinds."""

NO_TOOL_CALL = msgspec.Raw()
"""The `tool_call` of a message without one."""
NO_CONTEXT = msgspec.Raw()
"""The `context` of a message without one."""


class StoredMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message in the history. The stores keep it as JSON with these keys."""

    id: str
    """Made by the writer; unique in the conversation."""
    role: Role
    """The role of the author."""
    content: str
    """The text."""
    timestamp: str
    """The time in the writer's format: ChatUI writes a time of day such as `02:15 PM`, others ISO 8601."""
    agent_name: str | None = None
    """Name of the agent, if an agent wrote it."""
    agent_identifier: str | None = None
    """Identifier of that agent, for programs."""
    tool_call: msgspec.Raw = NO_TOOL_CALL
    """A tool call of an agent: JSON in the writer's format, never parsed, so that it costs no more than its bytes."""
    tool_call_id: str | None = None
    """The id of the tool call that this message answers."""
    finish_reason: str | None = None
    """Why the model's answer ended, unless it was `stop`; such an answer is incomplete."""
    context: msgspec.Raw = NO_CONTEXT
    """What its client sent with it, such as an answer's sources and thoughts; never parsed either."""
    answers: str | None = None
    """The id of the message that it answers, and after which it is read."""


class Edit(msgspec.Struct, frozen=True):
    """What a write changes besides messages."""

    title: str = ""
    """The new title; empty: it stays, and the first messages of a conversation that is `UNTITLED` give it one."""
    pinned: bool | None = None
    """Whether the conversation is pinned now; None: as before. A pin alone leaves the conversation's time as it is."""
    taken_back: Sequence[StoredMessage] = ()
    """Messages to remove by their ids, in the same step, with the title that one of them gave. That is rare."""


NO_EDIT = Edit()
"""A write of messages alone."""


class HistoryStore(Protocol):
    """Keeps conversations. Every method raises Unavailable if the store cannot be used."""

    async def create(self, owner: str, mode: Mode, title: str, session_id: str | None = None) -> Conversation:
        """Start an empty conversation.

        Args:
            owner: The owner.
            mode: The kind.
            title: The title.
            session_id: The id, of `new_session_id` or `new_id_elsewhere`; if the owner has that conversation, it is
                returned as it is. None: the store makes an id.

        Raises:
            NotFound: the session id is another owner's.
            TooLarge: the owner has as many conversations as the store keeps.
        """
        ...

    async def conversations(self, owner: str, page: Page = NEWEST) -> Sequence[Conversation]:
        """List a page of the owner's conversations, newest first."""
        ...

    async def messages(self, owner: str, conversation_id: str, newest: int = MOST_MESSAGES) -> Sequence[StoredMessage]:
        """Return the newest messages, oldest first, an answer after what it `answers`: all, or a smaller number.

        Raises:
            NotFound: the owner has no such conversation.
        """
        ...

    async def write(
        self, owner: str, conversation_id: str, messages: Sequence[StoredMessage], edit: Edit = NO_EDIT
    ) -> Conversation:
        """Replace the message with the same id, or add at the end, for each message: all of them, or none.

        Raises:
            NotFound: the owner has no such conversation.
            TooLarge: the conversation would have too many messages, or too many bytes.
        """
        ...

    async def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation with everything in it.

        Raises:
            NotFound: the owner has no such conversation.
        """
        ...

    async def delete_older(self, before: datetime) -> None:
        """Delete all conversations, of every owner, that were last written before a time."""
        ...

    async def check(self) -> PartHealth:
        """Check whether the store can be used."""
        ...


def owner_of(caller: Caller) -> str:
    """Return the owner of a caller's conversations. Callers who are not signed in share one owner."""
    return caller.id or "anonymous"


async def _refuse(*_: object, **__: object) -> NoReturn:
    raise NotFound("This app keeps no chats: HISTORY_BACKEND is 'off'.")


class NoHistory:
    """The `HistoryStore` of `HISTORY_BACKEND=off`: every request for a conversation is a NotFound."""

    create = conversations = messages = write = delete = delete_older = staticmethod(_refuse)

    async def check(self) -> PartHealth:
        """Report that history is off, which is no fault."""
        return PartHealth("off", ok=True, detail="No chats are kept (HISTORY_BACKEND).", needed=False)
