"""Guards the messages of a team: each is checked as a whole in a session of its own, and none waits for another."""

from collections.abc import Callable
from copy import replace
from dataclasses import dataclass

from shared.errors import ContentFiltered, SwitchboardError, error_text
from shared.events import AgentMessage, Thought, Usage
from shared.guard import Side, chat_payloads
from shared.guard.check import Check
from shared.guard.rules import REFUSED, Rules, merged
from shared.guard.source_guard import GuardedSources


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message that waits for its checks."""

    message: AgentMessage
    """The message, without the total of the turn."""
    check: Check | None
    """Check of its text and queries; None if no model wrote any of it."""
    sources: GuardedSources
    """Checks of the sources that it shows."""


class GuardedMessages:
    """The messages of a team's turn. They go out in the order in which their checks end.

    The turn puts the tokens of all agents on the message that it makes last. Here another may go out last, so the total
    is taken off when a message comes in, and put on the one that goes out last.
    """

    def __init__(self, rules: Rules, asked: Check, new_check: Callable[[], Check], invocation_id: str) -> None:
        self._rules = rules
        self._asked = asked
        self._new_check = new_check
        self._invocation_id = invocation_id
        self._waiting: list[_Waiting] = []
        self._total: Usage | None = None
        self._answered = False
        self._error: SwitchboardError | None = None
        self.checks: list[Check] = []
        """All checks of messages so far, and of their sources; the owner of this object closes them."""

    @property
    def waiting(self) -> bool:
        """Whether a message still waits."""
        return bool(self._waiting)

    @property
    def failure(self) -> SwitchboardError | None:
        """Error of the turn if no message that went out has an answer: the first message's. None otherwise."""
        return None if self._answered else self._error

    def take_in(self, message: AgentMessage) -> None:
        """Start the checks of a message: of its text, its model's calls of tools and thinking, and its sources."""
        self._total = message.total_usage or self._total
        text = "" if message.error else message.text
        inputs = "\n".join((*message.tool_inputs, *([message.reasoning] if message.reasoning else ())))
        check = None
        if text or inputs:
            check = self._start_check()
            check.add(chat_payloads.ANSWER, text)
            check.add(chat_payloads.MORE, inputs)
            check.finish()
        sources = GuardedSources(self._rules, self._start_check)
        sources.take_in(message)
        self._waiting.append(_Waiting(replace(message, total_usage=None), check, sources))

    def take(self) -> AgentMessage | None:
        """Remove the next message that may go out, and return it as the caller may see it; None if all have to wait."""
        found = next((waiting for waiting in self._waiting if self._is_decided(waiting)), None)
        if found is None:
            return None
        self._waiting.remove(found)
        message = self._checked(found)
        self._answered = self._answered or message.error is None
        self._error = self._error or message.error
        # Once the total is known, no more messages come in. So if none waits, this is the last one that goes out.
        return message if self._waiting else replace(message, total_usage=self._total)

    def _start_check(self) -> Check:
        self.checks.append(self._new_check())
        return self.checks[-1]

    def _is_decided(self, waiting: _Waiting) -> bool:
        check = waiting.check
        if check and self._rules.enforced and check.clearance.blocking:
            return True
        # With `enforce` the guard asks for messages only after the question is cleared. With `annotate` the message
        # waits for the question's results, since its thought reports them.
        asked = self._rules.enforced or self._asked.settled
        return asked and (check is None or check.settled) and waiting.sources.decided(waiting.message)

    def _checked(self, waiting: _Waiting) -> AgentMessage:
        message, check = waiting.message, waiting.check
        if check is None:
            return waiting.sources.shown(message)
        results = self._rules.results(Side.COMPLETION, check)
        asked = self._rules.results(Side.PROMPT, self._asked)
        thought = self._rules.thought(asked, results, self._asked, check)
        if self._rules.enforced and (side := check.clearance.blocking):
            error = ContentFiltered(REFUSED[side], results=dict(results), earlier=())
            return self._failed(message, error, thought)
        if check.fault and not self._rules.forgives(check.fault):
            return self._failed(message, check.fault, thought)
        finished = message.finished
        if finished:
            results = merged(results, finished.content_filter_results)
            finished = replace(finished, content_filter_results=results or None)
        message = waiting.sources.shown(message)
        return replace(message, finished=finished, thoughts=(*message.thoughts, thought))

    def _failed(self, message: AgentMessage, error: SwitchboardError, thought: Thought) -> AgentMessage:
        """Make the message of an agent that failed, without its text, sources and thoughts."""
        text = error_text(error, self._invocation_id)
        return AgentMessage(message.agent, message.position, text, error=error, thoughts=(thought,))
