"""What is read of MCP messages, and what is replied: by the types of the protocol's own package."""

import base64
import json
from collections.abc import Mapping
from copy import replace
from typing import Any, cast

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult, DiscoverResult, InitializeResult, JSONRPCError, JSONRPCResponse, ListToolsResult

from shared.chat_types import Json, Passage
from shared.core.fold import Answer
from shared.errors import BadRequest, InternalError, NotFound, RateLimited, SwitchboardError, TooLarge, Unavailable
from shared.events import CompletionStarted, DataPoint, Finished
from shared.wire.framing import encode_json
from shared.wire.mcp import LEGACY, MODERN, Call, Reply, error_record, receive
from shared.wire.mcp_tools import LONGEST_TEXT, TOOLS, ask_result, failed_result, fetch_result, search_result
from shared.wire.request_body import read_json_object

BASE = "https://chat.example.com/api"
VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
META: dict[str, Json] = {VERSION: "2026-07-28", CAPABILITIES: {}}
SEARCH: dict[str, Json] = {"name": "search", "arguments": {"query": "dental"}}


def message(method: str = "tools/list", params: Json = None, **more: Json) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **more}


def modern(
    method: str = "tools/list", params: Mapping[str, Json] | None = None, meta: Mapping[str, Json] = META
) -> dict[str, Json]:
    return message(method, {**(params or {}), "_meta": {**meta}})


def headers(method: str = "tools/list", version: str = "2026-07-28", name: str | None = None) -> dict[str, str]:
    return {"mcp-protocol-version": version, "mcp-method": method} | ({"mcp-name": name} if name else {})


def replied(sent_headers: Mapping[str, str], sent: Mapping[str, Json]) -> Reply:
    found = receive(sent_headers, sent)
    assert isinstance(found, Reply)
    return found


def result(sent_headers: Mapping[str, str], sent: Mapping[str, Json]) -> dict[str, Any]:
    reply = replied(sent_headers, sent)
    assert reply.status == 200
    return JSONRPCResponse.model_validate(reply.document).result


def refusal(sent_headers: Mapping[str, str], sent: Mapping[str, Json]) -> tuple[int, int]:
    """The HTTP status and the code of an error."""
    reply = replied(sent_headers, sent)
    return reply.status, JSONRPCError.model_validate(reply.document).error.code


@pytest.mark.parametrize(
    ("asked", "answered"), [*((known, known) for known in LEGACY), ("1999-01-01", LEGACY[0]), (MODERN, LEGACY[0])]
)
def test_an_older_client_gets_its_version_or_the_newest_of_them(asked: str, answered: str) -> None:
    begun = InitializeResult.model_validate(result({}, message("initialize", {"protocolVersion": asked})))
    assert begun.protocol_version == answered
    assert begun.capabilities.tools is not None
    assert "ask" in (begun.instructions or "")
    assert result({"mcp-protocol-version": "2025-11-25"}, message("ping")) == {}


def test_a_client_of_2026_discovers_the_same() -> None:
    found = DiscoverResult.model_validate(result(headers("server/discover"), modern("server/discover")))
    assert found.supported_versions == [MODERN]
    assert found.capabilities.tools is not None
    assert (found.result_type, found.cache_scope) == ("complete", "private")


def test_the_tools_are_read_only_and_described_in_both_eras() -> None:
    old, new = result({}, message()), result(headers(), modern())
    assert old["tools"] == new["tools"]
    assert new.keys() - old.keys() == {"resultType", "ttlMs", "cacheScope", "_meta"}
    tools = ListToolsResult.model_validate(new).tools
    assert [tool.name for tool in tools] == ["search", "fetch", "ask"]
    for tool in tools:
        assert tool.annotations
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
        assert tool.description
        for schema in (tool.input_schema, tool.output_schema):
            assert schema
            jsonschema_rs.meta.validate(schema)


def test_a_call_has_the_tool_and_its_arguments_and_is_answered_in_its_era() -> None:
    for sent_headers, sent in (
        ({}, message("tools/call", SEARCH)),
        (headers("tools/call", name="search"), modern("tools/call", SEARCH)),
    ):
        call = receive(sent_headers, sent)
        assert isinstance(call, Call)
        assert (call.tool, call.tool.read(call.arguments)) == (TOOLS["search"], "dental")
        reply = call.reply(search_result([], BASE))
        assert reply.status == 200
        assert reply.document
        assert ("resultType" in str(reply.document)) is bool(sent_headers)
        CallToolResult.model_validate(JSONRPCResponse.model_validate(reply.document).result)


