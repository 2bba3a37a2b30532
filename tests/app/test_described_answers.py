"""The running app sends what its OpenAPI document says, and no key that it does not say."""

import json
from typing import Any

import aiohttp
import pytest

from shared.chat_types import Json
from shared.description import openapi_json, swagger_json
from shared.errors import SwitchboardError
from shared.wire.framing import Framing
from shared.wire.table import PROTOCOLS
from tests.app.conftest import hosted
from tests.description.documents import OPENAPI
from tests.description.schemas import differences
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

FILTERED: dict[str, Json] = {"hate": {"filtered": False, "severity": "safe"}}
FOLLOWUPS = {"context": {"overrides": {"suggest_followup_questions": True}}}
SAID = [
    {"role": "user", "content": "What does the Standard plan pay?"},
    {"role": "assistant", "content": "80 % of dental care. [plan.pdf#page=3]"},
    {"role": "user", "content": "And for implants?"},
]
CONVERSATION = {"messages": SAID, "input": SAID}
"""Under the keys of all protocols."""
IN_AG_UI = {"forwardedProps": FOLLOWUPS["context"]}
PINNED = pytest.mark.parametrize("name", PROTOCOLS)
WITH_WHOLE_ANSWERS = [name for name, protocol in PROTOCOLS.items() if protocol.answer]


def problems(response: dict[str, Any], media_type: str, sent: Any, key: str = "schema") -> list[str]:
    """What is wrong with a body or a record, by a response object of the document."""
    return differences(response["content"][media_type][key], sent)


def responses(path: str) -> dict[str, Any]:
    return OPENAPI["paths"][path]["post"]["responses"]


def records(framing: Framing, stream: bytes) -> list[dict[str, Any]]:
    parts = stream.removesuffix(framing.end).removesuffix(framing.after).split(framing.after)
    return [json.loads(part.rpartition(b"\n")[2].removeprefix(framing.before)) for part in parts]


def undescribed(path: str, content_type: str, framing: Framing, answer: bytes) -> list[str]:
    """What is wrong with a whole answer, or with the records of a stream."""
    described = responses(path)["200"]
    if content_type == "application/json":
        return problems(described, content_type, json.loads(answer))
    return [
        text for line in records(framing, answer) for text in problems(described, content_type, line, "x-itemSchema")
    ]


def script(openai: OpenAIStandIn) -> None:
    """A whole answer of Azure OpenAI: filter results of the prompt and of the answer, and usage."""
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply(
        {**openai.chunk({}), "choices": [], "prompt_filter_results": [{"prompt_index": 0, **FILTERED}]},
        "After two years. [dental.md] [nowhere.md]",
        {**openai.chunk({}), "choices": [{"index": 0, "delta": {}, "content_filter_results": FILTERED}]},
        "<<Are braces paid?>>",
    )


@pytest.mark.parametrize("name", WITH_WHOLE_ANSWERS)
async def test_a_whole_answer_is_as_described(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, name: str
) -> None:
    script(openai)
    async with http.post(f"{app.url}/{name}/chat", json=CONVERSATION | FOLLOWUPS) as response:
        answer = await response.json()
    assert (response.status, response.content_type) == (200, "application/json")
    assert not problems(responses(f"/{name}/chat")["200"], "application/json", answer)
    assert "Are braces paid?" in json.dumps(answer)


@PINNED
async def test_every_record_of_a_stream_is_as_described(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, name: str
) -> None:
    script(openai)
    asked = CONVERSATION | (IN_AG_UI if name == "ag-ui" else FOLLOWUPS)
    async with http.post(f"{app.url}/{name}/chat/stream", json=asked) as response:
        stream = await response.read()
    described = responses(f"/{name}/chat/stream")["200"]
    assert response.status == 200
    sent = records(PROTOCOLS[name].framing, stream)
    assert len(sent) > 2
    assert not [text for line in sent for text in problems(described, response.content_type, line, "x-itemSchema")]


@PINNED
async def test_a_failure_inside_a_stream_is_a_record_as_described(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, name: str
) -> None:
    openai.reply_raw(f"data: {json.dumps(openai.chunk({'content': 'Half'}))}\n\n".encode(), cut=True)
    async with http.post(f"{app.url}/{name}/chat/stream", json=PROTOCOLS[name].example) as response:
        stream = await response.read()
    described = responses(f"/{name}/chat/stream")["200"]
    last = records(PROTOCOLS[name].framing, stream)[-1]
    assert "error" in last or last["type"] in ("RUN_ERROR", "error")
    assert not problems(described, response.content_type, last, "x-itemSchema")


@PINNED
async def test_the_keep_alive_of_a_stream_is_a_record_as_described_or_a_comment(name: str) -> None:
    framing = PROTOCOLS[name].framing
    if framing.keep_alive.startswith(b":"):
        return
    described = responses(f"/{name}/chat/stream")["200"]
    [record] = records(framing, framing.keep_alive)
    assert not problems(described, framing.content_type, record, "x-itemSchema")


