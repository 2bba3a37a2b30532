"""Turns what a model says into the events of an answer, for single chat and for an agent that answers it.

On the way the follow-up questions leave the text, and citations are compared with what was retrieved.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import assert_never

import msgspec

from shared import events
from shared.chat_models import ModelEvent, ModelFinished, ModelText
from shared.chat_types import ChatRequest, Json, JsonForm, Passage, ToolCall
from shared.citations import WholeCitations, citations_in, unverified_citations, with_exact_names
from shared.core.callers_tools import calls_for_caller
from shared.core.followups import FollowupParser
from shared.core.json_answers import JsonAnswer
from shared.core.links import AnswerLinks, KnownLinks
from shared.core.support import FOUND, support_of
from shared.errors import Unavailable

_KINDS = {
    "answer": "Sentences of the documents that hold enough of the question's words.",
    "nearest": "No sentence holds enough of the question's words. The nearest passage is shown.",
    "nothing": "No passage comes near the question.",
}
"""What the extractive model's answers are."""
_ALL_THOUGHT = "The model used all its tokens (CHAT_MAX_TOKENS) before it began to answer. Ask for less."
"""The error if a reasoning model spent all its tokens on thinking."""
UNSUPPORTED = events.Thought(
    "Unsupported answer", "No source that was found has the answer's figures, or most of its words."
)
_EMPTY = "The model answered with nothing. Try again, or ask in other words."


