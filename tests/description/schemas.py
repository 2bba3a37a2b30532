"""Schemas of the app's document, made strict for tests."""

import json
from functools import cache

import jsonschema_rs

from shared.chat_types import Json
from tests.description.documents import OPENAPI


def differences(schema: dict[str, Json], value: object) -> list[str]:
    """Where a JSON value differs from a schema of the OpenAPI document; a key that the schema lacks is one."""
    return [f"{error.instance_path}: {error.message}" for error in _validator(json.dumps(schema)).iter_errors(value)]


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema once, beside all that it may refer to."""
    return jsonschema_rs.Draft202012Validator(
        closed_schema(json.loads(schema)) | {"components": {"schemas": _components()}}, validate_formats=True
    )


@cache
def _components() -> Json:
    return closed(OPENAPI["components"]["schemas"])


def closed(value: Json) -> Json:
    """The same schemas, whose objects have no key beyond those that are described."""
    if isinstance(value, list):
        return [closed(item) for item in value]
    return closed_schema(value) if isinstance(value, dict) else value


def closed_schema(schema: dict[str, Json]) -> dict[str, Json]:
    """One schema, and those in it."""
    inner = {key: closed(item) for key, item in schema.items()}
    described = schema.get("type") == "object" and "properties" in schema
    return {"additionalProperties": False} | inner if described else inner
