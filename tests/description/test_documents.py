"""The two documents: valid, whole, and about what the app really has."""

import json
import runpy
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from openapi_spec_validator import validate

from function_app import ROUTES
from shared.chat_types import Json
from shared.description import openapi_json, swagger_json
from shared.runtime.version import VERSION
from shared.wire.framing import encode_json
from shared.wire.request_body import read_json_object
from shared.wire.table import PROTOCOLS, resolve
from tests.description.documents import OPENAPI, SWAGGER
from tools.description.openapi import all_errors, operations_of
from tools.description.schemas import prefix_of

ROOT = Path(__file__).parents[2]
DOCUMENTS = pytest.mark.parametrize("document", [OPENAPI, SWAGGER], ids=["openapi", "swagger"])
LARGEST_DEFINITION = 1_000_000
"""Bytes; what a custom connector takes."""


PINNED = {f"/{one.path}" for one in operations_of(ROUTES) if one.about.question and one.is_pinned}


OPEN_DEMO = ("config", "auth_setup", "speech")
OPEN = {
    "/health",
    "/openapi.json",
    "/swagger.json",
    "/mcp/oauth-protected-resource",
    "/docs",
    "/playground/{digest}/{path}",
    *(f"/{{protocol}}/{name}" for name in OPEN_DEMO),
}
"""Routes that need no sign-in: they tell about the app."""


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def schemas_of(document: dict[str, Any]) -> dict[str, Any]:
    return document["definitions"] if "swagger" in document else document["components"]["schemas"]


