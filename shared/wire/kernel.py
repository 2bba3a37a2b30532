"""The common part of Semantic Kernel's protocols: how a request is read, and the order of a stream's records.

The protocols differ in the JSON of a message, which each defines in its own file.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import NotRequired, TypedDict

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import BadRequest
from shared.wire.chat_body import LONGEST_CONVERSATION, MAX_CONVERSATION_ID, parse_chat
from shared.wire.consent import with_calls
from shared.wire.context_encoder import ContextEncoder
from shared.wire.protocol import Record


class EchoedRole(TypedDict):
    """A role as Semantic Kernel for .NET writes it."""

    Label: str


class EchoedText(TypedDict, total=False):
    """An item with a text."""

    Text: str


class EchoedMessage(TypedDict):
    """A message as Semantic Kernel for .NET writes it."""

    Role: str | EchoedRole
    Content: NotRequired[str]
    Items: NotRequired[list[EchoedText]]


class EchoedJavaMessage(TypedDict):
    """A message as Semantic Kernel for Java writes it."""

    authorRole: str
    content: str


class EchoedPythonText(TypedDict):
    """An item of a message."""

    content_type: str
    text: NotRequired[str]


class EchoedPythonMessage(TypedDict):
    """A message as Semantic Kernel for Python writes it."""

    role: str
    items: list[EchoedPythonText]


ECHOED = EchoedMessage | EchoedJavaMessage | EchoedPythonMessage
"""The shapes in which a client may send a message back, beside that of all protocols."""


def parse_kernel_chat(body: Mapping[str, Json], *conversation_keys: str) -> ChatRequest:
    """Validate a body and turn it into a request.

    Args:
        body: The JSON object.
        conversation_keys: The SDK's names for the conversation's id; the first in the body is used.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    if isinstance(messages := body.get("messages"), list):
        body = dict(body) | {
            "messages": [
                _flat(message) if isinstance(message, dict) else message
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


def _flat(message: dict[str, Json]) -> Json:
    """A message as the other protocols have it, of one in C#'s, Java's or Python's own shape."""
    flat = dict(message)
    if "Role" in message:
        role, content, items = message["Role"], message.get("Content"), message.get("Items")
    else:
        role, content, items = message.get("authorRole"), message.get("content"), message.get("items")
    if isinstance(role, dict):
        role = role.get("Label")
    if isinstance(role, str):
        flat["role"] = role.lower()
    if isinstance(content, str):
        flat["content"] = content
    elif isinstance(items, list):
        flat["content"] = "".join(map(_text_of, items))
    return flat


def _text_of(item: Json) -> str:
    match item:
        case {"Text": str(text)} | {"content_type": "text", "text": str(text)}:
            return text
        case _:
            return ""


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
