"""From OpenAPI 3.1 to Swagger 2.0, schema by schema."""

import pytest

from tools.description.schemas import NULL, STRING, Schema, any_of, constant, list_of, record, ref
from tools.description.swagger import to_swagger

INTEGER: Schema = {"type": "integer"}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, NULL]}


def document(operation: Schema, **schemas: Schema) -> Schema:
    return {
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "/"}],
        "tags": [],
        "paths": {"/": {"post": operation}},
        "components": {"schemas": schemas, "securitySchemes": {}},
        "security": [],
    }


def converted(schema: Schema, **others: Schema) -> Schema:
    answer: Schema = {"description": "d", "content": {"application/json": {"schema": ref("Given")}}}
    given = document({"responses": {"200": answer}}, Given=schema, **others)
    return to_swagger(given)["definitions"]["Given"]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (nullable(STRING), {"type": "string", "x-nullable": True}),
        (NULL, {"x-nullable": True}),
        (constant("a"), {"type": "string", "enum": ["a"]}),
        ({"anyOf": [INTEGER, NULL], "default": None, "description": "d"},
         {"type": "integer", "description": "d", "x-nullable": True}),
        ({"type": "integer", "default": 3}, {"type": "integer", "default": 3}),
        ({"type": "integer", "exclusiveMaximum": 9}, {"type": "integer", "maximum": 9, "exclusiveMaximum": True}),
        ({"type": "string", "examples": ["a", "b"]}, {"type": "string", "example": "a"}),
        (list_of(nullable(INTEGER)), {"type": "array", "items": {"type": "integer", "x-nullable": True}}),
        ({"type": "object", "additionalProperties": constant("a")},
         {"type": "object", "additionalProperties": {"type": "string", "enum": ["a"]}}),
        (any_of([constant("a"), constant("b")]), {"type": "string"}),
        (any_of([STRING, INTEGER]), {}),
        (any_of([STRING, NULL, INTEGER]), {"x-nullable": True}),
        (any_of([list_of(STRING), list_of(constant("a"))]), {"type": "array", "items": {"type": "string"}}),
    ],
)  # fmt: skip
def test_a_schema_is_told_in_what_the_older_language_has(schema: Schema, told: Schema) -> None:
    assert converted(schema) == told


def test_what_stands_beside_a_reference_is_left_out_since_it_does_not_count() -> None:
    assert converted(ref("Other") | {"description": "d"}, Other=STRING) == {"$ref": "#/definitions/Other"}


def test_a_reference_that_may_be_null_is_replaced_by_what_it_refers_to() -> None:
    assert converted(nullable(ref("Other")), Other=STRING) == STRING | {"x-nullable": True}


def test_alternative_objects_become_one_that_holds_for_each() -> None:
    left = record({"same": STRING, "kind": constant("a"), "value": STRING}, {"mine": nullable(STRING)})
    right = record({"same": STRING, "kind": constant("b"), "value": INTEGER}, {"yours": ref("Other")})
    assert converted(any_of([ref("Left"), ref("Right")]), Left=left, Right=right, Other=INTEGER) == {
        "type": "object",
        "required": ["same", "kind", "value"],
        "properties": {
            "same": {"type": "string", "x-ms-summary": "Same"},
            "kind": {"type": "string", "x-ms-summary": "Kind"},
            "value": {"x-ms-summary": "Value"},
            "mine": {"type": "string", "x-nullable": True, "x-ms-summary": "Mine"},
            "yours": {"$ref": "#/definitions/Other"},
        },
    }


def test_what_alternatives_say_alike_is_kept() -> None:
    side: Schema = {"type": "string", "description": "Whose.", "enum": ["A", "B"]}
    other: Schema = side | {"default": "A", "description": "Of whom."}
    told = converted(any_of([record({"a": side, "b": side}), record({"a": side, "b": other})]))
    assert told["properties"]["a"] == {"x-ms-summary": "A", **side}
    assert told["properties"]["b"] == {"x-ms-summary": "B", "type": "string", "enum": ["A", "B"]}


def test_a_property_that_is_called_like_a_keyword_is_kept() -> None:
    properties = converted(record({"title": STRING, "anyOf": STRING, "examples": STRING}))["properties"]
    assert set(properties) == {"title", "anyOf", "examples"}


def test_a_propertys_name_is_its_title_in_a_designer() -> None:
    properties = converted(record({"followup_questions": STRING, "AuthorName": STRING}))["properties"]
    assert [value["x-ms-summary"] for value in properties.values()] == ["Followup Questions", "AuthorName"]


def test_of_a_body_that_may_be_a_list_the_object_is_told_whose_fields_a_designer_offers() -> None:
    item = record({"text": STRING})
    body = any_of([item, record({"events": list_of(item)}), list_of(item)])
    operation: Schema = {
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": {},
    }
    [parameter] = to_swagger(document(operation))["paths"]["/"]["post"]["parameters"]
    assert (parameter["schema"]["type"], set(parameter["schema"]["properties"])) == ("object", {"text", "events"})
