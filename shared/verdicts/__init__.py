"""The boundary to verdicts: short records of answers, and what their callers say of them.

Where chats are kept, each answer leaves a record for `RETENTION_DAYS`, also of a chat that its client keeps: without it
nobody could tell whose answer an id is, or what a verdict is about. A verdict keeps its record for good. Every method
but `page` takes the owner; an answer of another owner is not found, as if it did not exist.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Literal, Protocol

import msgspec

from shared.errors import NotFound

RETENTION_DAYS = 30
"""Days for which an answer can be judged."""
LONGEST_TEXT = 4_000
"""Characters of a comment, and of what was expected."""
MOST_LISTED = 100
"""Verdicts in one page of the list."""

Rating = Literal["up", "down"]


class KeptAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of an answer. The stores keep it as JSON with these keys."""

    id: str
    """Id of the answer, see `new_answer_id`."""
    question: str
    """The question."""
    text: str
    """The answer."""
    chat: str = ""
    """The name of its chat; empty: none."""
    sources: tuple[str, ...] = ()
    """The sources that it cites."""
    statements: tuple[str, ...] = ()
    """What it says in the words of these sources."""
    alone: bool = True
    """Whether the question stands alone: no question before it, and no files."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a caller says of an answer."""

    rating: Rating
    """Whether it is good."""
    time: str
    """When, in UTC, ISO 8601."""
    comment: str = ""
    """Why."""
    expected: str = ""
    """What a good answer would have said."""


class Judged(msgspec.Struct, frozen=True):
    """An answer with its verdict."""

    answer: KeptAnswer
    verdict: Verdict


class VerdictStore(Protocol):
    """Keeps answers and verdicts. Every method raises Unavailable if the store cannot be used."""

    async def keep(self, owner: str, answer: KeptAnswer) -> None:
        """Keep what an answer was, so that it can be judged; now and then delete what is too old."""
        ...

    async def judge(self, owner: str, answer_id: str, verdict: Verdict) -> bool:
        """Keep a verdict, in place of an earlier one; return whether it is the first.

        Raises:
            NotFound: the owner has no such answer.
        """
        ...

    async def page(self, limit: int, after: str | None = None) -> Sequence[Judged]:
        """List what was judged, the newest answers first: those older than an answer, or the first."""
        ...

    async def forget(self, owner: str, chat: str) -> None:
        """Delete the answers of a chat, and their verdicts."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def new_answer_id() -> str:
    """Make the id of an answer: a UUID of version 7 without its hyphens, so that ids sort by time."""
    random = token_hex(9)
    return f"{int(time.time() * 1000):012x}7{random[:3]}8{random[3:]}"


def oldest_id() -> str:
    """Return the lower limit of the ids of answers that can still be judged; an id begins with its time."""
    before = datetime.now(UTC) - timedelta(days=RETENTION_DAYS)
    return f"{int(before.timestamp() * 1000):012x}"


def no_such_answer() -> NotFound:
    """Make the error for an answer that is unknown, too old, deleted, or another's: always the same sentence."""
    return NotFound(
        "There is no such answer of yours. An answer can be judged when it is complete, by who asked for it and for "
        f"{RETENTION_DAYS} days, unless its chat is deleted or the request said not to store it."
    )
