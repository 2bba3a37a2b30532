"""ChatUI's multi-agent chat: `/batch` answers with an array, `/stream` with one message an event."""

from tests.conformance.backend import Backend, Reply
from tests.conformance.clients.chatui import REFUSED, Message, kept, read_message, read_messages
from tests.conformance.clients.chatui_document import has_role, text_of
from tests.conformance.reading import Breaks, Json, at, is_text, parse, sse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import accepted, messages

type Seen = list[tuple[Message, Json]]
"""Each message as the client in use shows it, and as it was sent."""


def read_batch(reply: Reply) -> Seen:
    """The messages of an array."""
    read_messages(reply)
    items = reply.json()
    return [(read_message(item), item) for item in items] if isinstance(items, list) else []


def read_stream(reply: Reply) -> Seen:
    """The messages of the events; one that is not JSON would be skipped, and nobody would see that it was there."""
    items = [parse(data, f"the event '{data[:60]}'") for data in sse(accepted(reply).body)]
    found = [(message, item) for item in items if kept(message := read_message(item), item)]
    if not found:
        raise Breaks("no event has a message with a 'content' that is a text")
    return found


async def _batch(backend: Backend, base: str) -> Seen:
    return read_batch(await backend.post(f"{base}multi-agent-chat/batch", {"messages": messages(backend)}))


async def _stream(backend: Backend, base: str) -> Seen:
    headers = {"Accept": "text/event-stream"}
    return read_stream(await backend.post(f"{base}multi-agent-chat/stream", {"messages": messages(backend)}, headers))


async def _refused_batch(backend: Backend, base: str) -> Reply:
    return await backend.post(f"{base}multi-agent-chat/batch", {"messages": []})


async def _refused_stream(backend: Backend, base: str) -> Reply:
    return await backend.post(f"{base}multi-agent-chat/stream", {"messages": []})


RULES = (
    Rule[Seen]("text", "Every message has a text.", lambda seen: all(is_text(message.text) for message, _ in seen)),
    Rule[Seen]("agent", "An agent's name is on every message.", lambda seen: all(is_text(m.agent) for m, _ in seen)),
    Rule[Seen]("role", "By its document: Role.Label is 'Assistant'.", lambda seen: all(has_role(i) for _, i in seen)),
    Rule[Seen](
        "author", "By its document: every message has an AuthorName.", lambda seen: all(_author(i) for _, i in seen)
    ),
    Rule[Seen](
        "items",
        "By its document: there is a Content, or Items with a Text.",
        lambda seen: all(is_text(text_of(item)) for _, item in seen),
    ),
)


def _author(item: Json) -> bool:
    return is_text(at(item, "AuthorName"))


CHATUI_MULTI_AGENT = Client(
    "chatui-multi-agent",
    "ChatUI, multi-agent",
    "",
    (
        Probe("multi-agent-chat/batch", "all messages", _batch, RULES),
        Probe("multi-agent-chat/batch", "a bad request", _refused_batch, REFUSED),
        Probe("multi-agent-chat/stream", "a stream", _stream, RULES),
        Probe("multi-agent-chat/stream", "a bad request", _refused_stream, REFUSED),
    ),
)
