"""The documents and records that both versions of the AI Chat Protocol share: they differ in names, not in shape.

Source: ai-chat-protocol, 'Response'. What it leaves open is decided in `docs/protocols.md`.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

from shared.chat_types import Json
from shared.core.fold import Answer
from shared.errors import SwitchboardError
from shared.events import ChatEvent, CompletionStarted, Failed, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded
from shared.wire.context import answer_context, finished_context, retrieved_context, thoughts_json
from shared.wire.protocol import Record

type ErrorRecord = Callable[[SwitchboardError, str], Record]


def answer_document(answer: Answer, state: Record) -> Record:
    """A whole answer as `{message, context}` and the session state."""
    context = answer_context(answer) | finished_context(answer.completion.model, answer.finished)
    return {"message": {"role": "assistant", "content": answer.text}, "context": context, **state}


class DeltaEncoder:
    """Events to `{delta, context}` records.

    A client merges each record's context into what it has, key by key. So a late thought comes together with
    those before it, and the follow-up questions have a last record of their own.
    """

    def __init__(self, state: Record, error: ErrorRecord) -> None:
        self._state = state
        self._error = error
        self._thoughts: tuple[Thought, ...] = ()
        self._model = ""

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        """The records of one event."""
        match event:
            case TextDelta():
                return ({"delta": {"content": event.text}},)
            case Retrieved():
                self._thoughts = event.thoughts
                context = retrieved_context(event.data_points, event.thoughts)
                return ({"delta": {"role": "assistant"}, "context": context, **self._state},)
            case CompletionStarted():
                self._model = event.model
                return ()
            case ThoughtsAdded():
                self._thoughts += event.thoughts
                return ({"delta": {}, "context": {"thoughts": thoughts_json(self._thoughts)}},)
            case Finished():
                return self._last(event)
            case Failed():
                return (self._error(event.error, event.invocation_id),)
            case _:
                assert_never(event)

    def _last(self, event: Finished) -> Iterable[Record]:
        yield {"delta": {}, "context": finished_context(self._model, event)}
        if event.followup_questions is not None:
            yield {"delta": {}, "context": {"followup_questions": list[Json](event.followup_questions)}}
