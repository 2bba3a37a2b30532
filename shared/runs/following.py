"""Follows runs: from memory where they go on in this process, else from their journals."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from shared.chat_types import ChatRequest, Json
from shared.errors import BegunAnew, NotFound, SwitchboardError
from shared.events import AgentMessage, ChatEvent, Failed
from shared.runs import ObjectStore, approvals, claim, records, running
from shared.runs.journal import Live, read_piece
from shared.runs.live import STORED_SECONDS, cut_at_end, ended_in
from shared.settings import Settings
from shared.tools.calls import KeptCall
from shared.wire.table import PROTOCOLS

LOOK_SECONDS = 0.15
"""How often a journal is looked at for those who follow it elsewhere."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run as its owner may see it."""

    run_id: str
    """Its id."""
    state: records.State
    """Who works on it."""
    result: records.Result | None
    """Its end; None: it has not ended."""

    @property
    def has_stopped(self) -> bool:
        """Whether it has ended, or waits for a person."""
        return bool(self.result or self.state.waits)


@dataclass(frozen=True, slots=True)
class Report:
    """How a run stands, with what its reader is told until it has ended."""

    standing: Standing
    """The run."""
    messages: list[Json] = field(default_factory=list[Json])
    """The documents of what its agents have said so far; of a run that has ended: none."""
    calls: Sequence[KeptCall] = ()
    """The calls that it waits for."""


@dataclass(slots=True)
class _Reader:
    """Somebody who follows a run, and how far."""

    run_id: str
    """The run."""
    owner: str
    """Who reads it."""
    number: int
    """Number of the next event, from 0."""
    heartbeat: float | None
    """Seconds without events after which an empty batch is yielded; None: never."""
    journal: int | None = None
    """Which journal the events before were of; None: not known."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a journal."""

    run_id: str
    """The run."""
    owner: str
    """Who reads it."""
    journal: int | None = None
    """Which journal; None: the one that counts."""
    piece: int = 0
    """The next piece."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What a look at a journal finds."""

    standing: Standing
    """How the run stands."""
    events: list[ChatEvent]
    """The events from the place on."""
    next: _Place
    """The place after them."""


