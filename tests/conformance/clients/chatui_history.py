"""ChatUI's chat history: create, update, list, read and delete."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text
from tests.conformance.rules import Client, Probe, Rule

TITLE = "Conformance 👓"
UNTITLED = "New Chat"
"""The title that it gives every chat. Source: ChatContext.tsx, sendMessage, in microsoft/ai-developer at ac7a5e0."""
MESSAGES: list[dict[str, Json]] = [
    {"id": "1", "role": "user", "content": "Are eye exams covered?", "timestamp": "02:15 PM"},
    {"id": "2", "role": "assistant", "content": "Yes. 👓", "timestamp": "02:16 PM", "agentIdentifier": "Benefits"},
]
"""A chat in ChatUI's own shape: its timestamps are times of day."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What each call gave."""

    created: Json
    """`POST /chat-history`."""
    updated: Json
    """`PUT /chat-history/{id}`."""
    listed: Json
    """`GET /chat-history?mode=standard`."""
    others: Json
    """`GET /chat-history?mode=multiAgent`."""
    messages: Json
    """`GET /chat-history/{id}/messages`."""
    left: Json
    """The list after `DELETE /chat-history/{id}?mode=standard`."""

    def entries(self) -> list[Json]:
        """The new chat wherever an entry of it was given."""
        return [self.created, self.updated, *found(self.listed, at(self.created, "id"))]


def found(entries: Json, chat: Json) -> list[Json]:
    """The entries of a chat in a list."""
    return [entry for entry in entries if at(entry, "id") == chat] if isinstance(entries, list) else []


async def _use(backend: Backend, base: str) -> Seen:
    path = f"{base}chat-history"
    created = _read(await backend.post(path, {"mode": "standard", "title": TITLE}))
    chat = at(created, "id")
    if not is_text(chat):
        raise Breaks("a new chat has no id")
    try:
        updated = _read(await backend.request("PUT", f"{path}/{chat}", {"messages": list[Json](MESSAGES)}))
        listed = _read_list(await backend.request("GET", f"{path}?mode=standard"))
        others = _read_list(await backend.request("GET", f"{path}?mode=multiAgent"))
        messages = _read_list(await backend.request("GET", f"{path}/{chat}/messages"))
    except Breaks:
        with suppress(Breaks):
            await backend.request("DELETE", f"{path}/{chat}?mode=standard")
        raise
    _ok(await backend.request("DELETE", f"{path}/{chat}?mode=standard"))
    left = _read_list(await backend.request("GET", f"{path}?mode=standard"))
    return Seen(created, updated, listed, others, messages, left)


async def _name(backend: Backend, base: str) -> Json:
    """The entry of a chat as the client starts it, after its first messages."""
    path = f"{base}chat-history"
    chat = at(_read(await backend.post(path, {"mode": "standard", "title": UNTITLED})), "id")
    if not is_text(chat):
        raise Breaks("a new chat has no id")
    try:
        return _read(await backend.request("PUT", f"{path}/{chat}", {"messages": list[Json](MESSAGES)}))
    finally:
        await backend.request("DELETE", f"{path}/{chat}?mode=standard")


def _ok(reply: Reply) -> Reply:
    if not reply.ok:
        raise Breaks(reply.shown())
    return reply


def _read(reply: Reply) -> Json:
    return _ok(reply).json()


def _read_list(reply: Reply) -> Json:
    entries = _read(reply)
    if not isinstance(entries, list):
        raise Breaks(f"a list is not an array: {reply.text[:80]}")
    return entries


def _is_date(value: Json) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_kept(seen: Seen) -> bool:
    if not isinstance(seen.messages, list) or len(seen.messages) != len(MESSAGES):
        return False
    keys = ("role", "content", "timestamp", "agentIdentifier")
    pairs = zip(seen.messages, MESSAGES, strict=True)
    return all(at(kept, key) == sent.get(key) for kept, sent in pairs for key in keys)


RULES = (
    Rule[Seen]("title", "An entry has its title.", lambda seen: all(at(e, "title") == TITLE for e in seen.entries())),
    Rule[Seen](
        "lastUpdated",
        "An entry's lastUpdated is an ISO 8601 time.",
        lambda seen: all(_is_date(at(entry, "lastUpdated")) for entry in seen.entries()),
    ),
    Rule[Seen]("mode", "An entry has its mode.", lambda seen: all(at(e, "mode") == "standard" for e in seen.entries())),
    Rule[Seen](
        "messageCount",
        "An entry counts its messages: 0 when new, then 2.",
        lambda seen: [at(entry, "messageCount") for entry in seen.entries()[:2]] == [0, len(MESSAGES)],
    ),
    Rule[Seen](
        "lastMessage", "An updated entry has its last message.", lambda seen: is_text(at(seen.updated, "lastMessage"))
    ),
    Rule[Seen](
        "listed", "The list of its mode has it.", lambda seen: len(found(seen.listed, at(seen.created, "id"))) == 1
    ),
    Rule[Seen](
        "modes", "The list of the other mode has it not.", lambda seen: not found(seen.others, at(seen.created, "id"))
    ),
    Rule[Seen]("messages", "Its messages come back as they were sent, in their order.", _is_kept),
    Rule[Seen]("deleted", "A deleted chat is in no list.", lambda seen: not found(seen.left, at(seen.created, "id"))),
)

NAMED = Rule[Json](
    "named",
    "A chat that it started has a name of its own after its first messages: it shows what the server says.",
    lambda entry: is_text(at(entry, "title")) and at(entry, "title") != UNTITLED,
)

CHATUI_HISTORY = Client(
    "chatui-history",
    "ChatUI, history",
    "",
    (
        Probe("chat-history", "a chat from its start to its end", _use, RULES),
        Probe("chat-history", "the name of a chat", _name, (NAMED,)),
    ),
)
