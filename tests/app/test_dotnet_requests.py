"""What programs in .NET send and read, as raw requests: their packages cannot run here.

Recorded with Semantic Kernel 1.82, Microsoft.Extensions.AI 10.11, Agent Framework 1.28 and OpenAI 2.15 for .NET.
"""

import asyncio
import json
import re
from typing import Any

import aiohttp
import pytest

from tests.app.openai_sdk import PIXEL
from tests.app.test_answers import QUESTION
from tests.clients import ai_chat_protocol
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/responses"
NET = {"User-Agent": "OpenAI/2.15.0 (.NET 10.0.0; Linux)"}
HALF = b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'


def completions(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "switchboard", "messages": [*messages] or [{"role": "user", "content": QUESTION}], **more}


async def post(http: aiohttp.ClientSession, url: str, body: Any, **headers: str) -> tuple[int, Any, Any]:
    async with http.post(url, json=body, headers=headers) as response:
        return response.status, response.headers, await response.text()


async def prompt_after(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, path: str, body: Any
) -> list[dict[str, Any]]:
    """The messages that reach the model."""
    openai.reply("Yes.")
    status, _, told = await post(http, app.url + path, body)
    assert status == 200, told
    messages: Any = openai.chats[-1].body["messages"]
    return messages


def chat_history(*, web: bool) -> list[dict[str, Any]]:
    """A `ChatHistory` with an image, as `JsonSerializer` writes it, or with the casing of `PostAsJsonAsync`."""
    history: list[dict[str, Any]] = [
        {"Role": {"Label": "developer"}, "Items": [{"$type": "TextContent", "Text": "Answer like a sailor."}]},
        {
            "Role": {"Label": "user"},
            "Items": [
                {"$type": "TextContent", "Text": "What is in this picture?"},
                {"$type": "TextContent", "Text": "And what of the plan?"},
                {"$type": "ImageContent", "MimeType": "image/png", "Data": PIXEL},
            ],
        },
    ]

    written = json.dumps(history)
    return json.loads(
        re.sub(r'"([A-Z])(\w*)":', lambda key: f'"{key[1].lower()}{key[2]}":', written) if web else written
    )


@pytest.mark.parametrize("web", [False, True])
@pytest.mark.parametrize("path", ["/semantic-kernel/chat", "/semantic-kernel/chat/stream"])
async def test_a_chat_history_of_semantic_kernel_arrives_whole_in_either_casing(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, path: str, *, web: bool
) -> None:
    prompt = await prompt_after(app, http, openai, path, {"messages": chat_history(web=web)})
    assert "Answer like a sailor." in json.dumps(prompt[:-1])
    question = prompt[-1]["content"]
    texts = " ".join(part["text"] for part in question if part["type"] == "text")
    assert "What is in this picture?\n\nAnd what of the plan?" in texts
    assert [part["image_url"]["url"] for part in question if part["type"] == "image_url"] == [
        f"data:image/png;base64,{PIXEL}"
    ]


async def test_an_image_that_is_elsewhere_is_refused_and_not_lost(
    app: RunningHost, http: aiohttp.ClientSession
) -> None:
    items = [{"$type": "TextContent", "Text": "Hi"}, {"$type": "ImageContent", "Uri": "https://contoso.com/a.png"}]
    body = {"messages": [{"Role": {"Label": "user"}, "Items": items}]}
    status, _, told = await post(http, f"{app.url}/semantic-kernel/chat", body)
    assert status == 400
    assert "messages[0].items[1]: should be an image in base64" in told


