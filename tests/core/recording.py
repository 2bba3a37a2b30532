"""Turns that a store records, and what it has kept of them."""

import asyncio
from collections.abc import AsyncGenerator

from shared.chat_types import Caller, ChatRequest, ChatState, Message, RequestContext, Role
from shared.core.recorder import record
from shared.events import (
    ChatEvent,
    CompletionStarted,
    Finished,
    Retrieved,
    TextDelta,
)
from shared.history import Mode, owner_of
from shared.history.sqlite_history import SqliteHistory

ANNA, BEN = Caller("anna"), Caller("ben")
ANSWER: tuple[ChatEvent, ...] = (
    Retrieved((), ()),
    CompletionStarted("c", 1, "m"),
    TextDelta("One"),
    TextDelta(" two."),
    Finished("stop", ended=1),
)


def asked(chat: str | None) -> ChatRequest:
    return ChatRequest((Message(Role.USER, "Why?"),), chat=ChatState(conversation_id=chat))


def context(caller: Caller = ANNA, seconds: float = 60) -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + seconds, caller)


async def events_of(*events: ChatEvent | Exception) -> AsyncGenerator[ChatEvent]:
    for event in events:
        if isinstance(event, Exception):
            raise event
        yield event


async def started(history: SqliteHistory) -> str:
    return (await history.create(owner_of(ANNA), Mode.STANDARD, "t")).id


def conversation(said: str, chat: str, *, told: bool | None = None) -> ChatRequest:
    """A request for a conversation of questions in capitals and answers in small letters."""
    messages = tuple(Message(Role.USER if one.isupper() else Role.ASSISTANT, one) for one in said)
    return ChatRequest(messages, chat=ChatState(conversation_id=chat, regenerates=told))


async def record_to(history: SqliteHistory, request: ChatRequest, answer: str) -> None:
    events = (*ANSWER[:2], TextDelta(answer), ANSWER[-1])
    assert [event async for event in record(events_of(*events), request, context(), history)] == [*events]


async def kept_of(history: SqliteHistory, chat: str, count: int) -> list[tuple[str, str | None]]:
    """The messages of a chat and how they ended, once there are so many: they are written in the background."""
    async with asyncio.timeout(30):
        while len(kept := await history.messages(owner_of(ANNA), chat)) != count:  # noqa: ASYNC110 (in the background)
            await asyncio.sleep(0.01)
    return [(message.content, message.finish_reason) for message in kept]
