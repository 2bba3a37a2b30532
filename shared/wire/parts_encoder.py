"""The base of encoders whose streams have parts with a beginning and an end: a text, and what the model thinks.

One part is open at a time. The base opens and closes the parts, so that no encoder begins one inside another, or adds
to one that has ended, in whatever order a model thinks, writes and calls tools.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

from shared import events
from shared.chat_types import ChatRequest
from shared.core.fold import ended_by, notice_of
from shared.errors import ContentFiltered
from shared.wire.framing import Framed
from shared.wire.protocol import Record

type PartKind = type[events.TextDelta] | type[events.ReasoningDelta]
"""A kind of parts, by the events that they are made of."""

_INSIDE_PARTS = (events.CompletionStarted, events.FilterAnnotation, events.AgentWork)
"""Events that end neither a text nor what the model thinks."""
_INSIDE_TEXTS = (*_INSIDE_PARTS, events.Retrieved, events.ThoughtsAdded)
"""Events that end no text: clients would show the rest as a second one."""


class PartsEncoder(ABC):
    """Turns the events of one answer into the records of its stream. A protocol says how its parts begin and end."""

    _failure_ends_parts: ClassVar = True
    """Whether an open part is ended before an error; else the error alone ends the stream."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._has_begun = False
        self._open_part: PartKind | None = None
        self._finish: events.Finished | None = None
        """The end of the answer, once it is known."""

    def encode(self, event: events.ChatEvent) -> Iterable[Record | Framed]:
        """Return the records of one event."""
        if self._open_part is events.TextDelta and isinstance(event, events.TextDelta):  # for speed: most are tokens
            return (self._add_text(event.text),)
        return self._records(event)

    def _records(self, event: events.ChatEvent) -> Iterator[Record | Framed]:
        if isinstance(event, events.Failed) and isinstance(event.error, ContentFiltered) and self._ends_by_filter():
            event = ended_by(event.error)
        if not self._has_begun and not isinstance(event, events.Failed):
            self._has_begun = True
            yield from self._begin()
        if isinstance(event, events.TextDelta):
            yield from self._add(event.text)
        elif isinstance(event, events.ReasoningDelta):
            yield from self._open(events.ReasoningDelta)
            yield self._add_reasoning(event.text)
        else:
            if isinstance(event, events.Finished) and (notice := self._notice(event)):
                yield from self._add(notice)
            if self._ends_part(event):
                yield from self._close()
            yield from self._encode_other(event)

    def _add(self, text: str) -> Iterator[Record | Framed]:
        yield from self._open(events.TextDelta)
        yield self._add_text(text)

    def _notice(self, finished: events.Finished) -> str:
        """Return what the text says of its own end; empty: nothing."""
        return notice_of(finished, self._request)

    def _ends_part(self, event: events.ChatEvent) -> bool:
        if isinstance(event, events.Finished):
            self._finish = event
        if isinstance(event, events.Failed):
            return self._failure_ends_parts
        inside = _INSIDE_TEXTS if self._open_part is events.TextDelta else _INSIDE_PARTS
        return not isinstance(event, inside)

    def _open(self, kind: PartKind) -> Iterator[Record | Framed]:
        if self._open_part is not kind:
            yield from self._close()
            self._open_part = kind
            yield from self._begin_text() if kind is events.TextDelta else self._begin_reasoning()

    def _close(self) -> Iterator[Record | Framed]:
        kind, self._open_part = self._open_part, None
        if kind:
            yield from self._end_text() if kind is events.TextDelta else self._end_reasoning()

    def _ends_by_filter(self) -> bool:
        """Whether a content filter that stops the answer here is how it ends, and no error."""
        return False

    @abstractmethod
    def _begin(self) -> Iterable[Record]:
        """Begin the stream, unless its first event is an error."""

    @abstractmethod
    def _begin_text(self) -> Iterable[Record]: ...

    @abstractmethod
    def _add_text(self, text: str) -> Framed:
        """Return the record of a piece of the open text."""

    @abstractmethod
    def _end_text(self) -> Iterable[Record | Framed]: ...

    @abstractmethod
    def _begin_reasoning(self) -> Iterable[Record]: ...

    @abstractmethod
    def _add_reasoning(self, text: str) -> Record:
        """Return the record of a piece of what the model thinks."""

    @abstractmethod
    def _end_reasoning(self) -> Iterable[Record]: ...

    @abstractmethod
    def _encode_other(self, event: events.ChatEvent) -> Iterable[Record | Framed]:
        """Return the records of an event that is no piece of a part."""
