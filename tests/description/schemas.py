"""Schemas of the app's document, made strict for tests."""

from shared.chat_types import Json


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
