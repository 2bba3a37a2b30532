"""Begins runs. Every turn is a run, whichever way its request came in, and `begin` is what begins one.

A run has a keeping. With `memory` nothing is written, and it ends when its reader leaves. With `journal` its events are
kept (see `shared/runs/__init__.py`): it can be left, read again, taken over by another process, and it can wait for a
person. Whoever begins a run gets a `Followed`, and differs from others only in what it does with that: HTTP encodes it,
MCP and the queue of requests make one answer of it.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from copy import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from shared.chat_types import ChatRequest
from shared.core.fold import Answer, fold
from shared.core.running_turn import RunningTurn
from shared.errors import BadRequest, Stopped, SwitchboardError, TooSlow, Unavailable
from shared.events import AgentMessage, ChatEvent, ConsentAsked, Failed, Finished, TextDelta, Thought, ThoughtsAdded
from shared.history import owner_of
from shared.service import Service
from shared.tools.calls import no_such_approval
from shared.turns.accept import AcceptedRequest, Asker, RouteOptions
from shared.turns.begin import acts, begin_turn
from shared.wire.request_body import Body

if TYPE_CHECKING:
    from shared.runs.following import Report
    from shared.runs.journal import Live
    from shared.runs.records import State
    from shared.runs.registry import Runs


_log = logging.getLogger("switchboard.run")

MAX_KEY_LENGTH = 255
"""Characters of an idempotency key."""


class Keeping(msgspec.Struct, frozen=True):
    """How a run is kept."""

    in_journal: bool = False
    """Whether its events are kept in a journal; else it is kept in memory."""
    acts: bool = False
    """Whether whoever answers has tools of servers, so that the run may have to wait for a person."""
    outlives: bool = False
    """Whether it goes on when its reader leaves, if it is kept in a journal."""
    key: str | None = None
    """The key under which the same request of the same caller finds it; None: it is found by none."""


type WhileConnected = Callable[
    [Coroutine[Any, Any, tuple[ChatRequest, RunningTurn]]], Awaitable[tuple[ChatRequest, RunningTurn]]
]
"""Awaits the beginning of a turn, and cancels it if the caller disconnects before that."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """How a request came in, and what its sender expects of the run."""

    asker: Asker
    """Who asks."""
    until: float
    """When the answer must be complete that the request waits for, on the event loop's clock, in seconds."""
    status_within: float | None = None
    """As `begin_turn` takes it."""
    options: RouteOptions = RouteOptions()
    """What the route says of the answer."""
    protocol: str = ""
    """Name of the protocol that reads the body again."""
    path: str = ""
    """The path of the HTTP request."""
    keys: Sequence[str] = ()
    """The values of the header `Idempotency-Key`."""
    run_id: str | None = None
    """The id that the run gets; None: one is made."""
    is_kept: bool = False
    """Whether the run is kept in a journal, whatever the request says."""
    outlives: bool = False
    """Whether a run that is kept in a journal goes on when its reader leaves, whatever the request says."""
    is_waited_for: bool = True
    """Whether somebody reads the answer now. Without that, the engine decides where and when the run begins."""
    queued_as: str = ""
    """What the queue of answers calls the request; empty: it is no message of the queue of requests."""
    tries_left: int = 0
    """How often the same request comes again if this try fails."""
    is_told_later: bool = False
    """Whether the sender has asked to be told later, so that the run may take as long as such runs may."""
    while_connected: WhileConnected | None = None
    """Ends the reading of the request's files when the caller disconnects; None: it goes on."""


