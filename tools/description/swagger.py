"""Converts the OpenAPI 3.1 document to Swagger 2.0, for custom connectors of Logic Apps and Power Platform.

Swagger 2.0 has no null, no alternatives, and only one schema for each response. Null becomes `x-nullable`. Alternatives
become one schema that each of them fits. The schema of a response is that of its JSON.
"""

from collections.abc import Iterable
from functools import reduce
from itertools import chain

from shared.chat_types import Json
from tools.description.schemas import NULL, Schema, any_of, without_twins

_KEPT = frozenset(
    ["type", "format", "title", "description", "pattern", "required", "enum", "multipleOf", "minimum", "maximum"]
    + [f"{bound}{of}" for bound in ("min", "max") for of in ("Length", "Items", "Properties")]
)
"""Keywords with the same meaning in both. `default` is missing, since Swagger 2.0 does not allow null in it."""
_JOINED = ("enum", "description")
"""Keywords that joined alternatives keep if they are equal in all of them."""
_JSON_TYPE = "application/json"


def to_swagger(openapi: Schema) -> Schema:
    """Convert an OpenAPI document to Swagger 2.0, for an app on this computer."""
    schemas: dict[str, Schema] = openapi["components"]["schemas"]
    converter = _Converter(schemas)
    paths = {
        path: {method: converter.operation(operation) for method, operation in methods.items()}
        for path, methods in openapi["paths"].items()
    }
    return {
        "swagger": "2.0",
        "info": openapi["info"],
        "host": "localhost:7071",
        "schemes": ["http"],
        "basePath": openapi["servers"][0]["url"],
        **_security(openapi),
        "tags": openapi["tags"],
        "paths": paths,
        "definitions": _referred(paths, {name: converter.schema(schema) for name, schema in schemas.items()}),
    }


def _referred(paths: Schema, definitions: dict[str, Schema]) -> dict[str, Schema]:
    """Keep the definitions that the paths refer to, directly or indirectly. Joining alternatives leaves some unused."""
    wanted: list[Json] = [paths]
    seen = set[str]()
    while wanted:
        match wanted.pop():
            case {"$ref": str(reference)} if (name := reference.rpartition("/")[2]) not in seen:
                seen.add(name)
                wanted.append(definitions[name])
            case dict() as found:
                wanted.extend(found.values())
            case list() as found:
                wanted.extend(found)
            case _:
                pass
    return {name: schema for name, schema in definitions.items() if name in seen}


def _security(openapi: Schema) -> Schema:
    """The security definition for access tokens, as a header."""
    schemes: dict[str, Schema] = openapi["components"]["securitySchemes"]
    header = {"type": "apiKey", "in": "header", "name": "Authorization"}
    return {
        "securityDefinitions": {
            name: {**header, "description": f"{scheme['description']} Send it as 'Bearer …'."}
            for name, scheme in schemes.items()
        },
        "security": openapi["security"],
    }