async def test_a_stream_that_the_body_asks_for_is_as_described(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    for path in ("/chat", "/ask", "/ai-chat-2024-01-28/chat"):
        asked = PROTOCOLS["ai-chat-2024-01-28"].example | {"stream": True}
        async with http.post(built_in.url + path, json=asked) as response:
            stream = await response.read()
        described = responses(path)["200"]
        sent = records(PROTOCOLS["ai-chat-2024-01-28"].framing, stream)
        assert not [text for line in sent for text in problems(described, response.content_type, line, "x-itemSchema")]


@PINNED
@pytest.mark.parametrize("route", ["chat", "chat/stream", "ask", "multi-agent-chat/batch", "multi-agent-chat/stream"])
async def test_the_example_is_answered_as_described_with_nothing_configured(
    built_in: RunningHost, http: aiohttp.ClientSession, name: str, route: str
) -> None:
    path = f"/{name}/{route}"
    async with http.post(built_in.url + path, json=PROTOCOLS[name].example) as response:
        answer = await response.read()
    assert response.status == 200
    assert not undescribed(path, response.content_type, PROTOCOLS[name].framing, answer)


@PINNED
@pytest.mark.parametrize("route", ["multi-agent-chat/batch", "multi-agent-chat/stream"])
async def test_what_agents_say_and_what_they_fail_with_is_as_described(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, name: str, route: str
) -> None:
    with openai.to("You are Alpha"):
        openai.reply(
            {**openai.chunk({}), "choices": [], "prompt_filter_results": [{"prompt_index": 0, **FILTERED}]},
            "Alpha's.",
            {**openai.chunk({}), "choices": [{"index": 0, "delta": {}, "content_filter_results": FILTERED}]},
        )
    with openai.to("You are Beta"):
        openai.fail(400, code="content_filter")
    path = f"/{name}/{route}"
    async with http.post(team.url + path, json=PROTOCOLS[name].example) as response:
        answer = await response.read()
    assert response.status == 200
    assert not undescribed(path, response.content_type, PROTOCOLS[name].framing, answer)
    assert b"Beta" in answer


@pytest.mark.parametrize("path", ["/multi-agent-chat/batch", "/multi-agent-chat/stream"])
async def test_what_agents_say_on_the_bare_routes_is_as_described(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(built_in.url + path, json=PROTOCOLS["semantic-kernel"].example) as response:
        answer = await response.read()
    assert not undescribed(path, response.content_type, PROTOCOLS["semantic-kernel"].framing, answer)


@PINNED
@pytest.mark.parametrize("status", [400, 429, 503])
async def test_an_error_is_as_described(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, name: str, status: int
) -> None:
    if status != 400:
        openai.fail({429: 429, 503: 401}[status], headers={"Retry-After": "120"})
    sent: dict[str, Json] = {"messages": []} if status == 400 else PROTOCOLS[name].example
    async with http.post(f"{app.url}/{name}/chat", json=sent) as response:
        if status != 400 and SwitchboardError in PROTOCOLS[name].fails_in_stream:
            assert response.status == 200
            assert b'"type":"RUN_ERROR"' in await response.read()
            return
        error = await (response.text() if PROTOCOLS[name].plain_errors else response.json())
    described = responses(f"/{name}/chat")[str(status)]
    assert response.status == status
    assert not problems(described, response.content_type, error)
    headers = described.get("headers", {})
    sent_headers = {"Retry-After"} & {key.title() for key in response.headers}
    assert {key for key, header in headers.items() if header["required"]} <= sent_headers <= set(headers)


async def test_health_is_as_described_well_and_unwell(
    built_in: RunningHost, http: aiohttp.ClientSession, data_dir: Any
) -> None:
    described = OPENAPI["paths"]["/health"]["get"]["responses"]
    async with hosted(data_dir, {"OPENAI_API_KEY": "k"}) as unwell:
        for host, status in ((built_in, 200), (unwell, 503)):
            async with http.get(host.url + "/health") as response:
                assert response.status == status
                assert not problems(described[str(status)], response.content_type, await response.json())


@pytest.mark.parametrize("path", ["/openapi.json", "/swagger.json"])
async def test_the_app_serves_its_description_even_when_it_cannot_answer(
    built_in: RunningHost, http: aiohttp.ClientSession, data_dir: Any, path: str
) -> None:
    described = OPENAPI["paths"][path]["get"]["responses"]["200"]
    environment = {"OPENAI_API_KEY": "k", "WEBSITE_HOSTNAME": "switchboard.azurewebsites.net"}
    swagger = swagger_json("none", "https://switchboard.azurewebsites.net/api")
    expected = openapi_json("none") if path == "/openapi.json" else swagger
    async with hosted(data_dir, environment) as unwell, http.get(unwell.url + path) as response:
        assert (response.status, response.content_type) == (200, "application/json")
        assert await response.read() == expected
    assert not problems(described, "application/json", json.loads(expected))
    async with http.get(built_in.url + path) as response:
        assert "host" not in await response.json()


@pytest.mark.parametrize(
    "sent",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"question": "Hi"}}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fetch"}},
        {"jsonrpc": "2.0", "id": 1, "method": "nothing"},
        {"jsonrpc": "2.0", "id": None, "method": "nothing"},
        [],
    ],
)
async def test_a_reply_of_mcp_is_as_described(built_in: RunningHost, http: aiohttp.ClientSession, sent: Any) -> None:
    async with http.post(f"{built_in.url}/mcp", json=sent) as response:
        described = responses("/mcp")[str(response.status)]
        assert problems(described, "application/json", await response.json()) == []
