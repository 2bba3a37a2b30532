"""Microsoft's npm client `@microsoft/ai-chat-protocol` 1.0, protocol 2024-05-29.

It takes one URL, posts to it, and streams from it + `/stream`. A body or a line with `error` makes it throw the value
of `error`; any other status outside 2xx makes it throw the status.
"""

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text, parse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import ROLE, STATE, STATE_BACK, STATUS, TEXT, Refused, Shown, messages, refused

HEADERS = {"Accept": "application/json"}
"""What it sends for streams too."""
SAMPLE_HEADERS = {"x-ms-useragent": "ts-http-runtime/1.0.0-beta.1 OS/Linux"}
"""How the client names itself, in a browser too; the sample asks the bare route with it."""


def _thrown_at(reply: Reply) -> None:
    if not reply.ok:
        raise Breaks(reply.shown())


def lines(body: bytes) -> list[Json]:
    """The lines of a stream: cut at LF or CR LF, empty ones skipped; what no LF ends is never seen."""
    ended = (line.removesuffix(b"\r") for line in body.split(b"\n")[:-1])
    return [parse(line, f"the line {line[:60]!r}") for line in ended if line]


def read_answer(reply: Reply) -> Shown:
    """A completion."""
    _thrown_at(reply)
    document = reply.json()
    return Shown(
        text=at(document, "message", "content"),
        role=at(document, "message", "role"),
        context=at(document, "context"),
        state=at(document, "sessionState"),
    )


def read_stream(reply: Reply) -> Shown:
    """The parts of a streamed completion, as a program adds them up."""
    _thrown_at(reply)
    shown: dict[str, Json] = {}
    text = ""
    for line in lines(reply.body):
        if isinstance(line, dict) and "error" in line:
            raise Breaks(f"it throws the error {line['error']!r}")
        if not isinstance(delta := at(line, "delta"), dict):
            raise Breaks(f"a line has no delta: {str(line)[:80]}")
        text += content if isinstance(content := delta.get("content"), str) else ""
        shown |= {"role": delta["role"]} if delta.get("role") else {}
        shown |= {"state": at(line, "sessionState")} if at(line, "sessionState") else {}
    return Shown(text=text, role=shown.get("role"), state=shown.get("state"))


def _ended(reply: Reply) -> bool:
    return reply.body.endswith(b"\n")


async def _answer(backend: Backend, base: str) -> Shown:
    body: Json = {"messages": messages(backend), "sessionState": STATE}
    return read_answer(await backend.post(f"{base}chat", body, HEADERS))


async def _first(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}chat", {"messages": messages(backend)}, HEADERS))


async def _first_stream(backend: Backend, base: str) -> Shown:
    return read_stream(await backend.post(f"{base}chat/stream", {"messages": messages(backend)}, HEADERS))


async def _stream(backend: Backend, base: str) -> Shown:
    body: Json = {"messages": messages(backend), "sessionState": STATE}
    reply = await backend.post(f"{base}chat/stream", body, HEADERS)
    shown = read_stream(reply)
    if not _ended(reply):
        raise Breaks("the last line does not end with LF, so that it is never seen")
    return shown


async def _refused(backend: Backend, base: str) -> Refused:
    return refused(await backend.post(f"{base}chat", {"messages": []}, HEADERS))


async def _refused_stream(backend: Backend, base: str) -> Refused:
    return refused(await backend.post(f"{base}chat/stream", {"messages": []}, HEADERS))


async def _file_in_json(backend: Backend, base: str) -> Refused:
    file: Json = {"contentType": "image/png", "filename": "dot.png", "data": {"0": 137, "1": 80, "2": 78, "3": 71}}
    message: Json = {"role": "user", "content": backend.question, "files": [file]}
    return refused(await backend.post(f"{base}chat", {"messages": [message]}, HEADERS))


async def _as_shipped(backend: Backend, base: str) -> Refused:
    return refused(await backend.post(f"{base}chat/", {"messages": []}, HEADERS | SAMPLE_HEADERS))


ERROR_OBJECT = Rule[Refused](
    "error",
    "The error is an object with the texts 'code' and 'message', which the client throws.",
    lambda seen: is_text(at(seen.error, "code")) and is_text(at(seen.error, "message")),
)

NOT_DROPPED = Rule[Refused](
    "not dropped",
    "A file in the JSON of a message, as client 20240610.1 sends the bytes of an image, is refused with an error: the"
    " sample at 540122f of 2024-09-19 installs that client, by its package-lock.json.",
    lambda seen: seen.status >= 400 and is_text(at(seen.error, "message")),
)

CONVERSATION = Rule[Shown](
    "conversation",
    "A first message gets a session state: the sample page sends the newest message alone, with the state that it got "
    "(Chat.tsx, sendMessage, in microsoft/ai-chat-protocol at 540122f of 2024-09-19).",
    lambda shown: bool(shown.state),
)

SAMPLE_ERROR = Rule[Refused](
    "code",
    "The error is an object with the texts 'code' and 'message': the page shows no other (isChatError, Chat.tsx:158, in"
    " microsoft/ai-chat-protocol at 540122f of 2024-09-19).",
    ERROR_OBJECT.holds,
)

AI_CHAT_SAMPLE = Client(
    "ai-chat-sample",
    "AI Chat Protocol's sample of September 2024, as shipped",
    "",
    (Probe("chat", "a bad request", _as_shipped, (STATUS, SAMPLE_ERROR)),),
)

AI_CHAT_PROTOCOL = Client(
    "ai-chat-protocol",
    "@microsoft/ai-chat-protocol",
    "ai-chat-2024-05-29",
    (
        Probe("chat", "an answer", _answer, (TEXT, ROLE, STATE_BACK)),
        Probe("chat", "a first message", _first, (CONVERSATION,)),
        Probe("chat", "a bad request", _refused, (STATUS, ERROR_OBJECT)),
        Probe("chat", "a file in JSON", _file_in_json, (NOT_DROPPED,)),
        Probe("chat/stream", "a stream", _stream, (TEXT, ROLE, STATE_BACK)),
        Probe("chat/stream", "a first message", _first_stream, (CONVERSATION,)),
        Probe("chat/stream", "a bad request", _refused_stream, (STATUS, ERROR_OBJECT)),
    ),
)
