"""Copies of chats for others to read.

They are conversations in the same store, of owners that no caller can be:

    owner share/{owner}/{chat}   a conversation without messages: its title is the link of the chat's copy
    owner copy/{link}            the copy, whose id is the link

A copy has what was asked and answered, and the names of the sources that an answer cites: none of their texts, no file
that came with a question, no document of one's own, no thoughts and no calls of tools. Its messages have the ids of the
chat's, so sharing a chat again is one write that brings the copy up to date under the same link.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import batched
from secrets import token_bytes
from uuid import NAMESPACE_OID, UUID, uuid5

import msgspec

from shared.chat_types import Role
from shared.citations import citations_in, unverified_citations
from shared.errors import BadRequest, NotFound
from shared.history import NO_CONTEXT, UNTITLED, Conversation, Edit, HistoryStore, Mode, Page, StoredMessage

_SHOWN = (Role.USER, Role.ASSISTANT)
_ASKED_TOGETHER = 8
_THE_ONE = Page(Mode.STANDARD, limit=1)
"""Lists the copy of a link, or the link of a chat: all of an owner's conversations, with the mode to save a query."""


class _Points(msgspec.Struct):
    citations: tuple[str, ...] = ()


class _Context(msgspec.Struct):
    data_points: _Points


class _Copied(msgspec.Struct):
    """The context of a message of a copy."""

    citations: list[str] = []


async def share(history: HistoryStore, owner: str, chat_id: str, own_folder: str) -> str:
    """Make a copy of a chat as it is now, or bring the one that there is up to date; return its link.

    Args:
        history: The store.
        owner: The chat's owner.
        chat_id: The chat.
        own_folder: How the names of documents begin that nobody but their owner may see.

    Raises:
        NotFound: the owner has no such chat, or has deleted it or stopped sharing it meanwhile.
        BadRequest: nothing has been said in it.
    """
    messages = await asyncio.to_thread(_copied, await history.messages(owner, chat_id), own_folder)
    if not any(message.content for message in messages):
        raise BadRequest("There is nothing to share yet: nothing has been said in this chat.")
    # The id is the chat's, so that of several requests at a time all get the link of the first.
    made = str(uuid5(NAMESPACE_OID, f"share/{chat_id}"))
    new_link = str(UUID(bytes=token_bytes(16)))
    link = (await history.create(_owner_of_link(owner, chat_id), Mode.STANDARD, new_link, made)).title
    await history.create(_owner_of_copy(link), Mode.STANDARD, UNTITLED, link)
    await history.write(_owner_of_copy(link), link, messages)
    with suppress(NotFound):  # `HISTORY_DAYS` must not take the link before its copy, which nobody could withdraw then
        await history.write(_owner_of_link(owner, chat_id), made, [], Edit(link))
    # `stop_sharing` deletes the copy before and after its link: either it has seen this one, or the link is gone.
    if not await _is_shared(history, owner, chat_id, link):
        await _delete(history, _owner_of_copy(link), link)
        raise NotFound("This chat was deleted, or no longer to be shared, at the same time. Share it again.")
    return link


async def read_shared(history: HistoryStore, link: str) -> tuple[Conversation, Sequence[StoredMessage]]:
    """Return a copy and its messages.

    Raises:
        NotFound: no chat has this link.
    """
    copies = await history.conversations(_owner_of_copy(link), _THE_ONE)
    if not copies or not copies[0].message_count:
        raise NotFound("There is no such shared chat: it is shared no longer, or was deleted.")
    messages = await history.messages(_owner_of_copy(link), copies[0].id)
    return copies[0], [message for message in messages if message.content]


async def link_of(history: HistoryStore, owner: str, chat_id: str) -> str | None:
    """Return the link under which an owner's chat is shared; None: it is not."""
    return next((entry.title for entry in await _links(history, owner, chat_id)), None)


async def links_of(history: HistoryStore, owner: str, chat_ids: Sequence[str]) -> list[str | None]:
    """Return the link of each of an owner's chats; None: it is not shared."""
    links: list[str | None] = []
    for some in batched(chat_ids, _ASKED_TOGETHER, strict=False):
        links += await asyncio.gather(*(link_of(history, owner, chat_id) for chat_id in some))
    return links


async def stop_sharing(history: HistoryStore, owner: str, chat_id: str) -> None:
    """Delete the copy of an owner's chat, if it has one."""
    for entry in await _links(history, owner, chat_id):
        # The copy first: after a crash its link is still known. Then again, since it may be written at this moment.
        await _delete(history, _owner_of_copy(entry.title), entry.title)
        await _delete(history, _owner_of_link(owner, chat_id), entry.id)
        await _delete(history, _owner_of_copy(entry.title), entry.title)


def cited_in(message: StoredMessage) -> list[str]:
    """Return the sources that a message of a copy cites."""
    return [] if message.context == NO_CONTEXT else msgspec.json.decode(message.context, type=_Copied).citations


async def _is_shared(history: HistoryStore, owner: str, chat_id: str, link: str) -> bool:
    """Whether a chat is still there, and shared under a link."""
    try:
        await history.messages(owner, chat_id, newest=1)
    except NotFound:
        await stop_sharing(history, owner, chat_id)
        return False
    return link in [entry.title for entry in await _links(history, owner, chat_id)]


async def _links(history: HistoryStore, owner: str, chat_id: str) -> Sequence[Conversation]:
    return await history.conversations(_owner_of_link(owner, chat_id), _THE_ONE)


async def _delete(history: HistoryStore, owner: str, conversation_id: str) -> None:
    with suppress(NotFound):
        await history.delete(owner, conversation_id)


def _owner_of_link(owner: str, chat_id: str) -> str:
    return f"share/{owner}/{chat_id}"


def _owner_of_copy(link: str) -> str:
    return f"copy/{link}"


def _copied(messages: Sequence[StoredMessage], own_folder: str) -> list[StoredMessage]:
    """Copy messages. Those that are not shown become empty: in an earlier copy they may have said something."""
    return [
        StoredMessage(
            message.id,
            message.role,
            message.content,
            message.timestamp,
            message.agent_name,
            finish_reason=message.finish_reason,
            context=msgspec.Raw(msgspec.json.encode(_Copied(_cited(message, own_folder)))),
        )
        if message.role in _SHOWN
        else StoredMessage(message.id, message.role, "", "")
        for message in messages
    ]


def _cited(message: StoredMessage, own_folder: str) -> list[str]:
    """Return the shared documents that an answer cites: where its sources were kept, those of them."""
    if message.role is not Role.ASSISTANT:
        return []
    known = _sources_of(message)
    names = dict.fromkeys(place[1] for place in citations_in(message.content))
    cited = unverified_citations(message.content, ()) if known is None else [name for name in names if name in known]
    return [name for name in cited if not name.startswith(own_folder)]


def _sources_of(message: StoredMessage) -> Collection[str] | None:
    """Return the sources that a client has kept with an answer; None: it has kept none that can be read."""
    try:
        return frozenset(msgspec.json.decode(message.context, type=_Context).data_points.citations)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
