"""The boundary to verdicts: short records of answers, and what their callers say of them.

Where chats are kept, each answer leaves a record for `RETENTION_DAYS`, also of a chat that its client keeps: without it
nobody could tell whose answer an id is, or what a verdict is about. A verdict keeps its record for `HISTORY_DAYS`, or
for good. Methods that take an owner do not find an answer of another one, as if it did not exist.
"""

import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from secrets import token_hex
from typing import Literal, Protocol

import msgspec

from shared.chat_types import ChatRequest, Role
from shared.citations import CITATION, citations_in
from shared.errors import NotFound
from shared.events import DataPoint

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
    """Id of the answer, see `answer_id_of`."""
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

    async def add(self, owner: str, answer: KeptAnswer) -> None:
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

    async def answers_of(self, owner: str) -> Sequence[tuple[KeptAnswer, Verdict | None]]:
        """Return all that is kept of an owner's answers, each with its verdict or None, in no order."""
        ...

    async def forget(self, owner: str, chat: str | None) -> None:
        """Delete the answers of a chat, or of all an owner's chats and of none, and their verdicts."""
        ...

    async def delete_older(self, before: datetime) -> None:
        """Delete the answers of before a time, of every owner, and their verdicts."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def new_turn_id() -> str:
    """Make the id of a turn: its time in milliseconds, 12 digits, and 128 random bits. A kept run has the same id."""
    return f"{int(time.time() * 1000):012x}{token_hex(16)}"


def answer_id_of(turn_id: str) -> str:
    """Return the id of a turn's answer, which sorts by its time. It leads to no run: who knows it cannot read one."""
    return turn_id[:12] + sha256(turn_id.encode()).hexdigest()[:20]


def oldest_id(before: datetime | None = None) -> str:
    """Return the lower limit of the ids of answers since a time, or of those that can still be judged.

    An id begins with its time.
    """
    before = before or datetime.now(UTC) - timedelta(days=RETENTION_DAYS)
    return f"{int(before.timestamp() * 1000):012x}"


def no_such_answer() -> NotFound:
    """Make the error for an answer that is unknown, too old, deleted, or another's: always the same sentence."""
    return NotFound(
        "There is no such answer of yours. An answer can be judged when it is complete, by who asked for it and for "
        f"{RETENTION_DAYS} days, unless its chat is deleted or the request said not to store it."
    )


_LONGEST_QUESTION = 4_000
_LONGEST_ANSWER = 8_000
_MOST_SOURCES = 50
_LONGEST_NAME = 1_000
_MOST_STATEMENTS = 20
_MOST_LINES = 200
_LONGEST_STATEMENT = 500
_SHORTEST_STATEMENT = 3
"""Characters. What is longer is cut, or left out if a part of it would say something else."""
_BETWEEN_STATEMENTS = re.compile(r"\n+|(?<=[.!?])\s+|(?<=[。！？])")
_AROUND_STATEMENT = " \t-*•>#|\"“”„«»'"
"""Marks of Markdown and of quotations, which are no words of the source."""


def kept_answer(request: ChatRequest, text: str, points: Sequence[DataPoint]) -> KeptAnswer:
    """Make the record of an answer.

    Args:
        request: The request, with its chat.
        text: The whole answer; of a team, the messages of all agents.
        points: The sources that were found.
    """
    cited = dict.fromkeys(place[1] for place in citations_in(text))
    known = {point.sourcepage for point in points}
    sources = [name for name in cited if name in known and len(name) <= _LONGEST_NAME][:_MOST_SOURCES]
    texts = [point.text for point in points if point.sourcepage in sources]
    questions = [message for message in request.messages if message.role is Role.USER]
    return KeptAnswer(
        request.answer_id,
        request.question[:_LONGEST_QUESTION],
        text[:_LONGEST_ANSWER],
        request.chat.name or "",
        tuple(sources),
        tuple(_statements(text[:_LONGEST_ANSWER], texts))[:_MOST_STATEMENTS],
        alone=request.single_turn or (len(questions) == 1 and not questions[0].files and not request.steps),
    )


def _statements(text: str, sources: Iterable[str]) -> Iterable[str]:
    """Return the sentences and lines of an answer that stand in a source word for word, each once.

    The built-in model puts a heading and a colon before a sentence, and others a label: it counts without them too.
    """
    known = [_folded(source) for source in sources]
    lines = (piece.strip(_AROUND_STATEMENT) for piece in _BETWEEN_STATEMENTS.split(CITATION.sub("\n", text)))
    for line in islice(dict.fromkeys(lines), _MOST_LINES):
        for piece in (line, line.partition(": ")[2]):
            if _SHORTEST_STATEMENT <= len(piece) <= _LONGEST_STATEMENT and any(_folded(piece) in one for one in known):
                yield piece
                break


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
