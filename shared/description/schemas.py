"""JSON Schemas of the description: short constructors, and the schemas of the protocols.

The schemas of a protocol are derived from the models that parse requests and from the types of `Protocol.shape`. Each
protocol has `…Request`, `…Answer`, `…Record`, `…TeamAnswer` and `…TeamRecord`, after its name in camel case, and the
types that these refer to.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from shared.wire.chat_body import ChatBody
from shared.wire.demo_page import DemoChatBody
from shared.wire.history_body import MessagesBody, NewChatBody
from shared.wire.protocol import ErrorText, Protocol, Shape

type Schema = dict[str, Any]
"""A JSON Schema, or another object of an OpenAPI document."""

ANYTHING: Schema = {}
STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}


def ref(name: str) -> Schema:
    """A reference to a named schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def constant(value: str) -> Schema:
    """The schema of one fixed string."""
    return {"type": "string", "const": value}


def list_of(item: Schema) -> Schema:
    """The schema of a list with these items."""
    return {"type": "array", "items": item}


def nullable(schema: Schema) -> Schema:
    """The schema of this value, or null."""
    return {"anyOf": [schema, NULL]}


def any_of(schemas: Iterable[Schema]) -> Schema:
    """The schema of a value that fits one of these; a single schema is returned unchanged."""
    distinct: list[Schema] = []
    distinct.extend(schema for schema in schemas if schema not in distinct)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None, description: str = "") -> Schema:
    """The schema of an object with these properties."""
    schema: Schema = {"type": "object", "properties": required | (optional or {})}
    if required:
        schema["required"] = list(required)
    if description:
        schema["description"] = description
    return schema


def described(schema: Schema, description: str) -> Schema:
    """This schema with a description."""
    return schema | {"description": description}


def untitled(schema: Schema) -> Schema:
    """Remove the titles from a schema made by pydantic; they only repeat the names."""
    bare = _without_title(schema)
    if "properties" not in bare:
        return bare
    return bare | {"properties": {name: _without_title(value) for name, value in bare["properties"].items()}}


def _without_title(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "title"}


_REQUESTS = (ChatBody, NewChatBody, MessagesBody, DemoChatBody)
"""The models that parse requests."""


def prefix_of(protocol: Protocol) -> str:
    """Prefix of the names of a protocol's schemas: `AiChat` of `AiChatAnswer` for `ai-chat`."""
    return "".join(part.capitalize() for part in protocol.name.split("-"))


def error_schema(protocol: Protocol) -> Schema:
    """A reference to the schema of a protocol's errors."""
    return ref(protocol.shape.error.__name__)


def protocol_schemas(protocols: Iterable[Protocol]) -> dict[str, Schema]:
    """All named schemas: those of these protocols, of the common error, and of the models that parse requests."""
    protocols = tuple(protocols)
    types = dict.fromkeys((*_REQUESTS, ErrorText, *(kind for protocol in protocols for kind in _types(protocol.shape))))
    inputs: list[Any] = [(kind, "validation", TypeAdapter[Any](kind)) for kind in types]
    made, definitions = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")
    schema_of: dict[Any, Schema] = {kind: dict(schema) for (kind, _), schema in made.items()}
    named = {name: untitled(schema) for name, schema in definitions["$defs"].items()}
    chat = named.pop(ChatBody.__name__)
    for protocol in protocols:
        derived = _schemas_of(protocol, schema_of, chat, named)
        if taken := derived.keys() & named.keys():
            raise ValueError(f"{', '.join(taken)}: a type of {protocol.name} has the name of a derived schema.")
        named |= derived
    return named


def _types(shape: Shape) -> list[Any]:
    kinds = (shape.answer, shape.record, shape.agent, shape.error, shape.reads, shape.message, shape.request)
    return [kind for kind in kinds if kind is not None]


def _schemas_of(protocol: Protocol, schema_of: dict[Any, Schema], chat: Schema, named: dict[str, Schema]) -> Schema:
    shape, prefix = protocol.shape, prefix_of(protocol)
    item, error = schema_of[shape.record], schema_of[shape.error]
    answer = schema_of[shape.answer] if shape.answer else None
    message = schema_of[shape.agent] if shape.agent else ref(f"{prefix}Answer")
    whole = {f"{prefix}TeamAnswer": message if shape.team_is_one else list_of(message)} if answer else {}
    extras = named.pop(shape.reads.__name__) if shape.reads else {}
    message_shape = schema_of[shape.message] if shape.message else None
    request = named.pop(shape.request.__name__) if shape.request else _request(chat, extras, message_shape)
    return {
        f"{prefix}Request": request | {"examples": [shape.example]},
        **({} if answer in (None, ref(f"{prefix}Answer")) else {f"{prefix}Answer": answer}),
        f"{prefix}Record": any_of([item, error]),
        **whole,
        f"{prefix}TeamRecord": any_of([message, error]) if shape.agent else ref(f"{prefix}Record"),
    }


def _request(chat: Schema, extras: Schema, message: Schema | None) -> Schema:
    """The body that all protocols share, with the further keys that one protocol reads."""
    properties: Schema = chat["properties"] | extras.get("properties", {})
    if message:
        messages = properties["messages"]
        properties["messages"] = messages | {"items": any_of([messages["items"], message])}
    required = {name: properties.pop(name) for name in chat["required"]}
    return record(required, properties, chat["description"])
