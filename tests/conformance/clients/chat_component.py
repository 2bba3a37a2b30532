"""azure-search-openai-javascript's web component `chat-component`: `choices[0]`, with `context` inside the message.

It sends the overrides directly in `context`. From a stream it parses each HTTP chunk on its own, so a line must not be
split between two; a line that has data points is taken for its context only. What it does with numbered lists and
citations in the text is its own affair. Read at 6b50475 (2025-10-03) in packages/chat-component/src: types.d.ts,
core/parser/index.ts, utils/index.ts, and components/chat-debug-thought-process.ts, which shows the thoughts.
"""

from tests.conformance.backend import Backend, Reply
from tests.conformance.clients.search_demo import DOCUMENT, cited_document
from tests.conformance.reading import Breaks, Json, are_texts, at, is_text, of, parse, truthy
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import TEXT, Refused, Shown, accepted, asked_again, messages

OVERRIDES: dict[str, Json] = {"top": 1, "retrieval_mode": "text", "approach": "rrr"}
"""What it sends in `context`."""


def read_answer(reply: Reply) -> Shown:
    """One answer."""
    document = reply.json()
    accepted(reply)
    return Shown(
        text=of(document, "choices", 0, "message", "content"),
        context=of(document, "choices", 0, "message", "context"),
    )


def read_stream(reply: Reply) -> Shown:
    """A stream. It does not look at the status: an error is found in the lines."""
    context: Json = None
    text = ""
    for event in lines(reply):
        if truthy(at(event, "error")):
            raise Breaks(f"it shows the error {at(event, 'message')!r}")
        if of(event, "choices", 0, "finish_reason") == "content_filter":
            raise Breaks("it shows 'content filtered'")
        if truthy(
            of(event, "choices", 0, "delta", "context") and at(event, "choices", 0, "delta", "context", "data_points")
        ):
            context = at(event, "choices", 0, "delta", "context")
        elif isinstance(content := of(event, "choices", 0, "delta", "content"), str):
            text += content
    return Shown(text=text, context=context)


def lines(reply: Reply) -> list[Json]:
    """The lines of each HTTP chunk."""
    texts = (line for chunk in reply.chunks for line in chunk.decode(errors="replace").split("\n") if line)
    return [parse(line, f"a line of an HTTP chunk, '{line[:40]}…',") for line in texts]


def _body(backend: Backend, *, stream: bool) -> Json:
    return {"messages": messages(backend), "context": dict(OVERRIDES), "stream": stream}


async def _answer(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}chat", _body(backend, stream=False)))


async def _stream(backend: Backend, base: str) -> Shown:
    return read_stream(await backend.post(f"{base}chat", _body(backend, stream=True)))


async def _ask(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}ask", _body(backend, stream=False)))


async def _refused(backend: Backend, base: str) -> Refused:
    reply = await backend.post(f"{base}chat", {"messages": [], "context": {}, "stream": False})
    return Refused(reply.status, reply.json())


async def _refused_stream(backend: Backend, base: str) -> Refused:
    reply = await backend.post(f"{base}chat", {"messages": [], "context": {}, "stream": True})
    return Refused(reply.status, next((event for event in lines(reply) if truthy(at(event, "error"))), None))


async def _cited(backend: Backend, base: str) -> Reply:
    answer = read_answer(await backend.post(f"{base}chat", _body(backend, stream=False)))
    return await cited_document(backend, base, answer)


async def _again(backend: Backend, base: str) -> Shown:
    body: Json = {"messages": asked_again(backend), "context": dict(OVERRIDES), "stream": False}
    return read_answer(await backend.post(f"{base}chat", body))


CONTEXT_INSIDE = Rule[Shown](
    "context inside",
    "context is inside message or delta, with data_points.text as a list of texts.",
    lambda shown: are_texts(at(shown.context, "data_points", "text")),
)
THOUGHTS_AS_TEXT = Rule[Shown](
    "thoughts",
    "thoughts beside the data points are one text, which goes into the page as HTML: anything else throws when the"
    " light bulb or a citation is clicked.",
    lambda shown: is_text(at(shown.context, "thoughts")),
)
TOP = Rule[Shown](
    "overrides",
    "Overrides count that are directly in context: 'top': 1 gives one data point at most.",
    lambda shown: not isinstance(points := at(shown.context, "data_points", "text"), list) or len(points) <= 1,
)
NOT_OK = Rule[Refused](
    "status", "A request without messages has a status above 299; its body is JSON.", lambda seen: seen.status > 299
)
ERROR_LINE = Rule[Refused](
    "error",
    "The line with 'error' has 'message', a text, and 'statusCode', a number.",
    lambda seen: is_text(at(seen.error, "message")) and isinstance(at(seen.error, "statusCode"), int),
)
RULES = (TEXT, CONTEXT_INSIDE, THOUGHTS_AS_TEXT, TOP)

GOES_ON = Rule[Shown](
    "goes on",
    "A question is answered after one that was refused: each request has the whole chat, and a refused question stays"
    " in it (packages/chat-component at 6b50475 of 2025-10-03, seen in a browser).",
    TEXT.holds,
)

CHAT_COMPONENT = Client(
    "chat-component",
    "azure-search-openai-javascript's web component",
    "",
    (
        Probe("chat", "an answer", _answer, RULES),
        Probe("chat", "a bad request", _refused, (NOT_OK,)),
        Probe("chat", "a question after a refused one", _again, (GOES_ON,)),
        Probe("chat", "a stream", _stream, RULES),
        Probe("chat", "a bad request for a stream", _refused_stream, (ERROR_LINE,)),
        Probe("ask", "a question", _ask, RULES),
        Probe("content", "a cited document", _cited, (DOCUMENT,)),
    ),
)