class Followed(msgspec.Struct, frozen=True):
    """A run as one reader follows it, from its beginning or from where a decision lets it go on."""

    request: ChatRequest
    """The request, for encoders."""
    read: Callable[[float | None], AsyncGenerator[list[ChatEvent]]]
    """Reads the events as `batches` does."""
    turn: RunningTurn | None = None
    """The turn, if it has begun in this process with this request."""
    leave: Callable[[], object] = lambda: None
    """Tells the run that its reader has left."""
    run_id: str = ""
    """The run; empty if it is kept in memory."""
    outlives: bool = False
    """Whether the run goes on when its reader leaves."""
    is_new: bool = True
    """Whether the run is the request's own; else the request decided about calls that an earlier run waited for."""
    forget: Callable[[], Awaitable[None]] | None = None
    """Deletes what is kept of the run."""
    report: Callable[[float], Awaitable["Report"]] | None = None
    """For a run that nobody waits for: waits for its end, at most so many seconds, and returns how it stands then."""

    async def settled(self, seconds: float) -> Failed | None:
        """Wait for the first words as `RunningTurn.settled` does, if the run has begun here."""
        return await self.turn.settled(seconds) if self.turn else None

    def batches(self, heartbeat: float | None) -> AsyncGenerator[list[ChatEvent]]:
        """Return the run's events in order, in batches of all that have arrived; see `RunningTurn.batches`."""
        return self.read(heartbeat)

    async def events(self) -> AsyncGenerator[ChatEvent]:
        """Yield the events one by one."""
        async for batch in self.batches(None):
            for event in batch:
                yield event

    async def answer(self, *, filter_ends: bool = False) -> Answer:
        """Wait for the whole answer; the arguments and errors are those of `fold`."""
        return await fold(self.events(), filter_ends=filter_ends)

    def cancel(self) -> None:
        """Let the run know that its reader has left: it ends, unless it outlives its request."""
        self.leave()

    def hold(self, release: Callable[[], object]) -> None:
        """Call something when the request is not in memory any more: when a turn that has begun here has ended."""
        if self.turn and not self.run_id:
            self.turn.when_ended(release)
        else:
            release()

    async def read_whole(self) -> None:
        """Delete what is kept of the run, of which the reader has the whole answer."""
        if self.forget:
            with suppress(SwitchboardError):  # it goes after a day
                await self.forget()


async def begin(
    service: Service,
    get_runs: "Callable[[], Awaitable[Runs | None]]",
    accepted: AcceptedRequest,
    arrival: Arrival,
    body: Body,
) -> Followed:
    """Begin the run of a request, or let the run go on that the request decides about.

    It is kept in a journal if it has to outlive its request, may have to wait for a person, or its caller wants that;
    else in memory.

    Args:
        service: The parts that answer.
        get_runs: Returns the runs that are kept; None: none are. It is called where the request may need them.
        accepted: The request, read and checked.
        arrival: How it came in.
        body: Its body.

    Raises:
        SwitchboardError: it cannot begin.
    """
    request, owner, undone = accepted.request, owner_of(arrival.asker.caller), list[str]()
    keeping = _keeping_of(service, accepted, arrival)
    kept = body if keeping.in_journal else None
    del body  # its texts hold the files once more
    runs = await get_runs() if kept or service.tool_servers else None
    if service.tool_servers and runs:
        if earlier := await decided(runs, request, owner, arrival.until):
            return earlier
        if keeping.acts:  # a phrase with a code that names no call is a question like any other
            undone = await runs.consents.withdraw(owner, request)
    if any(decision.approval_id for decision in request.decisions):
        raise no_such_approval()
    accepted = replace(accepted, request=replace(request, decisions=()))
    problem = ""
    if runs and kept:
        try:
            followed = await _begin_kept(runs, accepted, arrival, keeping, kept)
            read = partial(_left_undone, followed.read, undone)
            return replace(followed, read=read) if undone and not request.form else followed
        except Unavailable as error:
            if keeping.acts or keeping.key is not None or arrival.is_told_later or arrival.queued_as:
                raise  # no call of a server's tool goes unkept, and the others ask for the answer again
            problem = error.message
            _log.warning("invocation %s: answered, and not kept: %s", arrival.asker.invocation_id, problem)
    elif request.is_later:
        raise BadRequest("background: should be false: no answers are kept here (BATCH_BACKEND).")
    return await _begin_unkept(service, accepted, arrival, problem)


