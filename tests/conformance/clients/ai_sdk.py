"""`useChat` of Vercel's AI SDK: `DefaultChatTransport` and `process-ui-message-stream.ts`.

What `ai` checks from 5.0.92 to 7.0.173; the versions differ, and these are the checks of the strictest. The app's tests
run the packages themselves as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.conformance.backend import Backend, NotOffered, Reply
from tests.conformance.reading import Breaks, Json, are_texts, at, is_text, of, parse, sse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import accepted

STRINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "start": ((), ("messageId",)),
    "text-start": (("id",), ()),
    "text-delta": (("id", "delta"), ()),
    "text-end": (("id",), ()),
    "reasoning-start": (("id",), ()),
    "reasoning-delta": (("id", "delta"), ()),
    "reasoning-end": (("id",), ()),
    "source-url": (("sourceId", "url"), ("title",)),
    "start-step": ((), ()),
    "finish-step": ((), ()),
    "finish": ((), ("finishReason",)),
    "error": (("errorText",), ()),
}
"""By type: the keys that have to be strings, and those that are strings or absent."""
WITH_METADATA = ("start", "finish")
"""The types whose `messageMetadata` may be anything."""
REASONS = ("stop", "length", "content-filter", "tool-calls", "error", "other", "unknown", None)


@dataclass(slots=True)
class Message:
    """A `UIMessage` as the page shows it, and what its `onFinish` hears."""

    id: Json = None
    """Given by the stream."""
    parts: list[Json] = field(default_factory=list[Json])
    """In order, as the SDK has them."""
    reason: Json = None
    """Why it ended; None if the stream does not say."""
    error: str = ""
    """What the page shows in place of a complete answer."""
    metadata: Json = None
    """Of the message."""
    open_texts: dict[Json, dict[str, Json]] = field(default_factory=dict[Json, dict[str, Json]])
    """The texts of this step that were started, by their ids."""

    def of_type(self, kind: str) -> Sequence[Json]:
        """The parts of a type."""
        return [part for part in self.parts if at(part, "type") == kind]

    @property
    def text(self) -> str:
        """All texts."""
        return "".join(str(at(part, "text")) for part in self.of_type("text"))


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was turned down."""

    status: int
    """HTTP's."""
    error: str
    """`error.message`: the whole body."""


def check(record: Json) -> str:
    """`uiMessageChunkSchema`, of the types that a chat without tools has. Returns the type."""
    if not (isinstance(record, dict) and isinstance(kind := record.get("type"), str)):
        raise Breaks(f"a chunk has no type: {str(record)[:80]}")
    if kind.startswith("data-"):
        strings, optional, known = (), ("id",), {"id", "data", "transient"}
    elif kind in STRINGS:
        strings, optional = STRINGS[kind]
        known = {*strings, *optional}
        known |= {"messageMetadata"} if kind in WITH_METADATA else set()
        known |= {"providerMetadata"} if kind.startswith(("text-", "source-")) else set()
    else:
        raise Breaks(f"there is no chunk of the type '{kind}'")
    if unknown := record.keys() - known - {"type"}:
        raise Breaks(f"'{kind}' has keys that a version does not know: {', '.join(sorted(unknown))}")
    wrong = [key for key in strings if not isinstance(record.get(key), str)]
    wrong += [key for key in optional if key in record and not isinstance(record[key], str)]
    if "providerMetadata" in record and not _is_two_levels_deep(record["providerMetadata"]):
        wrong.append("providerMetadata")
    if wrong or record.get("finishReason") not in REASONS:
        raise Breaks(f"'{kind}' has wrong values: {', '.join(wrong) or 'finishReason'}")
    return kind


def _is_two_levels_deep(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(inside, dict) for inside in value.values())


def read_stream(reply: Reply) -> Message:
    """The message, as the SDK puts it together."""
    message = Message()
    for data in sse(accepted(reply).body):
        if data != "[DONE]":
            _take(parse(data, f"the event '{data[:60]}'"), message)
    if message.error:
        raise Breaks(f"the page shows the error '{message.error}'")
    return message


def _take(record: Json, message: Message) -> None:
    """Add a chunk to the message."""
    kind = check(record)
    match kind:
        case "start":
            message.id = at(record, "messageId")
        case "start-step":
            message.parts.append({"type": "step-start"})
        case "finish-step":
            message.open_texts = {}
        case "text-start" | "text-delta" | "text-end":
            _take_text(kind, record, message)
        case "finish":
            message.reason, message.metadata = at(record, "finishReason"), at(record, "messageMetadata")
        case "error":
            message.error = str(at(record, "errorText"))
        case _:
            message.parts.append(record)


def _take_text(kind: str, record: Json, message: Message) -> None:
    part, texts = at(record, "id"), message.open_texts
    if kind == "text-start":
        texts[part] = {"type": "text", "text": "", "state": "streaming"}
        message.parts.append(texts[part])
    if part not in texts:
        raise Breaks(f"'{kind}' is for a text that was not started")
    texts[part]["text"] = f"{texts[part]['text']}{at(record, 'delta') or ''}"
    texts[part]["state"] = "done" if kind == "text-end" else "streaming"


def _asked(text: str) -> dict[str, Json]:
    return {"id": "u1", "role": "user", "parts": [{"type": "text", "text": text}]}


