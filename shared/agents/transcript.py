"""Transcript of a team's turn: makes a message of what each agent said, and decides whether the turn is over."""

import asyncio
from collections.abc import Collection, Sequence
from copy import replace
from dataclasses import dataclass
from typing import assert_never

from shared.agents.chat_client import AgentOutput
from shared.agents.definitions import Agents, Pattern
from shared.agents.instructions import DONE
from shared.agents.toolbox import Toolbox
from shared.chat_types import Message, Passage, Role
from shared.citations import citations_in, with_exact_names
from shared.core.answering import UNSUPPORTED, final_reason, unverified
from shared.core.fold import notice_of
from shared.core.links import AnswerLinks, KnownLinks
from shared.core.support import support_of
from shared.errors import SwitchboardError, error_text
from shared.events import AgentMessage, DataPoint, Finished, OpenCall, Thought, Usage

_IN_TURNS = (Pattern.SEQUENTIAL, Pattern.GROUP_CHAT)
"""Patterns in which each agent speaks after the others, within the same time."""
_ENOUGH_WORDS = 250
"""An agent that has time for so many words need not be brief."""
_SAFE_SHARE = 0.7
"""Share of the words that an agent has time for, since it also reads, searches and thinks."""
_NOTHING_TO_ADD = "(nothing to add)"
"""The message of an agent that only says that the group is done."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What an agent said, or why it could not."""

    agent: str
    """The agent's name."""
    output: AgentOutput
    """The text, and the tokens that it cost."""
    toolbox: Toolbox
    """The agent's tools, and what they found."""
    error: SwitchboardError | None = None
    """Why the agent has no answer."""
    handed_to: str | None = None
    """Name of the agent that it handed over to."""


