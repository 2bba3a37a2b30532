"""ChatUI (microsoft/ai-developer) as it is in use: the flat shape of Semantic Kernel for Java.

It posts `role` and `content` alone, wants an array, drops every message without a text, and takes an answer with no
message left for an error. Its own words for 401, 403, 404, 429, 500, 502, 503 and 504, and a 400's body, become a
message of the role `system`, which no part of the page shows. Read at ac7a5e0 (2026-03-28) in ChatContext.tsx,
MessageBubble.tsx and ChatMessagePanel.tsx.
"""

from dataclasses import dataclass

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text, truthy
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import accepted, asked_again, messages

ROLES = {"USER": "user", "ASSISTANT": "assistant", "TOOL": "tool"}
WORDED = (400, 401, 403, 404, 429, 500, 502, 503, 504)
"""The statuses that it has words for."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the chat shows it."""

    role: str
    """Whose side it is on."""
    text: str
    """What it says."""
    agent: Json
    """Whose name is on it."""


def read_message(item: Json) -> Message:
    """One message."""
    role_name = at(item, "authorRole")
    role = ROLES.get(role_name.upper(), "assistant") if isinstance(role_name, str) else "assistant"
    content = at(item, "content")
    agent = at(item, "authorName") or at(item, "metadata", "authorName")
    return Message(role, content if isinstance(content, str) else "", agent)


def kept(message: Message, item: Json) -> bool:
    """Whether the chat keeps a message."""
    return bool(message.text) or message.role == "tool" or truthy(at(item, "toolCall"))


def read_messages(reply: Reply) -> list[Message]:
    """The messages of an answer."""
    items = accepted(reply).json()
    if not isinstance(items, list):
        raise Breaks("the answer is not an array")
    found = [message for item in items if kept(message := read_message(item), item)]
    if not found:
        raise Breaks("no message has a 'content' that is a text")
    return found


async def _answer(backend: Backend, base: str) -> list[Message]:
    return read_messages(await backend.post(f"{base}chat", {"messages": messages(backend)}))


async def _unsafe(backend: Backend, base: str) -> list[Message]:
    body: Json = {"messages": [{"role": "user", "content": backend.refused_question()}]}
    return read_messages(await backend.post(f"{base}chat", body))


async def _again(backend: Backend, base: str) -> list[Message]:
    return read_messages(await backend.post(f"{base}chat", {"messages": asked_again(backend)}))


async def _refused(backend: Backend, base: str) -> Reply:
    return await backend.post(f"{base}chat", {"messages": []})


REFUSED = (
    Rule[Reply]("status", "A request without messages has a status that it words.", lambda seen: seen.status in WORDED),
    Rule[Reply]("reason", "The body says what is wrong: it is shown for a 400.", lambda seen: is_text(seen.text)),
)

SHOWN = Rule[list[Message]](
    "shown",
    "A refusal is a message of the assistant: an error becomes one of the role 'system' (ChatContext.tsx:305), which is"
    " never shown (MessageBubble.tsx:155; microsoft/ai-developer at ac7a5e0 of 2026-03-28).",
    lambda seen: seen[-1].role == "assistant" and is_text(seen[-1].text),
)
GOES_ON = Rule[list[Message]](
    "goes on",
    "A question is answered after one that was refused: each request has the whole chat (microsoft/ai-developer at"
    " ac7a5e0 of 2026-03-28, seen in a browser).",
    SHOWN.holds,
)

CHATUI = Client(
    "chatui",
    "ChatUI",
    "semantic-kernel",
    (
        Probe(
            "chat",
            "an answer",
            _answer,
            (
                Rule[list[Message]]("text", "A message has a text.", lambda seen: any(is_text(m.text) for m in seen)),
                Rule[list[Message]](
                    "role", "The last message is the assistant's.", lambda seen: seen[-1].role == "assistant"
                ),
                Rule[list[Message]](
                    "no agent", "No agent's name is on it.", lambda seen: not any(m.agent for m in seen)
                ),
            ),
        ),
        Probe("chat", "a bad request", _refused, REFUSED),
        Probe("chat", "a refused question", _unsafe, (SHOWN,)),
        Probe("chat", "a question after it", _again, (GOES_ON,)),
    ),
)
