"""Search in the titles and texts of an owner's chats, in every store: newest first, so many chats at a time."""

import asyncio
from collections.abc import Sequence
from itertools import batched

from shared.errors import NotFound
from shared.history import Conversation, HistoryStore, ListPosition, Mode

MOST_SEARCHED = 100
"""Chats that one page of a search looks at, and so reads at most."""
_READ_TOGETHER = 4
"""Chats that are read at the same time; each may have 8 MiB."""


async def find_chats(
    history: HistoryStore,
    owner: str,
    words: Sequence[str],
    mode: Mode | None,
    limit: int,
    after: ListPosition | None,
    *,
    pinned: bool = False,
) -> tuple[list[Conversation], Conversation | None]:
    """Find the chats after a position that have all of the words, in any case, as parts of words too.

    Returns:
        Those of the chats that were looked at, and the last of these if there are more to look at.
    """
    chats = await history.conversations(owner, mode, MOST_SEARCHED + 1, after, pinned=pinned)
    found: list[Conversation] = []
    for some in batched(chats[:MOST_SEARCHED], _READ_TOGETHER, strict=False):
        have = await asyncio.gather(*(_has(history, owner, chat, words) for chat in some))
        for chat, has in zip(some, have, strict=True):
            if has:
                found.append(chat)
            if len(found) == limit:
                return found, None if chat is chats[-1] else chat
    return found, chats[MOST_SEARCHED - 1] if len(chats) > MOST_SEARCHED else None


async def _has(history: HistoryStore, owner: str, chat: Conversation, words: Sequence[str]) -> bool:
    missing = [word for word in words if word not in chat.title.casefold()]
    if not missing:
        return True
    try:
        messages = await history.messages(owner, chat.id)
    except NotFound:  # deleted meanwhile
        return False
    texts = [message.content.casefold() for message in messages]
    return all(any(word in text for text in texts) for word in missing)
