"""Semantic Kernel for Python: `ChatMessageContent.model_validate_json`, and adding up streamed messages.

What the package checks when it reads, in semantic-kernel 1.45; the app's tests run the package itself as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text, parse, sse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import accepted, messages

ROLES = ("system", "user", "assistant", "tool", "developer")
FINISH_REASONS = (None, "stop", "length", "content_filter", "tool_calls", "function_call")
STATUSES = (None, "completed", "failed", "in_progress", "incomplete")
KEYS = ("choice_index", "ai_model_id", "encoding", "role")
"""Pieces are added up only if they agree in these."""


@dataclass(frozen=True, slots=True)
class Message:
    """A `ChatMessageContent`."""

    role: str
    """Who says it."""
    texts: Sequence[str]
    """Its text items; `str(message)` is the first."""
    document: Json
    """What it was read from."""

    @property
    def text(self) -> str:
        """`str(message)`."""
        return self.texts[0] if self.texts else ""


def read_message(document: Json) -> Message:
    """One message, or what the package raises."""
    role = at(document, "role")
    if not (isinstance(role, str) and role in ROLES):
        raise Breaks(f"role is none of {', '.join(ROLES)}: {str(document)[:80]}")
    if isinstance(document, dict) and document.get("content_type", "message") != "message":
        raise Breaks("content_type is not 'message'")
    if at(document, "finish_reason") not in FINISH_REASONS:
        raise Breaks(f"finish_reason is none it knows: {at(document, 'finish_reason')!r}")
    if at(document, "status") not in STATUSES:
        raise Breaks(f"status is none it knows: {at(document, 'status')!r}")
    if not isinstance(at(document, "metadata"), dict | None):
        raise Breaks("metadata is not an object")
    items = at(document, "items")
    texts = [_item_text(item) for item in items] if isinstance(items, list) else []
    content = at(document, "content")
    return Message(role, [*texts, content] if isinstance(content, str) and content else texts, document)


def _item_text(item: Json) -> str:
    if at(item, "content_type") != "text":
        raise Breaks(f"the content_type of an item is not 'text': {str(item)[:80]}")
    if not isinstance(text := at(item, "text"), str):
        raise Breaks("the text of an item is not a string")
    return text


def read_answer(reply: Reply) -> list[Message]:
    """The messages of an array."""
    documents = accepted(reply).json()
    if not isinstance(documents, list):
        raise Breaks("the answer is not an array")
    return [read_message(document) for document in documents]


def read_stream(reply: Reply) -> list[Message]:
    """The message in each event."""
    return [read_message(parse(data, f"the event '{data[:60]}'")) for data in sse(accepted(reply).body)]


async def _answer(backend: Backend, base: str) -> list[Message]:
    return read_answer(await backend.post(f"{base}chat", {"messages": messages(backend)}))


async def _stream(backend: Backend, base: str) -> list[Message]:
    headers = {"Accept": "text/event-stream"}
    return read_stream(await backend.post(f"{base}chat/stream", {"messages": messages(backend)}, headers))


async def _refused(backend: Backend, base: str) -> Reply:
    return await backend.post(f"{base}chat", {"messages": []})


def _agree(pieces: list[Message]) -> bool:
    return all(at(piece.document, key) == at(pieces[0].document, key) for piece in pieces for key in KEYS)


TEXT_ONCE = Rule[list[Message]](
    "text once",
    "The text is in one item and nowhere else: str(message) gives the first, and a 'content' beside it doubles it.",
    lambda seen: all(len(message.texts) <= 1 for message in seen),
)
ASSISTANT = Rule[list[Message]](
    "role", "The assistant says it.", lambda seen: all(message.role == "assistant" for message in seen)
)

SEMANTIC_KERNEL_PYTHON = Client(
    "semantic-kernel-python",
    "Semantic Kernel for Python",
    "semantic-kernel-python",
    (
        Probe(
            "chat",
            "an answer",
            _answer,
            (
                Rule[list[Message]]("one", "The array has one message.", lambda seen: len(seen) == 1),
                Rule[list[Message]]("text", "str(message) is a text.", lambda seen: all(is_text(m.text) for m in seen)),
                TEXT_ONCE,
                ASSISTANT,
            ),
        ),
        Probe(
            "chat",
            "a bad request",
            _refused,
            (
                Rule[Reply](
                    "status",
                    "A request without messages has a status of 400 or more.",
                    lambda seen: seen.status >= 400,
                ),
            ),
        ),
        Probe(
            "chat/stream",
            "a stream",
            _stream,
            (
                Rule[list[Message]](
                    "text", "The pieces add up to a text.", lambda seen: is_text("".join(m.text for m in seen))
                ),
                TEXT_ONCE,
                ASSISTANT,
                Rule[list[Message]](
                    "index", "Every piece has a choice_index.", lambda seen: all(_index(m) is not None for m in seen)
                ),
                Rule[list[Message]](
                    "adds up", f"All pieces agree in {', '.join(KEYS)}: others are not added up.", _agree
                ),
            ),
        ),
    ),
)


def _index(message: Message) -> Json:
    return at(message.document, "choice_index")
