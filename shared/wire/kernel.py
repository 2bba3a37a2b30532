"""The common part of Semantic Kernel's protocols: how a request is read, and the order of a stream's records.

The protocols differ in the JSON of a message, which each defines in its own file.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import BadRequest, ContentFiltered
from shared.wire.chat_body import LONGEST_CONVERSATION, MAX_CONVERSATION_ID, parse_chat
from shared.wire.consent import asked_in_words, ended_in_words, with_calls
from shared.wire.context import retrieved_context, thoughts_json
from shared.wire.protocol import Record, error_record


def parse_kernel_chat(
    body: Mapping[str, Json], flat: Callable[[dict[str, Json]], Json], conversation_keys: Sequence[str]
) -> ChatRequest:
    """Validate a body and turn it into a request.

    Args:
        body: The JSON object.
        flat: Turns a message in the SDK's own shape into one of the other protocols' shape.
        conversation_keys: The SDK's names for the conversation's id; the first in the body is used.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    if isinstance(messages := body.get("messages"), list):
        body = dict(body) | {
            "messages": [
                flat(message) if isinstance(message, dict) else message
                for message in messages[: LONGEST_CONVERSATION + 1]  # one more than are accepted: the rest is refused
            ]
        }
    request = parse_chat(body, state_key="session_state")
    for key in conversation_keys:
        if (named := body.get(key)) is not None:
            if not isinstance(named, str):
                raise BadRequest(f"{key}: should be a string.")
            if len(named) > MAX_CONVERSATION_ID:
                raise BadRequest(f"{key}: should have at most {MAX_CONVERSATION_ID} characters.")
            return request.in_conversation(named or request.chat.conversation_id)
    return request


class KernelEncoder(ABC):
    """Events to streaming message contents.

    In a team's stream each agent's message is a whole one, and there is no other record but an error.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._turn = events.CompletionStarted("", 0, "")
        self._has_begun = False
        self._is_team = False
        self._has_text = False
        self._calls: list[events.ToolEnded | events.OpenCall] = []
        self._open: tuple[events.OpenCall, ...] = ()
        self._thoughts: tuple[events.Thought, ...] = ()

    def encode(self, event: events.ChatEvent) -> Iterable[Record]:  # noqa: C901 (one case an event)
        """Return the records of one event."""
        match event:
            case events.TextDelta():
                self._has_text = True
                return (self._piece(event.text),)
            case events.Retrieved():
                self._thoughts = event.thoughts
                return (
                    self._context(retrieved_context(self._request, event.data_points, event.thoughts, event.images)),
                )
            case events.CompletionStarted():
                self._turn, self._has_begun = event, True
                return ()
            case events.AgentMessage():
                self._is_team = True
                asked = self._request.in_conversation(self._request.chat.conversation_id or self._turn.id)
                return (self._whole(asked, with_calls(agent_answer(event, self._turn), self._calls)),)
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
                return () if self._is_team else (self._context({"thoughts": thoughts_json(self._thoughts)}),)
            case events.Finished():
                return () if self._is_team else self._last(ended_in_words(event, self._open))
            case events.FilterAnnotation():
                return (self._annotation(event),)
            case events.Failed():
                return self._failed(event)
            case events.ToolEnded():
                if self._request.team:
                    self._calls.append(event)  # they are items of their agent's next message
                    return ()
                return (self._called((event,)),)
            case events.ConsentAsked():
                return self._ask(event)
            case events.Progress() | events.ReasoningDelta() | events.ToolsCalled() | events.ToolStarted():
                return ()  # they have no place here; a thought has the reasoning
            case _:
                assert_never(event)

    def _ask(self, asked: events.ConsentAsked) -> Iterable[Record]:
        self._open = asked.calls
        if self._request.team:
            self._calls += asked.calls
        else:
            yield self._called(asked.calls)
        for event in asked_in_words(self._request, asked, has_text=self._has_text):
            yield from self.encode(event)

    def _last(self, event: events.Finished) -> Iterable[Record]:
        yield self._end(event)
        if event.followup_questions is not None:
            yield self._context({"followup_questions": list[Json](event.followup_questions)})

    def _failed(self, event: events.Failed) -> Iterable[Record]:
        if isinstance(event.error, ContentFiltered) and not self._is_team:
            yield self._end(events.Finished(event.error.code, content_filter_results=event.error.results))
        yield error_record(event.error, event.invocation_id)

    @abstractmethod
    def _piece(self, text: str) -> Record:
        """A record with a piece of the text."""

    @abstractmethod
    def _called(self, calls: Iterable[events.ToolEnded | events.OpenCall]) -> Record:
        """A record with calls of tools, each with its result if it has one."""

    @abstractmethod
    def _context(self, context: Record) -> Record:
        """A record with a part of the answer's context."""

    @abstractmethod
    def _annotation(self, event: events.FilterAnnotation) -> Record:
        """A record with the results of a content filter."""

    @abstractmethod
    def _end(self, finished: events.Finished) -> Record:
        """The record that says how the answer ended."""

    @abstractmethod
    def _whole(self, request: ChatRequest, answer: Answer) -> Record:
        """A whole message, of a team's agent."""
