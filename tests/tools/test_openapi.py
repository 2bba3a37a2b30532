"""Operations of OpenAPI documents as tools: what models see of them, and the requests that calls make."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from shared.tools import WrongArguments
from shared.tools.servers import Api as ApiDefinition
from tests.test_architecture import ROOT
from tests.tools.listening import Api, Listening
from tests.tools.serving import call, tool_servers, tools_of

SAMPLES = ROOT / "samples" / "workflows"
DOCUMENT = """
openapi: 3.0.4
info: {title: Tickets, version: "1"}
servers: [{url: https://elsewhere.example}]
paths:
  /tickets/{id}:
    parameters:
      - {$ref: "#/components/parameters/id"}
    get:
      operationId: read
      summary: Read a ticket.
      parameters:
        - {name: fields, in: query, schema: {type: array, items: {type: string}}}
        - {name: tags, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: api-version, in: query, schema: {type: string, enum: ["2026-01"]}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: Authorization, in: header, schema: {type: string}}
    delete: {operationId: remove, description: Remove a ticket.}
  /tickets:
    post:
      operationId: create
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Ticket"}}}
  /upload:
    post:
      operationId: upload
      requestBody: {required: true, content: {multipart/form-data: {schema: {}}}}
  /elsewhere:
    get:
      operationId: foreign
      parameters: [{$ref: "https://evil.example/p.yaml"}]
components:
  parameters:
    id: {name: id, in: path, required: true, schema: {type: string}}
  schemas:
    Ticket:
      type: object
      required: [title, lines]
      properties:
        title: {type: string, maxLength: 20}
        lines: {type: array, items: {$ref: "#/components/schemas/Line"}}
        parent: {$ref: "#/components/schemas/Ticket"}
    Line:
      type: object
      additionalProperties: false
      properties: {amount: {type: number, minimum: 0}}
"""


@pytest.fixture
async def api() -> AsyncGenerator[Api]:
    async with Api() as server:
        yield server


def tickets(api: Api, folder: Path, text: str = DOCUMENT, **more: Any) -> ApiDefinition:
    (folder / "tickets.yaml").write_text(text)
    named = {"name": "tickets", "url": f"{api.endpoint}/v1", "document": str(folder / "tickets.yaml")}
    allowed: dict[str, dict[str, str]] = {
        name: {} for name in ("read", "remove", "create", "upload", "foreign", "none")
    }
    return ApiDefinition.model_validate(named | {"operations": allowed} | more)


async def test_reading_needs_no_consent_and_all_else_does_unless_the_file_says_otherwise(
    api: Api, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"operations": {"read": {}, "remove": {"approval": "never"}, "create": {}}}
    async with tool_servers(tickets(api, tmp_path, **more)) as servers:
        tools = await tools_of(servers, "tickets.*")
    assert {name: (tool.needs_consent, tool.is_repeatable) for name, tool in tools.items()} == {
        "tickets.read": (False, True),
        "tickets.remove": (False, True),
        "tickets.create": (True, False),
    }


async def test_a_model_sees_the_parameters_that_it_has_to_give(api: Api, tmp_path: Path) -> None:
    async with tool_servers(tickets(api, tmp_path)) as servers:
        tools = await tools_of(servers, "tickets.*")
        assert [*tools] == ["tickets.read", "tickets.remove", "tickets.create"], "others cannot be used"
        assert tools["tickets.read"].definition.description == "Read a ticket."
        schema = tools["tickets.read"].definition.parameters
        assert isinstance(schema["properties"], dict)
        assert [*schema["properties"]] == ["id", "fields", "tags", "X-Trace"]
        assert schema["required"] == ["id"]
        body: Any = tools["tickets.create"].definition.parameters["properties"]
        assert body["body"]["properties"]["lines"]["items"]["properties"] == {
            "amount": {"type": "number", "minimum": 0}
        }
        assert body["body"]["properties"]["parent"] == {}, "a schema within itself allows anything"
        health = await servers.check()
        assert not health.ok
        assert "upload" in health.detail


async def test_a_call_makes_the_request_that_the_document_describes(api: Api, tmp_path: Path) -> None:
    api.responses = [web.json_response({"id": "a"}), web.Response(status=204)]
    async with tool_servers(tickets(api, tmp_path)) as servers:
        tools = await tools_of(servers, "tickets.*")
        trace: Any = {"X-Trace": "t 1"}
        read = await call(tools["tickets.read"], id="../a b", fields=["x", "y"], tags=["1", "2"], **trace)
        made = await call(tools["tickets.create"], body={"title": "Ä", "lines": [{"amount": 1.5}]})
    assert (read.text, read.is_error, made.text) == ('{"id": "a"}', False, "Done (HTTP 204).")
    first, second = api.sent
    assert first.method == "GET"
    assert first.path == "/v1/tickets/..%2Fa%20b?fields=x&fields=y&tags=1,2&api-version=2026-01"
    assert first.headers["X-Trace"] == "t 1"
    assert (second.method, second.path) == ("POST", "/v1/tickets")
    assert second.headers["Content-Type"] == "application/json"
    assert json.loads(second.body) == {"title": "Ä", "lines": [{"amount": 1.5}]}


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("read", {}, "arguments.id is missing."),
        ("read", {"id": ".."}, "id should be a name, and not '..'."),
        ("read", {"id": "a", "X-Trace": "a\r\nHost: evil"}, "X-Trace should have printable ASCII characters only"),
        ("read", {"id": "a", "colour": "red"}, "arguments.colour is not known; there are: id, fields, tags, X-Trace."),
        ("create", {"body": {"title": "x"}}, "arguments.body.lines is missing."),
        (
            "create",
            {"body": {"title": "x" * 21, "lines": []}},
            "arguments.body.title should have characters, at most 20.",
        ),
        (
            "create",
            {"body": {"title": "x", "lines": [{"amount": 1}, {"amount": -1}]}},
            "arguments.body.lines[1].amount should be at least 0.",
        ),
        (
            "create",
            {"body": {"title": "x", "lines": [{"amount": 1, "more": 2}]}},
            "arguments.body.lines[0].more is not known; there are: amount.",
        ),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model_and_not_sent(
    api: Api, tmp_path: Path, name: str, arguments: dict[str, Any], problem: str
) -> None:
    async with tool_servers(tickets(api, tmp_path)) as servers:
        tools = await tools_of(servers, "tickets.*")
        with pytest.raises(WrongArguments) as told:
            await call(tools[f"tickets.{name}"], **arguments)
    assert str(told.value).startswith(problem)
    assert not api.sent


async def test_a_refusal_is_told_to_the_model_with_its_status(api: Api, tmp_path: Path) -> None:
    api.responses = [
        web.Response(status=404, text="no such ticket"),
        web.Response(status=401, text="the key is s3cret"),
        web.Response(status=302, headers={"Location": "https://evil.example/"}),
        web.Response(body=b"\x89PNG", content_type="image/png"),
    ]
    async with tool_servers(tickets(api, tmp_path)) as servers:
        read = (await tools_of(servers, "tickets.*"))["tickets.read"]
        results = [await call(read, id="a") for _ in range(4)]
    assert [(result.text, result.is_error) for result in results] == [
        ("HTTP 404\nno such ticket", True),
        ("HTTP 401", True),
        ("Error: The server of tickets sent something that is no answer, or too long.", True),
        ("[image/png, 4 bytes, which is not shown]", False),
    ]


@pytest.mark.parametrize(
    ("auth", "header", "path"),
    [
        ({"key": "API_KEY"}, ("Authorization", "Bearer s3cret"), "/v1/tickets/a?api-version=2026-01"),
        ({"key": "API_KEY", "header": "X-Trace"}, ("X-Trace", "s3cret"), "/v1/tickets/a?api-version=2026-01"),
        ({"key": "API_KEY", "query": "tags"}, None, "/v1/tickets/a?api-version=2026-01&tags=s3cret"),
    ],
    ids=["bearer", "header", "query"],
)
async def test_a_key_of_a_setting_goes_where_the_file_says_and_no_model_sees_the_place(
    api: Api, tmp_path: Path, auth: dict[str, str], header: tuple[str, str] | None, path: str
) -> None:
    async with tool_servers(tickets(api, tmp_path, auth=auth), keys={"API_KEY": "s3cret"}) as servers:
        read = (await tools_of(servers, "tickets.*"))["tickets.read"]
        assert "s3cret" not in repr(read)
        await call(read, id="a")
    assert api.sent[0].path == path
    assert header is None or api.sent[0].headers[header[0]] == header[1]
    places: Any = read.definition.parameters["properties"]
    assert not {auth.get("header"), auth.get("query")} & {*places}


async def test_the_sample_calls_a_logic_app_as_its_trigger_wants_it(api: Api) -> None:
    named: dict[str, Any] = {
        "name": "helpdesk",
        "url": f"{api.endpoint}/workflows/0123",
        "document": "open-ticket.openapi.yaml",
        "auth": {"key": "HELPDESK_SIG", "query": "sig"},
        "operations": {"openTicket": {}},
    }
    settings = {"HELPDESK_SIG": "a+b/c="}
    async with tool_servers(ApiDefinition.model_validate(named), folder=SAMPLES, keys=settings) as servers:
        tool = (await tools_of(servers, "helpdesk.openTicket"))["helpdesk.openTicket"]
        assert tool.needs_consent
        await call(tool, body={"title": "Teeth", "text": "What is covered?"})
    [sent] = api.sent
    assert sent.json == {"title": "Teeth", "text": "What is covered?"}
    trigger = "When_a_ticket_is_opened"
    url = URL(sent.path, encoded=True)
    assert url.path == f"/workflows/0123/triggers/{trigger}/paths/invoke"
    assert dict(url.query) == {
        "api-version": "2016-10-01",
        "sp": f"/triggers/{trigger}/run",
        "sv": "1.0",
        "sig": "a+b/c=",
    }
    workflow = json.loads((SAMPLES / "open-ticket.json").read_text(encoding="utf-8"))["definition"]
    assert [*workflow["triggers"]] == [trigger]
    body: Any = tool.definition.parameters["properties"]
    assert {*workflow["triggers"][trigger]["inputs"]["schema"]["properties"]} == {*body["body"]["properties"]}


@pytest.mark.parametrize("text", ["", "[]", "openapi: 2.0", "swagger: '2.0'", "a: &a [*a]\n", "\x00", "{" * 2_000])
async def test_what_is_no_such_document_offers_nothing(api: Api, tmp_path: Path, text: str) -> None:
    async with tool_servers(tickets(api, tmp_path, text)) as servers:
        assert await tools_of(servers, "tickets.*") == {}
        assert "tickets" in (await servers.check()).detail


async def test_a_document_that_would_grow_without_end_is_not_followed(api: Api, tmp_path: Path) -> None:
    schemas = "    Ticket:\n"
    for level in range(40):
        next_one = f"{{$ref: '#/components/schemas/s{level + 1}'}}"
        schemas = f"    s{level}: {{allOf: [{next_one}, {next_one}]}}\n{schemas}"
    grown = DOCUMENT.replace("    Ticket:\n", schemas).replace("schemas/Line", "schemas/s0")
    async with tool_servers(tickets(api, tmp_path, grown)) as servers:
        assert [*await tools_of(servers, "tickets.*")] == ["tickets.read", "tickets.remove"]


@pytest.mark.parametrize(
    "path",
    [
        "@{other}/steal",
        "//{other}/steal",
        ":1@{other}/steal",
        "\\\\{other}/steal",
        "steal",
        "/a/../../x",
        "/a/%2e%2e/x",
    ],
)
async def test_a_path_that_leads_elsewhere_is_no_operation_and_no_key_is_sent_there(
    api: Api, tmp_path: Path, path: str
) -> None:
    async with Listening() as other:
        host = other.endpoint.removeprefix("http://")
        text = json.dumps({"openapi": "3.0.0", "paths": {path.format(other=host): {"get": {"operationId": "read"}}}})
        named = tickets(api, tmp_path, text, url=api.endpoint, auth={"key": "API_KEY"})
        async with tool_servers(named, keys={"API_KEY": "s3cret"}) as servers:
            for tool in (await tools_of(servers, "tickets.*")).values():
                await call(tool)
            assert not other.sent
            assert not api.sent
            assert "read: it is not there." in (await servers.check()).detail


async def test_a_header_that_changes_who_calls_or_what_is_called_is_not_the_documents_to_set(
    api: Api, tmp_path: Path
) -> None:
    names = ("X-HTTP-Method-Override", "x_http_method", "X-Forwarded-For", "X-Original-URL", "X-Real-IP", "Bad name")
    asked: list[Any] = [{"name": name, "in": "header", "schema": {"enum": ["DELETE"]}} for name in names]
    asked += [{"name": "x-key", "in": "header", "schema": {"type": "string"}}]
    asked += [{"name": "X-Request-Id", "in": "header", "schema": {"type": "string"}}]
    text = json.dumps({"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "read", "parameters": asked}}}})
    named = tickets(api, tmp_path, text, auth={"key": "API_KEY", "header": "X-Key"})
    async with tool_servers(named, keys={"API_KEY": "s3cret"}) as servers:
        read = (await tools_of(servers, "tickets.*"))["tickets.read"]
        request: Any = {"X-Request-Id": "1"}
        await call(read, **request)
    assert read.definition.parameters["properties"] == {"X-Request-Id": {"type": "string"}}
    [sent] = api.sent
    assert not {name.lower() for name in names} & {name.lower() for name in sent.headers}
    assert [value for name, value in sent.headers.items() if name.lower() == "x-key"] == ["s3cret"]


async def test_a_pin_covers_the_media_type_of_the_body(api: Api, tmp_path: Path) -> None:
    digests: list[str] = []
    for kind in ("application/json", "application/merge-patch+json"):
        async with tool_servers(tickets(api, tmp_path, DOCUMENT.replace("application/json", kind))) as servers:
            digests.append((await tools_of(servers, "tickets.*"))["tickets.create"].digest)
    assert digests[0] != digests[1]
    assert digests[0] == "0e273337382181b49867e2353ad782be501310c7f2ab143a5337b8bfca5e26da", "a pin of before holds"


async def test_words_of_yaml_are_texts_by_the_rules_of_1_2(api: Api, tmp_path: Path) -> None:
    text = """
openapi: 3.0.0
x-shared: &shared {type: string}
paths:
  /a:
    get:
      operationId: read
      parameters:
        - {name: country, in: query, schema: {<<: *shared, enum: [NO, on, YES, 2026-01-01, "no", 1:30, 1_0]}}
        - {name: number, in: query, schema: {enum: [010, 0o10, 0x10, -3, 1.5, 1e3, .5, true, null, ~]}}
"""
    async with tool_servers(tickets(api, tmp_path, text)) as servers:
        read = (await tools_of(servers, "tickets.*"))["tickets.read"]
        await call(read, country="NO")
    properties: Any = read.definition.parameters["properties"]
    assert properties["country"]["enum"] == ["NO", "on", "YES", "2026-01-01", "no", "1:30", "1_0"]
    assert properties["country"]["type"] == "string"
    assert properties["number"]["enum"] == [10, 8, 16, -3, 1.5, 1000.0, 0.5, True, None, None]
    assert api.sent[0].path == "/v1/a?country=NO"


MERGES = "x0: &x0 {k: v}\n" + "".join(f"x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}], k{n}: v}}\n" for n in range(1, 31))
LAUGHS = "x0: &x0 [v]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 31))
READ = "  /a: {get: {operationId: read, parameters: [{name: a, in: query, schema: {enum: %s}}]}}\n"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (f"openapi: 3.0.0\npaths: {'[' * 100_000}", False),
        (f"openapi: 3.0.0\npaths: {'{a: ' * 50_000}", False),
        (f"openapi: 3.0.0\n{MERGES}paths:\n{READ % '[*x30]'}", True),
        (f"openapi: 3.0.0\n{LAUGHS}paths:\n{READ % '*x30'}", False),
    ],
    ids=["lists", "mappings", "merges", "laughs"],
)
async def test_a_document_that_would_end_or_hold_the_app_ends_its_reader(
    api: Api, tmp_path: Path, text: str, offered: bool
) -> None:
    async with tool_servers(tickets(api, tmp_path, text)) as servers:
        assert bool(await tools_of(servers, "tickets.*")) == offered


async def test_a_document_puts_no_line_into_a_request_or_the_log(
    api: Api, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kind = json.dumps("application/x\r\nX-Evil: 1+json")
    name = json.dumps("a\nERROR all is lost" + 1_000 * "x")
    cookie = f"parameters: [{{name: {name}, in: cookie, required: true, schema: {{type: string}}}}]"
    text = DOCUMENT.replace("application/json", kind).replace(
        "operationId: upload", f"operationId: upload\n      {cookie}"
    )
    async with tool_servers(tickets(api, tmp_path, text)) as servers:
        tools = await tools_of(servers, "tickets.*")
        refused = await call(tools["tickets.create"], body={"title": "x", "lines": []})
    assert (refused.text, refused.is_error) == ("Error: The server of tickets does not accept what it was sent.", True)
    assert not api.sent
    [logged] = [record.message for record in caplog.records if "upload cannot be used" in record.message]
    assert "\n" not in logged
    assert len(logged) < 300


async def test_a_model_fills_no_parameter_that_servers_may_take_for_the_apps_key(api: Api, tmp_path: Path) -> None:
    text = DOCUMENT.replace("X-Trace", "x_api_key")
    more: Any = {"auth": {"key": "TICKETS_KEY", "header": "X-Api-Key"}}
    async with tool_servers(tickets(api, tmp_path, text, **more), keys={"TICKETS_KEY": "secret"}) as servers:
        schema = (await tools_of(servers, "tickets.*"))["tickets.read"].definition.parameters
    assert isinstance(schema["properties"], dict)
    assert [*schema["properties"]] == ["id", "fields", "tags"]
