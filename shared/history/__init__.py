"""The boundary to chat history: conversations that belong to an owner, and the messages in them.

Everything is per owner, and nobody learns that another's conversation exists: it is not found, as if it were not there.
A message is known by its id within its conversation, so writing is the same for those who send a whole conversation
again (ChatUI's `updateChat`, 'the messages to add or update') and for those who add to it, and writers at the same time
lose nothing of each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from shared.chat_types import Caller, Json, PartHealth, Role


class Mode(StrEnum):
    """What kind of chat a conversation is, by ChatUI's words."""

    STANDARD = "standard"
    MULTI_AGENT = "multiAgent"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as a list shows it."""

    id: str
    """Given by the store: a UUID."""
    title: str
    """What its owner sees."""
    mode: Mode
    """What kind it is; never changes."""
    last_message: str
    """How the last message starts; empty when there is none."""
    last_updated: datetime
    """When it was made or written to, in UTC."""
    message_count: int
    """How many messages are in it."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message that is kept."""

    id: str
    """Its writer's, unique in the conversation."""
    role: Role
    """Who said it."""
    content: str
    """What was said."""
    timestamp: str
    """When, in its writer's words: ChatUI writes a time of day such as `02:15 PM`, others ISO 8601."""
    agent_name: str | None = None
    """Which agent said it."""
    agent_identifier: str | None = None
    """The same for programs."""
    tool_call: Json = None
    """What an agent called, in its writer's shape."""
    tool_call_id: str | None = None
    """The call that this is the result of."""
    finish_reason: str | None = None
    """How the model's answer ended where that was not `stop`: such an answer is not whole."""


class HistoryStore(Protocol):
    """Keeps conversations. Every method raises Unavailable when the store cannot be used."""

    async def create(self, owner: str, mode: Mode, title: str) -> Conversation:
        """Start an empty conversation."""
        ...

    async def conversations(self, owner: str, mode: Mode | None = None) -> Sequence[Conversation]:
        """Those of the owner, newest first; of one mode, or of all."""
        ...

    async def messages(self, owner: str, conversation_id: str) -> Sequence[StoredMessage]:
        """What was said, oldest first.

        Raises:
            NotFound: the owner has no such conversation.
        """
        ...

    async def write(self, owner: str, conversation_id: str, messages: Sequence[StoredMessage]) -> Conversation:
        """Put each message in the place of the one with its id, or else at the end: all of them, or none.

        Raises:
            NotFound: the owner has no such conversation.
            TooLarge: it would have too many messages, or too long ones.
        """
        ...

    async def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation with everything in it.

        Raises:
            NotFound: the owner has no such conversation.
        """
        ...

    async def check(self) -> PartHealth:
        """Whether it can be used."""
        ...


def owner_of(caller: Caller) -> str:
    """Whose conversations a caller sees; those who are not signed in share theirs."""
    return f"user:{caller.tenant or ''}/{caller.oid}" if caller.oid else "anonymous"