class TeamTranscript:
    """The messages of one turn, in the order in which the agents were done."""

    def __init__(
        self,
        agents: Agents,
        deadline: float,
        citable: set[str],
        links: KnownLinks,
        invocation_id: str,
        asked: Sequence[Message],
    ) -> None:
        """Begin a turn.

        Args:
            agents: The team.
            deadline: Time at which all agents have to be done, in seconds of the event loop's clock.
            citable: Names of the conversation that may be cited.
            links: The addresses to which messages may link.
            invocation_id: Of the turn; the message of an agent that failed names it.
            asked: The conversation, with which and with the sources messages are compared; empty: they are not.
        """
        self.deadline = deadline
        self.is_over = False
        """Whether the last message has been made."""
        self.said: list[AgentMessage] = []
        """The messages so far, in their order."""
        self.opened: list[OpenCall] = []
        """Calls that need a person's consent: the turn pauses."""
        self._team = agents.team
        self._places = {agent.name: place for place, agent in enumerate(agents.agents)}
        self._citable = citable
        self._links = links
        self._invocation_id = invocation_id
        self._asked = asked
        self._begun = 0
        self._turn_began = asyncio.get_running_loop().time()
        self._part = (deadline - self._turn_began) / (len(agents.agents) + 2)
        self._words_per_second: float | None = None
        self._usages: list[Usage | None] = []
        self._found: dict[str, Passage] = {}
        self._handoffs: list[Thought] = []

    @property
    def usage(self) -> Usage | None:
        """Tokens of all agents together so far."""
        return Usage.total(*self._usages)

    @property
    def found(self) -> Collection[Passage]:
        """All passages that agents found so far."""
        return self._found.values()

    @property
    def ends(self) -> bool:
        """Whether the turn is over, or pauses."""
        return self.is_over or bool(self.opened)

    @property
    def is_paused(self) -> bool:
        """Whether no agent may begin to speak: where they take turns, the next one would not know what is decided."""
        return bool(self.opened) and self._team.pattern is not Pattern.CONCURRENT

    def pause(self, output: AgentOutput, calls: Sequence[OpenCall]) -> None:
        """Take the calls that an agent waits for: it says nothing before they are decided."""
        self._usages.append(output.usage)
        self.opened += calls

    def begin(self) -> bool:
        """Count an agent that begins to speak; return whether it may hand over, or has to answer itself."""
        self._begun += 1
        self._turn_began = asyncio.get_running_loop().time()
        return self._begun < self._team.max_rounds

    def ends_at(self) -> float:
        """Return when the agent that has begun has to be done, in seconds of the event loop's clock.

        Where agents take turns, each leaves time for those after it: two parts for the last one, which has the answer,
        and one for each of the others. The first may take two parts, and more is left if it takes less.
        """
        others = len(self._places) - self._begun
        if self._team.pattern not in _IN_TURNS or others < 1:
            return self.deadline
        return self.deadline - (others + 1) * self._part

    def most_words(self) -> int | None:
        """Return how many words the agent that has begun has time for, as fast as the last one wrote; None: enough."""
        if self._team.pattern not in _IN_TURNS or self._words_per_second is None:
            return None
        seconds = self.ends_at() - asyncio.get_running_loop().time()
        words = int(_SAFE_SHARE * self._words_per_second * seconds)
        return words if 0 < words < _ENOUGH_WORDS else None

    def take(self, result: AgentResult) -> AgentMessage | None:
        """Make the message of an agent that is done; None if it said nothing and only handed over."""
        self._usages.append(result.output.usage)
        self._found.update({passage.id: passage for passage in result.toolbox.passages})
        text, says_done = self._text(result)
        if words := len(result.output.text.split()):
            seconds = asyncio.get_running_loop().time() - self._turn_began
            self._words_per_second = words / max(seconds, 0.001)
        handoffs, self._handoffs = self._handoffs, []
        if result.handed_to:
            self._handoffs = [Thought("Handoff", f"{result.agent} handed over to {result.handed_to}.")]
            if not text:
                self._handoffs = [*handoffs, *self._handoffs]
                return None
        self.is_over = says_done or self._is_last(result, text)
        message = self._message(result, text, handoffs)
        self.said.append(message)
        return message

    def _text(self, result: AgentResult) -> tuple[str, bool]:
        """The message without the marker, and whether the agent says that the group is done."""
        said = [*result.toolbox.done, *filter(None, [result.output.text])]
        text = AnswerLinks(self._links).whole(with_exact_names("\n\n".join(said), self._citable_now()))
        if result.error or self._team.pattern is not Pattern.GROUP_CHAT:
            return text, False
        said = _without_marker(text)
        return said or (_NOTHING_TO_ADD if text else ""), said != text

    def _citable_now(self) -> set[str]:
        return {passage.sourcepage for passage in self._found.values()} | self._citable

    def _is_last(self, result: AgentResult, text: str) -> bool:
        match self._team.pattern:
            case Pattern.CONCURRENT | Pattern.SEQUENTIAL:
                return len(self.said) + 1 == len(self._places)
            case Pattern.HANDOFF:
                return result.handed_to is None
            case Pattern.GROUP_CHAT:
                # After the first round nobody begins who has hardly any time: the last message would be an error.
                needed = self._part if self._begun >= len(self._places) else 0.0
                late = asyncio.get_running_loop().time() + needed >= self.deadline
                return late or self._begun >= self._team.max_rounds or self._leads_nowhere(result, text)
            case _:
                assert_never(self._team.pattern)

    def _leads_nowhere(self, result: AgentResult, text: str) -> bool:
        """Whether an agent repeats itself, or all of them have failed in a row."""
        if result.error is None:
            return any(said.agent == result.agent and said.text == text for said in self.said)
        others = len(self._places) - 1
        return len(self.said) >= others and all(said.error for said in self.said[len(self.said) - others :])

    def _message(self, result: AgentResult, text: str, handoffs: list[Thought]) -> AgentMessage:
        error, output, toolbox = result.error, result.output, result.toolbox
        in_order = self._team.pattern is Pattern.CONCURRENT
        done = [Thought("Approved call", sentence) for sentence in toolbox.done]
        thoughts = [*handoffs, *toolbox.thoughts, *done]
        if output.is_cut_off and not error:
            thoughts.append(Thought("Out of time", f"{result.agent} was cut off: AGENTS_DEADLINE_SECONDS is short."))
        if reasoning := "" if error else AnswerLinks(self._links).whole("".join(output.reasoning)):
            thoughts.append(Thought("Reasoning", reasoning))
        if error is None and (doubt := unverified(text, self._citable_now())):
            thoughts.append(doubt)
        finished = None if error else _finished(output)
        if finished and self._is_unsupported(finished, text, toolbox):
            finished = replace(finished, is_unsupported=True)
            thoughts.append(UNSUPPORTED)
        return AgentMessage(
            agent=result.agent,
            position=self._places[result.agent] if in_order else len(self.said),
            text=error_text(error, self._invocation_id) if error else text + notice_of(finished),
            completion=output.completion,
            finished=finished,
            error=error,
            data_points=() if error else self._data_points(toolbox, text),
            thoughts=tuple(thoughts),
            tool_inputs=toolbox.inputs,
            reasoning=reasoning,
            total_usage=self.usage if self.is_over else None,
        )

    def _is_unsupported(self, finished: Finished, text: str, toolbox: Toolbox) -> bool:
        """Whether no source and no other agent supports the message of an agent that has searched and done no more."""
        if not (self._asked and toolbox.has_only_searched and finished.reason == "stop"):
            return False
        others = [Message(Role.ASSISTANT, said.text) for said in self.said]
        cites = not self._citable_now().isdisjoint(place[1] for place in citations_in(text))
        return support_of(text, [*self._asked[:-1], *others, self._asked[-1]], self.found, cites=cites)[1]

    def _data_points(self, toolbox: Toolbox, text: str) -> tuple[DataPoint, ...]:
        """The passages that the agent found, and those of other agents that it cites."""
        own = toolbox.passages
        cited = (passage for passage in self._found.values() if f"[{passage.sourcepage}]" in text)
        return tuple(DataPoint.of(passage) for passage in {each.id: each for each in (*own, *cited)}.values())


def _without_marker(text: str) -> str:
    """The text before the marker at its end. The marker may also be a line of its own with Markdown around it."""
    while text:
        before, _, last = text.rpartition("\n")
        if last.strip(" *_`.").upper() == DONE:
            text = before.rstrip()
        elif text.endswith(DONE):
            text = text.removesuffix(DONE).rstrip()
        else:
            break
    return text


def _finished(output: AgentOutput) -> Finished | None:
    if output.finished is None:
        return None
    return Finished(
        reason=final_reason(output.finished),
        usage=output.usage,
        content_filter_results=output.finished.content_filter_results,
    )
