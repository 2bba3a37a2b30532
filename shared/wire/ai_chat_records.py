"""The documents and records that both versions of the AI Chat Protocol share: they differ in names, not in shape.

Source: ai-chat-protocol, 'Response'. `docs/protocols.md` says how open points are decided.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal, TypedDict, assert_never

from pydantic import Field

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import ContentFiltered, SwitchboardError
from shared.wire.consent import asked_in_words, ended_in_words, in_words
from shared.wire.context import (
    agent_context,
    answer_context,
    filtered_context,
    finished_context,
    retrieved_context,
    takes_plain_images,
    thoughts_json,
    usage_json,
)
from shared.wire.protocol import BETWEEN_MESSAGES, Record


class AssistantMessage(TypedDict):
    """The answer's text."""

    role: Literal["assistant"]
    content: str


class TextPiece(TypedDict, total=False):
    """A piece of the answer's text."""

    role: Literal["assistant"]
    content: Annotated[str, Field(description="The next piece of the text.")]


type ErrorRecord = Callable[[SwitchboardError, str], Record]


def answer_document(request: ChatRequest, answer: Answer, state: Record) -> Record:
    """A whole answer as `{message, context}` and the session state."""
    answer = in_words(request, answer)
    context = answer_context(request, answer, plain_images=takes_plain_images(request))
    context |= _end(answer.completion, answer.finished)
    if answer.message and answer.message.total_usage:
        context["total_usage"] = usage_json(answer.message.total_usage)
    return {"message": {"role": "assistant", "content": answer.text}, "context": context, **state}


class DeltaEncoder:
    """Events to `{delta, context}` records.

    A client joins the texts, and merges each record's context into what it has, key by key. So a late thought comes
    together with those before it, an agent's sources with those of the agents before it, and the follow-up questions
    have a last record of their own. Some clients take a record with sources for nothing else: a text never has any.
    """

    def __init__(self, request: ChatRequest, state: Record, error: ErrorRecord) -> None:
        self._request = request
        self._plain_images = takes_plain_images(request)
        self._state = state
        self._error = error
        self._data_points: tuple[events.DataPoint, ...] = ()
        self._thoughts: tuple[events.Thought, ...] = ()
        self._turn = events.CompletionStarted("", 0, "")
        self._has_message = False
        self._open: tuple[events.OpenCall, ...] = ()

    def encode(self, event: events.ChatEvent) -> Iterable[Record]:  # noqa: C901 (one case an event)
        """The records of one event."""
        match event:
            case events.TextDelta():
                self._has_message = True
                return ({"delta": {"content": event.text}},)
            case events.Retrieved():
                self._thoughts = event.thoughts
                context = retrieved_context(
                    self._request, event.data_points, event.thoughts, event.images, plain_images=self._plain_images
                )
                return ({"delta": {"role": "assistant"}, "context": context, **self._state},)
            case events.CompletionStarted():
                self._turn = event
                return ()
            case events.AgentMessage():
                return self._said(event)
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
                return ({"delta": {}, "context": {"thoughts": thoughts_json(self._thoughts)}},)
            case events.Finished():
                return self._last(ended_in_words(event, self._open))
            case events.FilterAnnotation():
                found = filtered_context(answer=event.content_filter_results, offsets=event.content_filter_offsets)
                return ({"delta": {}, "context": found},)
            case events.Failed():
                return self._failed(event)
            case events.ConsentAsked():
                return self._ask(event)
            case (
                events.Progress()
                | events.ReasoningDelta()
                | events.ToolsCalled()
                | events.ToolStarted()
                | events.ToolEnded()
            ):
                return ()  # they have no place here; thoughts have the reasoning and the calls
            case _:
                assert_never(event)

    def _said(self, event: events.AgentMessage) -> Iterable[Record]:
        if self._has_message:
            yield {"delta": {"content": BETWEEN_MESSAGES}}
        self._data_points = tuple(dict.fromkeys((*self._data_points, *event.data_points)))
        self._thoughts += event.thoughts
        agent, part = agent_context(event), agent_answer(event, self._turn)
        sources = agent | retrieved_context(self._request, self._data_points, self._thoughts)
        yield {"delta": {"role": "assistant"}, "context": sources, **({} if self._has_message else self._state)}
        yield {
            "delta": {"content": event.text},
            "context": agent | _end(part.completion, part.finished),
        }
        self._has_message = True

    def _ask(self, asked: events.ConsentAsked) -> Iterable[Record]:
        self._open = asked.calls
        said = asked_in_words(self._request, asked, has_text=self._has_message)
        return [record for event in said for record in self.encode(event)]

    def _last(self, event: events.Finished) -> Iterable[Record]:
        yield {"delta": {}, "context": _end(self._turn, event)}
        if event.followup_questions is not None:
            yield {"delta": {}, "context": {"followup_questions": list[Json](event.followup_questions)}}

    def _failed(self, event: events.Failed) -> Iterable[Record]:
        if isinstance(event.error, ContentFiltered):
            found = filtered_context(answer=event.error.results)
            yield {"delta": {}, "context": {"finish_reason": event.error.code, **found}}
        yield self._error(event.error, event.invocation_id)


def _end(started: events.CompletionStarted, finished: events.Finished) -> Record:
    """The end of an answer, with the content filter's results."""
    prompt = started.prompt_filter_results or finished.prompt_filter_results
    return finished_context(started.model, finished) | filtered_context(prompt, finished.content_filter_results)
