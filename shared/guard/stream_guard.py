"""The guard: a turn's events in, the same events out as far as they may be shown.

With `enforce` nothing at all goes out before everything that the caller wrote is cleared, text goes out up to the
service's watermark, and what stands behind text waits for it; search queries and follow-up questions, which are a
model's words too, wait until they are cleared, and of the sources only those go out that are. With `annotate` nothing
waits but the end, for the results.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from shared.chat_types import ChatRequest, RequestContext
from shared.errors import ContentFiltered
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    Failed,
    FilterAnnotation,
    Finished,
    Retrieved,
    TextDelta,
    ThoughtsAdded,
)
from shared.guard import Side
from shared.guard.chat_payloads import ANSWER, MORE, prompt_texts
from shared.guard.check import Check
from shared.guard.clearance import ReleaseQueue
from shared.guard.rules import REFUSED, Results, Rules, merged, merged_prompt
from shared.guard.source_guard import GuardedSources
from shared.guard.team_guard import GuardedMessages

_log = logging.getLogger("switchboard.safety")

LONGEST_HELD = 256 * 1024
"""UTF-8 bytes of an answer that wait to be cleared before the model has to wait too."""


async def guard(
    events: AsyncGenerator[ChatEvent],
    request: ChatRequest,
    context: RequestContext,
    rules: Rules,
    *,
    team: bool = False,
) -> AsyncGenerator[ChatEvent]:
    """Watch over a turn, which begins at once, beside the check of what was asked.

    Args:
        events: The turn.
        request: What was asked.
        context: Whose turn it is, and until when.
        rules: How it is guarded.
        team: Whether whole messages come, and no text in pieces.

    Raises:
        ContentFiltered: what was asked or answered is forbidden; with `enforce`.
        SwitchboardError: what the turn raises; with `enforce` and `block`, why the service's word cannot be had.
    """
    async with aclosing(_GuardedTurn(request, context, rules, team=team).events(events)) as shown:
        async for event in shown:
            yield event


@dataclass(frozen=True, slots=True)
class _Held:
    """An event in the line."""

    event: ChatEvent
    """What waits."""
    check: Check | None = None
    """What has to clear it, beside the text before it."""


class _GuardedTurn:
    """A turn under way: one task pulls its events, each check has one to talk to the service."""

    def __init__(self, request: ChatRequest, context: RequestContext, rules: Rules, *, team: bool) -> None:
        self._rules = rules
        self._context = context
        self._is_team = team
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._queue: ReleaseQueue[_Held] = ReleaseQueue()
        self._prompt = prompt_texts(request)
        self._main = rules.check(context, self._changed)
        self._checks = [self._main]
        new_check = partial(rules.check, context, self._changed)
        self._sources = GuardedSources(rules, new_check)
        self._messages = GuardedMessages(rules, self._main, new_check)
        self._told_of_prompt: Results = {}

    async def events(self, turn: AsyncGenerator[ChatEvent]) -> AsyncGenerator[ChatEvent]:
        """The events that may be shown."""
        self._main.ask(self._prompt)
        if self._is_team:
            self._main.finish()
        pulling = asyncio.create_task(self._pull(turn))
        pulling.add_done_callback(lambda _: self._changed.set())
        try:
            while True:
                self._changed.clear()
                for event in self._ready():
                    yield event
                self._refuse()
                if pulling.done() and not self._messages.waiting:
                    pulling.result()  # raises what the turn failed with
                    if self._queue.empty:
                        return
                await self._changed.wait()
        finally:
            pulling.cancel()
            checks = [*self._checks, *self._sources.checks, *self._messages.checks]
            await asyncio.gather(pulling, *(check.aclose() for check in checks), return_exceptions=True)

    async def _pull(self, turn: AsyncGenerator[ChatEvent]) -> None:
        """Put the turn's events in line, and what a model wrote before the service."""
        async with aclosing(turn):
            async for event in turn:
                self._take_in(event)
                self._changed.set()
                while self._queue.held > LONGEST_HELD:
                    self._main.expect()
                    self._taken.clear()
                    await self._taken.wait()

    def _take_in(self, event: ChatEvent) -> None:
        match event:
            case TextDelta():
                self._queue.hold_text(event.text)
                self._main.add(ANSWER, event.text)
            case AgentMessage():
                self._messages.take_in(event)
            case Retrieved():
                self._sources.take_in(event)
                query = event.generated_query
                self._queue.hold(_Held(event, self._check_alone(query) if query else None))
            case Finished():
                self._main.add(MORE, "\n".join(event.followup_questions or ()))
                if not self._is_team:
                    self._main.finish()
                self._queue.hold(_Held(event))
            case CompletionStarted() | FilterAnnotation() | ThoughtsAdded() | Failed():
                self._queue.hold(_Held(event))
            case _:
                assert_never(event)

    def _check_alone(self, text: str) -> Check:
        """Check a text in a session of its own, since it has to be cleared before the answer is complete."""
        check = self._rules.check(self._context, self._changed)
        self._checks.append(check)
        check.add(ANSWER, text)
        check.finish()
        return check

    def _ready(self) -> Iterator[ChatEvent]:
        """What may go out now; looks at what is known anew before each event."""
        while self._is_open() or self._prompt_is_clear():
            if text := self._queue.take_text(None if self._is_open() else self._main.clearance.shown(ANSWER)):
                yield TextDelta(text)
            elif (held := self._queue.item) and self._may_go(held):
                self._queue.take_item()
                yield from self._told(held.event)
            elif message := self._messages.take():
                yield message
            else:
                break
        self._taken.set()

    def _is_open(self) -> bool:
        """Whether text goes out unseen."""
        fault = self._main.fault
        return not self._rules.enforced or bool(fault and self._rules.forgives(fault) and not self._blocking())

    def _prompt_is_clear(self) -> bool:
        return all(self._main.clearance.is_clear(said.place) for said in self._prompt if said.text)

    def _may_go(self, held: _Held) -> bool:
        if isinstance(held.event, Finished):
            return not self._messages.waiting and all(map(self._rules.passes, self._checks))
        if self._waits_for_sources(held):
            return False
        return held.check is None or not self._rules.enforced or self._rules.passes(held.check)

    def _waits_for_sources(self, held: _Held | None) -> bool:
        return held is not None and isinstance(held.event, Retrieved) and not self._sources.decided(held.event)

    def _blocking(self) -> Side | None:
        """The side on which something was found that ends the turn."""
        sides = (check.clearance.blocking for check in self._checks if self._rules.enforced)
        return next(filter(None, sides), None)

    def _refuse(self) -> None:
        """Raise why the turn cannot go on, if it cannot."""
        side = self._blocking()
        if side is Side.COMPLETION and self._waits_for_sources(self._queue.item):
            return  # what is cleared of the answer goes out behind them
        if side:
            raise ContentFiltered(REFUSED[side], results=dict(self._rules.results(side, *self._checks)))
        for check in self._checks:
            if check.fault and not self._rules.forgives(check.fault):
                raise check.fault

    def _told(self, event: ChatEvent) -> Iterator[ChatEvent]:
        """The event with what was found."""
        match event:
            case CompletionStarted() if self._rules.enforced:
                self._told_of_prompt = self._rules.results(Side.PROMPT, self._main)
                results = merged_prompt(self._told_of_prompt, event.prompt_filter_results)
                yield replace(event, prompt_filter_results=results)
            case Retrieved():
                yield self._sources.shown(event)
            case Finished():
                yield from self._told_at_end(event)
            case _:
                yield event

    def _told_at_end(self, event: Finished) -> Iterator[ChatEvent]:
        if failure := self._messages.failure:
            raise failure
        prompt = self._rules.results(Side.PROMPT, self._main)
        answer = self._rules.results(Side.COMPLETION, *self._checks)
        checks = (*self._checks, *self._sources.checks, *self._messages.checks)
        if fault := next((check.fault for check in checks if check.fault), None):
            _log.warning("invocation %s: not everything was checked: %s", self._context.invocation_id, fault.message)
        if not self._is_team:
            yield ThoughtsAdded((self._rules.thought(prompt, answer, *self._checks),))
        if prompt != self._told_of_prompt:
            event = replace(event, prompt_filter_results=merged_prompt(prompt, event.prompt_filter_results))
        yield replace(event, content_filter_results=merged(answer, event.content_filter_results) or None)
