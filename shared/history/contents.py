"""What both stores agree on: the limits, the form in which messages are kept, and how a preview of one looks."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from shared.errors import NotFound, TooLarge
from shared.history import StoredMessage

MOST_MESSAGES = 1_000
"""In one conversation; as many as a chat request may have."""
MOST_BYTES = 8 * 1024 * 1024
"""Of one conversation's messages in the form in which they are kept."""
PREVIEW_LENGTH = 200
"""Characters of the last message that a list shows."""

_MESSAGE = TypeAdapter(StoredMessage)
_MESSAGES = TypeAdapter(tuple[StoredMessage, ...])
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_REGIONAL = range(0x1F1E6, 0x1F200)


def no_such_chat() -> NotFound:
    """One sentence for what is not there, what is gone, and what is somebody else's."""
    return NotFound("There is no such chat. It may have been deleted: start a new one, or choose one from the list.")


def require_id(conversation_id: str) -> None:
    """Refuse an id that no store gives, before it gets into a query.

    Raises:
        NotFound: there can be no such conversation.
    """
    if not _ID.fullmatch(conversation_id):
        raise no_such_chat()


def encode_message(message: StoredMessage) -> bytes:
    """One message as JSON."""
    return _MESSAGE.dump_json(message, exclude_none=True)


def encode_messages(messages: Sequence[StoredMessage]) -> bytes:
    """Messages as JSON."""
    return _MESSAGES.dump_json(tuple(messages), exclude_none=True)


def decode_message(kept: bytes) -> StoredMessage:
    """Read what `encode_message` wrote."""
    return _MESSAGE.validate_json(kept)


def decode_messages(kept: bytes) -> tuple[StoredMessage, ...]:
    """Read what `encode_messages` wrote."""
    return _MESSAGES.validate_json(kept)


def merged(kept: Iterable[StoredMessage], written: Iterable[StoredMessage]) -> tuple[StoredMessage, ...]:
    """The messages after a write: each in the place of the one with its id, or else at the end."""
    return tuple(({message.id: message for message in kept} | {message.id: message for message in written}).values())


def require_room(count: int, size: int) -> None:
    """Check a conversation as it would be after a write.

    Raises:
        TooLarge: it has too many messages, or too many bytes of them.
    """
    if count > MOST_MESSAGES:
        raise TooLarge(f"A chat holds at most {MOST_MESSAGES:,} messages. Start a new one.")
    if size > MOST_BYTES:
        raise TooLarge(f"A chat holds at most {MOST_BYTES:,} bytes of messages. Start a new one.")


def preview(text: str) -> str:
    """The start of a message, cut where no emoji and no accented letter falls apart."""
    end = PREVIEW_LENGTH
    if len(text) <= end:
        return text
    while end and _belongs_to_the_one_before(text, end):
        end -= 1
    return text[: end or PREVIEW_LENGTH] + "…"


def _belongs_to_the_one_before(text: str, index: int) -> bool:
    """Whether the character at an index is drawn as one with what stands before it (Unicode TR 29, simplified)."""
    character, before = text[index], text[index - 1]
    return (
        _JOINER in (character, before)
        or unicodedata.category(character).startswith("M")
        or ord(character) in _SKIN_TONES
        or ord(character) in _TAGS
        or (ord(character) in _REGIONAL and ord(before) in _REGIONAL)
    )
