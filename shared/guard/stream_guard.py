"""The guard of a turn: takes in the turn's events, and yields those that may be shown.

With `enforce` nothing goes out before all that the caller wrote is cleared. Then text goes out up to the service's
watermark, and an event behind text waits for that text. Search queries and follow-up questions are a model's words too,
so they wait until they are cleared. Of the sources only the cleared ones go out. With `annotate` only the end waits,
for the results. docs/decisions/0006 says why.

The parts, and where events go:

    turn ─▶ _pull, a task ─▶ ReleaseQueue: text and events in order ─▶ shown() ─▶ caller
              ├─ reasoning, text, follow-ups ▶ the main Check, which also has the question
              ├─ search query, tool calls ──▶ a Check of its own
              ├─ sources ───────────────────▶ GuardedSources ──▶ a Check
              └─ message of a team ─────────▶ GuardedMessages ─▶ a Check, and one for its sources

`AgentWork` waits for nothing; with `enforce` it goes out without the search query, which a model wrote.

Only `shown()` decides what goes out. It asks each `Check` (its `Clearance` counts how much of a text is cleared) and
`Rules` (what mode and faults mean). `_pull` and every `Check` set `_changed` when something is new, and then `shown()`
looks at everything anew. It sets `_taken` when the queue has room, so that `_pull` goes on.

The states of a turn with `enforce`:

    question not cleared ──cleared──▶ cleared text and events go out ──all Checks complete──▶ last event, end
         │       │                        │       │
         │       └────── fault ───────────┴───────│──▶ `block`: the fault is raised; `allow`: its texts go out unchecked
         └────────────── blocking result ─────────┴──▶ ContentFiltered, after what was cleared of the answer
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from copy import replace
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from shared import events
from shared.chat_types import ChatRequest, RequestContext, Role
from shared.errors import ContentFiltered
from shared.guard import Place, Side
from shared.guard.chat_payloads import ANSWER, MORE, PromptText, prompt_texts
from shared.guard.check import Check
from shared.guard.clearance import ReleaseQueue
from shared.guard.rules import EARLIER_REFUSED, REFUSED, Results, Rules, merged, merged_prompt
from shared.guard.source_guard import GuardedSources
from shared.guard.team_guard import GuardedMessages

_log = logging.getLogger("switchboard.safety")

_WITHHELD = "(What the tool returned is withheld.)"

LONGEST_HELD = 256 * 1024
"""UTF-8 bytes of an answer that may wait to be cleared. With more, the model has to wait too."""


async def guard(
    turn: AsyncGenerator[events.ChatEvent],
    request: ChatRequest,
    context: RequestContext,
    rules: Rules,
    *,
    team: bool = False,
) -> AsyncGenerator[events.ChatEvent]:
    """Guard a turn. The turn begins at once, beside the check of the question.

    Args:
        turn: The events of the turn.
        request: The request, whose texts are checked.
        context: The request's context, with its deadline.
        rules: The safety service, and what its results mean.
        team: Whether the turn has whole messages of a team, and no pieces of text.

    Raises:
        ContentFiltered: the question or the answer is forbidden; with `enforce`.
        SwitchboardError: an error of the turn; with `enforce` and `block` also the fault of a check.
    """
    # Not made before the first event is asked for: it starts the check of the question.
    async with aclosing(_GuardedTurn(request, context, rules, team=team).shown(turn)) as shown:
        async for event in shown:
            yield event


@dataclass(frozen=True, slots=True)
class _Held:
    """An event that waits in the queue."""

    event: events.ChatEvent
    """The event."""
    check: Check | None = None
    """Check that has to clear it; None if it only waits for the text before it."""


class _GuardedTurn:
    """One turn under guard. A task pulls the turn's events, and each check has a task that talks to the service."""

    def __init__(self, request: ChatRequest, context: RequestContext, rules: Rules, *, team: bool) -> None:
        self._rules = rules
        self._context = context
        self._is_team = team
        self._changed = asyncio.Event()
        """Set by the puller and by every check when there is something new."""
        self._taken = asyncio.Event()
        """Set when text has left the queue, so that the puller may go on."""
        self._queue: ReleaseQueue[_Held] = ReleaseQueue()
        self._prompt = prompt_texts(request)
        self._earlier = 0 if request.single_turn else len(request.messages) - 1
        """Number of messages before the question."""
        self._main = rules.check(context, self._changed)
        self._checks = [self._main]
        self._results = list[Check]()
        """Those of what tools returned: like a source, a result is withheld alone."""
        new_check = partial(rules.check, context, self._changed)
        self._sources = GuardedSources(rules, new_check)
        self._messages = GuardedMessages(rules, self._main, new_check, context.invocation_id)
        self._prompt_results_shown: Results = {}
        self._taken_kind: type[events.TextDelta | events.ReasoningDelta] = events.TextDelta
        self._shown_kind: type[events.TextDelta | events.ReasoningDelta] = events.TextDelta
        """What the text at the end of the queue is, and that at its beginning."""
        self._work: deque[events.AgentWork] = deque()
        """What agents do, which may go out now."""

    async def shown(self, turn: AsyncGenerator[events.ChatEvent]) -> AsyncGenerator[events.ChatEvent]:
        """Yield the events that may be shown."""
        self._main.ask(self._prompt)
        if self._is_team:
            self._main.finish()
        pulling = asyncio.create_task(self._pull(turn))
        pulling.add_done_callback(lambda _: self._changed.set())
        try:
            while True:
                # Cleared before looking, not after: what changes while this looks or yields sets it again.
                self._changed.clear()
                for event in self._ready():
                    yield event
                # After yielding: what was cleared before a block goes out first, however quick the block came.
                self._raise_refusal()
                if pulling.done() and not self._messages.waiting:
                    pulling.result()  # raises the turn's error
                    if self._queue.empty:
                        return
                await self._changed.wait()
        finally:
            pulling.cancel()
            checks = [*self._checks, *self._results, *self._sources.checks, *self._messages.checks]
            await asyncio.gather(pulling, *(check.aclose() for check in checks), return_exceptions=True)

    async def _pull(self, turn: AsyncGenerator[events.ChatEvent]) -> None:
        """Put the turn's events into the queue, and send what a model wrote to the service."""
        async with aclosing(turn):
            async for event in turn:
                self._take_in(event)
                self._changed.set()
                # A full queue makes the model wait. From now on the service's answer is due, since no more text comes
                # that it could be waiting for.
                while self._queue.held > LONGEST_HELD:
                    self._main.expect()
                    self._taken.clear()
                    await self._taken.wait()

    def _take_in(self, event: events.ChatEvent) -> None:  # noqa: C901 (one case an event)
        match event:
            case events.TextDelta() | events.ReasoningDelta():
                if type(event) is not self._taken_kind:
                    self._change_kind(type(event))
                self._queue.hold_text(event.text)
                self._main.add(ANSWER, event.text)
            case events.AgentMessage():
                self._messages.take_in(event)
            case events.Retrieved():
                self._sources.take_in(event)
                inputs = "\n".join(event.tool_inputs)
                self._queue.hold(_Held(event, self._check_alone(inputs) if inputs else None))
            case events.ToolsCalled():
                written = "\n".join(f"{call.name} {call.arguments}" for call in event.calls)
                self._queue.hold(_Held(event, self._check_alone(written)))
            case events.ToolStarted() | events.ConsentAsked():
                self._queue.hold(_Held(event, self._check_alone(_written_in(event))))
            case events.ToolEnded():
                self._results.append(self._begun(event.text, is_read=self._rules.kind == "rai"))
                self._queue.hold(_Held(event, self._results[-1]))
            case events.Finished():
                self._main.add(MORE, "\n".join(event.followup_questions or ()))
                # In a team's turn `main` only has the question, and was finished when the turn began.
                if not self._is_team:
                    self._main.finish()
                self._queue.hold(_Held(event))
            case events.ThoughtsAdded():
                self._queue.hold(_Held(event, self._check_alone(event.unseen) if event.unseen else None))
            case events.CompletionStarted() | events.FilterAnnotation() | events.Failed():
                self._queue.hold(_Held(event))
            case events.AgentWork():
                self._work.append(replace(event, query=None) if self._rules.enforced else event)
            case _:
                assert_never(event)

    def _change_kind(self, kind: type[events.TextDelta | events.ReasoningDelta]) -> None:
        """Mark that the text which follows is reasoning, or the answer: to the service they are one text of two lines.

        Without the end of the line, two words would be one to it.
        """
        if self._taken_kind is events.ReasoningDelta:
            self._queue.hold_text("\n")
            self._main.add(ANSWER, "\n")
        self._taken_kind = kind
        self._queue.hold(_Held(kind("")))

    def _check_alone(self, text: str) -> Check:
        """Check a text in a session of its own.

        In the answer's session it would be cleared to its end only when the answer is complete, which is too late.
        """
        self._checks.append(self._begun(text))
        return self._checks[-1]

    def _begun(self, text: str, *, is_read: bool = False) -> Check:
        """Begin a check; `is_read`: a model reads the text like a prompt, and may find orders in it."""
        check = self._rules.check(self._context, self._changed)
        if is_read:
            check.ask([PromptText(Place(Side.PROMPT, "0", 0), Role.TOOL, text)])
        check.add(ANSWER, text)
        check.finish()
        return check

    def _ready(self) -> Iterator[events.ChatEvent]:
        """Yield what may go out now. Looks anew before each event, since the caller may take long for one."""
        while self._work or self._is_open() or self._prompt_is_clear():
            if self._work:
                yield self._work.popleft()
            elif text := self._queue.take_text(None if self._is_open() else self._main.clearance.shown(ANSWER)):
                yield self._shown_kind(text)
            elif (held := self._queue.item) and self._may_go(held):
                self._queue.take_item()
                yield from self._with_results(held)
            elif message := self._messages.take():
                yield message
            else:
                break
        self._taken.set()

    def _is_open(self) -> bool:
        """Whether all text goes out: with `annotate`, and after a forgiven fault if nothing is blocked."""
        fault = self._main.fault
        return not self._rules.enforced or bool(fault and self._rules.forgives(fault) and not self._blocking())

    def _prompt_is_clear(self) -> bool:
        return all(self._main.clearance.is_clear(said.place) for said in self._prompt if said.text)

    def _may_go(self, held: _Held) -> bool:
        if isinstance(held.event, events.Finished):
            return not self._messages.waiting and all(map(self._rules.passes, self._checks))
        if self._waits_for_sources(held):
            return False
        if isinstance(held.event, events.ToolEnded):
            return not self._rules.enforced or held.check is None or held.check.settled
        return held.check is None or not self._rules.enforced or self._rules.passes(held.check)

    def _waits_for_sources(self, held: _Held | None) -> bool:
        return held is not None and isinstance(held.event, events.Retrieved) and not self._sources.decided(held.event)

    def _blocking(self) -> Side | None:
        """The side with a blocking result that ends the turn; None if there is none."""
        sides = (check.clearance.blocking for check in self._checks if self._rules.enforced)
        return next(filter(None, sides), None)

    def _raise_refusal(self) -> None:
        """Raise an error if the turn has to end: for a blocking result, or for a fault that is not forgiven."""
        side = self._blocking()
        # A blocked answer waits for its sources, and its cleared beginning goes out behind them. Otherwise it would
        # depend on which check is quicker whether that beginning is shown.
        if side is Side.COMPLETION and self._waits_for_sources(self._queue.item):
            return
        if side:
            earlier = self._refused_earlier()
            message = EARLIER_REFUSED if earlier else REFUSED[side]
            raise ContentFiltered(message, results=dict(self._rules.results(side, *self._checks)), earlier=earlier)
        for check in self._checks:
            if check.fault and not self._rules.forgives(check.fault):
                raise check.fault

    def _refused_earlier(self) -> tuple[int, ...]:
        """Places of the refused messages, if all are before the question; else empty."""
        blocked = self._main.clearance.blocked
        refused = [place for place, said in enumerate(self._prompt) if said.place in blocked]
        return tuple(refused) if all(place < self._earlier for place in refused) else ()

    def _with_results(self, held: _Held) -> Iterator[events.ChatEvent]:
        """Yield the event with the results of its checks."""
        match event := held.event:
            case events.ToolEnded() if self._rules.enforced and held.check and not self._rules.passes(held.check):
                yield replace(event, text=_WITHHELD)
            case events.CompletionStarted() if self._rules.enforced:
                self._prompt_results_shown = self._rules.results(Side.PROMPT, self._main)
                results = merged_prompt(self._prompt_results_shown, event.prompt_filter_results)
                yield replace(event, prompt_filter_results=results)
            case events.Retrieved():
                yield self._sources.shown(event)
            case events.TextDelta() | events.ReasoningDelta():
                self._shown_kind = type(event)  # of the text that follows
            case events.Finished():
                yield from self._end(event)
            case _:
                yield event

    def _end(self, event: events.Finished) -> Iterator[events.ChatEvent]:
        """Yield the thought 'Safety' and the last event, with all results."""
        if event.reason != "consent" and (failure := self._messages.failure):
            raise failure
        prompt = self._rules.results(Side.PROMPT, self._main)
        answer = self._rules.results(Side.COMPLETION, *self._checks)
        checks = (*self._checks, *self._sources.checks, *self._messages.checks)
        if fault := next((check.fault for check in checks if check.fault), None):
            _log.warning("invocation %s: not everything was checked: %s", self._context.invocation_id, fault.message)
        if not self._is_team:
            yield events.ThoughtsAdded((self._rules.thought(prompt, answer, *self._checks),))
        if prompt != self._prompt_results_shown:
            event = replace(event, prompt_filter_results=merged_prompt(prompt, event.prompt_filter_results))
        yield replace(event, content_filter_results=merged(answer, event.content_filter_results) or None)


def _written_in(event: events.ToolStarted | events.ConsentAsked) -> str:
    """Texts of the model, and the server's description of a tool for which a person is asked."""
    match event:
        case events.ToolStarted():
            return f"{event.tool} {event.arguments}"
        case events.ConsentAsked():
            return "\n".join(f"{call.tool} {call.arguments}\n{call.description}" for call in event.calls)
