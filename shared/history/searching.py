"""Search in the titles and texts of an owner's chats, in every store: newest first, so many chats at a time."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from copy import replace
from itertools import batched

from shared.errors import NotFound
from shared.history import Conversation, HistoryStore, Page

MOST_SEARCHED = 100
"""Chats that one page of a search looks at, and so reads at most."""
_AROUND = 60
"""Characters that are shown before what was found; twice as many after it."""
_CITATION = re.compile(r"\[[^\[\]\n]{1,300}\](?!\()")
_READ_TOGETHER = 4
"""Chats that are read at the same time; each may have 8 MiB."""
_FOLDED_AT_ONCE = 64 * 1024
"""Characters that are searched before other requests have their turn: a millisecond of work."""
_LONGEST_CUT = 400
"""Characters at the end of a piece that may begin a citation or a word."""


async def find_chats(
    history: HistoryStore,
    owner: str,
    words: Sequence[str],
    page: Page,
) -> tuple[list[Conversation], Conversation | None]:
    """Find the chats of a page that have all of the words, in any case, as parts of words too.

    Returns:
        Those of the chats that were looked at, and the last of these if there are more to look at.
    """
    chats = await history.conversations(owner, replace(page, limit=MOST_SEARCHED + 1))
    found: list[Conversation] = []
    for some in batched(chats[:MOST_SEARCHED], _READ_TOGETHER, strict=False):
        have = await asyncio.gather(*(_has(history, owner, chat, words) for chat in some))
        for chat, has in zip(some, have, strict=True):
            if has is not None:
                found.append(replace(chat, found=has))
            if len(found) == page.limit:
                return found, None if chat is chats[-1] else chat
    return found, chats[MOST_SEARCHED - 1] if len(chats) > MOST_SEARCHED else None


async def _has(history: HistoryStore, owner: str, chat: Conversation, words: Sequence[str]) -> str | None:
    """Return where a chat has the words: the text around the first of them, empty if all are in the title; or None."""
    missing = [word for word in words if word not in chat.title.casefold()]
    if not missing:
        return ""
    try:
        messages = await history.messages(owner, chat.id)
    except NotFound:  # deleted meanwhile
        return None
    return await _around((message.content for message in messages), missing)


async def _around(texts: Iterable[str], words: Sequence[str]) -> str | None:
    """Return the text around the first of the words if all are in the texts, in any case; else None.

    Other requests have their turn after each piece, since Python folds a whole text without a pause. Each piece is
    searched together with the end of the one before, which may have the beginning of a word or of a citation. Citations
    are left out: a file's name is nothing that was said.
    """
    missing, around, looked_at = words, "", 0
    for text in texts:
        end = ""
        for start in range(0, len(text), _FOLDED_AT_ONCE):
            new = text[start : start + _FOLDED_AT_ONCE]
            piece = _CITATION.sub("", end + new)
            folded = piece.casefold()
            if missing[0] == words[0] and (at := folded.find(words[0])) >= 0:
                around = piece[max(at - _AROUND, 0) : at + 2 * _AROUND]
            missing = [word for word in missing if word not in folded]
            if not missing:
                return around
            end = piece[-_LONGEST_CUT:]
            looked_at += len(new)
            if looked_at >= _FOLDED_AT_ONCE:
                looked_at = 0
                await asyncio.sleep(0)  # other requests have their turn
    return None
