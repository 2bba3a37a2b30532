"""Runs a run: the one function that an engine calls. It may be called any number of times, anywhere, for a run."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Generator, Sequence
from contextlib import contextmanager, suppress
from copy import replace
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from shared.chat_types import ChatRequest, ChatState, RequestContext
from shared.core.fold import each, fold
from shared.core.kept_chats import resume
from shared.errors import InternalError, Stopped, SwitchboardError, log_fault
from shared.events import ChatEvent, Failed
from shared.history import HistoryStore, Mode, owner_of
from shared.runs import Conflict, ObjectStore, consents, packing, write_once
from shared.runs.approvals import asked_calls, close_calls, free_if_decided, let_rest, open_approvals, shown_before
from shared.runs.claim import Claim, claim_run, failed, read_request, unreadable
from shared.runs.journal import Journal, Live, write_first_piece
from shared.runs.kept_calls import KeptCalls
from shared.runs.kept_tools import KeptTools
from shared.runs.live import LiveTurn, ended_in, is_paused, resumed
from shared.runs.records import MOST_RUNS, Result, RunRequest, is_temporary
from shared.service import Service
from shared.turns.accept import AcceptedRequest
from shared.turns.begin import begin_turn
from shared.wire.framing import encode_json
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS

if TYPE_CHECKING:
    from shared.runs.answer_queue import AnswerQueue

_log = logging.getLogger("switchboard.run")


@dataclass(frozen=True, slots=True)
class NewTurn:
    """The request of a run that begins in the process of its request: nothing is kept of its turn yet."""

    request: RunRequest
    """The request as it is kept."""
    accepted: AcceptedRequest
    """The request, read and checked."""
    status_within: float | None
    """As `begin_turn` takes it."""
    until: float | None
    """As `Runs.begin` takes it. Who takes the run over has no request that waits, and may take longer."""


class Runner:
    """Runs runs in this process.

    Args:
        store: Keeps them.
        service: Answers them.
        lives: Those that go on in this process, by their ids.
        answers: Where answers to messages of the queue of requests go; None: there are none.
    """

    def __init__(
        self, store: ObjectStore, service: Service, lives: dict[str, Live], answers: "AnswerQueue | None" = None
    ) -> None:
        self.store = store
        self.service = service
        self.lives = lives
        self.answers = answers

    async def run(self, run_id: str) -> None:
        """Run a run until it has a result, from where an earlier runner was interrupted."""
        await free_if_decided(self.store, run_id)
        if claim := await claim_run(run_id, self.store):
            await self.run_claimed(claim)

    async def run_claimed(
        self,
        claim: Claim,
        new: NewTurn | None = None,
        begun: asyncio.Future[Live | None] | None = None,
        *,
        is_last_try: bool = True,
    ) -> None:
        """Run a run that has been claimed.

        Args:
            claim: The claim.
            new: The request, if nothing is kept of its turn yet.
            begun: Gets the run when it has begun, or the error for which it has not; None: nobody waits for that.
            is_last_try: Whether an error that another try may mend ends the run.
        """
        run = _Run(self, claim, new, begun, is_last_try=is_last_try)
        if claim.state.stopped:
            await run.give_up(Stopped())
        elif claim.state.runs > MOST_RUNS:
            await run.give_up(InternalError("The answer was interrupted too often: ask again."))
        else:
            runner = asyncio.current_task()
            beating = asyncio.create_task(claim.keep(run.stop, runner.cancel if runner else run.stop))
            await self._end(claim, run, beating)

    async def _end(self, claim: Claim, run: "_Run", beating: asyncio.Task[None]) -> None:
        """Run it to its end, or until it waits or is another runner's."""
        runner = asyncio.current_task()
        try:
            result = await run.result()
            if result is None:
                beating.cancel()  # a beat after the state that waits would put the running one in its place
                await asyncio.wait([beating])
                await self._wait(claim, run)
            else:
                await run.end(result)
        except _NextTryError:
            await claim.leave_to_next_try()
        except asyncio.CancelledError:
            if not (claim.is_lost and runner):
                raise
            runner.uncancel()
            await claim.leave()
        except Conflict:  # another runner has written the next piece of the journal
            await claim.leave()
        except SwitchboardError:
            await claim.release()
            raise
        finally:
            beating.cancel()
            self._drop(run)
            run.let_end()

    async def _wait(self, claim: Claim, run: "_Run") -> None:
        """Let a run wait for the decisions that it has asked for."""
        request, _ = await read_request(self.store, claim.run_id)
        calls = await asked_calls(self.store, claim.run_id)
        await open_approvals(self.store, claim.run_id, claim.state, calls, asker=owner_of(request.caller))
        if run.live:
            owner = owner_of(request.caller)
            await consents.enter_chats(self.store, claim.run_id, owner, run.live.request, run.live.turn.log)
        self._drop(run)  # before anybody can go on with it, and be shown this turn in place of the next
        if not (calls and await claim.wait(calls)):
            await close_calls(self.store, claim.state.owner, calls)
            await (claim.leave() if claim.is_lost else run.give_up(Stopped()))
            return
        run.let_end()
        # Who listed the approvals may have decided before the run waited.
        state = await let_rest(self.store, claim.run_id)
        if state and not state.waits:
            await self.run(claim.run_id)

    def _drop(self, run: "_Run") -> None:
        """Let nobody find what goes on here of a run, unless that is another runner's by now."""
        if run.live and self.lives.get(run.run_id) is run.live:
            del self.lives[run.run_id]

    async def give_up(self, run_id: str) -> None:
        """Give up a run that nobody could end, unless it has ended or somebody works on it. What it has done stays."""
        if claim := await claim_run(run_id, self.store):
            await _Run(self, claim).give_up(
                InternalError("The answer could not be made. Ask again, and report it if it stays.")
            )