def test_a_name_may_be_in_base64() -> None:
    wrapped = f"=?base64?{base64.b64encode(b'search').decode()}?="
    assert isinstance(receive(headers("tools/call", name=wrapped), modern("tools/call", SEARCH)), Call)


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "tools/call", "nothing"])
def test_a_notification_has_no_reply(method: str) -> None:
    sent = message(method, SEARCH)
    del sent["id"]
    assert replied({}, sent) == Reply(202)


OLD = {"mcp-protocol-version": "2025-11-25"}
CALL = headers("tools/call", name="search")


@pytest.mark.parametrize(
    ("sent_headers", "sent", "expected"),
    [
        ({}, {"body": [message()]}, (400, -32600)),
        ({}, {"body": 5}, (400, -32600)),
        ({}, {}, (400, -32600)),
        ({}, message(jsonrpc="1.0"), (400, -32600)),
        ({}, message(jsonrpc=2.0), (400, -32600)),
        ({}, {**message(), "method": 5}, (400, -32600)),
        ({}, {"jsonrpc": "2.0", "id": 1, "result": {}}, (400, -32600)),
        *(({}, {**message(), "id": odd}, (400, -32600)) for odd in (None, True, 1.5, [1], {"a": 1}, 2**53, -(2**60))),
        ({}, {**message(), "params": [1]}, (400, -32602)),
        ({}, {**message(), "params": "text"}, (400, -32602)),
        ({}, message(params={"_meta": 5}), (400, -32602)),
        ({}, message("nothing"), (200, -32601)),
        ({}, message("server/discover"), (200, -32601)),
        (OLD, message("resources/list"), (200, -32601)),
        ({}, message("initialize"), (200, -32602)),
        ({}, message("initialize", {"protocolVersion": 5}), (200, -32602)),
        ({}, message("tools/call"), (200, -32602)),
        ({}, message("tools/call", {"name": "Search"}), (200, -32602)),
        ({}, message("tools/call", {"name": ["search"]}), (200, -32602)),
        ({}, message("tools/call", {"name": "search", "arguments": []}), (200, -32602)),
        (headers("nothing"), modern("nothing"), (404, -32601)),
        (headers("ping"), modern("ping"), (404, -32601)),
        (headers("initialize"), modern("initialize"), (404, -32601)),
        (headers("tools/call"), modern("tools/call"), (400, -32602)),
        (headers("tools/call", name="no"), modern("tools/call", {"name": "no"}), (400, -32602)),
        (CALL, modern("tools/call", {"name": "search", "arguments": "dental"}), (400, -32602)),
        (headers(), message(), (400, -32602)),
        (headers(), message(params={"_meta": {VERSION: "2026-07-28"}}), (400, -32602)),
        (headers(), modern(meta=META | {CAPABILITIES: None}), (400, -32602)),
        ({}, modern(), (400, -32020)),
        (OLD, modern(), (400, -32020)),
        (headers(), modern(meta=META | {VERSION: "2025-11-25"}), (400, -32020)),
        (headers(), modern(meta=META | {VERSION: 5}), (400, -32020)),
        (headers("tools/call"), modern(), (400, -32020)),
        ({"mcp-protocol-version": "2026-07-28"}, modern(), (400, -32020)),
        (headers("Tools/List"), modern(), (400, -32020)),
        (headers("tools/call"), modern("tools/call", SEARCH), (400, -32020)),
        (headers("tools/call", name="ask"), modern("tools/call", SEARCH), (400, -32020)),
        (headers("tools/call", name="=?base64?!?="), modern("tools/call", SEARCH), (400, -32020)),
        (headers("tools/call", name="=?base64?/w==?="), modern("tools/call", SEARCH), (400, -32020)),
        (headers(version="2099-01-01"), modern(meta=META | {VERSION: "2099-01-01"}), (400, -32022)),
        ({"mcp-protocol-version": "2099-01-01"}, message(), (400, -32022)),
        ({"mcp-protocol-version": ""}, message(), (400, -32022)),
    ],
)
def test_what_keeps_no_protocol_is_refused_with_its_status_and_code(
    sent_headers: Mapping[str, str], sent: Mapping[str, Json], expected: tuple[int, int]
) -> None:
    assert refusal(sent_headers, sent) == expected


