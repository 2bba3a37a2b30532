"""Conversations that go on after a refused question, in the shapes in which clients send them again."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.app.guarded import BAD, NOTHING_FOUND, PROTOCOLS, Guarded, guarded
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

REFUSED = {"role": "user", "content": f"Where is the {BAD}?"}
ASKED = {"role": "user", "content": NOTHING_FOUND}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def safe(data_dir: Path, openai: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    """The app that enforces."""
    async with guarded(data_dir, openai) as app:
        yield app


async def answered(safe: Guarded, path: str, *messages: dict[str, str]) -> str:
    """The answer to a conversation, after seeing that it is one."""
    status, answer = await safe.post(path, messages=list(messages))
    assert status == 200, answer
    return answer


def last_prompt(safe: Guarded) -> str:
    """The last prompt that the model got."""
    return json.dumps(safe.openai.chats[-1].body["messages"])


@pytest.mark.parametrize("path", ["chat", "chat/stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_refused_question_that_is_sent_again_is_left_out(safe: Guarded, protocol: str, path: str) -> None:
    answer = await answered(safe, f"/{protocol}/{path}", REFUSED, ASKED)
    assert "not given earlier questions that were refused" in answer
    assert BAD not in answer + last_prompt(safe)


@pytest.mark.parametrize("path", ["batch", "stream"])
async def test_a_team_answers_after_a_refused_question(safe: Guarded, path: str) -> None:
    assert BAD not in await answered(safe, f"/multi-agent-chat/{path}", REFUSED, ASKED)
    assert BAD not in last_prompt(safe)


async def test_several_refused_questions_are_left_out_and_the_rest_of_the_conversation_stays(safe: Guarded) -> None:
    before = ({"role": "user", "content": "What of dental care?"}, {"role": "assistant", "content": "It is paid."})
    await answered(safe, "/chat", *before, *[REFUSED] * 9, ASKED)
    assert BAD not in last_prompt(safe)
    assert "It is paid." in last_prompt(safe)


async def test_a_question_without_an_answer_stays_if_it_is_not_refused(safe: Guarded) -> None:
    await answered(safe, "/chat", REFUSED, {"role": "user", "content": "I am in the Plus plan."}, ASKED)
    assert "I am in the Plus plan." in last_prompt(safe)


@pytest.mark.parametrize(
    "shown", ["system: API Error: Bad request: {0}", "assistant: {1}", "system: {1}", "assistant: Sorry! {1}\n"]
)
async def test_the_error_that_a_client_sends_back_as_a_message_is_no_part_of_the_conversation(
    safe: Guarded, shown: str
) -> None:
    status, error = await safe.post("/chat", messages=[REFUSED])
    assert status == 400
    role, _, content = shown.format(error, json.loads(error)["error"]).partition(": ")
    await answered(safe, "/chat", REFUSED, {"role": role, "content": content}, ASKED)
    assert BAD not in last_prompt(safe)
    assert "refused what was asked" not in last_prompt(safe)


@pytest.mark.parametrize(
    "earlier",
    [
        [REFUSED, {"role": "assistant", "content": "Over there."}],
        [ASKED, {"role": "assistant", "content": f"The {BAD} is there."}],
        [{"role": "system", "content": f"You are a {BAD}."}],
    ],
    ids=["an answered question", "an answer", "a system message"],
)
async def test_an_error_because_of_an_earlier_message_says_so(safe: Guarded, earlier: list[dict[str, str]]) -> None:
    status, answer = await safe.post("/chat", messages=[*earlier, ASKED])
    assert status == 400
    assert "refused an earlier message of this chat" in answer
    assert "new chat" in answer


async def test_a_refused_question_after_another_is_told_as_what_was_asked(safe: Guarded) -> None:
    status, answer = await safe.post("/chat", messages=[REFUSED, REFUSED])
    assert status == 400
    assert "refused what was asked" in answer


async def test_a_question_that_the_filter_of_the_models_service_refuses_is_left_out_as_well(safe: Guarded) -> None:
    safe.openai.fail(400, code="content_filter")
    await answered(safe, "/chat", {"role": "user", "content": "What does the filter refuse?"}, ASKED)
    assert "filter refuse" not in last_prompt(safe)


async def test_an_answered_question_that_the_filter_of_the_models_service_refuses_is_named_as_a_possible_reason(
    safe: Guarded,
) -> None:
    safe.openai.fail(400, code="content_filter")
    status, answer = await safe.post("/chat", messages=[ASKED, {"role": "assistant", "content": "Hello."}, ASKED])
    assert status == 400
    assert "an earlier message may be the reason" in answer
    assert "new chat" in answer