async def _begin_unkept(service: Service, accepted: AcceptedRequest, arrival: Arrival, problem: str) -> Followed:
    """Begin a run that is kept in memory; with a problem, one that could not be kept in a journal."""
    beginning = begin_turn(
        service,
        accepted,
        arrival.asker,
        arrival.until,
        is_whole=arrival.status_within is None,
        status_within=arrival.status_within,
    )
    if accepted.files and arrival.while_connected:
        beginning = arrival.while_connected(beginning)
    encoded, turn = await beginning
    return Followed(encoded, partial(_unkept, turn, problem) if problem else turn.batches, turn, turn.cancel)


def _keeping_of(service: Service, accepted: AcceptedRequest, arrival: Arrival) -> Keeping:
    """Decide how a run is kept."""
    request, settings = accepted.request, service.settings
    if request.is_task:
        return Keeping()
    has_tools = acts(service, accepted) and not arrival.queued_as  # a message asks nobody for consent
    wants_kept = request.wants_kept and settings.history_backend != "off"
    is_later = arrival.is_told_later or request.is_later
    outlives = is_later or request.overrides.resumable or settings.chat_runs == "always"
    if not (arrival.is_kept or has_tools or wants_kept or outlives):
        return Keeping()
    return Keeping(in_journal=True, acts=has_tools, outlives=arrival.outlives or outlives, key=read_key(arrival.keys))


def read_key(values: Sequence[str]) -> str | None:
    """Read the `Idempotency-Key` of a request; None if it has none. With or without quotes it is the same key.

    Raises:
        BadRequest: there are several, or it is empty, too long, or holds other than printable ASCII characters.
    """
    if not values:
        return None
    key = values[0].strip()
    if len(key) > 1 and key.startswith('"') and key.endswith('"'):
        key = key[1:-1]
    if len(values) > 1 or not re.fullmatch(rf"[\x20-\x7e]{{1,{MAX_KEY_LENGTH}}}", key):
        raise BadRequest(
            f"Idempotency-Key: send one, of 1 to {MAX_KEY_LENGTH} printable ASCII characters, such as a UUID."
        )
    return key


async def _left_undone(
    read: Callable[[float | None], AsyncGenerator[list[ChatEvent]]], titles: Sequence[str], heartbeat: float | None
) -> AsyncGenerator[list[ChatEvent]]:
    """Begin an answer with the calls that its question has left undone: a person may take a "yes" for consent."""
    notice = f"*({', '.join(titles)}: not done, since your message did not agree to it as was asked. Ask again.)*\n\n"
    async with aclosing(read(heartbeat)) as batches:
        async for batch in batches:
            place = next((place for place, event in enumerate(batch) if isinstance(event, _SHOWN)), None)
            if notice and place is not None:
                first, said = batch[place], TextDelta(notice)
                is_agents = isinstance(first, AgentMessage)
                batch[place : place + 1] = [replace(first, text=notice + first.text)] if is_agents else [said, first]
                notice = ""
            yield batch


_SHOWN = TextDelta | AgentMessage | ConsentAsked | Finished
"""Events before which, or in which, an answer's first words are."""


async def _unkept(turn: RunningTurn, problem: str, heartbeat: float | None) -> AsyncGenerator[list[ChatEvent]]:
    """Yield the events of a turn, and say with each message that it is not kept though that was asked for."""
    thoughts = (Thought("Run", f"This answer is not kept. {problem}"),)
    async with aclosing(turn.batches(heartbeat)) as batches:
        async for batch in batches:
            said = list[ChatEvent]()
            for event in batch:
                if isinstance(event, Finished):
                    said.append(ThoughtsAdded(thoughts))
                is_agents = isinstance(event, AgentMessage)
                said.append(replace(event, thoughts=event.thoughts + thoughts) if is_agents else event)
            yield said