def test_a_version_that_nobody_knows_is_answered_with_those_that_are_known() -> None:
    document = replied({"mcp-protocol-version": "2099-01-01"}, message(id="a")).document
    error = JSONRPCError.model_validate(document)
    assert (error.id, error.error.data) == ("a", {"supported": [MODERN, *LEGACY], "requested": "2099-01-01"})


def test_an_error_has_the_requests_id_or_null() -> None:
    assert (replied({}, message("nothing", id="x")).document or {})["id"] == "x"
    assert (replied({}, message("nothing", id=[])).document or {})["id"] is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMED = st.sampled_from(["tools/call", "tools/list", "initialize", "server/discover", "ping", "notifications/x"])
versions = st.sampled_from([MODERN, *LEGACY, "2099-01-01", ""])
metas = values | st.fixed_dictionaries({}, optional={VERSION: versions | values, CAPABILITIES: values})
params_of = values | st.fixed_dictionaries(
    {},
    optional={
        "_meta": metas,
        "name": st.sampled_from([*TOOLS, "no"]) | values,
        "arguments": values | st.dictionaries(st.sampled_from(["query", "id", "question"]), values),
        "protocolVersion": versions | values,
    },
)
messages = st.fixed_dictionaries(
    {}, optional={"jsonrpc": st.just("2.0") | values, "id": values, "method": NAMED | values, "params": params_of}
)
sent_with = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": versions | st.text(max_size=12),
        "mcp-method": NAMED | st.text(max_size=12),
        "mcp-name": st.sampled_from([*TOOLS, "=?base64?c2VhcmNo?=", "=?base64?%?="]) | st.text(max_size=12),
    },
)


@settings(deadline=None)
@given(sent_headers=sent_with, sent=messages)
def test_any_message_has_a_reply_that_is_json_rpc(sent_headers: dict[str, str], sent: dict[str, Any]) -> None:
    found = receive(sent_headers, sent)
    if isinstance(found, Call):
        try:
            found.tool.read(found.arguments)
        except BadRequest as error:
            found = found.reply(failed_result(error, "1"))
        else:
            return
    if found.status == 202:
        assert "id" not in sent
        assert found.document is None
        return
    document = read_json_object(encode_json(found.document))
    if found.status == 200 and "result" in document:
        assert JSONRPCResponse.model_validate(document).id == sent["id"]
    else:
        assert found.status in (200, 400, 404)
        JSONRPCError.model_validate(document)


@pytest.mark.parametrize(
    "arguments", [{}, {"query": None}, {"query": 5}, {"query": ["a"]}, {"query": " \n"}, {"q": "a"}]
)
def test_an_argument_that_is_no_text_is_named(arguments: dict[str, Json]) -> None:
    with pytest.raises(BadRequest, match="query: should be a text that is not empty"):
        TOOLS["search"].read(arguments)


@pytest.mark.parametrize(
    ("error", "code"),
    [(BadRequest("No."), -32700), (TooLarge("No."), -32600), (InternalError("No."), -32603), (RateLimited("No."), 429)],
)
def test_a_request_that_is_not_served_says_why(error: SwitchboardError, code: int) -> None:
    document = error_record(error, "abc", 7)
    found = JSONRPCError.model_validate(document)
    assert (found.id, found.error.code, found.error.message) == (7, code, "No. (invocation abc)")
    assert error_record(error, "abc")["id"] is None


def passage(text: str, page: str = "plan.pdf#page=1", file: str = "plan.pdf") -> Passage:
    return Passage("1", text, page, file)


