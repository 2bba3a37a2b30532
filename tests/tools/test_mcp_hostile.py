"""MCP servers that answer as they should not: what agents get of it, and what the log and health say."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from shared.tools import ToolResult
from tests.test_event_loop_budget import AT_ONCE, slowest_turn
from tests.tools.listening import DROP, LOOK, Listening, Mcp, result
from tests.tools.serving import NO_ANSWER, UNKNOWN, call, definition, tool_servers, tools_of


async def called(
    mcp: Mcp, answer: Callable[[web.Request, dict[str, Any]], Awaitable[Any]], **allowed: Any
) -> ToolResult:
    """The result of a call of `drop` that is answered so."""
    mcp.on_call = answer
    named = definition(mcp.url, tools={"drop": allowed})
    async with tool_servers(named) as servers:
        return await call((await tools_of(servers))["crm.drop"], a=1)


async def test_an_answer_of_a_hundred_megabytes_is_not_read(mcp: Mcp) -> None:
    sent = 0

    async def flood(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{{"x":"'.encode())
        for _ in range(100):
            await response.write(b"x" * 1_000_000)
            sent += 1
        return response

    assert (await called(mcp, flood)).text == f"{NO_ANSWER} {UNKNOWN}"
    assert sent < 50


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[" * 100_000, "application/json"),
        (b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 50_000, "application/json"),
        (b"{}", "application/json"),
        (b'{"jsonrpc":"2.0","id":"ID","result":{"content":[' + b"{}," * 700_000 + b"{}]}}", "application/json"),
        (b"<html>", "text/html"),
        (b"\xff\xfe", "application/json"),
        (b"data: " + b"x" * 5_000_000, "text/event-stream"),
        (b"", "text/event-stream"),
    ],
    ids=["deep", "deep result", "empty", "many", "a page", "bytes", "long event", "no event"],
)
async def test_what_is_no_answer_is_told_as_such(mcp: Mcp, body: bytes, kind: str) -> None:
    async def answer(_: web.Request, message: dict[str, Any]) -> web.Response:
        return web.Response(body=body.replace(b'"ID"', str(message["id"]).encode()), content_type=kind)

    told = await called(mcp, answer)
    assert told.is_error
    assert told.text.endswith(UNKNOWN)


@pytest.mark.parametrize("levels", [100, 400, 900, 3_000, 20_000])
async def test_what_is_nested_deeply_fails_no_turn(mcp: Mcp, levels: int) -> None:
    nested = '{"properties":{"a":' * levels + "{}" + "}}" * levels

    def of(message: dict[str, Any], result: str) -> web.Response:
        text = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{result}}}'
        return web.Response(text=text, content_type="application/json")

    async def tools(_: web.Request, message: dict[str, Any]) -> web.Response:
        drop, schema = json.dumps(DROP), f'{{"type":"object","x":{nested},{nested[1:]}'
        return of(message, f'{{"tools":[{drop},{{"name":"look","inputSchema":{schema}}}]}}')

    async def answer(_: web.Request, message: dict[str, Any]) -> web.Response:
        return of(message, f'{{"content":[],"structuredContent":{nested}}}')

    told = await called(mcp, answer)
    assert told.text.startswith(nested[:1_000]) or UNKNOWN in told.text
    mcp.on_list = tools
    async with tool_servers(definition(mcp.url)) as servers:
        assert "crm.look" not in await tools_of(servers)


async def test_a_redirect_to_another_host_is_not_followed_and_one_to_a_slash_is(mcp: Mcp) -> None:
    async with Listening() as other:

        async def away(_: web.Request, __: dict[str, Any]) -> web.Response:
            return web.Response(status=307, headers={"Location": f"{other.endpoint}/mcp"})

        async def slash(request: web.Request, message: dict[str, Any]) -> web.Response:
            if request.path.endswith("/"):
                return result(message, {"content": [{"type": "text", "text": "done"}]})
            return web.Response(status=307, headers={"Location": "/mcp/"})

        async def nowhere(_: web.Request, __: dict[str, Any]) -> web.Response:
            return web.Response(status=307, headers={"Location": "http://["})

        for redirect in (away, nowhere):
            assert (await called(mcp, redirect)).text == f"{NO_ANSWER} {UNKNOWN}"
        assert await called(mcp, slash) == ToolResult("done")
        assert not other.sent


async def test_a_server_that_never_answers_is_given_up_in_time_and_a_caller_who_leaves_ends_it(mcp: Mcp) -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def never(_: web.Request, __: dict[str, Any]) -> web.Response:
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        raise AssertionError

    told = await called(mcp, never, seconds=1)
    assert told.text == f"Error: The server of crm took too long. Try again. {UNKNOWN}"
    await asyncio.wait_for(left.wait(), 20)
    arrived.clear()
    left.clear()
    calling = asyncio.create_task(called(mcp, never))
    await asyncio.wait_for(arrived.wait(), 20)
    calling.cancel()
    await asyncio.wait_for(left.wait(), 20)


async def test_a_question_back_is_refused_with_what_it_asks(mcp: Mcp) -> None:
    async def ask(_: web.Request, message: dict[str, Any]) -> web.Response:
        asked = {"method": "elicitation/create", "params": {"message": "Really drop x?", "mode": "form"}}
        back = {"resultType": "input_required", "inputRequests": {"ok": asked}, "requestState": "v1"}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": back})

    told = await called(mcp, ask)
    assert told.is_error
    assert "nothing was done" in told.text
    assert told.text.endswith("It asks: Really drop x?")
    [sent] = mcp.asked("tools/call")
    assert sent.json["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}


async def test_results_of_every_kind_become_a_bounded_text_and_nothing_is_fetched(mcp: Mcp) -> None:
    async def answer(_: web.Request, message: dict[str, Any]) -> web.Response:
        content = [
            {"type": "text", "text": "said"},
            {"type": "text", "text": '{"b": [1]}'},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "uri": f"{mcp.endpoint}/fetched", "name": "more"},
            {"type": "unheard of"},
            {"type": "text", "text": "x" * 100_000},
        ]
        return result(message, {"content": content, "structuredContent": {"b": [1]}})

    told = await called(mcp, answer)
    assert told.text.startswith(
        '{"b":[1]}\nsaid\n[image image/png, which is not shown]\nfile:///a\ninside\n'
        f"[a link: more {mcp.endpoint}/fetched]\nxxx"
    )
    assert len(told.text) < 50_100
    assert told.text.endswith("more characters are left out]")
    assert {sent.path for sent in mcp.sent} == {"/mcp"}


async def test_arguments_that_headers_repeat_are_in_the_headers(mcp: Mcp) -> None:
    properties = {
        "a": {"type": "integer", "x-mcp-header": "Number"},
        "where": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
    }
    mcp.tools[1] |= {"inputSchema": {"type": "object", "properties": properties}}
    wrong = {"list": {"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}}}
    mcp.tools[0] = LOOK | {"inputSchema": {"type": "object", "properties": wrong}}
    async with tool_servers(definition(mcp.url)) as servers:
        tools = await tools_of(servers)
        assert [*tools] == ["crm.drop"], "a header that is declared wrongly"
        await call(tools["crm.drop"], a=7, where={"city": "Zürich"})
    [sent] = mcp.asked("tools/call")
    assert sent.headers["Mcp-Param-Number"] == "7"
    assert sent.headers["Mcp-Param-City"] == "=?base64?WsO8cmljaA==?="
    assert (sent.headers["Mcp-Name"], sent.headers["Mcp-Method"]) == ("drop", "tools/call")


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        ({"key": "CRM_KEY"}, ("Authorization", "Bearer s3cret")),
        ({"key": "CRM_KEY", "header": "x-functions-key"}, ("x-functions-key", "s3cret")),
    ],
)
async def test_a_key_is_sent_with_each_request_and_shown_nowhere(
    mcp: Mcp, caplog: pytest.LogCaptureFixture, auth: dict[str, str], header: tuple[str, str]
) -> None:
    caplog.set_level(logging.DEBUG)
    async with tool_servers(definition(mcp.url, auth=auth), keys={"CRM_KEY": "s3cret"}) as servers:
        tools = await tools_of(servers)
        told = await call(tools["crm.look"])
        health = await servers.check()
    assert {sent.headers[header[0]] for sent in mcp.sent} == {header[1]}
    assert "s3cret" not in f"{caplog.text}{tools}{told}{health}"


@pytest.mark.parametrize(
    ("schema", "offered"),
    [
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": None, "required": None}, {"type": "object", "properties": {}}),
        ({"$schema": "x"}, {"type": "object", "$schema": "x", "properties": {}}),
        (None, {"type": "object", "properties": {}}),
        (
            {"properties": {"a": {"type": "array", "items": None}, "b": {"type": ["object", "null"]}, "c": None}},
            {
                "type": "object",
                "properties": {
                    "a": {"type": "array", "items": {}},
                    "b": {"type": ["object", "null"], "properties": {}},
                    "c": {},
                },
            },
        ),
        (
            {"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
    ],
    ids=["no properties", "null", "only $schema", "none", "within", "alternatives"],
)
async def test_schemas_reach_a_model_as_openai_takes_them(mcp: Mcp, schema: Any, offered: Any) -> None:
    mcp.tools[1] = DROP | {"inputSchema": schema, "description": None, "annotations": None}
    async with tool_servers(definition(mcp.url)) as servers:
        drop = (await tools_of(servers))["crm.drop"]
        assert drop.definition.parameters == offered
        assert (await call(drop)).text == "done"


async def test_null_in_a_result_is_as_absent_and_blocks_of_json_are_read(mcp: Mcp) -> None:
    async def answer(_: web.Request, message: dict[str, Any]) -> web.Response:
        nothing = dict.fromkeys(("structuredContent", "isError", "resultType", "_meta", "inputRequests"))
        content = [
            {"type": "text", "text": "said", "data": None, "mimeType": None, "annotations": None},
            {"type": "json", "json": {"a": [1, 2]}},
            {"type": "json", "data": {"b": None}},
            {"type": "resource", "resource": {"uri": None, "text": "inside", "mimeType": None}},
            {"type": "text", "text": None},
        ]
        return result(message, {"content": content, **nothing})

    assert await called(mcp, answer) == ToolResult('said\n{"a":[1,2]}\n{"b":null}\n\ninside')

    async def empty(_: web.Request, message: dict[str, Any]) -> web.Response:
        return result(message, {"content": None})

    assert await called(mcp, empty) == ToolResult("[an empty result]")


async def test_neither_a_list_nor_a_result_of_megabytes_holds_the_event_loop(mcp: Mcp) -> None:
    large = json.dumps({"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(110_000)}})
    nested = json.dumps([[n, str(n)] for n in range(200_000)])

    def body(message: dict[str, Any], value: str) -> web.Response:
        text = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{value}}}'
        return web.Response(body=text.encode(), content_type="application/json")

    async def pages(_: web.Request, message: dict[str, Any]) -> web.Response:
        number = int(message["params"].get("cursor", 0))
        listed = json.dumps(mcp.tools[number]) if number < 2 else f'{{"name":"no{number}","inputSchema":{large}}}'
        return body(
            message, f'{{"tools":[{listed}],"ttlMs":0' + (f',"nextCursor":"{number + 1}"}}' if number < 4 else "}")
        )

    async def answer(_: web.Request, message: dict[str, Any]) -> web.Response:
        return body(message, f'{{"content":[],"structuredContent":{nested}}}')

    mcp.on_list, mcp.on_call = pages, answer
    async with tool_servers(definition(mcp.url)) as servers:

        async def work() -> None:
            told = await call((await tools_of(servers))["crm.drop"])
            assert told.text.startswith('[[0, "0"]')

        assert min([await slowest_turn(work()) for _ in range(3)]) < AT_ONCE