async def test_an_empty_message_after_the_question_ends_no_hand_off(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    handed_off = completions(
        {"role": "user", "content": "What of crowns?"}, {"role": "user", "content": "", "name": "Triage"}
    )
    prompt = await prompt_after(app, http, openai, COMPLETIONS, handed_off)
    assert "What of crowns?" in json.dumps(prompt[-1])
    after_answer = completions({"role": "assistant", "content": "Half"}, {"role": "user", "content": " "})
    status, _, told = await post(http, app.url + COMPLETIONS, after_answer)
    assert (status, "is empty" in told) == (400, True)


@pytest.mark.parametrize("path", [COMPLETIONS, "/openai/deployments/gpt-4o/chat/completions"])
async def test_a_stream_that_fails_ends_with_its_error_and_without_the_last_bytes_of_a_response(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, path: str
) -> None:
    openai.reply_raw(HALF, cut=True)
    read, before = bytearray(), app.log()

    async def read_all() -> None:
        async with http.post(app.url + path, json=completions(stream=True), headers=NET) as response:
            async for piece in response.content.iter_any():
                read.extend(piece)

    with pytest.raises(aiohttp.ClientPayloadError):
        await read_all()
    last = json.loads(read.rstrip().rpartition(b"data: ")[2])
    assert "(invocation " in last["error"]["message"]
    await asyncio.to_thread(app.wait_for, "turn ended: unavailable", after=before)
    assert "without completing response" not in app.log()
    openai.reply("Whole.")
    _, _, told = await post(http, app.url + path, completions(stream=True))
    assert told.endswith("data: [DONE]\n\n")


WAITS = [
    ((429, "47"), ("47", "false")),
    ((429, "61"), (None, "false")),  # no client shall sit it out in silence
    ((500, ""), ("5", "false")),  # not at once, and the app itself has asked three times
    ((400, ""), (None, None)),
]


@pytest.mark.parametrize(("fault", "told"), WAITS, ids=[f"{status} {wait}".strip() for (status, wait), _ in WAITS])
@pytest.mark.parametrize(
    "path", [COMPLETIONS, RESPONSES, "/openai/v1/chat/completions", "/chat", "/semantic-kernel/chat", "/ai-sdk/chat"]
)
async def test_each_wire_asks_no_client_to_wait_where_nobody_is_told(
    app: RunningHost,
    http: aiohttp.ClientSession,
    openai: OpenAIStandIn,
    path: str,
    fault: tuple[int, str],
    told: tuple[str | None, str | None],
) -> None:
    status, wait = fault
    openai.fail(status, headers={"Retry-After": wait} if wait else None, times=3 if status == 500 else 1)
    body = {"input": QUESTION, "store": False} if path == RESPONSES else completions()
    body |= {"messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]} if "ai-sdk" in path else {}
    status, headers, _ = await post(http, app.url + path, body)
    assert status == {429: 429, 500: 503, 400: 400}[fault[0]]
    assert (headers.get("retry-after"), headers.get("x-should-retry")) == told


async def test_clients_may_wait_for_a_short_time(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    openai.fail(429, headers={"Retry-After": "1"}, times=3)
    status, headers, _ = await post(http, app.url + COMPLETIONS, completions())
    assert (status, headers["retry-after"], "x-should-retry" in headers) == (429, "1", False)


@pytest.mark.usefixtures("npm_clients")
@pytest.mark.parametrize(("version", "wire"), [("20240610", "ai-chat"), ("20240814", "ai-chat-2024-05-29")])
async def test_microsofts_patient_client_shows_a_busy_model_at_once(
    app: RunningHost, openai: OpenAIStandIn, version: str, wire: str
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    asked = len(openai.chats)
    question = [{"role": "user", "content": QUESTION}]
    outcome = await ai_chat_protocol.ask(f"{app.url}/{wire}/chat", "patient", question, version=version)
    assert "Try again in 47 seconds." in json.dumps(outcome.thrown)
    assert len(openai.chats) - asked == 1


async def test_the_tokens_that_a_model_thought_are_counted(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 3}}
    chunks: list[dict[str, Any]] = [{"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]}]
    chunks.append({"choices": [], "usage": usage})
    for path, key, body in (
        (COMPLETIONS, "completion_tokens_details", completions()),
        (RESPONSES, "output_tokens_details", {"input": QUESTION, "store": False}),
    ):
        openai.reply_raw(*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n")
        _, _, told = await post(http, app.url + path, body)
        assert json.loads(told)["usage"][key] == {"reasoning_tokens": 3}


async def test_the_input_of_a_response_is_listed_with_what_came_before(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    openai.reply("80 %.")
    _, _, told = await post(http, app.url + RESPONSES, {"input": QUESTION, "reasoning": {"effort": "low"}})
    first = json.loads(told)
    assert first["reasoning"]["effort"] == "low"
    openai.call_tool("search_sources", {"search_queries": ["crowns"]})
    openai.reply("No.")
    _, _, told = await post(http, app.url + RESPONSES, {"input": "And crowns?", "previous_response_id": first["id"]})
    url = f"{app.url}{RESPONSES}/{json.loads(told)['id']}/input_items"
    async with http.get(url, params={"order": "asc"}) as response:
        listed = await response.json()
    assert [(one["role"], one["content"][0]["text"]) for one in listed["data"]] == [
        ("user", QUESTION),
        ("assistant", "80 %."),
        ("user", "And crowns?"),
    ]
    assert len({one["id"] for one in listed["data"]}) == 3
    async with http.get(url) as response:
        assert (await response.json())["data"] == listed["data"][::-1]
    async with http.get(f"{app.url}{RESPONSES}/resp_none/input_items") as response:
        assert response.status == 404
