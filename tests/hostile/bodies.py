"""Request bodies made to be dear: a seeded fuzzer fills the places of the OpenAPI document, up to the size limits."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shared.wire.history_body import HISTORY_BODY_LIMIT
from shared.wire.request_body import BODY_LIMIT, FILES_BODY_LIMIT

type Schema = dict[str, Any]
type Place = tuple[tuple[str, Any], ...]
"""The way to a part of a schema: steps such as `("properties", "messages")`, `("items", None)`, `("anyOf", 1)`."""

_HOLE = "the hole of this body"
_MAX_STEPS = 12
_ITEMS = "items as described"
_MORE_ITEMS = "items as described, more than the list takes"
_FILES_IN_JSON = ("/v1/", "/openai", "/ag-ui", "/ai-sdk")
"""How the paths begin whose bodies may have files in base64."""


@dataclass(frozen=True, slots=True)
class HostileBody:
    """One request."""

    name: str
    """The operation, the place and what fills it."""
    method: str
    path: str
    """The path of the OpenAPI document, with `{id}`."""
    body: bytes


def limit_of(path: str) -> int:
    """The documented size limit of a route, in bytes: of its body, and of the messages of a chat."""
    if path.startswith("/chat-history/{id}"):
        return HISTORY_BODY_LIMIT
    return FILES_BODY_LIMIT if path.startswith(_FILES_IN_JSON) else BODY_LIMIT


def _list(item: bytes, size: int) -> bytes:
    return b"[" + (item + b",") * ((size - len(item) - 2) // (len(item) + 1)) + item + b"]"


def _text(piece: str, size: int) -> bytes:
    return b'"' + piece.encode() * (size // len(piece.encode())) + b'"'


def _numbered(form: bytes, size: int) -> Iterator[bytes]:
    length = len(form % 0) + 1
    return (form % number for number in range(size // length))


FILLINGS: dict[str, Callable[[int], bytes]] = {
    "a list of numbers": lambda size: _list(b"1", size),
    "a list of decimals": lambda size: _list(b"1.5", size),
    "a list of nulls": lambda size: _list(b"null", size),
    "a list of texts": lambda size: _list(b'"ab"', size),
    "a list of empty lists": lambda size: _list(b"[]", size),
    "a list of empty objects": lambda size: _list(b"{}", size),
    "a list of objects with one key": lambda size: b"[" + b",".join(_numbered(b'{"k%07d":1}', size)) + b"]",
    "a list of lists with a list": lambda size: _list(b"[[1]]", size),
    "lists in lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "objects in objects": lambda size: b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
    "a hundred lists in lists, often": lambda size: _list(b"[" * 90 + b"]" * 90, size),
    "many keys": lambda size: b"{" + b",".join(_numbered(b'"k%07d":1', size)) + b"}",
    "one key again and again": lambda size: b"{" + b",".join([b'"a":1'] * (size // 6)) + b"}",
    "a key of megabytes": lambda size: b'{"%s":1}' % (b"k" * (size - 6)),
    "a number of many digits": lambda size: b"1" * size,
    "a decimal of many digits": lambda size: b"0." + b"1" * (size - 2),
    "numbers of 4,000 digits": lambda size: _list(b"7" * 4_000, size),
    "a text": lambda size: _text("a", size),
    "a text of words": lambda size: _text("What does the plan pay for teeth? ", size),
    "a text of blanks": lambda size: _text(" ", size),
    "a text of line breaks": lambda size: _text("\\n", size),
    "a text of NULs": lambda size: _text("\\u0000", size),
    "a text of escaped emoji": lambda size: _text("\\ud83d\\ude00", size),
    "a text of halves of emoji": lambda size: _text("\\ud83d", size),
    "a text of emoji": lambda size: _text("😀", size),
    "a text with one emoji": lambda size: b'"' + "😀".encode() + b"a" * (size - 6) + b'"',
    "a text of joined emoji": lambda size: _text("👩‍", size),
    "a text of accents": lambda size: _text("e\u0301\u0301\u0301", size),
    "a text of dotted capital I": lambda size: _text("İ", size),
    "a text of brackets": lambda size: _text("[{", size),
    "a text of quotes": lambda size: _text('\\"', size),
    "a text of citations": lambda size: _text("[a.md]", size),
    "a text of markers": lambda size: _text("<<", size),
    "a text of payload": lambda size: _text('{\\"messages\\":[{}]}', size),
    "true": lambda size: b"true" + b" " * (size - 4),
}
"""JSON of about so many bytes, by what it is."""


class BodyFuzzer:
    """Makes bodies for all operations of an OpenAPI document that take JSON; the same for the same seed."""

    def __init__(self, document: Mapping[str, Any], seed: int) -> None:
        self._document = document
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._operations: list[tuple[str, str, Schema, list[Place]]] = []
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                content = operation.get("requestBody", {}).get("content", {})
                if "application/json" in content:
                    schema = content["application/json"]["schema"]
                    self._operations.append((method, path, schema, list(self._places(schema))))

    def bodies(self, count: int) -> Iterator[HostileBody]:
        """So many bodies, of each operation in turn; their places and fillings are drawn.

        Half of the places are outside the options, of which there are so many.
        """
        for number in range(count):
            method, path, schema, places = self._operations[number % len(self._operations)]
            outside = [place for place in places if ("properties", "context") not in place]
            place = self._random.choice(self._random.choice((places, outside)))
            filling = self._random.choice((*FILLINGS, _ITEMS, _ITEMS, _MORE_ITEMS))
            size = limit_of(path) // self._random.choice((1, 1, 1, 4, 64))
            body = self.body(schema, place, filling, size - 2_000)
            shown = ".".join(str(name) for kind, name in place if kind == "properties")
            yield HostileBody(f"{method} {path} {shown or 'itself'}: {filling}", method, path, body)

    def body(self, schema: Schema, place: Place, filling: str, size: int) -> bytes:
        """A body that is as described but for what fills the place."""
        content = (
            FILLINGS[filling](size)
            if filling in FILLINGS
            else self._items(self._at(schema, place), size, limited=filling == _ITEMS)
        )
        return json.dumps(self._example(schema, place)).encode().replace(json.dumps(_HOLE).encode(), content, 1)

    def _items(self, schema: Schema, size: int, *, limited: bool) -> bytes:
        """As many items of a list as the size allows, and its limit if that counts; of no list, the text `a`."""
        options = [self._found(option) for option in (schema, *schema.get("anyOf", ()))]
        schema = next((option for option in options if "items" in option), schema)
        if "items" not in schema:
            return FILLINGS["a text"](size)
        item = json.dumps(self._example(schema["items"], ())).encode()
        count = max(1, size // (len(item) + 1))
        return b"[" + b",".join([item] * min(count, schema.get("maxItems", count) if limited else count)) + b"]"

    def _found(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def _step(self, schema: Schema, step: tuple[str, Any]) -> Schema:
        kind, name = step
        return schema[kind] if name is None else schema[kind][name]

    def _at(self, schema: Schema, place: Place) -> Schema:
        for step in place:
            schema = self._step(self._found(schema), step)
        return self._found(schema)

    def _places(self, schema: Schema, place: Place = ()) -> Iterator[Place]:
        yield place
        schema = self._found(schema)
        steps = [("anyOf", number) for number in range(len(schema.get("anyOf", ())))]
        steps += [("properties", name) for name in schema.get("properties", ())]
        steps += [("items", None)] if "items" in schema else []
        for step in steps if len(place) < _MAX_STEPS else ():
            yield from self._places(self._step(schema, step), (*place, step))

    def _example(self, schema: Schema, place: Place | None) -> Any:
        """A small value as described, with the hole at the place; None: without a hole."""
        if place == ():
            return _HOLE
        schema = self._found(schema)
        first, rest = (place[0], place[1:]) if place else (("", None), None)
        if first[0] == "anyOf":
            return self._example(schema["anyOf"][first[1]], rest)
        if "anyOf" in schema:
            return self._example(schema["anyOf"][0], place)
        if "const" in schema or "enum" in schema:
            return schema["const"] if "const" in schema else schema["enum"][0]
        if "properties" in schema:
            names = [*schema.get("required", ()), *([first[1]] if first[0] == "properties" else [])]
            return {
                name: self._example(schema["properties"][name], rest if ("properties", name) == first else None)
                for name in names
            }
        if "items" in schema:
            return [self._example(schema["items"], rest if first[0] == "items" else None)]
        examples: dict[str, Any] = {"string": "Hi", "integer": 1, "number": 1, "boolean": True, "object": {}}
        return examples.get(schema.get("type", ""))


def _message(more: bytes) -> bytes:
    return b'{"messages":[{"id":"1","role":"user","content":"Hi",' + more + b"}]}"


def _tool_call(filling: str) -> HostileBody:
    content = FILLINGS[filling](HISTORY_BODY_LIMIT - 100)
    return HostileBody(f"a tool call: {filling}", "put", _CHAT, _message(b'"toolCall":' + content))


def _chat(name: str, messages: bytes, more: bytes = b"") -> HostileBody:
    return HostileBody(name, "post", "/chat", b'{"messages":[' + messages + b"]" + more + b"}")


def _stored(name: str, content: bytes) -> HostileBody:
    return HostileBody(name, "put", _CHAT, b'{"messages":[{"id":"1","role":"user","content":' + content + b"}]}")


def _completed(filling: str) -> HostileBody:
    content = FILLINGS[filling](FILES_BODY_LIMIT - 100)
    body = b'{"messages":[{"role":"user","content":' + content + b"}]}"
    return HostileBody(f"a question where files may come: {filling}", "post", "/v1/chat/completions", body)


def _file(filling: str) -> HostileBody:
    data = FILLINGS[filling](FILES_BODY_LIMIT - 200)
    parts = b'[{"type":"input_text","text":"Hi"},{"type":"input_file","filename":"a.txt","file_data":' + data + b"}]"
    return HostileBody(
        f"a file in JSON: {filling}", "post", "/v1/responses", b'{"input":[{"role":"user","content":' + parts + b"}]}"
    )


_CHAT = "/chat-history/{id}"
_USER = b'{"role":"user","content":"Hi"}'
_WRONG_CALLS = b'{"role":"user","content":"Hi","tool_calls":' + _list(b"1", 256) + b"}"
_CALLS = b'{"role":"assistant","content":null,"tool_calls":%s}' % _list(
    b'{"id":"c","function":{"name":"f","arguments":""}}', 128 * 50
)
_RESULT = b'{"role":"tool","content":"","tool_call_id":"x"}'
_TINY = (b'{"id":"%06d","role":"user","content":""}' % number for number in range(150_000))

PLAIN_TEXT = _stored("a text of the largest size", FILLINGS["a text"](HISTORY_BODY_LIMIT - 100))
"""The dearest body that is as it should be."""
HOSTILE_BODIES = (
    HostileBody("wrong messages of a chat", "put", _CHAT, b'{"messages":' + _list(b"1", 8_000_000) + b"}"),
    HostileBody("tiny messages of a chat", "put", _CHAT, b'{"messages":[' + b",".join(_TINY) + b"]}"),
    _chat("wrong messages", b"1," * 499_999 + b"1"),
    _chat("half a million wrong tool calls", _WRONG_CALLS.replace(b"1,1", b"1," * 499_000 + b"1", 1)),
    _chat("a thousand messages with 128 wrong tool calls", _list(_WRONG_CALLS, 1_000 * 300)[1:-1]),
    _chat("half a million wrong vector fields", _USER, b',"context":{"vector_fields":' + _list(b"1", 1_000_000) + b"}"),
    _chat("15,000 tool calls", _list(_CALLS, 118 * 6_500)[1:-1] + b"," + (_RESULT + b",") * 880 + _USER),
    *map(_tool_call, ("a list of empty lists", "a list of numbers", "numbers of 4,000 digits", "many keys")),
    _stored("a text with one emoji", FILLINGS["a text with one emoji"](HISTORY_BODY_LIMIT - 100)),
    _stored("a text of NULs", FILLINGS["a text of NULs"](HISTORY_BODY_LIMIT - 100)),
    *map(_completed, ("a text of words", "a text with one emoji", "a text of NULs", "a list of texts")),
    *map(_file, ("a text", "a text with one emoji", "a text of blanks", "a list of texts")),
)
"""What stopped the app for seconds, or took hundreds of megabytes, before bodies had their limits; and large texts."""
