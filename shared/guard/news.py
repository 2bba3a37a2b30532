"""News of what the guard of a turn holds back and has found, for a request that asks for them (`show_progress`).

They count characters and never have them: a text that is held is not cleared. What the service has found is told in the
shape and at the detail in which every answer reports it at its end.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from copy import replace
from dataclasses import dataclass
from typing import Literal

from shared.events import AgentWork, GuardState, Progress
from shared.guard import Side
from shared.guard.check import Check
from shared.guard.rules import Rules
from shared.guard.source_guard import GuardedSources
from shared.guard.team_guard import GuardedMessages

PAUSE_SECONDS = 0.1
"""Seconds between two news in which only numbers differ, so that they do not come with every token."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The parts of a guarded turn that the news are about."""

    rules: Rules
    """Mode, and the shape of results."""
    main: Check
    """The check of the question, and of an answer that streams."""
    checks: Sequence[Check]
    """That and the checks of search queries; it grows."""
    sources: GuardedSources
    """The sources of a chat turn."""
    messages: GuardedMessages
    """The messages of a team."""
    held: Callable[[], int]
    """Counts the characters of text that wait."""
    question_is_clear: Callable[[], bool]
    """Whether all that the caller wrote is cleared."""


class GuardNews:
    """Makes the news of one turn."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._arrived = 0
        self._waiting: deque[tuple[int, float]] = deque()
        """Where the pieces of text end, in characters from the beginning, and when they arrived."""
        self._passing: list[Progress] = []
        self._last: GuardState | None = None
        self._told_at = 0.0
        self.pending = False
        """Whether numbers have changed since the last news."""

    def arrived(self, text: str) -> None:
        """Count a piece of text that may have to wait."""
        self._arrived += len(text)
        self._waiting.append((self._arrived, time.monotonic()))

    def pass_on(self, news: Progress) -> None:
        """Pass on news of the turn; with `enforce` without the words of a model, which are not cleared yet."""
        if isinstance(news.news, AgentWork) and news.news.query and self._watched.rules.enforced:
            news = Progress(replace(news.news, query=None))
        self._passing.append(news)

    def take(self, *, now: bool = False) -> list[Progress]:
        """Return the news since the last time.

        Args:
            now: Whether numbers are due at once: the turn is about to end.
        """
        news, self._passing = self._passing, []
        state = self._state()
        changed = self._last is None or _without_time(state) != _without_time(self._last)
        decides = self._last is None or _without_numbers(state) != _without_numbers(self._last)
        due = now or decides or time.monotonic() - self._told_at >= PAUSE_SECONDS
        self.pending = changed and not due
        if changed and due:
            self._last, self._told_at = state, time.monotonic()
            news.append(Progress(state))
        return news

    def _state(self) -> GuardState:
        watched = self._watched
        rules, messages, sources = watched.rules, watched.messages, watched.sources
        checks = (*watched.checks, *messages.checks, *(sources.checks if sources.withheld else ()))
        text, since = self._held()
        held = text + messages.held
        return GuardState(
            mode=rules.mode,
            question=self._question(),
            answer_refused=any(check.clearance.blocking is Side.COMPLETION for check in watched.checks),
            held=held,
            held_milliseconds=(time.monotonic() - min(since, messages.held_since)) * 1000 if held else 0,
            released=self._arrived - text + messages.released,
            sources_withheld=sources.withheld + messages.sources_withheld,
            messages_withheld=messages.withheld,
            prompt_filter_results=rules.results(Side.PROMPT, watched.main),
            content_filter_results=rules.results(Side.COMPLETION, *checks),
        )

    def _held(self) -> tuple[int, float]:
        """Return how many characters of text wait, and when the first of them arrived."""
        held = self._watched.held()
        released = self._arrived - held
        while self._waiting and self._waiting[0][0] <= released:
            self._waiting.popleft()
        return held, self._waiting[0][1] if self._waiting else math.inf

    def _question(self) -> Literal["waiting", "cleared", "refused", "unchecked"]:
        main = self._watched.main
        if main.clearance.blocking is Side.PROMPT:
            return "refused"
        if self._watched.question_is_clear():
            return "cleared"
        return "unchecked" if main.fault else "waiting"


def _without_time(state: GuardState) -> GuardState:
    return replace(state, held_milliseconds=0)


def _without_numbers(state: GuardState) -> GuardState:
    return replace(state, held=0, held_milliseconds=0, released=0)