class Followers:
    """Those who follow runs.

    Args:
        store: Keeps the runs.
        settings: The settings of the app.
        lives: Those that go on in this process.
        find: Returns how a run stands, for its owner; one whose runner has died goes on then.
        mark: Tells a run's runner elsewhere that somebody follows it.
    """

    def __init__(
        self,
        store: ObjectStore,
        settings: Settings,
        lives: dict[str, Live],
        find: Callable[[str, str], Awaitable[Standing]],
        mark: Callable[[str], Awaitable[object]],
    ) -> None:
        self._store = store
        self._settings = settings
        self.lives = lives
        self.find = find
        self._mark = mark
        self._looks: dict[_Place, asyncio.Task[_Look]] = {}

    async def request(self, run_id: str) -> tuple[records.RunRequest, ChatRequest]:
        """Return the request of a run that its owner has found, as it is kept, and as encoders take it.

        Raises:
            InternalError, Unavailable, TooSlow: it cannot be read.
            BadRequest, NotAllowed, NotFound: the settings have changed, and no longer allow it.
        """
        kept, body = await claim.read_request(self._store, run_id)
        return kept, await running.with_chat(kept.accepted(body, self._settings).request, self._store, run_id)

    async def follow(
        self,
        run_id: str,
        owner: str,
        number: int = 0,
        heartbeat: float | None = None,
        live: Live | None = None,
    ) -> AsyncGenerator[list[ChatEvent]]:
        """Yield the events of a run from a number on, in batches of all that have arrived, until it has ended.

        Its end comes when its result is stored: who has read it finds the result, in every process.

        Args:
            run_id: The run.
            owner: Who reads it.
            number: Number of the first event, from 0.
            heartbeat: Seconds without events after which an empty batch is yielded; None: never.
            live: The run, if the reader has begun it in this process.

        Raises:
            InternalError: a piece of the journal is damaged.
            NotFound, Unavailable, TooSlow: as `Runs.find` raises them, before the first event.
        """
        reader, held = _Reader(run_id, owner, number, heartbeat), list[ChatEvent]()
        while True:
            live = live or self.lives.get(run_id)
            batches = live.turn.follow(reader.number, heartbeat) if live else self._kept(reader)
            async for batch in batches:
                if live and batch:
                    if reader.number and reader.journal not in (None, live.journal.number):
                        yield [await self._begun_anew(run_id)]
                        return
                    reader.journal = live.journal.number
                reader.number += len(batch)
                before, held = cut_at_end([*held, *batch])
                if before or not batch:
                    yield [*before]
                if ended_in(held):
                    if live:
                        await live.stored()
                    yield [*held]
                    held = []
            if live and not live.turn.has_ended:
                live = None
                await asyncio.sleep(LOOK_SECONDS)  # it is another runner's now, or deleted
            elif live or run_id not in self.lives:
                return

    async def _kept(self, reader: _Reader) -> AsyncGenerator[list[ChatEvent]]:
        """Yield the events of a journal, until the run has ended or goes on in this process."""
        run_id, number, seen, sent = reader.run_id, reader.number, 0, time.monotonic()
        place = _Place(run_id, reader.owner, reader.journal)
        while run_id not in self.lives:
            try:
                look = await self._look(place, LOOK_SECONDS if place.journal is not None else 0.0)
            except NotFound:
                if place.journal is None and not number:
                    raise
                return  # deleted
            if reader.number and place.journal not in (None, look.next.journal):
                yield [await self._begun_anew(run_id)]
                return
            if not (look.standing.state.followed or look.standing.result) and run_id not in self.lives:
                await self._mark(run_id)
            place, new, seen = look.next, look.events[max(0, number - seen) :], seen + len(look.events)
            reader.journal = place.journal
            if ended_in(new) and not look.standing.has_stopped:
                before, end = cut_at_end(new)
                if before:
                    yield [*before]
                await self._stored(reader)
                new = [*end]
            if new or (reader.heartbeat is not None and time.monotonic() - sent >= reader.heartbeat):
                sent = time.monotonic()
                yield new
            if look.standing.result or ended_in(look.events):
                return

    async def _stored(self, reader: _Reader) -> None:
        """Wait until the result of a run that has ended elsewhere is stored."""
        with suppress(SwitchboardError):
            for _ in range(round(STORED_SECONDS / LOOK_SECONDS)):
                if (await self.find(reader.run_id, reader.owner)).has_stopped:
                    return
                await asyncio.sleep(LOOK_SECONDS)

    async def _begun_anew(self, run_id: str) -> Failed:
        kept, _ = await claim.read_request(self._store, run_id)
        return Failed(BegunAnew(), kept.invocation_id)

    async def report(self, standing: Standing, owner: str) -> Report:
        """Return what the owner is told of a run: until it has ended, what its agents have said, and its open calls.

        Raises:
            InternalError: a piece of the journal is damaged.
            SwitchboardError: as `request` raises it.
        """
        run_id, messages = standing.run_id, list[Json]()
        if standing.result:
            return Report(standing)
        events = await self.so_far(run_id, owner)
        if any(isinstance(event, AgentMessage) for event in events):
            kept, request = await self.request(run_id)
            for documents in PROTOCOLS[kept.protocol].said_so_far(request, events):
                messages += documents
        calls = await approvals.waiting_calls(self._store, run_id) if standing.state.waits else {}
        return Report(standing, messages, [*calls.values()])

    async def so_far(self, run_id: str, owner: str) -> list[ChatEvent]:
        """Return the events of a run so far."""
        if live := self.lives.get(run_id):
            return [*live.turn.log]
        return (await self._look(_Place(run_id, owner), 0.0)).events

    async def _look(self, place: _Place, pause: float) -> _Look:
        """Look at a journal after a pause. All in this process who wait for the same share one look at the store."""
        looking = self._looks.get(place)
        if looking is None:
            looking = self._looks[place] = asyncio.create_task(self._look_alone(place, pause))
            looking.add_done_callback(_forget)  # all who wait may have left, and asyncio would log its error
        return await asyncio.shield(looking)

    async def _look_alone(self, place: _Place, pause: float) -> _Look:
        try:
            await asyncio.sleep(pause)
            # Read before the events: if there is a result, all events are there.
            standing = await self.find(place.run_id, place.owner)
            journal = standing.state.journal
            piece, events = place.piece if place.journal in (None, journal) else 0, list[ChatEvent]()
            while (found := await read_piece(self._store, place.run_id, journal, piece)) is not None:
                events += found
                piece += 1
            return _Look(standing, events, _Place(place.run_id, place.owner, journal, piece))
        finally:
            del self._looks[place]


def _forget(looking: asyncio.Task[_Look]) -> None:
    if not looking.cancelled():
        looking.exception()
