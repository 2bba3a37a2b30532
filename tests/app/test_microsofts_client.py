"""`@microsoft/ai-chat-protocol`, Microsoft's own client, against the running app."""

import pytest

from tests.app.test_answers import QUESTION
from tests.clients.ai_chat_protocol import ask
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("npm_clients")]
"""One loop with the stand-in that the tests script."""

MESSAGES = [{"role": "user", "content": QUESTION}]


def endpoint(host: RunningHost) -> str:
    return host.url + "/ai-chat-2024-05-29/chat"


async def test_it_gets_an_answer_and_its_state_back(built_in: RunningHost) -> None:
    outcome = await ask(endpoint(built_in), "answer", MESSAGES, sessionState={"id": "ü"})
    (completion,) = outcome.records
    assert "[plan.pdf#page=3]" in completion["message"]["content"]
    assert completion["sessionState"] == {"id": "ü"}


async def test_it_reads_a_stream(built_in: RunningHost) -> None:
    outcome = await ask(endpoint(built_in), "stream", MESSAGES, context={"overrides": {"top": 1}})
    assert outcome.thrown is None
    assert outcome.records[0]["context"]["data_points"]["text"]
    assert "80 %" in "".join(record["delta"].get("content", "") for record in outcome.records)


async def test_it_reads_a_stream_of_the_bare_route(built_in: RunningHost) -> None:
    outcome = await ask(built_in.url + "/chat", "stream", MESSAGES)
    assert "80 %" in "".join(record["delta"].get("content", "") for record in outcome.records)


@pytest.mark.parametrize("kind", ["answer", "stream"])
async def test_it_throws_the_error_with_its_code(built_in: RunningHost, kind: str) -> None:
    outcome = await ask(endpoint(built_in), kind, [{"role": "user", "content": ""}])
    assert outcome.thrown["code"] == "bad_request"
    assert "last message is empty" in outcome.thrown["message"]


async def test_it_throws_what_went_wrong_amid_a_stream(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    outcome = await ask(endpoint(app), "stream", MESSAGES)
    assert outcome.records[-1]["delta"] == {"content": "Half"}
    assert outcome.thrown["code"] == "unavailable"
