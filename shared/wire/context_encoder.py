"""The base of encoders whose records have parts of one context, which clients merge key by key.

So a late thought comes together with those before it. Some clients take a record with sources for nothing else: a text
never has any.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import assert_never

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import ended_by, notice_of
from shared.errors import FILTERED_ANSWER, ContentFiltered, SwitchboardError
from shared.wire.consent import consent_events, ended_in_words
from shared.wire.context import retrieved_context, takes_plain_images, thoughts_json
from shared.wire.protocol import Record, error_record

type ErrorRecord = Callable[[SwitchboardError, str], Record]


class ContextEncoder(ABC):
    """Turns the events of one answer into records. A protocol says what its records look like."""

    def __init__(self, request: ChatRequest, error: ErrorRecord = error_record) -> None:
        self._request = request
        self._error = error
        self._plain_images = takes_plain_images(request)
        self._thoughts: tuple[events.Thought, ...] = ()
        self._turn = events.CompletionStarted("", 0, "")
        self._has_begun = False
        self._has_text = False
        self._sends_messages = False
        """Whether the records are whole messages of agents, with nothing beside them."""
        self._open_calls: tuple[events.OpenCall, ...] = ()
        self._filtered: Record = {}
        """What the model's service says of the pieces of text that follow, for protocols that have it in each."""

    def encode(self, event: events.ChatEvent) -> Iterable[Record]:  # noqa: C901 (one case an event)
        """Return the records of one event."""
        match event:
            case events.TextDelta():
                self._has_text = True
                return (self._text(event.text),)
            case events.Retrieved():
                self._thoughts = event.thoughts
                context = retrieved_context(
                    self._request, event.data_points, event.thoughts, event.images, plain_images=self._plain_images
                )
                return (self._retrieved(context),)
            case events.CompletionStarted():
                self._turn, self._has_begun = event, True
                return self._begin(event)
            case events.AgentMessage():
                return self._message(event)
            case events.ThoughtsAdded() | events.Finished() if self._sends_messages:
                return ()
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
                return (self._context({"thoughts": thoughts_json(self._thoughts)}),)
            case events.Finished():
                return self._last(ended_in_words(event, self._open_calls))
            case events.FilterAnnotation():
                if event.content_filter_offsets is None:
                    self._filtered = {"content_filter_results": event.content_filter_results}
                    return ()
                return (self._annotation(event),)
            case events.Failed():
                return self._failed(event)
            case events.ConsentAsked():
                return self._ask(event)
            case events.ToolEnded():
                return self._called(event)
            case events.AgentWork() | events.ReasoningDelta() | events.ToolsCalled() | events.ToolStarted():
                return ()  # they have no place here; thoughts have the reasoning and the calls
            case _:
                assert_never(event)

    def _ask(self, asked: events.ConsentAsked) -> Iterable[Record]:
        self._open_calls = asked.calls
        said = consent_events(self._request, asked, has_text=self._has_text)
        return [record for event in said for record in self.encode(event)]

    def _last(self, event: events.Finished) -> Iterable[Record]:
        if event.reason == "length" and (notice := notice_of(event, self._request)):
            yield self._text(notice)
        yield self._end(event)
        if event.followup_questions is not None:
            yield self._context({"followup_questions": list[Json](event.followup_questions)})
        if event.reason == ContentFiltered.code:  # else a page shows a text that just stops
            yield self._told(events.Failed(ContentFiltered(FILTERED_ANSWER), self._request.invocation_id))

    def _failed(self, event: events.Failed) -> Iterable[Record]:
        if isinstance(event.error, ContentFiltered) and not self._sends_messages:
            yield self._end_by_filter(event.error)
        yield self._told(event)

    def _told(self, failed: events.Failed) -> Record:
        return self._error(failed.error, failed.invocation_id)

    def _begin(self, _started: events.CompletionStarted) -> Iterable[Record]:
        return ()

    def _called(self, _call: events.ToolEnded) -> Iterable[Record]:
        return ()

    def _end_by_filter(self, error: ContentFiltered) -> Record:
        return self._end(ended_by(error))

    @abstractmethod
    def _text(self, text: str) -> Record: ...

    @abstractmethod
    def _context(self, context: Record) -> Record: ...

    @abstractmethod
    def _retrieved(self, context: Record) -> Record:
        """Make the record of the sources and the first thoughts."""

    @abstractmethod
    def _message(self, event: events.AgentMessage) -> Iterable[Record]: ...

    @abstractmethod
    def _annotation(self, event: events.FilterAnnotation) -> Record: ...

    @abstractmethod
    def _end(self, finished: events.Finished) -> Record: ...