class _Converter:
    """Converts the parts of one document, with its named schemas."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self._schemas = schemas

    def operation(self, operation: Schema) -> Schema:
        """Convert an operation object."""
        parameters = [self._parameter(parameter) for parameter in operation.get("parameters", ())]
        taken: Schema = operation.get("requestBody", {}).get("content", {})
        if _JSON_TYPE in taken:
            schema = self.schema(self._object(taken[_JSON_TYPE]["schema"]))
            parameters.append({"name": "body", "in": "body", "required": True, "schema": schema})
        responses: dict[str, Schema] = operation["responses"]
        given = chain.from_iterable(response.get("content", ()) for response in responses.values())
        converted = {
            "parameters": parameters,
            "consumes": [_JSON_TYPE] if _JSON_TYPE in taken else [],
            "produces": [*dict.fromkeys(given)],
            "responses": {status: self._response(response) for status, response in responses.items()},
        }
        kept = {key: value for key, value in operation.items() if key not in ("requestBody", *converted)}
        return kept | {key: value for key, value in converted.items() if value}

    def schema(self, schema: Schema) -> Schema:
        """Convert a schema object."""
        if "$ref" in schema:  # Swagger 2.0 ignores what stands beside a reference
            return {"$ref": f"#/definitions/{_name(schema)}"}
        kept = {key: value for key, value in schema.items() if key in _KEPT or key.startswith("x-")}
        if schema == NULL or "anyOf" in schema:
            return self._alternatives(kept, schema.get("anyOf", [NULL]))
        if schema.get("default") is not None:
            kept["default"] = schema["default"]
        if "const" in schema:
            kept["enum"] = [schema["const"]]
        if "exclusiveMaximum" in schema:
            kept |= {"maximum": schema["exclusiveMaximum"], "exclusiveMaximum": True}
        if "examples" in schema:
            kept["example"] = schema["examples"][0]
        if "items" in schema:
            kept["items"] = self.schema(schema["items"])
        if isinstance(schema.get("additionalProperties"), dict):
            kept["additionalProperties"] = self.schema(schema["additionalProperties"])
        if "properties" in schema:
            kept["properties"] = {name: self._property(name, value) for name, value in schema["properties"].items()}
        return kept

    def _object(self, schema: Schema) -> Schema:
        """Remove lists from the alternatives of a body's schema: a designer can only offer the fields of objects."""
        objects = [one for one in schema.get("anyOf", ()) if self._resolved(one).get("type") != "array"]
        return any_of(objects) if objects else schema

    def _property(self, name: str, schema: Schema) -> Schema:
        converted = self.schema(schema)
        return converted if "$ref" in converted else {"x-ms-summary": _summary(name)} | converted

    def _alternatives(self, kept: Schema, alternatives: list[Schema]) -> Schema:
        kept.pop("type", None)
        values = [schema for schema in alternatives if schema != NULL]
        nullable = len(values) < len(alternatives)
        one = self._common(values) if values else {}
        if nullable and "$ref" in one:  # Swagger 2.0 ignores what stands beside a reference
            one = self._resolved(one)
        one = self.schema(one)
        if "$ref" in one:
            return one
        return one | kept | ({"x-nullable": True} if nullable else {})

    def _common(self, schemas: Iterable[Schema]) -> Schema:
        """Join schemas into one that accepts every value that any of them accepts."""
        return reduce(self._join, schemas)

    def _join(self, left: Schema, right: Schema) -> Schema:
        if left == right:
            return left
        left, right = self._resolved(left), self._resolved(right)
        kind = left.get("type")
        if kind is None or kind != right.get("type"):
            return {}
        equal = {key: left[key] for key in _JOINED if key in left and left[key] == right.get(key)}
        joined: Schema = {"type": kind} | equal
        if kind == "array":
            joined["items"] = self._join(left["items"], right["items"])
        elif kind == "object":
            joined |= self._join_objects(left, right)
        return joined | ({"x-nullable": True} if "x-nullable" in left | right else {})

    def _join_objects(self, left: Schema, right: Schema) -> Schema:
        properties: Schema = left.get("properties", {}) | right.get("properties", {})
        both = left.get("properties", {}).keys() & right.get("properties", {}).keys()
        for name in both:
            properties[name] = self._join(left["properties"][name], right["properties"][name])
        required = [name for name in left.get("required", ()) if name in right.get("required", ())]
        return without_twins({"properties": properties} | ({"required": required} if required else {}))

    def _resolved(self, schema: Schema) -> Schema:
        """Replace a reference, or alternatives, at the top of a schema by what they stand for."""
        if "$ref" in schema:
            return self._resolved(self._schemas[_name(schema)])
        if "anyOf" not in schema:
            return schema
        values = [self._resolved(value) for value in schema["anyOf"] if value != NULL]
        return self._common(values) | ({"x-nullable": True} if NULL in schema["anyOf"] else {})

    def _parameter(self, parameter: Schema) -> Schema:
        about = {key: value for key, value in parameter.items() if key != "schema"}
        return about | self.schema(parameter["schema"]) | {"x-ms-summary": _summary(parameter["name"])}

    def _response(self, response: Schema) -> Schema:
        converted: Schema = {"description": response["description"]}
        if content := response.get("content"):
            media_type = _JSON_TYPE if _JSON_TYPE in content else next(iter(content))
            if "x-itemSchema" in content[media_type]:  # Swagger 2.0 cannot describe a stream
                converted |= {"schema": {}, "x-itemSchema": self.schema(content[media_type]["x-itemSchema"])}
            else:
                converted["schema"] = self.schema(content[media_type]["schema"])
        if headers := response.get("headers"):
            converted["headers"] = {name: self._header(header) for name, header in headers.items()}
        return converted

    def _header(self, header: Schema) -> Schema:
        return {"description": header["description"]} | self.schema(header["schema"])


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _summary(name: str) -> str:
    """Make a title of a name, for the designers of Logic Apps and Power Automate."""
    return name.replace("_", " ").title() if name.islower() else name
