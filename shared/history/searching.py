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
"""Characters that are folded before other requests have their turn: a millisecond of work."""


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
    texts = [_CITATION.sub("", message.content) for message in messages]  # a file's name is nothing that was said
    if not await _have(texts, missing):
        return None
    begins = ((text, text[:_FOLDED_AT_ONCE].casefold().find(missing[0])) for text in texts)
    return next((f"{text[max(at - _AROUND, 0) : at + 2 * _AROUND]}" for text, at in begins if at >= 0), "")


async def _have(texts: Iterable[str], words: Sequence[str]) -> bool:
    """Whether each word is in one of the texts, in any case. Other requests have their turn after each piece.

    A text is folded in pieces, since Python folds a whole one without a pause. Each piece is searched together with the
    end of the one before, which may have the beginning of a word.
    """
    missing, folded = words, 0
    for text in texts:
        end = ""
        for start in range(0, len(text), _FOLDED_AT_ONCE):
            piece = end + text[start : start + _FOLDED_AT_ONCE].casefold()
            missing = [word for word in missing if word not in piece]
            if not missing:
                return True
            end = piece[-max(map(len, missing)) :]
            folded += len(piece)
            if folded >= _FOLDED_AT_ONCE:
                folded = 0
                await asyncio.sleep(0)  # other requests have their turn
    return False
