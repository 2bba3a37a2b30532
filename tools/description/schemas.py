"""JSON Schemas of the description: those of Python types, those of the protocols, and short constructors.

The schemas of a protocol are derived from the models that parse requests and from the types in `protocols.py`. Each
protocol has `…Request`, `…Answer`, `…Record`, `…TeamAnswer` and `…TeamRecord`, after its name in camel case, and the
types that these refer to.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from shared.wire.chat_body import ChatBody
from shared.wire.protocol import Protocol
from tools.description.described import Kind
from tools.description.protocols import SHAPES, Shape
from tools.description.shapes import NAMES

type Schema = dict[str, Any]
"""A JSON Schema, or another object of an OpenAPI document."""

STRING: Schema = {"type": "string"}
NULL: Schema = {"type": "null"}
_OVERRIDES: dict[str, str] = json.loads(Path(__file__).with_name("overrides.json").read_text(encoding="utf-8"))
"""What each override does, for the documents."""


def ref(name: str) -> Schema:
    """A reference to a named schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def constant(value: str) -> Schema:
    """The schema of one fixed string."""
    return {"type": "string", "const": value}


def list_of(item: Schema) -> Schema:
    """The schema of a list with these items."""
    return {"type": "array", "items": item}


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


class Schemas:
    """The JSON Schemas of Python types, in one document."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}
        """Schemas of classes, by their names; those of other types refer to them."""
        self._made: dict[int, tuple[Kind, Schema]] = {}
        """By the id of a type, which may have no hash."""

    def of(self, kind: Kind) -> Schema:
        """The schema of a type, or of one in `shapes` by its name; of a class, a reference to it.

        Raises:
            ValueError: another class has the name of one of these.
        """
        if isinstance(kind, str):
            kind = _named(kind)
        if id(kind) not in self._made:
            self._made[id(kind)] = kind, self._make(kind)
        return dict(self._made[id(kind)][1])

    def whole(self, kind: Kind) -> Schema:
        """The schema of a class that nothing refers to."""
        kind = _named(kind) if isinstance(kind, str) else kind
        self._make(kind)
        return self.named.pop(kind.__name__)

    def _make(self, kind: Kind) -> Schema:
        made, definitions = TypeAdapter.json_schemas(
            [("", "validation", TypeAdapter[Any](kind))], ref_template="#/components/schemas/{model}"
        )
        for name, schema in definitions.get("$defs", {}).items():
            bare = without_twins(_told(name, _untitled(schema)))
            if self.named.setdefault(name, bare) != bare:
                raise ValueError(f"{name}: two schemas have this name.")
        return dict(made["", "validation"])


@cache
def _named(kind: str) -> Kind:
    made = type("_", (), {"__annotations__": {"kind": kind}})
    return get_type_hints(made, NAMES, include_extras=True)["kind"]


def without_twins(schema: Schema) -> Schema:
    """Tell as patterns of properties that differ from an earlier one in case only: C# classes cannot have both."""
    properties: Schema = schema.get("properties", {})
    first = {name.lower(): name for name in reversed(properties)}
    twins = {name: value for name, value in properties.items() if first[name.lower()] != name}
    if not twins:
        return schema
    without: Schema = schema | {
        "properties": {name: value for name, value in properties.items() if name not in twins},
        "patternProperties": {f"^{name}$": value for name, value in twins.items()},
    }
    if "required" in schema:
        without["required"] = [name for name in schema["required"] if name not in twins]
    return without


def _untitled(schema: Schema) -> Schema:
    """Remove what says nothing from a schema made by pydantic: titles, which only repeat the names.

    Defaults become words: a generator of TypeScript takes a property with a default for one that is always there.
    """
    bare = _without(schema, "title")
    if "properties" not in bare:
        return bare
    return bare | {"properties": {name: _property(value) for name, value in bare["properties"].items()}}


def _told(name: str, schema: Schema) -> Schema:
    """Say what each override does."""
    if name not in ("OverridesBody", "ContextBody"):
        return schema
    properties = schema["properties"].items()
    told = {key: value | ({"description": _OVERRIDES[key]} if key in _OVERRIDES else {}) for key, value in properties}
    return schema | {"properties": told}


def _property(schema: Schema) -> Schema:
    bare = _without(schema, "title", "default")
    if schema.get("default") in (None, "", []):
        return bare
    default = f"Default: {json.dumps(schema['default'])}."
    return bare | {"description": f"{bare.get('description', '')} {default}".strip()}


def _without(schema: Schema, *keys: str) -> Schema:
    return {key: value for key, value in schema.items() if key not in keys}


def prefix_of(protocol: Protocol) -> str:
    """Prefix of the names of a protocol's schemas: `AiChat` of `AiChatAnswer` for `ai-chat`."""
    return "".join(part.capitalize() for part in protocol.name.split("-"))


def error_schema(protocol: Protocol) -> Schema:
    """A reference to the schema of a protocol's errors."""
    return ref(SHAPES[protocol.name].error.__name__)


def add_protocols(schemas: Schemas, protocols: Iterable[Protocol]) -> None:
    """Add the schemas of these protocols: of their requests and of their answers.

    Raises:
        ValueError: a type of a protocol has the name of another schema.
    """
    chat = schemas.whole(ChatBody)
    for protocol in protocols:
        derived = _schemas_of(protocol, chat, schemas)
        if taken := derived.keys() & schemas.named.keys():
            raise ValueError(f"{', '.join(taken)}: a type of {protocol.name} has the name of a derived schema.")
        schemas.named |= derived


def _schemas_of(protocol: Protocol, chat: Schema, schemas: Schemas) -> dict[str, Schema]:
    shape, prefix = SHAPES[protocol.name], prefix_of(protocol)
    record_or_error = any_of([schemas.of(shape.record), schemas.of(shape.error)])
    answer = schemas.of(shape.answer) if shape.answer else None
    message = schemas.of(shape.agent) if shape.agent else ref(f"{prefix}Answer")
    team_record = any_of([message, schemas.of(shape.error)]) if shape.agent else ref(f"{prefix}Record")
    request = schemas.whole(shape.request) if shape.request else _request(shape, chat, schemas)
    return {
        f"{prefix}Request": request | {"examples": [protocol.example]},
        **({} if answer in (None, ref(f"{prefix}Answer")) else {f"{prefix}Answer": answer}),
        f"{prefix}Record": record_or_error,
        **({f"{prefix}TeamAnswer": message if protocol.team_is_one else list_of(message)} if answer else {}),
        f"{prefix}TeamRecord": team_record,
    }


def _request(shape: Shape, chat: Schema, schemas: Schemas) -> Schema:
    """The body that all protocols share, with the further keys that this one reads."""
    extras = schemas.whole(shape.reads) if shape.reads else {}
    properties: Schema = chat["properties"] | extras.get("properties", {})
    if shape.message:
        messages = properties["messages"]
        properties["messages"] = messages | {"items": any_of([messages["items"], schemas.of(shape.message)])}
    required = {name: properties.pop(name) for name in chat["required"]}
    return record(required, properties, chat["description"])
