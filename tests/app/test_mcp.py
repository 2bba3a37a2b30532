"""MCP as its own Python package speaks it, in both eras, against the running app; and what is no MCP."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import BAD, guarded
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

MODES = ["auto", "2026-07-28", "legacy"]
EACH_MODE = pytest.mark.parametrize("mode", MODES)
LEAVING_SECONDS = 20
"""Less than the 30 seconds after which a silent model is given up in any case."""
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@asynccontextmanager
async def client_of(host: RunningHost, mode: str = "auto") -> AsyncGenerator[Client]:
    async with Client(f"{host.url}/mcp", mode=mode, read_timeout_seconds=60) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    (item,) = result.content
    assert isinstance(item, TextContent)
    return item.text


def structured(result: CallToolResult) -> dict[str, Any]:
    assert result.structured_content
    return result.structured_content


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return LIST | {"method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@EACH_MODE
async def test_a_client_finds_searches_reads_and_asks(
    built_in: RunningHost, http: aiohttp.ClientSession, mode: str
) -> None:
    async with client_of(built_in, mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search", "fetch", "ask"]
        found = await client.call_tool("search", {"query": QUESTION})
        results = structured(found)["results"]
        assert json.loads(text_of(found)) == found.structured_content
        assert {(one["id"], one["url"]) for one in results} == {
            ("plan.pdf#page=3", f"{built_in.url}/content/plan.pdf#page=3"),
            ("dental.md", f"{built_in.url}/content/dental.md"),
        }
        async with http.get(results[0]["url"]) as response:
            assert response.status == 200
        for name in ("plan.pdf#page=3", "plan.pdf"):
            read = await client.call_tool("fetch", {"id": name})
            assert read.structured_content == {
                "id": name,
                "title": name,
                "url": f"{built_in.url}/content/{name}",
                "text": "The Standard plan pays 80 % of dental care.",
            }
        answer = await client.call_tool("ask", {"question": QUESTION})
        assert not answer.is_error
        assert "80 % of dental care. [plan.pdf#page=3]" in text_of(answer)
        assert f"Sources:\n- [plan.pdf#page=3]: {built_in.url}/content/plan.pdf#page=3" in text_of(answer)
        assert structured(answer)["sources"][0]["id"] == "plan.pdf#page=3"


async def test_a_session_of_an_older_client_needs_no_more_than_its_beginning(built_in: RunningHost) -> None:
    async with streamable_http_client(f"{built_in.url}/mcp") as streams, ClientSession(*streams[:2]) as session:
        begun = await session.initialize()
        assert (begun.server_info.name, begun.protocol_version) == ("switchboard", "2025-11-25")
        await session.send_ping()
        found = await session.call_tool("fetch", {"id": "Kündigung.md"})
        assert "drei Monate" in structured(found)["text"]


@EACH_MODE
async def test_a_tool_that_fails_says_why_and_the_next_call_is_answered(
    app: RunningHost, openai: OpenAIStandIn, mode: str
) -> None:
    async with client_of(app, mode) as client:
        openai.fail(401, code="invalid_api_key")
        down = await client.call_tool("ask", {"question": QUESTION})
        assert down.is_error
        assert "(invocation " in text_of(down)
        assert down.structured_content is None
        openai.fail(429, headers={"Retry-After": "47"})
        assert (await client.call_tool("ask", {"question": QUESTION})).is_error
        unknown = await client.call_tool("fetch", {"id": "nothing.md"})
        assert unknown.is_error
        assert text_of(unknown).startswith("There is no such document.")
        for wrong in ({}, {"question": 5}, {"question": ""}, {"query": QUESTION}):
            missing = await client.call_tool("ask", wrong)
            assert (missing.is_error, text_of(missing)) == (True, "question: should be a text that is not empty.")
        too_long = await client.call_tool("search", {"query": "word " * 50_000})
        assert too_long.is_error
        assert "this app takes 8,000" in text_of(too_long)
        with pytest.raises(MCPError, match="There are: search, fetch, ask") as no_tool:
            await client.call_tool("delete", {})
        assert no_tool.value.code == -32602
        with pytest.raises(MCPError) as no_method:
            await client.list_prompts()
        assert no_method.value.code == -32601
        openai.reply("80 % [plan.pdf#page=3].")
        assert "80 %" in text_of(await client.call_tool("ask", {"question": QUESTION}))


@EACH_MODE
async def test_a_client_that_wants_it_is_told_of_progress_before_the_answer(
    app: RunningHost, openai: OpenAIStandIn, mode: str
) -> None:
    told = list[tuple[float, str | None]]()
    begun = asyncio.Event()

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        told.append((progress, message))
        begun.set()

    async with client_of(app, mode) as client:
        openai.reply("80 % ", begun, "[plan.pdf#page=3].")
        answer = await client.call_tool("ask", {"question": QUESTION}, progress_callback=tell)
        assert structured(answer)["answer"] == "80 % [plan.pdf#page=3]."
        assert told[0][0] > 0
        assert told[0][1]
        openai.fail(401, code="invalid_api_key")
        assert (await client.call_tool("ask", {"question": QUESTION}, progress_callback=tell)).is_error


async def test_who_leaves_finds_the_answer_by_the_same_question(data_dir: Path, openai: OpenAIStandIn) -> None:
    more = asyncio.Event()

    async def follow(progress: float, total: float | None, message: str | None) -> None:
        del progress, total, message
        more.set()

    async with hosted(data_dir, openai.settings | NO_VECTORS | {"CHAT_RUNS": "always"}) as host:
        chats, requests = len(openai.chats), len(openai.requests)
        openai.reply("80 % ", more, "is paid.")
        async with client_of(host) as client:
            leaving = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
            await openai.request_number(requests + 1)
            leaving.cancel()
            await asyncio.wait([leaving])
        async with client_of(host) as client:
            answer = await client.call_tool("ask", {"question": QUESTION}, progress_callback=follow)
            assert text_of(answer) == "80 % is paid."
            assert len(openai.chats) == chats + 1
            openai.reply("Ninety.")  # what was read is not kept
            assert text_of(await client.call_tool("ask", {"question": QUESTION})) == "Ninety."


async def test_what_the_guard_stops_is_a_failure_that_says_so(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard, client_of(under_guard.host) as client:
        asked = await client.call_tool("ask", {"question": f"A {BAD}?"})
        await openai.caught_up()  # the refused turn may have asked the model
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        answered = await client.call_tool("ask", {"question": "Hello?"})
        for stopped in (asked, answered):
            assert stopped.is_error
            assert BAD not in text_of(stopped)
            assert "It is fine" not in text_of(stopped)
        openai.reply("It is fine.")
        assert text_of(await client.call_tool("ask", {"question": "Hello?"})) == "It is fine."


async def test_who_cancels_a_call_ends_the_models_work(app: RunningHost, openai: OpenAIStandIn) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    async with client_of(app) as client:
        asking = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
        asked = await openai.request_number(before + 1)
        asking.cancel()
        async with asyncio.timeout(LEAVING_SECONDS):
            await asked.disconnected.wait()
        await asyncio.wait([asking])
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch", "ask"]


async def test_who_closes_the_connection_ends_the_models_work(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    asking = asyncio.create_task(http.post(f"{app.url}/mcp", json=call("ask", question=QUESTION)))
    asked = await openai.request_number(before + 1)
    asking.cancel()
    async with asyncio.timeout(LEAVING_SECONDS):
        await asked.disconnected.wait()


async def test_questions_are_kept_in_no_chat(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{app.url}/chat-history") as response:
        chats = await response.json()
    openai.reply("80 %.")
    async with client_of(app) as client:
        await client.call_tool("ask", {"question": QUESTION})
    async with http.get(f"{app.url}/chat-history") as response:
        assert await response.json() == chats


async def test_calls_of_tools_count_in_the_callers_budget_and_nothing_else_does(
    data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    limits = {"LIMIT_CALLER_REQUESTS_PER_MINUTE": "2"}
    async with hosted(data_dir, openai.settings | NO_VECTORS | limits) as host, client_of(host, "legacy") as client:
        for _ in range(5):
            await client.list_tools()
        for _ in range(2):
            assert not (await client.call_tool("search", {"query": "dental"})).is_error
        asked = len(openai.requests)
        with pytest.raises(MCPError, match=r"requests.*\(invocation ") as limited:
            await client.call_tool("ask", {"question": QUESTION})
        assert limited.value.code == 429
        assert len(openai.requests) == asked
        async with http.post(f"{host.url}/mcp", json=call("search", query="dental")) as response:
            refusal = await response.json()
            assert (response.status, refusal["id"]) == (429, 1)
            assert re.search(r"Try again in \d+ seconds", refusal["error"]["message"])
            assert int(response.headers.get("retry-after", 60)) in range(1, 61)  # none of more than a minute
            assert response.headers["x-ratelimit-remaining-requests"] == "0"


HUGE = json.dumps(call("search", query="x" * 10_000_000)).encode()
DEEP = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b"[" * 5_000 + b"]" * 5_000 + b"}"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (DEEP, 400, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 400, -32700),
        (b"--b\r\nContent-Disposition: form-data\r\n\r\n{}\r\n--b--", 400, -32700),
        (json.dumps([LIST, LIST]).encode(), 400, -32600),
        (b"17", 400, -32600),
        (b"null", 400, -32600),
        (b'"text"', 400, -32600),
        (b'{"messages":[{"role":"user","content":"Hello?"}]}', 400, -32600),
        (HUGE, 413, -32600),
        (b'{"a":[' + b"1," * 200_000 + b"1]}", 413, -32600),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else str(value),
)
async def test_a_body_that_is_no_message_is_refused_with_its_status_and_code(
    built_in: RunningHost, http: aiohttp.ClientSession, body: bytes, status: int, code: int
) -> None:
    async with http.post(
        f"{built_in.url}/mcp", data=BytesIO(body), headers={"Content-Type": "application/json"}
    ) as response:
        answer = await response.json()
    assert (response.status, answer["error"]["code"], answer["id"]) == (status, code, None)
    assert answer["error"]["message"]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html", "*/*", "q=;;", ""])
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=b"])
async def test_the_answer_is_json_whatever_the_headers_about_media_types_are(
    built_in: RunningHost, http: aiohttp.ClientSession, accept: str, content_type: str
) -> None:
    headers = {"Accept": accept, "Content-Type": content_type}
    async with http.post(f"{built_in.url}/mcp", data=json.dumps(LIST).encode(), headers=headers) as response:
        assert (response.status, response.content_type) == (200, "application/json")
        assert len((await response.json())["result"]["tools"]) == 3


async def test_a_notification_is_taken_without_a_body_and_calls_nothing(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    asked = len(openai.requests)
    sent = call("ask", question=QUESTION)
    del sent["id"]
    async with http.post(f"{app.url}/mcp", json=sent) as response:
        assert (response.status, await response.read()) == (202, b"")
    assert len(openai.requests) == asked


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_is_no_stream_and_no_session_to_end(
    built_in: RunningHost, http: aiohttp.ClientSession, method: str
) -> None:
    async with http.request(method, f"{built_in.url}/mcp") as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")


ORIGINS = {
    None: 200,
    "https://chat.example.com": 200,
    "https://Other.example.com": 200,
    "https://here.example.com": 200,
    "https://evil.example.com": 403,
    "https://chat.example.com.evil.example": 403,
    "https://here.example.com.evil.example": 403,
    "http://chat.example.com": 403,
    "null": 403,
}


async def test_a_page_of_another_origin_than_the_platform_allows_is_refused(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    settings = {
        "CORS": "*",  # else the local host refuses them before
        "WEBSITE_CORS_ALLOWED_ORIGINS": "https://chat.example.com,https://other.example.com",
        "PUBLIC_URL": "https://here.example.com/api",
    }
    async with hosted(data_dir, settings) as host:
        for origin, status in ORIGINS.items():
            headers = {"Origin": origin} if origin else {}
            async with http.post(f"{host.url}/mcp", json=LIST, headers=headers) as response:
                assert response.status == status, origin
                assert status == 200 or (await response.json())["error"]["code"] == 403
