"""Runs a turn in a task of its own; the response takes its events in batches.

This is the outer edge of the core: the only place that turns any exception into one last `Failed`, and the one
log entry of a turn. A batch holds the events that came together, such as the tokens of one network read, so
that they go out in one write.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from copy import replace
from typing import cast

from shared.chat_types import RequestContext
from shared.errors import InternalError, SwitchboardError, TooSlow, log_fault, without_frames
from shared.events import (
    AgentMessage,
    AgentWork,
    ChatEvent,
    ConsentAsked,
    Failed,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolEnded,
    ToolsCalled,
    ToolStarted,
)
from shared.runtime.reusable_timeout import ReusableTimeout

_log = logging.getLogger("switchboard.turn")

_BATCH_LIMIT = 1_000
"""Events that may wait for a slow reader; then the turn waits too."""
_TOO_SLOW = (
    "The answer took too long. Ask for less, or try again; whoever runs the app can raise CHAT_DEADLINE_SECONDS, or "
    "lower CHAT_SOURCE_TOKENS, so that the model has less to read."
)
STOPPED = "stopped"
"""Says in a `CancelledError` that the turn was ended on purpose, and not because its caller has left."""


def is_first_words(event: object) -> bool:
    """Whether an event is part of an answer. The message of a failed agent is not: other agents may fail as well."""
    return isinstance(event, TextDelta | ToolsCalled | ToolStarted | ToolEnded | ConsentAsked) or (
        isinstance(event, AgentMessage) and event.error is None
    )


def opens_response(event: object) -> bool:
    """Whether a response begins with an event: with the answer or what is thought before, or with what agents do."""
    return isinstance(event, AgentWork | ReasoningDelta) or is_first_words(event)


class RunningTurn[Event = ChatEvent]:
    """Runs the events of one turn, or of other work that a caller waits for, within the deadline of its context.

    Args:
        events: The events of the turn.
        context: The context of the request.
        begins: Whether the response begins with an event; after it, an error can no longer set the status.
    """

    def __init__(
        self,
        events: AsyncGenerator[Event],
        context: RequestContext,
        *,
        begins: Callable[[Event | Failed], bool] = opens_response,
    ) -> None:
        self._context = context
        self._begins = begins
        self._waiting: list[Event | Failed] = []
        self._readers: list[asyncio.Future[None]] = []
        self._stopped_by: SwitchboardError | None = None
        self._taken = asyncio.Event()
        self._has_text = False
        self._started = time.monotonic()
        self._task = asyncio.create_task(self._run(events))
        self._task.add_done_callback(lambda _: self._wake_readers())

    async def settled(self, seconds: float) -> Failed | None:
        """Wait until the answer begins, the turn ends, or `seconds` have passed.

        Returns the failure of a turn that failed before any text: the status can still report it.
        """
        try:
            async with asyncio.timeout(seconds):
                while not (self._has_text or self._task.done()):
                    await self._next_change()
        except TimeoutError:
            return None
        last = self._waiting[-1] if self._waiting else None
        return last if isinstance(last, Failed) and not self._has_text else None

    def batches(self, heartbeat: float | None) -> AsyncGenerator[list[Event | Failed]]:
        """Return the events in order, in batches of all that have arrived.

        Args:
            heartbeat: Seconds without events after which an empty batch is yielded; None: never.
        """
        return self._as_they_come(self._take, heartbeat)

    async def _as_they_come(
        self, take: Callable[[], list[Event | Failed]], heartbeat: float | None
    ) -> AsyncGenerator[list[Event | Failed]]:
        """Yield what `take` finds, again and again until the turn has ended."""
        silence = math.inf if heartbeat is None else heartbeat
        now = asyncio.get_running_loop().time
        with ReusableTimeout() as waits:
            while True:
                if batch := take():
                    yield batch
                elif self._task.done():
                    return
                else:
                    try:
                        await waits.until(now() + silence, self._next_change())
                    except TimeoutError:
                        yield []

    async def events(self) -> AsyncGenerator[Event | Failed]:
        """Yield the events one by one."""
        async for batch in self.batches(heartbeat=None):
            for event in batch:
                yield event

    def cancel(self) -> None:
        """Stop the turn and the model's work, because the caller has left. Does nothing after the end."""
        self._task.cancel()

    def stop(self, error: SwitchboardError) -> None:
        """Stop the turn; the error is its last event. Does nothing after the end."""
        self._stopped_by = error
        self._task.cancel(STOPPED)

    def when_ended(self, call: Callable[[], object]) -> None:
        """Call something when the turn has ended, for whatever reason; the request is then not in memory any more."""
        self._task.add_done_callback(lambda _: call())

    async def _run(self, events: AsyncGenerator[Event]) -> None:
        outcome, deadline = "", asyncio.timeout_at(self._context.deadline)
        try:
            async with deadline, aclosing(events):
                async for event in events:
                    if isinstance(event, Finished):
                        outcome = event.reason
                        self._put(cast("Event", replace(event, ended=event.ended or int(time.time()))))
                    else:
                        self._put(event)
                    if len(self._waiting) >= _BATCH_LIMIT:
                        await self._room()
            outcome = outcome or "complete"
        except asyncio.CancelledError:
            if self._stopped_by is None:
                raise
            outcome = self._fail(self._stopped_by)
        except SwitchboardError as error:
            outcome = self._fail(without_frames(error))
        except Exception as error:  # noqa: BLE001 (the outer edge: it is logged, and the caller gets one clean error)
            if deadline.expired():
                outcome = self._fail(TooSlow(_TOO_SLOW))
            else:
                log_fault(error, self._context.invocation_id)
                outcome = self._fail(InternalError())
        finally:
            milliseconds = (time.monotonic() - self._started) * 1000
            outcome = outcome or "cancelled"
            _log.info("invocation %s: turn ended: %s, %.0f ms", self._context.invocation_id, outcome, milliseconds)

    def _put(self, event: Event | Failed) -> None:
        self._waiting.append(event)
        self._has_text = self._has_text or self._begins(event)
        self._wake_readers()

    async def _room(self) -> None:
        """Wait until the reader has taken the waiting events."""
        while len(self._waiting) >= _BATCH_LIMIT:
            self._taken.clear()
            await self._taken.wait()

    def _fail(self, error: SwitchboardError) -> str:
        self._put(Failed(error, self._context.invocation_id))
        return error.code

    def _take(self) -> list[Event | Failed]:
        """Return the events that wait, once."""
        batch = self._waiting
        if batch:
            self._waiting = []
            self._taken.set()
        return batch

    def _next_change(self) -> asyncio.Future[None]:
        """A future for the next event or the end of the turn; an `asyncio.Event` would cost twice as much."""
        change = asyncio.get_running_loop().create_future()
        self._readers.append(change)
        return change

    def _wake_readers(self) -> None:
        readers, self._readers = self._readers, []
        for change in readers:
            if not change.done():
                change.set_result(None)
