"""OpenAI's SDKs, Python 3.54.0 and npm 7.57.0, reading Responses.

What throws in their stream helpers (lib/streaming/responses/_responses.py, internal/responses/response-accumulator): a
first event that is not `response.created`, another response's id, a text before its message and its part, and an end
with a message that is not done. An event with an `error` throws in `_streaming.py`.
"""

from dataclasses import dataclass

from tests.conformance.backend import Backend, Reply
from tests.conformance.clients.openai_sdk import ERROR, MODEL
from tests.conformance.reading import Breaks, Json, at, is_text, parse, sse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import CALLED, FUNCTION, ROLE, STATUS, TEXT, Called, Refused, Shown, accepted, refused

ENDS = ("response.completed", "response.incomplete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Shown):
    """What the package gives back."""

    response: Json
    """The response."""
    numbers: tuple[Json, ...] = ()
    """The events' numbers in a stream."""
    streamed: str | None = None
    """The pieces of a stream's text."""


def _shown(response: Json, *numbers: Json, streamed: str | None = None) -> Response:
    """What the package gives back, without what the model thought: `output_text` has none of it either."""
    items = at(response, "output")
    if isinstance(response, dict) and isinstance(items, list):
        response = response | {"output": [item for item in items if at(item, "type") != "reasoning"]}
    texts = [at(item, "content", 0, "text") for item in (items if isinstance(items, list) else [])]
    text = "".join(said for said in texts if isinstance(said, str))
    role = at(response, "output", 0, "role")
    return Response(text=text, role=role, response=response, numbers=numbers, streamed=streamed)


def read_answer(reply: Reply) -> Response:
    """A response."""
    document = accepted(reply).json()
    if at(document, "object") != "response":
        raise Breaks("it is no response")
    return _shown(document)


def read_stream(reply: Reply) -> Response:
    """A stream, with what the helpers check."""
    events = [parse(data, f"the event {data[:60]!r}") for data in sse(accepted(reply).body)]
    if not events or at(events[0], "type") != "response.created":
        raise Breaks("the first event is not response.created")
    for event in events:
        if error := at(event, "error"):
            raise Breaks(f"it throws the error {error!r}")
        if (named := at(event, "response", "id")) and named != at(events[0], "response", "id"):
            raise Breaks("the response's id changes")
    text = _pieces(events)
    if at(events[-1], "type") not in ENDS:
        raise Breaks("the stream ends without the response")
    numbers = [at(event, "sequence_number") for event in events]
    return _shown(at(events[-1], "response"), *numbers, streamed=text)


def _pieces(events: list[Json]) -> str:
    """The pieces of the text, each in a message and a part that have begun; each message has to end."""
    begun, done, parts, text = set[str](), set[str](), set[str](), ""
    for event in events:
        kind, item = at(event, "type"), str(at(event, "item_id") or at(event, "item", "id"))
        match kind:
            case "response.output_item.added":
                begun.add(item)
            case "response.content_part.added" if item in begun:
                parts.add(item)
            case "response.output_text.delta" if item in parts:
                text += str(at(event, "delta"))
            case "response.content_part.added" | "response.output_text.delta":
                raise Breaks(f"{kind} comes before what it is in")
            case "response.output_item.done":
                done.add(item)
            case _:
                pass
    if begun - done:
        raise Breaks("a message is not done")
    return text


async def _answer(backend: Backend, base: str) -> Response:
    return read_answer(await backend.post(f"{base}responses", {"model": MODEL, "input": backend.question}))


async def _stream(backend: Backend, base: str) -> Response:
    body: Json = {"model": MODEL, "input": backend.question, "stream": True}
    return read_stream(await backend.post(f"{base}responses", body))


async def _refused(backend: Backend, base: str) -> Refused:
    return refused(await backend.post(f"{base}responses", {"model": MODEL, "input": []}))


async def _refused_stream(backend: Backend, base: str) -> Refused:
    return refused(await backend.post(f"{base}responses", {"model": MODEL, "input": [], "stream": True}))


async def _called(backend: Backend, base: str) -> Called:
    tools: Json = [{"type": "function", **FUNCTION}]
    body: Json = {"model": MODEL, "input": backend.question, "tools": tools, "tool_choice": "required"}
    reply = await backend.post(f"{base}responses", body)
    if not reply.ok:
        return Called(refused(reply), [])
    made = at(reply.json(), "output")
    items = [item for item in (made if isinstance(made, list) else ()) if at(item, "type") == "function_call"]
    return Called(None, [(at(item, "call_id"), at(item, "name"), at(item, "arguments")) for item in items])


def _cites(seen: Response) -> bool:
    content = at(seen.response, "output", 0, "content", 0)
    text, cited = str(at(content, "text")), at(content, "annotations")
    places = [
        (at(one, "start_index"), at(one, "end_index"), at(one, "url"), at(one, "title"))
        for one in (cited if isinstance(cited, list) else [None])
    ]
    return all(
        isinstance(start, int)
        and isinstance(end, int)
        and 0 <= start < end <= len(text)
        and str(url).startswith(("http://", "https://"))
        and is_text(title)
        for start, end, url, title in places
    )


def _is_response(response: Json) -> bool:
    named = all(is_text(at(response, key)) for key in ("id", "model")) and is_text(at(response, "output", 0, "id"))
    return named and at(response, "status") in ("completed", "incomplete")


HEAD = Rule[Response](
    "head",
    "id, model, a status and the message's id are there (types/responses/response.py).",
    lambda seen: _is_response(seen.response),
)
ANNOTATIONS = Rule[Response](
    "annotations",
    "What is cited has an absolute URL, a title and a place in the text (types/responses/response_output_text.py).",
    _cites,
)
NUMBERS = Rule[Response](
    "numbers",
    "The events are numbered from 0 (types/responses/response_text_delta_event.py).",
    lambda seen: seen.numbers == tuple(range(len(seen.numbers))),
)
PIECES = Rule[Response](
    "pieces", "The pieces of the text are the text of the last event.", lambda seen: seen.streamed == seen.text
)

OPENAI_RESPONSES = Client(
    "openai-responses",
    "OpenAI's SDKs, Responses",
    "v1",
    (
        Probe("chat", "an answer", _answer, (TEXT, ROLE, HEAD, ANNOTATIONS)),
        Probe("chat", "a stream", _stream, (TEXT, ROLE, HEAD, ANNOTATIONS, NUMBERS, PIECES)),
        Probe("chat", "a tool that has to be called", _called, (CALLED,)),
        Probe("chat", "a bad request", _refused, (STATUS, ERROR)),
        Probe("chat", "a bad request for a stream", _refused_stream, (STATUS, ERROR)),
    ),
)
