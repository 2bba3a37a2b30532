"""OpenAI's SDKs, Python 3.54.0 and npm 7.57.0, with what front ends read through them.

What throws: an answer without `choices[0].message`, a chunk without a list of choices, and a choice without a delta
(lib/streaming/chat/_completions.py, `_accumulate_chunk`). A last event without its blank line is dropped
(`_streaming.py`, `SSEDecoder`). Chunks are added up key by key (lib/streaming/_deltas.py, `accumulate_delta`): texts
are joined, so that a role that comes twice is `assistantassistant`, and a list that comes twice throws.
"""

from dataclasses import dataclass
from typing import Any, cast

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, at, is_text, parse, sse
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import (
    CALLED,
    FUNCTION,
    ROLE,
    STATUS,
    TEXT,
    Called,
    Refused,
    Shown,
    accepted,
    messages,
    refused,
)

MODEL = "switchboard"
REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Shown):
    """What the package gives back."""

    heads: list[Json]
    """Id, kind, time and model of the answer, or of each chunk."""
    finish: Json
    """Why the text ended."""
    annotations: Json
    """What the text cites."""
    last: Json = None
    """The last chunk."""


def _head(document: Json) -> Json:
    return [at(document, key) for key in ("id", "object", "created", "model")]


def read_answer(reply: Reply) -> Completion:
    """A completion."""
    document = accepted(reply).json()
    if not isinstance(message := at(document, "choices", 0, "message"), dict):
        raise Breaks("choices[0].message is missing")
    return Completion(
        text=message.get("content"),
        role=message.get("role"),
        heads=[_head(document)],
        finish=at(document, "choices", 0, "finish_reason"),
        annotations=message.get("annotations"),
    )


def read_stream(reply: Reply) -> Completion:
    """A stream, added up."""
    text, role, finish, annotations = "", "", None, None
    heads: list[Json] = []
    chunk: Json = None
    for data in sse(accepted(reply).body):
        if data.startswith("[DONE]"):
            break
        chunk = parse(data, f"the event {data[:60]!r}")
        if error := at(chunk, "error"):
            raise Breaks(f"it throws the error {error!r}")
        heads.append(_head(chunk))
        if not isinstance(choices := at(chunk, "choices"), list):
            raise Breaks("a chunk has no list of choices")
        for choice in choices:
            if not isinstance(delta := at(choice, "delta"), dict):
                raise Breaks("a choice has no delta")
            text += str(delta.get("content") or "")
            role += str(delta.get("role") or "")
            if delta.get("annotations") and annotations:
                raise Breaks("annotations come twice")
            annotations = delta.get("annotations") or annotations
            finish = at(choice, "finish_reason") or finish
    return Completion(text=text, role=role, heads=heads, finish=finish, annotations=annotations, last=chunk)


def _body(backend: Backend, **more: Json) -> Json:
    return {"model": MODEL, "messages": messages(backend), **more}


async def _answer(backend: Backend, base: str) -> Completion:
    return read_answer(await backend.post(f"{base}chat/completions", _body(backend)))


async def _stream(backend: Backend, base: str) -> Completion:
    options: Json = {"include_usage": True}
    body = _body(backend, stream=True, stream_options=options)
    return read_stream(await backend.post(f"{base}chat/completions", body))


async def _refused(backend: Backend, base: str) -> Refused:
    body: Json = {"model": MODEL, "messages": []}
    return refused(await backend.post(f"{base}chat/completions", body))


async def _refused_stream(backend: Backend, base: str) -> Refused:
    body: Json = {"model": MODEL, "messages": [], "stream": True}
    return refused(await backend.post(f"{base}chat/completions", body))


async def _called(backend: Backend, base: str) -> Called:
    tool: Json = {"type": "function", "function": FUNCTION}
    reply = await backend.post(f"{base}chat/completions", _body(backend, tools=[tool], tool_choice="required"))
    if not reply.ok:
        return Called(refused(reply), [])
    choice = at(reply.json(), "choices", 0)
    made = at(choice, "message", "tool_calls")
    calls = [
        (at(call, "id"), at(call, "function", "name"), at(call, "function", "arguments"))
        for call in (made if isinstance(made, list) else ())
    ]
    return Called(None, calls, at(choice, "finish_reason") == "tool_calls")


async def _models(backend: Backend, base: str) -> Json:
    return accepted(await backend.get(f"{base}models")).json()


def _is_place(text: str, cited: Json) -> bool:
    start, end = at(cited, "start_index"), at(cited, "end_index")
    return isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)


def _cites(seen: Completion) -> bool:
    if not seen.annotations:
        return True
    cited = [at(one, "url_citation") for one in cast("list[Any]", seen.annotations)]
    return all(
        str(at(one, "url")).startswith(("http://", "https://")) and is_text(at(one, "title")) for one in cited
    ) and all(_is_place(str(seen.text), one) for one in cited)


def _is_head(head: Json) -> bool:
    match head:
        case [str(), str(kind), int(), str()]:
            return kind in ("chat.completion", "chat.completion.chunk")
        case _:
            return False


HEAD = Rule[Completion](
    "head",
    "id, object, created and model are there, the same in all chunks (types/chat/chat_completion_chunk.py).",
    lambda seen: all(_is_head(head) and head == seen.heads[0] for head in seen.heads),
)
FINISH = Rule[Completion](
    "finish",
    "finish_reason is one of the five that are known (types/chat/chat_completion.py).",
    lambda seen: seen.finish in REASONS,
)
ANNOTATIONS = Rule[Completion](
    "annotations",
    "What is cited has an absolute URL, a title and a place in the text (types/chat/chat_completion_message.py); Open"
    " WebUI 0.12 makes links of them (utils/middleware.py).",
    _cites,
)
USAGE_LAST = Rule[Completion](
    "usage last",
    "With include_usage the last chunk has the tokens, and no choices: the helper keeps the last chunk's tokens"
    " (lib/streaming/chat/_completions.py).",
    lambda seen: at(seen.last, "choices") == [] and isinstance(at(seen.last, "usage", "total_tokens"), int),
)
ERROR = Rule[Refused](
    "error",
    "The error is an object with the texts 'message', 'type' and 'code': of a text the package shows only the status"
    " (_exceptions.py, `APIError`).",
    lambda seen: all(is_text(at(seen.error, key)) for key in ("message", "type", "code")),
)
MODELS = Rule[Json](
    "models",
    "'data' lists models by their 'id' (types/model.py); front ends offer these.",
    lambda seen: is_text(at(seen, "data", 0, "id")),
)

OPENAI_SDK = Client(
    "openai",
    "OpenAI's SDKs, Chat Completions",
    "v1",
    (
        Probe("chat", "an answer", _answer, (TEXT, ROLE, HEAD, FINISH, ANNOTATIONS)),
        Probe("chat", "a stream", _stream, (TEXT, ROLE, HEAD, FINISH, ANNOTATIONS, USAGE_LAST)),
        Probe("chat", "a bad request", _refused, (STATUS, ERROR)),
        Probe("chat", "a bad request for a stream", _refused_stream, (STATUS, ERROR)),
        Probe("chat", "a tool that has to be called", _called, (CALLED,)),
        Probe("models", "the models", _models, (MODELS,)),
    ),
)
