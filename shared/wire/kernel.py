"""The common part of Semantic Kernel's protocols: how a request is read, and the order of a stream's records.

The protocols differ in the JSON of a message, which each defines in its own file.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import BadRequest
from shared.wire.chat_body import LONGEST_CONVERSATION, MAX_CONVERSATION_ID, parse_chat
from shared.wire.consent import with_calls
from shared.wire.context_encoder import ContextEncoder
from shared.wire.protocol import Record


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


class KernelEncoder(ContextEncoder):
    """Encodes an answer as streaming message contents.

    In a team's stream each agent's message is a whole one, and there is no other record but an error.
    """

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._plain_images = False
        self._calls: list[events.ToolEnded | events.OpenCall] = []

    def _message(self, event: events.AgentMessage) -> Iterable[Record]:
        self._sends_messages = True
        asked = self._request.in_conversation(self._request.chat.conversation_id or self._turn.id)
        return (self._whole(asked, with_calls(agent_answer(event, self._turn), self._calls)),)

    def _called(self, call: events.ToolEnded) -> Iterable[Record]:
        if self._request.team:
            self._calls.append(call)  # they are items of their agent's next message
            return ()
        return (self._call_record((call,)),)

    def _ask(self, asked: events.ConsentAsked) -> Iterable[Record]:
        if self._request.team:
            self._calls += asked.calls
        else:
            yield self._call_record(asked.calls)
        yield from super()._ask(asked)

    def _retrieved(self, context: Record) -> Record:
        return self._context(context)

    @abstractmethod
    def _call_record(self, calls: Iterable[events.ToolEnded | events.OpenCall]) -> Record:
        """A record with calls of tools, each with its result if it has one."""

    @abstractmethod
    def _whole(self, request: ChatRequest, answer: Answer) -> Record:
        """A whole message, of a team's agent."""