def structured(tool: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The structured result of a tool, which has to be valid by its schema and be the text too."""
    schema = cast("Any", TOOLS[tool].definition["outputSchema"])
    jsonschema_rs.Draft202012Validator(schema).validate(found["structuredContent"])
    assert found["isError"] is False
    if tool != "ask":
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    return found["structuredContent"]


def test_a_search_names_each_page_once_with_its_link() -> None:
    found = search_result([passage("a"), passage("b", "c d.md", "c d.md"), passage("c")], BASE)
    assert structured("search", found) == {
        "results": [
            {"id": "plan.pdf#page=1", "title": "plan.pdf#page=1", "url": f"{BASE}/content/plan.pdf#page=1"},
            {"id": "c d.md", "title": "c d.md", "url": f"{BASE}/content/c%20d.md"},
        ]
    }


def test_a_document_is_the_text_of_its_passages_without_what_they_share() -> None:
    texts = ["One. A sentence for two. ", "A sentence for two. Three.", "Four."]
    passages = [*map(passage, texts), passage("A sentence for two.", "plan.pdf#page=2")]
    found = structured("fetch", fetch_result("plan.pdf", passages, BASE))
    assert found["text"] == "One. A sentence for two. Three.\n\nFour.\n\nA sentence for two."
    assert (found["id"], found["url"]) == ("plan.pdf", f"{BASE}/content/plan.pdf")


def test_a_file_whose_path_citations_escape_is_found_by_its_path() -> None:
    found = fetch_result("a[b].pdf", [passage("Text.", "a%5Bb%5D.pdf#page=1", "a[b].pdf")], BASE)
    assert structured("fetch", found)["url"] == f"{BASE}/content/a%255Bb%255D.pdf"


def test_a_long_document_is_cut_with_a_sentence_that_says_so() -> None:
    whole = structured("fetch", fetch_result("plan.pdf", [passage("x" * LONGEST_TEXT)], BASE))["text"]
    assert whole == "x" * LONGEST_TEXT
    cut = structured("fetch", fetch_result("plan.pdf", [passage("x" * LONGEST_TEXT), passage("y.")], BASE))["text"]
    assert cut.startswith("x" * LONGEST_TEXT + "\n\n[Cut here: the document is longer.")
    assert "y" not in cut.partition("[")[0]


def test_without_passages_there_is_no_document() -> None:
    with pytest.raises(NotFound, match="There is no such document"):
        fetch_result("plan.pdf", [], BASE)


def test_an_answer_lists_the_sources_that_it_cites_each_once() -> None:
    answer = Answer(
        "80 % [plan.pdf#page=1]. Two years [dental.md], [plan.pdf#page=1], [invented.md].",
        (DataPoint("dental.md", "…"), DataPoint("plan.pdf#page=1", "…"), DataPoint("unused.md", "…")),
        (),
        CompletionStarted("1", 1, "m"),
        Finished("stop"),
    )
    found = ask_result(answer, BASE)
    assert structured("ask", found)["answer"] == answer.text
    assert [source["id"] for source in structured("ask", found)["sources"]] == ["plan.pdf#page=1", "dental.md"]
    assert found["content"] == [
        {
            "type": "text",
            "text": f"{answer.text}\n\nSources:\n- [plan.pdf#page=1]: {BASE}/content/plan.pdf#page=1\n"
            f"- [dental.md]: {BASE}/content/dental.md",
        }
    ]
    plain = ask_result(replace(answer, text="I do not know."), BASE)
    assert (plain["content"], structured("ask", plain)["sources"]) == ([{"type": "text", "text": "I do not know."}], [])


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_says_so_before_its_sources(reason: str) -> None:
    points = (DataPoint("dental.md", "…"),)
    answer = Answer("Two years [dental.md] and", points, (), CompletionStarted("1", 1, "m"), Finished(reason))
    found = ask_result(answer, BASE)
    said = structured("ask", found)["answer"]
    assert said.startswith("Two years [dental.md] and\n\n*(The ")
    assert found["content"] == [
        {"type": "text", "text": f"{said}\n\nSources:\n- [dental.md]: {BASE}/content/dental.md"}
    ]
    nothing = structured("ask", ask_result(replace(answer, text=""), BASE))["answer"]
    assert nothing.startswith("*(The ")


def test_a_fault_names_the_invocation_only_where_the_caller_cannot_help_it() -> None:
    assert failed_result(NotFound("No."), "abc") == {"content": [{"type": "text", "text": "No."}], "isError": True}
    down = failed_result(Unavailable("Down."), "abc")
    assert down["content"] == [{"type": "text", "text": "Down. (invocation abc)"}]