class _NextTryError(Exception):
    """A try has failed in a way that the next one may mend."""


class _StoreFailedError(Exception):
    """The store failed in the middle of a run: not the run's end, since it can be run again."""

    def __init__(self, error: SwitchboardError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _interrupting() -> Generator[None]:
    try:
        yield
    except InternalError:  # what it has kept is damaged, and stays so
        raise
    except SwitchboardError as error:
        raise _StoreFailedError(error) from None


class _Run:
    """One run that is claimed. Its arguments are those of `Runner.run_claimed`."""

    def __init__(
        self,
        runner: Runner,
        claim: Claim,
        new: NewTurn | None = None,
        begun: asyncio.Future[Live | None] | None = None,
        *,
        is_last_try: bool = True,
    ) -> None:
        self._claim = claim
        self._store = runner.store
        self._service = replace(
            runner.service,
            model=KeptCalls(runner.service.model, runner.store, claim.run_id, is_new=new is not None),
        )
        self._lives = runner.lives
        self._answers = runner.answers
        self._queued_as = ""
        self._new = new
        self._begun = begun
        self._is_last_try = is_last_try
        self._journal = Journal(runner.store, claim.run_id, claim.state.journal)
        self._turn: LiveTurn | None = None
        self.run_id = claim.run_id
        self.live: Live | None = None

    def let_end(self) -> None:
        """Show its end to those who follow it here: it is stored."""
        if self.live:
            self.live.left.set()

    def stop(self) -> None:
        """Stop it. What has come of it stays."""
        if self._turn:
            self._turn.stop(Stopped())

    async def give_up(self, error: SwitchboardError) -> None:
        """End it with an error. What it has done stays readable."""
        try:
            request, _ = await read_request(self._store, self.run_id)
            self._queued_as = request.queued_as
            if is_paused(known := await self._journal.read()):
                await self._leave_pause(known)
        except InternalError as damage:
            await self._claim.end(unreadable(damage))
        else:
            await self.end(await self._failed(error, request))

    async def end(self, result: Result) -> None:
        """End it, and send its answer first if it is to a message that nobody works on."""
        if self._queued_as and self._answers and self._begun is None:
            await self._answers.send(self._queued_as, result.status, bytes(result.body), self.run_id)
        await self._claim.end(result)

    async def _leave_pause(self, known: list[ChatEvent]) -> None:
        """Begin the journal that has no pause at its end: readers are asked nothing more, and see one end alone."""
        number = self._journal.number + 1
        await write_first_piece(self._store, self._claim.run_id, number, shown_before(known))
        self._journal.begin_anew(await self._claim.begin_journal())
        await self._journal.read()
        self._turn = None  # its end was the pause

    async def result(self) -> Result | None:
        """Answer it; None: it waits for a person."""
        try:
            request, body = (self._new.request, None) if self._new else await read_request(self._store, self.run_id)
        except InternalError as error:
            return unreadable(error)
        self._queued_as = request.queued_as
        try:
            return await self._answer(request, body)
        except SwitchboardError as error:
            if self._begun and not self._begun.done():
                self._begun.set_exception(error)
            if request.queued_as and not self._is_last_try and is_temporary(error):
                raise _NextTryError from None
            return await self._failed(error, request)
        except _StoreFailedError as interrupted:
            raise interrupted.error from None
        except Conflict:
            raise
        except Exception as error:  # noqa: BLE001 (the outer edge: it is logged, and the caller gets one clean error)
            log_fault(error, request.invocation_id)
            if self._begun and not self._begun.done():
                self._begun.set_exception(InternalError())
            return await self._failed(InternalError(), request)

    async def _answer(self, request: RunRequest, body: Body | None) -> Result | None:
        protocol = PROTOCOLS[request.protocol]
        with _interrupting():
            known = [] if self._new else await self._journal.read()
        live = await self._begin(request, body, known)
        delivering = self._delivering(request, live)
        try:
            with _interrupting():
                await self._journal.keep(live.turn, self._claim.followed)
                if delivering:
                    await delivering
            if is_paused(live.turn.log):
                return None
            answer = await fold(each(packing.joined(live.turn.log)), filter_ends=protocol.filter_ends)
        finally:
            live.turn.cancel()
            if delivering:
                delivering.cancel()
        encode = protocol.team_answer if request.route.team else protocol.answer
        whole = encode(live.request, answer) if protocol.answer and encode else None
        return Result(200, msgspec.Raw(encode_json(whole)))

    def _delivering(self, request: RunRequest, live: Live) -> asyncio.Task[None] | None:
        """Send what comes of the run to where its activity came from, if it has one. A failure interrupts it."""
        if request.protocol != "activity":
            return None
        from shared.runs.delivery import deliver

        task = asyncio.create_task(deliver(self._service, self._store, self._claim, request, live))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())  # asyncio would log it
        return task

    async def _begin(self, request: RunRequest, body: Body | None, known: Sequence[ChatEvent]) -> Live:
        """Begin its turn, or go on with it."""
        settings = self._service.settings
        seconds = settings.batch_deadline_seconds
        left = min(seconds, self._claim.state.started + seconds - time.time())
        until = self._new.until if self._new else None
        until = asyncio.get_running_loop().time() + left if until is None else until
        accepted = self._new.accepted if self._new else request.accepted(body or Body({}), settings)
        book = KeptTools(self._store, self._claim.run_id, self._claim.state, asks=not request.queued_as)

        def make(events: AsyncGenerator[ChatEvent], context: RequestContext) -> LiveTurn:
            self._turn = LiveTurn(resumed(events, known, self._begin_anew) if known else events, context)
            return self._turn

        if ended_in(known):
            encoded = await with_chat(accepted.request, self._store, self._claim.run_id)
            self._turn = LiveTurn(each(known), RequestContext(request.invocation_id, until))
        else:
            encoded, _ = await begin_turn(
                replace(self._service, book=book),
                accepted,
                request,
                until,
                is_whole=self._new is not None and self._new.status_within is None,
                status_within=self._new.status_within if self._new else None,
                run_id=self._claim.run_id,
                find_chat=self._find_chat,
                make=make,
            )
        if self._turn is None:
            raise InternalError
        self.live = self._lives[self.run_id] = Live(encoded, self._turn, self._journal)
        if self._begun and not self._begun.done():
            self._begun.set_result(self.live)
        return self.live

    async def _begin_anew(self) -> None:
        with _interrupting():
            self._journal.begin_anew(await self._claim.begin_journal())

    async def _failed(self, error: SwitchboardError, request: RunRequest) -> Result:
        """End the journal with an error, unless it has ended, and make the result."""
        if not (self._turn and self._turn.has_ended):
            with suppress(Conflict):  # a piece that is damaged is in its place
                await self._journal.append([Failed(error, request.invocation_id)])
        return failed(error, PROTOCOLS[request.protocol], request.invocation_id)

    async def _find_chat(
        self, request: ChatRequest, context: RequestContext, history: HistoryStore, mode: Mode
    ) -> ChatRequest:
        """Give the request its chat: the same one in each run."""
        if not self._new:
            with _interrupting():
                known = await with_chat(request, self._store, self._claim.run_id)
            if known is not request:
                return known
        resumed_request = await resume(request, context, history, mode)
        chat_id = resumed_request.chat.conversation_id
        if chat_id and chat_id != request.chat.conversation_id:
            with _interrupting():
                await write_once(self._store, _chat_name(self._claim.run_id), chat_id.encode())
        return resumed_request


async def with_chat(request: ChatRequest, store: ObjectStore, run_id: str) -> ChatRequest:
    """Give a request the chat that a run has begun for it; without one it is returned as it is."""
    kept = await store.read(_chat_name(run_id))
    return replace(request, chat=ChatState.kept(kept.data.decode())) if kept else request


def _chat_name(run_id: str) -> str:
    return f"{run_id}/chat"


async def reported(work: Awaitable[object]) -> None:
    """Await the work on a run; log an error that has interrupted it. The next sweep lets it go on."""
    try:
        await work
    except SwitchboardError as error:
        _log.warning("a run was interrupted: %s", error.message)
    except Exception as error:  # noqa: BLE001 (as above; the message may hold a user's text)
        _log.error("a run was interrupted: %s", type(error).__name__)
