"""ChatUI by its document, `chatui-response-formats`: Semantic Kernel's C# shape, and its minimal form."""

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import accepted, messages


def text_of(message: Json) -> Json:
    """What it says: `Content`, else the texts of its items."""
    if is_text(at(message, "Content")):
        return at(message, "Content")
    items = at(message, "Items")
    texts = [at(item, "Text") for item in items] if isinstance(items, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _items_say_the_same(message: Json) -> bool:
    items = at(message, "Items")
    if not isinstance(items, list):
        return "Items" not in message if isinstance(message, dict) else False
    return any(is_text(at(item, "Text")) for item in items) and text_of({"Items": items}) == text_of(message)


def read_messages(reply: Reply) -> list[Json]:
    """The objects of an answer."""
    items = accepted(reply).json()
    if not isinstance(items, list):
        raise Breaks("the answer is not an array")
    return items


def has_role(message: Json) -> bool:
    """Whether the assistant says it, by the document's minimal form."""
    return at(message, "Role", "Label") == "Assistant"


def _has(message: Json, key: str) -> bool:
    return isinstance(message, dict) and key in message


async def _answer(backend: Backend, base: str) -> list[Json]:
    return read_messages(await backend.post(f"{base}chat", {"messages": messages(backend)}))


CHATUI_DOCUMENT = Client(
    "chatui-document",
    "ChatUI, by its document",
    "semantic-kernel",
    (
        Probe(
            "chat",
            "an answer",
            _answer,
            (
                Rule[list[Json]]("one", "The array has one object.", lambda seen: len(seen) == 1),
                Rule[list[Json]]("role", "Role.Label is 'Assistant'.", lambda seen: all(map(has_role, seen))),
                Rule[list[Json]](
                    "text",
                    "There is a Content, or Items with a Text.",
                    lambda seen: all(is_text(text_of(m)) for m in seen),
                ),
                Rule[list[Json]](
                    "items",
                    "Items, if there, are a list with a Text, and say what Content says.",
                    lambda seen: all(map(_items_say_the_same, seen)),
                ),
                Rule[list[Json]](
                    "no author", "There is no AuthorName.", lambda seen: not any(_has(m, "AuthorName") for m in seen)
                ),
                Rule[list[Json]](
                    "conversation",
                    "ConversationId, if there, is a text.",
                    lambda seen: all(is_text(at(m, "ConversationId")) for m in seen if _has(m, "ConversationId")),
                ),
            ),
        ),
    ),
)