class Answering:
    """Makes the answer's events of what a model says: `take` each of its events, then yield those of `end`.

    Not a generator around the model's, because each token would have to pass through one more.

    Args:
        request: The request.
        known: The addresses to which it may link. A program that asked for JSON gets it as it is.
        citable: Returns the names that it may cite.
        want_followups: Whether the model was asked for follow-up questions, which are taken out of the text.
        is_json: Whether the text and the questions come as JSON; see `json_answers`.
    """

    def __init__(
        self,
        request: ChatRequest,
        known: KnownLinks,
        citable: Callable[[], Collection[str]],
        *,
        want_followups: bool,
        is_json: bool = False,
    ) -> None:
        self._request = request
        self._known = known
        self._citable = citable
        self._links = None if request.form else AnswerLinks(known)
        self._cited = WholeCitations(lambda text: with_exact_names(text, citable()))
        self._thinking = AnswerLinks(known)
        self._parser = JsonAnswer() if is_json else FollowupParser() if want_followups else None
        self._want_followups = want_followups
        self._reasoning: list[str] = []
        self._has_unseen = False
        self._answer: list[str] = []
        self._calls: list[ToolCall] = []
        self._finished: ModelFinished | None = None

    def take(
        self, event: ModelEvent | events.Retrieved | events.AgentWork | events.ToolStarted | events.ToolEnded
    ) -> events.ChatEvent | None:
        """Return the event to send for an event of the model, or None; events of the turn itself stay as they are."""
        match event:
            case ModelText():
                text = self._parser.feed(event.text) if self._parser else event.text
                text = self._links.feed(self._cited.feed(text)) if self._links else text
                return self._shown(text) if text else None
            case events.ReasoningDelta():
                text = self._thinking.feed(event.text)
                self._reasoning.append(text)
                if text and not self._answer:
                    return events.ReasoningDelta(text)
                # An agent may think again: clients show reasoning above the answer, and this only as a thought.
                self._has_unseen = self._has_unseen or bool(text)
            case events.CompletionStarted() | events.FilterAnnotation() | events.Retrieved() | events.AgentWork():
                return event
            case events.ToolStarted() | events.ToolEnded():
                return event
            case ModelFinished():
                self._finished = event
            case ToolCall():
                self._calls.append(event)
            case _:
                assert_never(event)
        return None

    def end(self, sources: Sequence[Passage] | None, spent: events.Usage | None = None) -> Iterator[events.ChatEvent]:
        """Yield the events that end the answer.

        Args:
            sources: What the answer is compared with; None: it may say what no source has.
            spent: The tokens that the question cost before.

        Raises:
            Unavailable: The model did not finish its answer, reached the longest answer before it began, called a tool
                in a way that makes no sense, or wrote something else than the JSON that it was asked for.
        """
        if rest := self._rest():
            yield self._shown(rest)
        text, finished = self._request.begun + "".join(self._answer), self._finished
        if finished is None:
            raise Unavailable("The model's service cut its answer off. Try again.")
        calls = self._checked(text, finished)
        source, is_unsupported, citable = "", False, self._citable()
        if sources is not None and finished.reason == "stop" and not calls:
            cites = any(place[1] in citable for place in citations_in(text))
            source, is_unsupported = support_of(text, self._request.messages, sources, cites=cites)
        if source:
            yield self._shown(FOUND.format(name=source))
        if calls:
            yield events.ToolsCalled(calls)
        yield from self._reasoned()
        thoughts: list[events.Thought] = []
        if self._request.form is None and (thought := unverified(text, citable)):
            thoughts.append(thought)
        if source:
            thoughts.append(events.Thought("Citation found by the app", source))
        if is_unsupported:
            thoughts.append(UNSUPPORTED)
        if kind := finished.answer_kind:
            thoughts.append(events.Thought("Answer", _KINDS[kind], {"kind": kind}))
        yield from (events.ThoughtsAdded((thought,)) for thought in thoughts)
        yield events.Finished(
            reason=final_reason(finished, has_calls=bool(calls)),
            usage=events.Usage.total(spent, finished.usage),
            content_filter_results=finished.content_filter_results,
            followup_questions=tuple(map(AnswerLinks(self._known).whole, self._parser.questions))
            if self._parser and self._want_followups
            else None,
            is_unsupported=is_unsupported,
        )

    def _reasoned(self) -> Iterator[events.ThoughtsAdded]:
        """Yield the thought with the model's reasoning, if there is any."""
        late = self._thinking.flush()
        if thinking := "".join((*self._reasoning, late)):
            unseen = thinking if late or self._has_unseen else ""
            yield events.ThoughtsAdded((events.Thought("Reasoning", thinking),), unseen)

    def _rest(self) -> str:
        """End the text; return what was held back of it."""
        rest = self._parser.flush() if self._parser else ""
        if self._links is None:
            return rest
        return self._links.feed(self._cited.feed(rest) + self._cited.flush()) + self._links.flush()

    def _checked(self, text: str, finished: ModelFinished) -> tuple[ToolCall, ...]:
        """Return the calls for the caller, of an answer that is whole; see `end` for what is raised."""
        form = self._request.form
        calls = calls_for_caller(self._request, self._calls, finished.reason)
        if finished.reason == "length" and not (text or calls or self._request.max_tokens):
            raise Unavailable(_ALL_THOUGHT)
        if finished.reason == "stop" and not (form or text.strip() or calls):
            raise Unavailable(_EMPTY)
        if form and finished.reason == "stop" and not calls and not _is_json(text, form):
            raise Unavailable("The model did not answer with the JSON that it was asked for. Try again.")
        return calls

    def _shown(self, text: str) -> events.TextDelta:
        self._answer.append(text)
        return events.TextDelta(text)


def _is_json(text: str, form: JsonForm) -> bool:
    """Whether a text is one JSON value. Model services make sure that it follows a schema."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return form.schema is not None or isinstance(value, dict)


def final_reason(finished: ModelFinished, *, has_calls: bool = False) -> str:
    """The reason why an answer ended; `stop` for one that ends in tool calls, unless the caller answers some."""
    if finished.reason in ("stop", "tool_calls"):
        return "tool_calls" if has_calls else "stop"
    return finished.reason


def unverified(text: str, known: Collection[str]) -> events.Thought | None:
    """Make the thought that names the unverified citations of a text; None if there are none."""
    names = unverified_citations(text, known)
    return events.Thought("Unverified citations", list[Json](names)) if names else None
