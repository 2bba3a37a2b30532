"""What an answer costs at the model's service: what is sent for it, once, and what the caller is told of it."""

import json
from typing import Any

import aiohttp
import pytest

from tests.app.conftest import PASSAGES
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

EARLIER = [
    {"role": "user", "content": "Hello, what can you tell me about the Standard plan?"},
    {"role": "assistant", "content": "What it pays for and what it leaves to you."},
]
ASKED = {"role": "user", "content": QUESTION}


async def bodies_of(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, messages: list[dict[str, str]]
) -> tuple[list[Any], Any]:
    """The bodies of all requests that one answer took, and the answer."""
    before = len(openai.requests)
    async with http.post(app.url + "/chat", json={"messages": messages}) as response:
        assert response.status == 200, await response.text()
        answer = await response.json()
    return [request.body for request in openai.requests[before:]], answer


async def test_a_question_on_its_own_is_one_call_that_says_everything_once(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    (body,), answer = await bodies_of(app, openai, http, [ASKED])
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "tools" not in body
    written = json.dumps(body)
    assert written.count(QUESTION) == 1
    assert written.count(PASSAGES[0].content) == 1
    assert answer["context"]["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


async def test_a_later_question_is_two_calls_and_the_sources_go_into_one(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.call_tool("search_sources", {"search_queries": ["dental care Standard plan"]})
    (rewriting, answering), answer = await bodies_of(app, openai, http, [*EARLIER, ASKED])
    for body in (rewriting, answering):
        assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
        for message in (*EARLIER, ASKED):
            assert json.dumps(body).count(message["content"]) == 1
    assert "tools" not in answering
    assert PASSAGES[0].content not in json.dumps(rewriting)
    assert json.dumps(answering).count(PASSAGES[0].content) == 1
    assert answer["context"]["usage"] == {"prompt_tokens": 14, "completion_tokens": 10, "total_tokens": 24}


async def test_the_answers_of_two_callers_begin_with_the_same_instructions(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    (one,), _ = await bodies_of(app, openai, http, [ASKED])
    (other,), _ = await bodies_of(app, openai, http, [{"role": "user", "content": "Wie lang ist die Kündigungsfrist?"}])
    assert one["messages"][0] == other["messages"][0]
    assert one["messages"][0]["role"] == "system"
    assert {**one, "messages": ()} == {**other, "messages": ()}
