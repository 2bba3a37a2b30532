"""Answers of the running app, over real sockets: whole, streamed, left, and many at once."""

import asyncio
import json
from typing import Any, cast

import aiohttp
import pytest

from shared.wire.table import NAMES
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

QUESTION = "What does the plan pay for dental care?"


def body(question: str = QUESTION, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}], **more}


async def read_lines(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in response.content]


def without_ids(value: Any) -> Any:
    """An answer without the ids that differ each time."""
    if isinstance(value, dict):
        kept = cast("dict[str, Any]", value).items()
        return {key: without_ids(item) for key, item in kept if key not in {"answer_id", "ConversationId"}}
    if isinstance(value, list):
        return [without_ids(item) for item in cast("list[Any]", value)]
    return value


async def test_an_answer_with_nothing_configured_cites_its_source(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + "/chat", json=body(session_state={"id": 7})) as response:
        answer = await response.json()
    assert response.status == 200
    assert answer["message"]["role"] == "assistant"
    assert "80 %" in answer["message"]["content"]
    assert "[plan.pdf#page=3]" in answer["message"]["content"]
    assert answer["context"]["data_points"]["text"][0].startswith("plan.pdf#page=3: ")
    assert answer["session_state"] == {"id": 7}


async def test_a_german_question_is_answered_whatever_its_accents(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + "/chat", json=body("Wie lang ist die KUENDIGUNGSFRIST?")) as response:
        answer = await response.json()
    assert "drei Monate" in answer["message"]["content"]
    assert "[Kündigung.md]" in answer["message"]["content"]


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/chat/stream", "application/json-lines"),
        ("/ai-chat/chat/stream", "application/json-lines"),
        ("/ai-chat-2024-05-29/chat/stream", "application/jsonl"),
    ],
)
async def test_a_stream_is_the_context_the_text_and_the_followups(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str, content_type: str
) -> None:
    asked = body(context={"overrides": {"suggest_followup_questions": True}})
    async with http.post(built_in.url + path, json=asked) as response:
        assert response.content_type == content_type
        assert response.headers["transfer-encoding"] == "chunked"
        lines = await read_lines(response)
    assert lines[0]["context"]["data_points"]["text"]
    text = "".join(line["delta"].get("content", "") for line in lines)
    assert "[plan.pdf#page=3]" in text
    assert "<<" not in text
    assert list(lines[-1]["context"]) == ["followup_questions"]


async def test_a_body_with_the_newer_state_is_answered_in_the_newer_protocol(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + "/chat", json=body(sessionState=[1])) as response:
        answer = await response.json()
    assert answer["sessionState"] == [1]
    assert "session_state" not in answer


async def test_an_unknown_protocol_lists_those_there_are(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.post(built_in.url + "/smoke-signals/chat", json=body()) as response:
        answer = await response.json()
    assert response.status == 404
    assert ", ".join(NAMES) in answer["error"]


async def test_a_streams_parts_arrive_when_the_model_makes_them(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    openai.reply(first, "One", second, " two.")
    request = asyncio.create_task(http.post(app.url + "/chat/stream", json=body()))
    first.set()
    async with await request as response:
        assert b'"context"' in await response.content.readline()
        assert json.loads(await response.content.readline())["delta"] == {"content": "One"}
        second.set()
        assert json.loads(await response.content.readline())["delta"] == {"content": " two."}
        assert json.loads(await response.content.readline())["context"]["finish_reason"] == "stop"
        assert await response.content.read() == b""


async def test_a_model_that_thinks_for_long_does_not_hold_back_the_context(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    thought = asyncio.Event()
    openai.reply(thought, "Well.")
    async with http.post(app.url + "/chat/stream", json=body()) as response:
        assert b'"context"' in await response.content.readline()
        thought.set()
        assert b"Well." in await response.content.readline()


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_a_caller_who_leaves_before_the_answer_ends_the_models_work(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    openai.hang()
    request = asyncio.create_task(http.post(app.url + path, json=body()))
    received = await openai.request_number(len(openai.requests) + 1)
    request.cancel()
    async with asyncio.timeout(60):
        await received.disconnected.wait()


async def test_a_caller_who_leaves_amid_the_stream_ends_the_models_work(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("One", asyncio.Event())
    number = len(openai.requests) + 1
    async with http.post(app.url + "/chat/stream", json=body()) as response:
        await response.content.readline()
        await response.content.readline()
    received = await openai.request_number(number)
    async with asyncio.timeout(60):
        await received.disconnected.wait()


async def test_fifty_at_once_each_get_their_own_answer(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async def ask(number: int) -> None:
        asked = body(f"dental {number}", session_state=number)
        async with http.post(app.url + "/chat/stream", json=asked) as response:
            lines = await read_lines(response)
        assert lines[0]["session_state"] == number
        assert lines[0]["context"]["thoughts"][0]["description"] == f"dental {number}"
        assert "".join(line["delta"].get("content", "") for line in lines).startswith("The answer is in the documents")

    await asyncio.gather(*(ask(number) for number in range(50)))
    asked = [str(request.body["messages"]) for request in openai.chats]
    assert all(any(f"dental {number}\\n" in prompt for prompt in asked) for number in range(50))