async def _send(backend: Backend, path: str, messages: list[Json], **body: Json) -> Reply:
    asked: dict[str, Json] = {"id": "conformance", "messages": messages, "trigger": "submit-message", **body}
    return await backend.post(path, asked)


async def _answer(backend: Backend, base: str) -> Message:
    context: Json = {"overrides": {"suggest_followup_questions": True}}
    return read_stream(await _send(backend, f"{base}chat", [_asked(backend.question)], context=context))


async def _conversation(backend: Backend, base: str) -> Message:
    question = _asked(backend.question)
    first = read_stream(await _send(backend, f"{base}chat", [question]))
    echoed: Json = {"id": first.id, "role": "assistant", "parts": first.parts, "metadata": first.metadata}
    return read_stream(await _send(backend, f"{base}chat", [question, echoed, question]))


async def _team(backend: Backend, base: str) -> Message:
    question = _asked(backend.question)
    return read_stream(await _send(backend, f"{base}multi-agent-chat/stream", [question]))


async def _bad(backend: Backend, base: str) -> Refused:
    reply = await _send(backend, f"{base}chat", [])
    return Refused(reply.status, reply.text)


async def _unsafe(backend: Backend, base: str) -> Refused:
    reply = await _send(backend, f"{base}chat", [_asked(backend.refused_question())])
    return Refused(reply.status, reply.text)


async def _resumed(backend: Backend, base: str) -> Reply:
    return await backend.request("GET", f"{base}chat/conformance/stream")


async def _cited(backend: Backend, base: str) -> Reply:
    sources = (await _answer(backend, base)).of_type("source-url")
    if not sources:
        raise NotOffered
    before, content, path = str(of(sources[0], "url")).partition("/content/")
    return await backend.get(f"content/{path.partition('#')[0]}" if content else before)


def _sources_cut_no_text(message: Message) -> bool:
    kinds = [kind for part in message.parts if (kind := at(part, "type")) in ("text", "source-url")]
    return kinds == sorted(kinds, key=str) or kinds == sorted(kinds, key=str, reverse=True)


def _are_links(message: Message) -> bool:
    sources = message.of_type("source-url")
    return all(str(at(source, "url")).startswith(("https://", "http://")) and at(source, "title") for source in sources)


def _are_different(message: Message) -> bool:
    names = [at(source, "sourceId") for source in message.of_type("source-url")]
    return all(names.count(name) == 1 for name in names)


def _agents_speak(message: Message) -> bool:
    kinds = [at(part, "type") for part in message.parts if at(part, "type") in {"step-start", "data-agent", "text"}]
    names = [at(part, "data", "name") for part in message.of_type("data-agent")]
    return kinds == ["step-start", "data-agent", "text"] * len(names) and bool(names) and all(map(is_text, names))


TEXT = Rule[Message]("text", "The answer has a text.", lambda message: is_text(message.text))
ENDED = Rule[Message](
    "ended",
    "Every text is ended: a part that is not stays 'streaming'.",
    lambda message: all(at(part, "state") == "done" for part in message.of_type("text")),
)
REASON = Rule[Message](
    "reason",
    "The stream says why it ended: one that breaks off counts as complete.",
    lambda message: message.reason is not None,
)
ID = Rule[Message]("id", "The answer has an id of its own.", lambda message: is_text(message.id))
SOURCES = Rule[Message]("sources", "Each source comes once.", _are_different)
LINKS = Rule[Message]("links", "A source has a title, and a link that is absolute.", _are_links)
WHOLE = Rule[Message](
    "sources apart", "Sources come before the text or behind it, and cut it nowhere.", _sources_cut_no_text
)
FOLLOWUPS = Rule[Message](
    "follow-ups",
    "Follow-up questions, if there are any, are texts.",
    lambda message: all(are_texts(at(part, "data")) for part in message.of_type("data-followup-questions")),
)
AGENTS = Rule[Message]("agents", "Each step has the name of an agent, and then its text.", _agents_speak)
STATUS = Rule[Refused]("status", "What is refused has a status of 400 or more.", lambda seen: seen.status >= 400)
PLAIN = Rule[Refused](
    "plain",
    "The error is a sentence in plain text: the page shows the body, of JSON the braces.",
    lambda seen: is_text(seen.error) and not seen.error.lstrip().startswith(("{", "[", "<")),
)
NOTHING = Rule[Reply](
    "nothing",
    "Where nothing runs, the status is 204: the page shows any other as an error.",
    lambda it: it.status == 204,
)
DOCUMENT = Rule[Reply](
    "document", "The link of a source opens.", lambda reply: reply.status == 200 and bool(reply.body)
)
RULES = (TEXT, ENDED, REASON, ID, SOURCES, LINKS, WHOLE, FOLLOWUPS)

AI_SDK = Client(
    "ai-sdk",
    "AI SDK's useChat",
    "ai-sdk",
    (
        Probe("chat", "an answer", _answer, RULES),
        Probe("chat", "a conversation", _conversation, (TEXT, REASON)),
        Probe("chat", "a bad request", _bad, (STATUS, PLAIN)),
        Probe("chat", "a refused question", _unsafe, (STATUS, PLAIN)),
        Probe("chat", "a chat that is opened again", _resumed, (NOTHING,)),
        Probe("multi-agent-chat/stream", "a stream", _team, (TEXT, ENDED, REASON, ID, SOURCES, AGENTS)),
        Probe("content", "a cited document", _cited, (DOCUMENT,)),
    ),
)