async def _begin_kept(
    runs: "Runs", accepted: AcceptedRequest, arrival: Arrival, keeping: Keeping, body: Body
) -> Followed:
    from shared.runs.consents import chat_of
    from shared.runs.records import RunRequest, as_run
    from shared.runs.registry import NewRun

    request, asker, owner = accepted.request, arrival.asker, owner_of(arrival.asker.caller)
    new = NewRun(
        RunRequest(
            protocol=arrival.protocol,
            path=arrival.path,
            route=arrival.options,
            queued_as=arrival.queued_as,
            **msgspec.structs.asdict(asker),
        ),
        body,
        owner,
        named=arrival.run_id or request.run_id,
        key=None if keeping.key is None else f"{asker.budget_key} {keeping.key}",
        chat=chat_of(request) if keeping.acts else request.chat.name,
    )
    accepted = as_run(accepted)
    if not arrival.is_waited_for:
        run_id, state = await runs.accept(new)
        followed = _following(runs, run_id, owner, accepted.request, None, outlives=True)
        return replace(followed, report=partial(_report, runs, run_id, owner, state))
    until = None if arrival.is_told_later else arrival.until
    run_id, live = await runs.begin(new, accepted, arrival.status_within, until, is_last_try=not arrival.tries_left)
    encoded = live.request if live else (await runs.followers.request(run_id))[1]
    return _following(runs, run_id, owner, encoded, live, outlives=keeping.outlives, until=None if live else until)


async def _report(runs: "Runs", run_id: str, owner: str, begun: "State | None", seconds: float) -> "Report":
    """Report how a run stands; of one that has just begun, nothing is read if nobody waits."""
    from shared.runs.following import Report, Standing

    if begun and not seconds:
        return Report(Standing(run_id, begun, None))
    return await runs.followers.report(await runs.ended(run_id, owner, seconds), owner)


async def decided(runs: "Runs", request: ChatRequest, owner: str, until: float | None = None) -> Followed | None:
    """Decide about the calls that a request names, and follow the run of the last one until a time of the loop's clock.

    Returns:
        The run; None: the request decides nothing.

    Raises:
        NotFound, Decided: as `Consents.decide` raises them.
    """
    from shared.runs.approvals import Decider
    from shared.runs.records import digest

    decider, approval = Decider(digest(owner), owner), None
    for number, decision in enumerate(request.decisions, 1):
        is_last = number == len(request.decisions)
        approval = await runs.consents.decide(decision, decider, here=is_last) or approval
    if approval is None:
        return None
    begin, number = await runs.consents.shown_after(approval.run_id)
    return _following(
        runs, approval.run_id, owner, request, None, outlives=True, before=begin, number=number, until=until
    )


def _following(
    runs: "Runs",
    run_id: str,
    owner: str,
    request: ChatRequest,
    live: "Live | None",
    *,
    outlives: bool,
    before: tuple[ChatEvent, ...] | None = None,
    number: int | None = 0,
    until: float | None = None,
) -> Followed:
    """Follow a run that is kept.

    Args:
        runs: The runs of the app.
        run_id: The run.
        owner: Who reads it.
        request: The request, for encoders.
        live: The run, if it has begun in this process with this request.
        outlives: Whether it goes on when its reader leaves.
        before: Events that come before those of the run; None: the request begins the run.
        number: Number of the run's first event that is read; None: none are.
        until: When the request gives up reading, on the event loop's clock, in seconds; None: never.
    """

    async def read(heartbeat: float | None) -> AsyncGenerator[list[ChatEvent]]:
        if before:
            yield [*before]
        if number is not None:
            async with aclosing(runs.followers.follow(run_id, owner, number, heartbeat, live)) as batches:
                while True:
                    try:
                        async with asyncio.timeout_at(until):
                            batch = await anext(batches)
                    except StopAsyncIteration:
                        return
                    except TimeoutError:
                        yield [Failed(TooSlow("The answer takes longer than this request may. It goes on."), "")]
                        return
                    yield batch

    def leave() -> None:
        if live and not outlives:
            live.turn.stop(Stopped())

    return Followed(
        request,
        read,
        live.turn if live else None,
        leave,
        run_id,
        outlives=outlives,
        is_new=before is None,
        forget=partial(runs.delete, run_id, owner),
    )
