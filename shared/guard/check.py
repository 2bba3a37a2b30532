"""A check: one session with the safety service, which sends the texts it is given and keeps the results.

    owner ──ask, add, finish──▶ outbox ──sender task──▶ service ──reader task──▶ clearance, fault, complete
                                                                                    └─▶ sets `changed`

The owner never waits for the service: it adds steps to the outbox, and reads `clearance`, `fault` and `complete` when
`changed` is set.
"""

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from functools import partial

from shared.chat_types import RequestContext
from shared.errors import BadRequest, SwitchboardError, TooLarge, TooSlow, Unavailable, log_fault
from shared.guard import Completion, Place, SafetyEvent, SafetySession
from shared.guard.chat_payloads import PromptText, answer_buffer, prompt_buffer
from shared.guard.clearance import Clearance

_log = logging.getLogger("switchboard.safety")
_REASON = re.compile("[A-Za-z_]{1,60}")

LONGEST_WAITING = 1_000_000
"""Characters of answers that may wait in the outbox. With more, the service accepts too little: the check fails."""
LAST_WORDS_SECONDS = 1.0
"""Time in which results are still read after sending has failed: they may say why it failed, or block the text."""
_MARGIN_SECONDS = 0.5
"""A check fails this long before the turn's deadline, or a twentieth of the time that was left if that is less. So the
outcome still goes out in time."""


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Send pieces of one text of an answer. Pieces that arrive while this waits are added, to make one message."""

    place: Place
    pieces: list[str]


type OpenSession = Callable[[RequestContext], AbstractAsyncContextManager[SafetySession]]
type _Step = _Pieces | Callable[[SafetySession], Awaitable[None]]
"""A step of the outbox: send pieces of an answer, or do something else with the session."""


class Check:
    """A session with the safety service in a task of its own. Every error becomes `fault`; no method raises.

    The service's answer is due when a text is committed and not cleared yet, and at the end. Then the service may be
    silent for `timeout` seconds. Before that it may be silent for as long as the model takes: it may need more text.
    """

    def __init__(
        self,
        session: OpenSession,
        context: RequestContext,
        *,
        model: str,
        timeout: float,
        changed: asyncio.Event,
        blind: bool = False,
    ) -> None:
        self.clearance = Clearance(blind=blind)
        self.fault: SwitchboardError | None = None
        """Why the check failed; None if it has not."""
        self.complete = False
        """Whether the service has said that it analysed everything."""
        self._session = session
        self._blind = blind
        self._context = context
        self._model = model
        self._created = int(time.time())
        self._timeout = timeout
        self._changed = changed
        self._outbox: deque[_Step] = deque()
        self._has_mail = asyncio.Event()
        self._waiting = 0
        self._uncommitted = False
        self._due: frozenset[Place] = frozenset()
        self._finishing = False
        loop = asyncio.get_running_loop()
        left = context.deadline - loop.time()
        self._end = context.deadline - min(_MARGIN_SECONDS, left / 20)
        # Twice the timeout, since the service limits the opening of a session itself, and its error says more.
        self._clock: asyncio.TimerHandle | None = self._give_up_after(2 * timeout)
        self._task = asyncio.create_task(self._guarded(self._run))

    @property
    def settled(self) -> bool:
        """Whether the outcome is final."""
        return self.complete or self.fault is not None

    def ask(self, texts: Sequence[PromptText]) -> None:
        """Send all messages that the caller wrote."""
        for said in texts:
            if said.text:
                self.clearance.expect(said.place, said.text)
        self._put(partial(self._send_prompt, texts))
        self._put(partial(self._commit, self.clearance.places))

    def add(self, place: Place, text: str) -> None:
        """Send the next piece of an answer's text."""
        if not text or self.fault:
            return
        if self._waiting > LONGEST_WAITING:
            self._fail(_too_slow(), "it takes in too little")
            return
        self.clearance.expect(place, text)
        self._uncommitted = True
        self._waiting += len(text)
        last = self._outbox[-1] if self._outbox else None
        if isinstance(last, _Pieces) and last.place == place:
            last.pieces.append(text)
        else:
            self._put(_Pieces(place, [text]))

    def finish(self) -> None:
        """Send what is left, and tell the service that nothing more comes."""
        if self._uncommitted:
            self._put(partial(self._commit, self.clearance.places))
        self._put(self._finish)

    def expect(self) -> None:
        """Expect an answer for all texts now: the queue is full, and the owner sends no more before some is cleared."""
        self._due = self.clearance.places
        if self._clock is None:
            self._watch()

    async def decided(self) -> None:
        """Wait until the outcome is final, or something is forbidden; for a check that shares `changed` with nobody."""
        while not (self.settled or self.clearance.blocking):
            self._changed.clear()
            await self._changed.wait()

    async def aclose(self) -> None:
        """End the session, if it is not over."""
        if self._clock:
            self._clock.cancel()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _put(self, step: _Step) -> None:
        if not self.fault:
            self._outbox.append(step)
            self._has_mail.set()

    async def _run(self) -> None:
        async with self._session(self._context) as session:
            self._watch()
            # Sending and reading go on at the same time: the service may answer while a message is being sent, and may
            # take no more messages until its results are read.
            sending = asyncio.create_task(self._guarded(partial(self._send, session)))
            try:
                await self._guarded(partial(self._read, session))
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)

    async def _read(self, session: SafetySession) -> None:
        async with aclosing(session.events()) as events:
            async for event in events:
                self._take_in(event)
                if self.settled:
                    return
        error = Unavailable("The safety service ended its check early. Try again.")
        self._fail(error, "the stream ended without a completion")

    async def _send(self, session: SafetySession) -> None:
        """Send the steps of the outbox. If that fails, results that came before the failure are still read."""
        try:
            await self._send_all(session)
        except (BadRequest, TooLarge):
            raise
        except SwitchboardError as error:
            # The reader may get the real reason a moment later, or a blocking result: give it time to be first.
            asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._fail, error)

    async def _send_all(self, session: SafetySession) -> None:
        while True:
            while not self._outbox:
                self._has_mail.clear()
                await self._has_mail.wait()
            step = self._outbox.popleft()
            await (self._send_pieces(step, session) if isinstance(step, _Pieces) else step(session))

    async def _send_prompt(self, texts: Sequence[PromptText], session: SafetySession) -> None:
        for said in texts:
            if said.text:  # an empty text needs no clearance, and gets no watermark
                self.clearance.send(said.place, said.text)
        await session.send(prompt_buffer(texts, self._model))

    async def _send_pieces(self, added: _Pieces, session: SafetySession) -> None:
        text = "".join(added.pieces)
        self._waiting -= len(text)
        self.clearance.send(added.place, text)
        await session.send(answer_buffer(added.place, text, self._context.invocation_id, self._model, self._created))

    async def _commit(self, places: frozenset[Place], session: SafetySession) -> None:
        await session.commit()
        self._due |= places
        self._watch()

    async def _finish(self, session: SafetySession) -> None:
        self._finishing = True
        await session.finish()
        self._watch()

    def _take_in(self, event: SafetyEvent) -> None:
        if isinstance(event, Completion):
            self._conclude(event)
        else:
            try:
                self.clearance.take_in(event)
            except Unavailable as error:
                self._fail(error, error.message)
        self._watch()
        self._changed.set()

    def _conclude(self, event: Completion) -> None:
        # A service that ends in good order has still not checked everything if some text is neither cleared nor
        # blocked, or if it ends before it was told that nothing more comes.
        blocking = self.clearance.blocking
        fault = None if blocking or self._blind else self.clearance.coverage.fault
        if not event.whole:
            reason = event.end_reason if _REASON.fullmatch(event.end_reason) else "a reason that is none"
            why = f"it ended with {reason}" + (" and an error description" if event.error_description else "")
        elif not self._finishing:
            why = "it ended before everything was sent"
        elif fault:
            why = fault.message
        elif not (blocking or self.clearance.whole):
            why = f"it ended without clearing {self.clearance.lacks}"
        else:
            self.complete = True
            return
        self._fail(fault or Unavailable("The safety service could not check everything. Try again."), why)

    def _watch(self) -> None:
        """Restart the clock if an answer of the service is due; else stop it."""
        if self._clock:
            self._clock.cancel()
            self._clock = None
        awaited = self._finishing or any(not self.clearance.is_clear(place) for place in self._due)
        if awaited and not self.settled:
            self._clock = self._give_up_after(self._timeout)

    def _give_up_after(self, seconds: float) -> asyncio.TimerHandle:
        loop = asyncio.get_running_loop()
        return loop.call_later(min(seconds, self._end - loop.time()), self._late)

    def _late(self) -> None:
        fault = None if self._blind else self.clearance.coverage.fault
        self._fail(fault or _too_slow(), f"it was silent, and has not cleared {self.clearance.lacks or 'the end'}")

    def _fail(self, error: SwitchboardError, why: str = "") -> None:
        """End the check with this fault. `why` is for the log: sessions log the faults that they raise themselves."""
        if not self.settled:
            self.fault = error
            if why:
                _log.warning("The safety check failed: %s, invocation %s", why, self._context.invocation_id)
        self._changed.set()

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work, and turn every error into a fault."""
        try:
            await work()
        except SwitchboardError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 (an unknown error must be a fault too, else the text would go out)
            log_fault(error, self._context.invocation_id)
            self._fail(Unavailable("The safety check failed on our side. Try again, and report it if it stays."))


def _too_slow() -> TooSlow:
    return TooSlow("The safety service did not answer in time. Try again.")
