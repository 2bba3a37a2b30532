"""Turns of runs: one that any number of readers follow, and one that goes on where an earlier runner was cut off."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing

from shared.core.running_turn import RunningTurn
from shared.events import (
    AgentMessage,
    ChatEvent,
    ConsentAsked,
    Failed,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolEnded,
    ToolStarted,
)

STORED_SECONDS = 5.0
"""How long who asks for a run that has ended waits until its result is stored."""


class LiveTurn(RunningTurn[ChatEvent]):
    """A running turn that keeps its events. A reader who leaves does not stop it, and none makes it wait."""

    @property
    def log(self) -> Sequence[ChatEvent]:
        """All events so far."""
        return self._waiting

    @property
    def has_ended(self) -> bool:
        """Whether all events are there, and the turn was not given up in between."""
        return self._task.done() and ended_in(self._waiting)

    def batches(self, heartbeat: float | None) -> AsyncGenerator[list[ChatEvent]]:
        """Return the events in order from the first on; see `RunningTurn.batches`."""
        return self.follow(0, heartbeat)

    def follow(self, number: int, heartbeat: float | None) -> AsyncGenerator[list[ChatEvent]]:
        """Return the events from a number on, in batches of all that have arrived.

        Args:
            number: Number of the first event, from 0.
            heartbeat: Seconds without events after which an empty batch is yielded; None: never.
        """
        seen = number

        def unseen() -> list[ChatEvent]:
            nonlocal seen
            batch = self._waiting[seen:]
            seen += len(batch)
            return batch

        return self._as_they_come(unseen, heartbeat)

    async def ended_within(self, seconds: float, *, unless: asyncio.Event | None = None) -> bool:
        """Wait until the turn has ended, or for so many seconds, or until `unless` is set; return whether it has."""
        sooner = [asyncio.create_task(unless.wait())] if unless else []
        try:
            await asyncio.wait([self._task, *sooner], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in sooner:
                waiting.cancel()
        return self._task.done()

    async def _room(self) -> None:
        """Wait for nobody: the events are kept in any case."""


def ended_in(events: Sequence[ChatEvent]) -> bool:
    """Whether the last of some events is the end of a turn."""
    return bool(events) and isinstance(events[-1], Finished | Failed)


def is_paused(events: Sequence[ChatEvent]) -> bool:
    """Whether the last of some events is the end of a turn that waits for a person."""
    return bool(events) and isinstance(events[-1], Finished) and events[-1].reason == "consent"


def cut_at_end(events: Sequence[ChatEvent]) -> tuple[Sequence[ChatEvent], Sequence[ChatEvent]]:
    """Cut events in front of an end, with the question for consent that belongs to it."""
    end = len(events) - ended_in(events)
    end -= end > 0 and isinstance(events[end - 1], ConsentAsked)
    return events[:end], events[end:]


async def resumed(
    events: AsyncGenerator[ChatEvent], known: Sequence[ChatEvent], begin_anew: Callable[[], Awaitable[None]]
) -> AsyncGenerator[ChatEvent]:
    """Yield what an earlier run of this turn has shown, and then what is new in this one.

    A model call that was cut off is made again, and may say something else. Nobody is shown the end of one text after
    the beginning of another: nothing goes out before the new text has reached what was shown, and where they differ,
    the answer begins anew.

    Args:
        events: The turn's events.
        known: What was shown.
        begin_anew: Called before the first event of an answer that begins anew.
    """
    shown: _Shown | None = _Shown(known)
    waiting, held, new = True, list[ChatEvent](), list[ChatEvent]()
    try:
        async with aclosing(events):
            async for event in events:
                if waiting:
                    held.append(event)
                try:
                    new += shown.rest_of(event) if shown else (event,)
                except _DiffersError:
                    await begin_anew()
                    waiting, shown, new = False, None, held
                if waiting and shown and shown.is_reached:
                    waiting, new = False, [*known, *new]
                if not waiting:
                    for one in new:
                        yield one
                    new = []
    except GeneratorExit:
        raise
    except BaseException:  # however it ends, the end comes after what was shown
        for one in known if waiting else ():
            yield one
        raise


class _DiffersError(Exception):
    """A run says something else than an earlier one has shown."""


class _Shown:
    """What an earlier run has shown.

    Texts are known by characters, messages by their agents, calls by their ids, the rest by kind and order.
    """

    def __init__(self, known: Sequence[ChatEvent]) -> None:
        self._text = "".join(event.text for event in known if isinstance(event, TextDelta | ReasoningDelta))
        self._at = 0
        self._agents = {event.position for event in known if isinstance(event, AgentMessage)}
        self._calls = {(type(event), event.call_id) for event in known if isinstance(event, ToolStarted | ToolEnded)}
        self._others = Counter(type(event).__name__ for event in known)

    @property
    def is_reached(self) -> bool:
        """Whether this run has said all text that was shown."""
        return self._at >= len(self._text)

    def rest_of(self, event: ChatEvent) -> Iterator[ChatEvent]:
        """Yield what is new in an event.

        Raises:
            _DiffersError: it differs from what was shown.
        """
        match event:
            case TextDelta(text) | ReasoningDelta(text) if not self.is_reached:
                part = self._text[self._at : self._at + len(text)]
                if not text.startswith(part):
                    raise _DiffersError
                self._at += len(part)
                if rest := text[len(part) :]:
                    yield type(event)(rest)
            case Finished() if not self.is_reached:
                raise _DiffersError
            case AgentMessage():
                if event.position not in self._agents:
                    yield event
            case ToolStarted() | ToolEnded():
                if (type(event), event.call_id) not in self._calls:
                    yield event
            case _ if not isinstance(event, TextDelta | ReasoningDelta) and self._others[type(event).__name__] > 0:
                self._others[type(event).__name__] -= 1
            case _:
                yield event
