"""Short constructors for JSON Schemas."""

from collections.abc import Iterable
from typing import Any

type Schema = dict[str, Any]
"""A JSON Schema, or another part of an OpenAPI document."""

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
    """The schema of a list of these items."""
    return {"type": "array", "items": item}


def nullable(schema: Schema) -> Schema:
    """The schema of this value or null."""
    return {"anyOf": [schema, NULL]}


def any_of(schemas: Iterable[Schema]) -> Schema:
    """The schema of any of these; a single one is returned as it is."""
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
    """A schema made by pydantic, without its titles, which only repeat the names."""
    bare = _without_title(schema)
    if "properties" not in bare:
        return bare
    return bare | {"properties": {name: _without_title(value) for name, value in bare["properties"].items()}}


def _without_title(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "title"}
