"""Chats that a history store keeps, and texts and owners that are hard to keep."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from shared.chat_types import Role
from shared.history import HistoryStore, Mode, StoredMessage

ODD_OWNERS = (
    "",
    "a/b\\c#d?e%",
    "user:'; DROP TABLE conversations; --",
    "📎" * 2_000,
    "\x00\x7f\u2028",
    "c-",
    "x" * 40_000,
)
UNKNOWN_ID = "5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a"
NO_IDS = ("", "no-such-id", "../..", "' or 1 eq 1", "%00", "c-", UNKNOWN_ID, UNKNOWN_ID.upper(), "💬", "a" * 5_000)
ODD_TEXTS = (
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "\x00\x01\x1f\x7f\x85\u2028\ufeff\uffff",
    "",
    " \r\n\t ",
    "𝔘" * 40_000,
    "ü" * 100_000,
    "<a>&amp;]]>",
)


TITLE = "What does the Standard plan pay for new glasses after two…"


def said(number: int, content: str | None = None) -> StoredMessage:
    role = Role.ASSISTANT if number % 2 else Role.USER
    return StoredMessage(f"id-{number}", role, content or f"Message {number} 👋🏽", "02:15 PM")


def new_owner() -> str:
    return f"user:{uuid4()}"


class Between:
    """A store on which something else is done before one of its calls."""

    def __init__(self, history: HistoryStore, call: int, work: Callable[[], Awaitable[None]]) -> None:
        self._history, self._left, self._work = history, call, work

    def __getattr__(self, name: str) -> Any:
        async def called(*values: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                await self._work()
            return await getattr(self._history, name)(*values, **named)

        return called


async def started(history: HistoryStore, *messages: StoredMessage) -> tuple[str, str]:
    """A new owner with one conversation; their ids."""
    owner = new_owner()
    made = await history.create(owner, Mode.STANDARD, "Title")
    if messages:
        await history.write(owner, made.id, messages)
    return owner, made.id
