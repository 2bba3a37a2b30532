"""The journal of a run: the events that its readers may see, in pieces, so that a token costs no write.

A piece is `{id}/journal/{number of the journal}-{number of the piece}`. A run that could not go on with the text of an
earlier one begins another journal, and the state says which one counts.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from shared.chat_types import ChatRequest
from shared.errors import InternalError, SwitchboardError
from shared.events import ChatEvent
from shared.runs import NEW, Conflict, ObjectStore, packing, records, write_once
from shared.runs.live import STORED_SECONDS, LiveTurn

PIECE_SECONDS = 0.3
"""How long events wait for a piece where somebody follows them elsewhere, who sees them within half a second."""
ALONE_SECONDS = 2.0
"""The same where nobody does."""


class Journal:
    """The journal of a run that has been claimed.

    Args:
        store: Keeps it.
        run_id: The run.
        number: Which of its journals.
    """

    def __init__(self, store: ObjectStore, run_id: str, number: int) -> None:
        self._store = store
        self._run_id = run_id
        self.number = number
        """Which journal the events of its turn are in."""
        self._pieces = 0
        self._written = 0

    async def read(self) -> list[ChatEvent]:
        """Read all events; what is appended comes after them.

        Raises:
            InternalError: a piece is damaged.
        """
        pieces = [piece async for piece in _pieces(self._store, self._run_id, self.number)]
        events = [*chain.from_iterable(pieces)]
        self._pieces, self._written = len(pieces), len(events)
        return events

    def begin_anew(self, number: int) -> None:
        """Begin another journal."""
        self.number, self._pieces, self._written = number, 0, 0

    async def keep(self, turn: LiveTurn, followed: asyncio.Event) -> None:
        """Write the events of a turn until it has ended; those that were read are there already.

        Args:
            turn: The turn.
            followed: Set when somebody follows it elsewhere.

        Raises:
            Conflict: another runner writes this journal.
            Unavailable, TooSlow: the store could not be used at the end.
        """
        has_ended = False
        while not has_ended:
            if followed.is_set():
                has_ended = await turn.ended_within(PIECE_SECONDS)
            else:
                has_ended = await turn.ended_within(ALONE_SECONDS, unless=followed)
            try:
                await self.append(turn.log[self._written :])
            except SwitchboardError:
                if has_ended:
                    raise

    async def append(self, events: Sequence[ChatEvent]) -> None:
        """Write a piece.

        Raises:
            Conflict: another runner writes this journal.
        """
        if not events:
            return
        name, data = _name(self._run_id, self.number, self._pieces), packing.pack(events)
        try:
            await self._store.write(name, data, NEW)
        except Conflict:
            found = await self._store.read(name)
            if found is None or found.data != data:  # else the answer of a write that was done got lost
                raise
        self._pieces += 1
        self._written += len(events)


@dataclass(frozen=True, slots=True)
class Live:
    """A run that goes on in this process."""

    request: ChatRequest
    """The request with its chat, for encoders."""
    turn: LiveTurn
    """The turn."""
    journal: Journal
    """Where its events are kept."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its runner has stored its result, or has left it."""

    async def stored(self) -> None:
        """Wait until the result is stored, if the store takes no longer than it should."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.left.wait(), STORED_SECONDS)


async def read_piece(store: ObjectStore, run_id: str, number: int, piece: int) -> list[ChatEvent] | None:
    """Read a piece of a journal; None: it is not there yet.

    Raises:
        InternalError: it is damaged.
    """
    found = await store.read(_name(run_id, number, piece))
    if found is None:
        return None
    try:
        return packing.unpack(found.data)
    except ValueError:
        raise InternalError(records.UNREADABLE) from None


async def read_journal(store: ObjectStore, run_id: str, number: int) -> list[ChatEvent]:
    """Read all events of a journal.

    Raises:
        InternalError: a piece is damaged.
    """
    return [event async for piece in _pieces(store, run_id, number) for event in piece]


async def write_first_piece(store: ObjectStore, run_id: str, number: int, events: Sequence[ChatEvent]) -> None:
    """Begin a journal with events, unless that is done."""
    if events:
        await write_once(store, _name(run_id, number, 0), packing.pack(events))


async def _pieces(store: ObjectStore, run_id: str, number: int) -> AsyncGenerator[list[ChatEvent]]:
    piece = 0
    while (events := await read_piece(store, run_id, number, piece)) is not None:
        yield events
        piece += 1


def _name(run_id: str, number: int, piece: int) -> str:
    return f"{run_id}/journal/{number}-{piece}"
