"""The common part of Semantic Kernel's protocols: how a request is read, and the order of a stream's records.

The protocols differ in the JSON of a message, which each defines in its own file.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import BadRequest
from shared.wire.chat_body import LONGEST_CONVERSATION, MAX_CONVERSATION_ID, parse_chat
from shared.wire.consent import with_calls
from shared.wire.context_encoder import ContextEncoder
from shared.wire.message_parts import SentFile, files_in
from shared.wire.protocol import Record


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


def _flat(message: dict[str, Json]) -> dict[str, Json]:
    """A message as the other protocols have it, of one in C#'s, Java's or Python's own shape.

    The casing of C#'s keys is the one of the caller's JSON options: `Role` by default, `role` over the web.
    """
    flat, keys = dict(message), _lower(message) if "Role" in message else message
    role, content, items = keys.get("role"), keys.get("content"), keys.get("items")
    if isinstance(role, dict):
        role = _lower(role).get("label")
    role = message.get("authorRole") if role is None else role
    if isinstance(role, str):
        flat["role"] = "system" if role.lower() == "developer" else role.lower()
    if isinstance(content, str):
        flat["content"] = content
    elif isinstance(items, list):
        flat["content"] = "\n\n".join(text for item in items if (text := _text_of(item)))
    elif role is not None:
        flat["content"] = "" if flat.get("role") == "tool" else None  # calls of a plugin, or what they returned
    return flat


def _lower(keys: Mapping[str, Json]) -> dict[str, Json]:
    return {key.lower(): value for key, value in keys.items()}


def _text_of(item: Json) -> str:
    """The text of an item; Java has it in `content`, and names no type."""
    keys = _lower(item) if isinstance(item, dict) else {}
    text = keys.get("text", keys.get("content")) if _kind(keys) in ("text", "TextContent") else None
    return text if isinstance(text, str) else ""


def _kind(item: Mapping[str, Json]) -> Json:
    """What an item of a message is: Python's word for it, or C#'s."""
    return item.get("content_type") or item.get("$type") or "TextContent"


def sent_files(body: Mapping[str, Json]) -> Iterator[tuple[int, SentFile]]:
    """Yield the images in the user's messages of a body that `parse_kernel_chat` has accepted."""
    for place, message in enumerate(cast("list[Json]", body["messages"])):
        flat = _flat(message) if isinstance(message, dict) else {}
        if flat.get("role") == "user":
            path, items = f"messages[{place}].items", _lower(flat).get("items")
            yield from ((place, file) for file in files_in(path, items, _image))


def _image(path: str, item: Json) -> str | SentFile:
    """The image that an item is; empty: it is none."""
    keys = _lower(item) if isinstance(item, dict) else {}
    if _kind(keys) not in ("image", "ImageContent"):
        return ""
    data, media_type = keys.get("data"), keys.get("mimetype") or keys.get("mime_type")
    url = keys.get("datauri") or keys.get("data_uri") or keys.get("uri")
    url = f"data:{media_type};base64,{data}" if isinstance(data, str) and data else url
    if not isinstance(url, str) or not url.startswith("data:image/"):
        raise BadRequest(f"{path}: should be an image in base64; nothing is fetched from elsewhere.")
    return SentFile(path, url)


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