def walk(value: Json) -> Iterator[dict[str, Any]]:
    """Every object in a document."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(item)


def indexed() -> set[tuple[str, str]]:
    """Path and method of every route that the worker indexes, a pinned chat route once a protocol.

    Without that of all other paths: it has the playground's page and errors.
    """
    found: set[tuple[str, str]] = set()
    for function in runpy.run_path(str(ROOT / "function_app.py"))["app"].get_functions():
        for binding in map(json.loads, function.get_raw_bindings()):
            if binding["type"] == "httpTrigger" and binding["route"] != "{*path}":
                path = "/" + binding["route"].replace("{*", "{")
                names = PROTOCOLS if path in PINNED else ["{protocol}"]
                found |= {(path.replace("{protocol}", name), m.lower()) for name in names for m in binding["methods"]}
    return found


@DOCUMENTS
def test_a_document_is_valid(document: dict[str, Any]) -> None:
    validate(document)


@DOCUMENTS
def test_a_document_describes_exactly_the_routes_of_the_app(document: dict[str, Any]) -> None:
    assert {(path, method) for path, method, _ in operations(document)} == indexed()


@DOCUMENTS
def test_each_operation_has_an_id_of_its_own_a_summary_and_a_tag(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    assert all(identifier.replace("_", "").isalnum() for identifier in ids)
    tags = {tag["name"] for tag in document["tags"]}
    for _, _, operation in operations(document):
        assert operation["summary"]
        assert "{" not in operation["summary"]
        assert set(operation["tags"]) <= tags


@DOCUMENTS
def test_every_reference_leads_somewhere_and_every_schema_is_used(document: dict[str, Any]) -> None:
    base = "#/definitions/" if "swagger" in document else "#/components/schemas/"
    references = {found["$ref"] for found in walk(document) if isinstance(found.get("$ref"), str)}
    assert references == {base + name for name in schemas_of(document)}


def speaks(body: Mapping[str, Json]) -> str:
    """The protocol that a body on a bare route selects."""
    return resolve(None, "", "ai-chat").of(body).name


@DOCUMENTS
def test_code_that_is_made_of_a_document_compiles(document: dict[str, Any]) -> None:
    """NSwag reads no number above 64 bits, and makes one member of keys that differ in case only."""
    for one in walk(document):
        assert all(-(2**63) <= value < 2**63 for value in one.values() if isinstance(value, int)), one
        properties = one.get("properties")
        keys = [name.lower() for name in cast("Mapping[str, Json]", properties)] if isinstance(properties, dict) else []
        assert len({*keys}) == len(keys), keys


@DOCUMENTS
def test_the_example_of_each_protocol_is_a_request_that_it_reads(document: dict[str, Any]) -> None:
    for name, protocol in PROTOCOLS.items():
        body = read_json_object(encode_json(protocol.example))
        assert protocol.parse(body).question
        assert speaks(body) in (name, "ai-chat")
        request = schemas_of(document)[f"{prefix_of(protocol)}Request"]
        assert protocol.example == (request.get("example") or request["examples"][0])


@DOCUMENTS
def test_generated_classes_of_csharp_can_have_all_properties_and_bounds(document: dict[str, Any]) -> None:
    for found in walk(document):
        if isinstance(found.get("properties"), dict):
            names = [name.lower() for name in cast("dict[str, Json]", found["properties"])]
            assert len(set(names)) == len(names)
        for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            assert -(2**63) <= (found.get(bound) or 0) < 2**63


def test_every_protocol_has_a_tag() -> None:
    assert set(PROTOCOLS) <= {tag["name"] for tag in OPENAPI["tags"]}


@pytest.mark.parametrize("name", ["ai-chat-2024-05-29", "ai-chat-2024-01-28"])
def test_the_example_of_a_protocol_that_a_body_can_select_selects_it(name: str) -> None:
    assert speaks(PROTOCOLS[name].example) == name


def test_every_error_is_described_with_its_status_and_code() -> None:
    described = OPENAPI["info"]["description"]
    for kind in all_errors():
        assert f"| {kind.status} | `{kind.code}` |" in described
        assert any(kind in one.about.errors for one in operations_of(ROUTES)), f"no route fails with {kind.__name__}"
    assert OPENAPI["components"]["schemas"]["ErrorCode"]["enum"] == [kind.code for kind in all_errors()]


@pytest.mark.parametrize("sent", [openapi_json("bearer"), swagger_json("bearer", None)], ids=["openapi", "swagger"])
def test_where_callers_sign_in_all_but_what_tells_about_the_app_needs_a_token(sent: bytes) -> None:
    document = json.loads(sent)
    validate(document)
    assert document["security"] == [{"token": []}]
    open_to_all = {path for path, _, operation in operations(document) if operation.get("security") == []}
    assert open_to_all == OPEN


def test_an_api_key_is_described_as_one() -> None:
    document, swagger = json.loads(openapi_json("api-key")), json.loads(swagger_json("api-key", None))
    # The rest is that of the other documents, which are validated whole.
    validate({**document, "paths": {}, "components": {"securitySchemes": document["components"]["securitySchemes"]}})
    validate({**swagger, "paths": {}, "definitions": {}})
    assert document["components"]["securitySchemes"] == {
        "token": {"type": "http", "scheme": "bearer", "description": "An API key of this app."}
    }
    assert swagger["securityDefinitions"]["token"] == {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "An API key of this app. Send it as 'Bearer …'.",
    }


@DOCUMENTS
def test_where_nobody_signs_in_no_token_is_asked_for(document: dict[str, Any]) -> None:
    assert "security" not in document
    assert not [path for path, _, operation in operations(document) if "security" in operation]


def test_every_operation_says_that_it_may_ask_to_sign_in_but_those_about_the_app() -> None:
    says = {path for path, _, operation in operations(OPENAPI) if "401" in operation["responses"]}
    assert {path for path, _, _ in operations(OPENAPI)} - says == OPEN


def test_the_version_is_the_projects() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_the_server_is_the_route_prefix_of_the_host() -> None:
    prefix = json.loads((ROOT / "host.json").read_text())["extensions"]["http"]["routePrefix"]
    assert OPENAPI["servers"] == [{"url": f"/{prefix}"}]
    assert SWAGGER["basePath"] == f"/{prefix}"


def test_the_swagger_document_has_nothing_that_came_after_it() -> None:
    newer = {"anyOf", "oneOf", "const", "$defs", "examples", "nullable", "content", "requestBody", "components"}
    for found in walk(SWAGGER["paths"] | SWAGGER["definitions"]):
        keywords = set(found) if isinstance(found.get("type"), str) or "$ref" in found else set[str]()
        assert not keywords & newer
        assert found.get("type") != "null"
        assert not isinstance(found.get("type"), list)
    assert len(encode_json(SWAGGER)) < LARGEST_DEFINITION


def test_designers_do_not_offer_what_they_cannot_read() -> None:
    hidden = {
        path
        for path, method, operation in operations(SWAGGER)
        if method != "head" and operation.get("x-ms-visibility") == "internal"
    }
    streams = {path for path, _ in indexed() if path.endswith("/stream")}
    page = {path for path, _ in indexed() if path.startswith("/{protocol}/")}
    mcp = {"/mcp", "/mcp/oauth-protected-resource"}
    playground = {"/docs", "/playground/{digest}/{path}", "/playground/begin", "/documents/{path}"}
    documents = {"/openapi.json", "/swagger.json"}
    responses = {"/v1/responses/{id}", "/v1/responses/{id}/cancel", "/v1/responses/{id}/input_items"}
    always = {path for path, _ in indexed() if path.startswith(("/ag-ui", "/ai-sdk", "/directline"))}
    assert hidden == streams | page | mcp | playground | documents | responses | always | {"/messages"}
    for path, _, operation in operations(SWAGGER):
        assert operation.get("produces") != ["text/event-stream"] or path in hidden
    assert "x-ms-visibility" not in SWAGGER["paths"]["/content/{path}"]["get"]


@pytest.mark.parametrize(
    ("url", "scheme", "host", "path"),
    [
        ("https://switchboard.azurewebsites.net/api", "https", "switchboard.azurewebsites.net", "/api"),
        ("http://localhost:7071", "http", "localhost:7071", "/"),
    ],
)
def test_the_hosts_name_is_told_where_it_is_known(url: str, scheme: str, host: str, path: str) -> None:
    swagger = json.loads(swagger_json("none", url))
    validate(swagger)
    assert (swagger["host"], swagger["schemes"], swagger["basePath"]) == (host, [scheme], path)
    assert "host" not in SWAGGER
