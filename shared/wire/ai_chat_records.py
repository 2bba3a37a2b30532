"""The documents and records that both versions of the AI Chat Protocol share: they differ in names, not in shape.

Source: ai-chat-protocol, 'Response'. `docs/protocols.md` says how open points are decided.
"""

from abc import abstractmethod
from collections.abc import Iterable

from shared import events
from shared.chat_types import ChatRequest
from shared.core.fold import Answer, agent_answer
from shared.errors import ContentFiltered
from shared.wire import context as contexts
from shared.wire.consent import in_words
from shared.wire.context_encoder import ContextEncoder, ErrorRecord
from shared.wire.protocol import BETWEEN_MESSAGES, Record


def answer_document(request: ChatRequest, answer: Answer, state: Record) -> Record:
    """A whole answer as `{message, context}` and the session state."""
    answer = in_words(request, answer)
    context = contexts.answer_context(request, answer, plain_images=contexts.takes_plain_images(request))
    context |= _end(answer.completion, answer.finished)
    if answer.message and answer.message.total_usage:
        context["total_usage"] = contexts.usage_json(answer.message.total_usage)
    return {"message": {"role": "assistant", "content": answer.text}, "context": context, **state}


class AiChatEncoder(ContextEncoder):
    """Encodes an agent's message as its sources, with those of the agents before it, and its text."""

    def __init__(self, request: ChatRequest, error: ErrorRecord) -> None:
        super().__init__(request, error)
        self._data_points: tuple[events.DataPoint, ...] = ()

    def _retrieved(self, context: Record) -> Record:
        return self._sources(context, has_state=True)

    def _message(self, event: events.AgentMessage) -> Iterable[Record]:
        if self._has_text:
            yield self._text(BETWEEN_MESSAGES)
        self._data_points = tuple(dict.fromkeys((*self._data_points, *event.data_points)))
        self._thoughts += event.thoughts
        agent = contexts.agent_context(event)
        sources = agent | contexts.retrieved_context(self._request, self._data_points, self._thoughts)
        yield self._sources(sources, has_state=not self._has_text)
        yield self._agents_text(event, agent_answer(event, self._turn), agent)
        self._has_text = True

    @abstractmethod
    def _sources(self, context: Record, *, has_state: bool) -> Record:
        """Make the record of sources, with the session state or without."""

    @abstractmethod
    def _agents_text(self, message: events.AgentMessage, part: Answer, agent: Record) -> Record:
        """Make the record of an agent's text, with the context of how its message ended."""


class DeltaEncoder(AiChatEncoder):
    """Encodes an answer as `{delta, context}` records: the follow-up questions have a last record of their own."""

    def __init__(self, request: ChatRequest, state: Record, error: ErrorRecord) -> None:
        super().__init__(request, error)
        self._state = state

    def _text(self, text: str) -> Record:
        return {"delta": {"content": text}}

    def _context(self, context: Record) -> Record:
        return {"delta": {}, "context": context}

    def _sources(self, context: Record, *, has_state: bool) -> Record:
        return {"delta": {"role": "assistant"}, "context": context, **(self._state if has_state else {})}

    def _annotation(self, event: events.FilterAnnotation) -> Record:
        return self._context(
            contexts.filtered_context(answer=event.content_filter_results, offsets=event.content_filter_offsets)
        )

    def _agents_text(self, message: events.AgentMessage, part: Answer, agent: Record) -> Record:
        return {"delta": {"content": message.text}, "context": agent | _end(part.completion, part.finished)}

    def _end(self, finished: events.Finished) -> Record:
        return self._context(_end(self._turn, finished))

    def _end_by_filter(self, error: ContentFiltered) -> Record:
        return self._context({"finish_reason": error.code, **contexts.filtered_context(answer=error.results)})


def _end(started: events.CompletionStarted, finished: events.Finished) -> Record:
    """The end of an answer, with the content filter's results."""
    prompt = started.prompt_filter_results or finished.prompt_filter_results
    return contexts.finished_context(started.model, finished) | contexts.filtered_context(
        prompt, finished.content_filter_results
    )
