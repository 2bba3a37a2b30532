"""What the guard does with the messages of a team: each is checked on its own, whole, and none waits for another."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from shared.errors import ContentFiltered, SwitchboardError
from shared.events import AgentMessage, Thought, Usage
from shared.guard import Side
from shared.guard.chat_payloads import ANSWER, MORE
from shared.guard.check import Check
from shared.guard.rules import REFUSED, Rules, merged
from shared.guard.source_guard import GuardedSources


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message whose check is not over."""

    message: AgentMessage
    check: Check | None
    """None where no model wrote anything of it."""
    sources: GuardedSources
    """What it shows of sources."""


class GuardedMessages:
    """Messages go out in the order in which their checks end. What all cost together goes out on the last one."""

    def __init__(self, rules: Rules, asked: Check, new_check: Callable[[], Check]) -> None:
        self._rules = rules
        self._asked = asked
        self._new_check = new_check
        self._waiting: list[_Waiting] = []
        self._total: Usage | None = None
        self._answered = False
        self._error: SwitchboardError | None = None
        self.checks: list[Check] = []
        """All that were begun."""

    @property
    def waiting(self) -> bool:
        """Whether a message is not out yet."""
        return bool(self._waiting)

    @property
    def failure(self) -> SwitchboardError | None:
        """Why no agent has answered, once all messages are out; None if one has, or none was asked."""
        return None if self._answered else self._error

    def take_in(self, message: AgentMessage) -> None:
        """Have a message checked: its text, what its model searched for, and its sources."""
        self._total = message.total_usage or self._total
        text = "" if message.error else message.text
        queries = "\n".join(message.generated_queries)
        check = None
        if text or queries:
            check = self._begun()
            check.add(ANSWER, text)
            check.add(MORE, queries)
            check.finish()
        sources = GuardedSources(self._rules, self._begun)
        sources.take_in(message)
        self._waiting.append(_Waiting(replace(message, total_usage=None), check, sources))

    def take(self) -> AgentMessage | None:
        """The next message that may go out, as it may; None if each has to wait."""
        found = next((waiting for waiting in self._waiting if self._is_decided(waiting)), None)
        if found is None:
            return None
        self._waiting.remove(found)
        message = self._judged(found)
        self._answered = self._answered or message.error is None
        self._error = self._error or message.error
        # the one that brought the total was the last of the turn, so nothing comes after those that wait with it
        return message if self._waiting else replace(message, total_usage=self._total)

    def _begun(self) -> Check:
        self.checks.append(self._new_check())
        return self.checks[-1]

    def _is_decided(self, waiting: _Waiting) -> bool:
        check = waiting.check
        if check and self._rules.enforced and check.clearance.blocking:
            return True
        # with `enforce` nothing is shown before the question is cleared; else its results are told with the message's
        asked = self._rules.enforced or self._asked.settled
        return asked and (check is None or check.settled) and waiting.sources.decided(waiting.message)

    def _judged(self, waiting: _Waiting) -> AgentMessage:
        message, check = waiting.message, waiting.check
        if check is None:
            return waiting.sources.shown(message)
        results = self._rules.results(Side.COMPLETION, check)
        asked = self._rules.results(Side.PROMPT, self._asked)
        thought = self._rules.thought(asked, results, self._asked, check)
        if self._rules.enforced and (side := check.clearance.blocking):
            return _replaced(message, ContentFiltered(REFUSED[side], results=dict(results)), thought)
        if check.fault and not self._rules.forgives(check.fault):
            return _replaced(message, check.fault, thought)
        finished = message.finished
        if finished:
            results = merged(results, finished.content_filter_results)
            finished = replace(finished, content_filter_results=results or None)
        message = waiting.sources.shown(message)
        return replace(message, finished=finished, thoughts=(*message.thoughts, thought))


def _replaced(message: AgentMessage, error: SwitchboardError, thought: Thought) -> AgentMessage:
    """The message of an agent that failed, with nothing of what it said or found."""
    return AgentMessage(message.agent, message.position, error.message, error=error, thoughts=(thought,))
