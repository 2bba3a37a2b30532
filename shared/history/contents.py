"""Rules that all stores share: limits, the JSON of messages, titles, and previews."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from shared.chat_types import Role
from shared.errors import NotFound, TooLarge
from shared.history import MOST_MESSAGES, UNTITLED, Conversation, StoredMessage

MAX_CHATS = 5_000
"""Conversations of one owner."""
MOST_BYTES = 8 * 1024 * 1024
"""Bytes of one conversation's messages as JSON."""
PREVIEW_LENGTH = 200
"""Characters of the last message that lists show."""
TITLE_LENGTH = 60
"""Characters of a question that become a title."""

encode = msgspec.json.Encoder().encode
"""Encodes a message, or several, as JSON."""
decode_message = msgspec.json.Decoder(StoredMessage).decode
decode_messages = msgspec.json.Decoder(tuple[StoredMessage, ...]).decode
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_REGIONAL = range(0x1F1E6, 0x1F200)


def no_such_chat() -> NotFound:
    """Make the error for a conversation that never was, is deleted, or belongs to another: always the same sentence."""
    return NotFound("There is no such chat. It may have been deleted: start a new one, or choose one from the list.")


def require_id(conversation_id: str) -> None:
    """Check that an id has the form that stores give, before it gets into a query.

    Raises:
        NotFound: it has another form, so no conversation has this id.
    """
    if not _ID.fullmatch(conversation_id):
        raise no_such_chat()


def merged(kept: Iterable[StoredMessage], written: Iterable[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Return the messages after a write: each replaces the one with its id, or is added at the end."""
    return tuple(({message.id: message for message in kept} | {message.id: message for message in written}).values())


def paired(messages: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    """Return messages with each answer after what it answers: turns at the same time are written between each other."""
    said = {message.id for message in messages if message.answers is None}
    answers: dict[str | None, list[StoredMessage]] = {}
    for message in messages:
        if message.answers in said:
            answers.setdefault(message.answers, []).append(message)
    first = (message for message in messages if message.answers not in said)
    return [each for message in first for each in (message, *answers.get(message.id, ()))]


def require_room_for_chat(count: int, most: int) -> None:
    """Check the number of an owner's conversations before another is started.

    Raises:
        TooLarge: there are as many as may be.
    """
    if count >= most:
        raise TooLarge(f"You have {most:,} chats, and no more can be kept. Delete some that you no longer need.")


def require_room(count: int, size: int) -> None:
    """Check the number of messages and of bytes that a conversation would have after a write.

    Raises:
        TooLarge: a limit is exceeded.
    """
    if count > MOST_MESSAGES:
        raise TooLarge(f"A chat holds at most {MOST_MESSAGES:,} messages. Start a new one.")
    if size > MOST_BYTES:
        raise TooLarge(f"A chat holds at most {MOST_BYTES:,} bytes of messages. Start a new one.")


def title_after(conversation: Conversation, messages: Iterable[StoredMessage]) -> str:
    """Return the title of a conversation after a write: if it has none yet, the words of its first question."""
    if conversation.title != UNTITLED or conversation.message_count:
        return conversation.title
    return title_of(_first_question(messages))


def title_without(title: str, taken_back: Iterable[StoredMessage], left: Iterable[StoredMessage]) -> str:
    """Return a title after messages were taken back: if it was a question of theirs, the first that is left."""
    question = _first_question(taken_back)
    return title_of(_first_question(left)) if question and title == title_of(question) else title


def _first_question(messages: Iterable[StoredMessage]) -> str:
    return next((message.content for message in messages if message.role is Role.USER), "")


def title_of(question: str) -> str:
    """Make a title of a question: its first words, on one line."""
    line = " ".join(question[: 10 * TITLE_LENGTH].split())
    if len(line) <= TITLE_LENGTH:
        return line or UNTITLED
    words, _, _ = line[: TITLE_LENGTH + 1].rpartition(" ")
    return f"{words}…" if words else preview(line, TITLE_LENGTH)


def preview(text: str, length: int = PREVIEW_LENGTH) -> str:
    """Return the start of a message; the cut divides no emoji and no accented letter."""
    end = length
    if len(text) <= end:
        return text
    while end and _joins_the_one_before(text, end):
        end -= 1
    return text[: end or length] + "…"


def _joins_the_one_before(text: str, index: int) -> bool:
    """Whether the character at an index and the one before it are drawn as one (Unicode TR 29, simplified)."""
    character, before = text[index], text[index - 1]
    return (
        _JOINER in (character, before)
        or unicodedata.category(character).startswith("M")
        or ord(character) in _SKIN_TONES
        or ord(character) in _TAGS
        or (ord(character) in _REGIONAL and ord(before) in _REGIONAL)
    )
