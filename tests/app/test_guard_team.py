"""The messages of a team under guard, in every protocol."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.app.guarded import BAD, NOTED, PROTOCOLS, Guarded, guarded, records
from tests.app.test_history import Chats
from tests.app.test_multi_agent import ALPHA, BATCH, BETA, STREAM
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import DONE, cleared

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

SILENCE = asyncio.Event()
"""Never set."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def safe(data_dir: Path, concurrent: dict[str, str]) -> AsyncGenerator[Guarded]:
    """The team, and a model for it alone: who is not asked in time leaves what it was told to say."""
    async with OpenAIStandIn() as model, guarded(data_dir, model, **concurrent) as app:
        yield app


def script(app: Guarded, alpha: str, beta: str) -> None:
    for agent, text in ((ALPHA, alpha), (BETA, beta)):
        with app.openai.to(agent):
            app.openai.reply(text)


def of(agent: str, text: str, path: str) -> str:
    """What an answer holds of one agent, as JSON."""
    messages = json.loads(text) if path == BATCH else records(text)
    return json.dumps([message for message in messages if f'"{agent}"' in json.dumps(message)])


@pytest.mark.parametrize("path", [BATCH, STREAM])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_forbidden_message_is_an_error_and_the_others_answer(safe: Guarded, protocol: str, path: str) -> None:
    script(safe, f"Alpha is {NOTED}.", f"Beta on {BAD}.")
    status, text = await safe.post(f"/{protocol}{path}")
    assert status == 200
    assert BAD not in text
    alpha, beta = of("Alpha", text, path), of("Beta", text, path)
    assert f"Alpha is {NOTED}." in alpha
    assert '"severity": "medium"' in alpha
    assert '"Safety"' in alpha
    assert "Beta on" not in beta
    assert "content_filter" in beta
    assert "The safety check stopped this answer" in beta
    assert "it is not shown" in beta


async def test_the_total_is_on_the_last_message_that_goes_out(safe: Guarded) -> None:
    for _ in range(5):
        script(safe, "Alpha.", "Beta.")
        _, text = await safe.post(STREAM)
        assert ["TotalUsage" in message["Metadata"] for message in records(text)] == [False, True]


@pytest.mark.parametrize("path", [BATCH, STREAM])
async def test_a_forbidden_question_is_refused(safe: Guarded, path: str) -> None:
    status, text = await safe.post(path, f"{BAD}?")
    assert status == 400
    assert "refused what was asked" in text


async def test_the_check_of_the_question_is_over_while_the_agents_still_work(safe: Guarded) -> None:
    more = asyncio.Event()
    for agent in (ALPHA, BETA):
        with safe.openai.to(agent):
            safe.openai.reply("One", more, " two.")
    number = len(safe.rai.sessions) + 1
    asking = asyncio.create_task(safe.post(STREAM))
    question = await safe.rai.session_number(number)
    async with asyncio.timeout(60):
        await question.until(lambda session: session.half_closed)
    more.set()
    status, _ = await asking
    assert status == 200


async def test_when_all_messages_are_forbidden_the_request_is(safe: Guarded) -> None:
    script(safe, f"{BAD} one", f"{BAD} two")
    status, text = await safe.post(BATCH)
    assert status == 400
    assert BAD not in text


async def test_a_forbidden_message_is_not_recorded(safe: Guarded) -> None:
    chats = Chats(safe.host, safe.http)
    chat = await chats.start("multiAgent")
    script(safe, "Alpha.", f"Beta on {BAD}.")
    status, _ = await safe.post(BATCH, chatId=chat, session_state={"conversation_id": chat})
    assert status == 200
    assert BAD not in json.dumps(await chats.messages(chat))
    await asyncio.to_thread(safe.host.wait_for, r"turn ended")
    assert BAD not in safe.host.log()


async def test_a_message_whose_check_is_silent_is_late_and_the_others_answer(
    data_dir: Path, concurrent: dict[str, str]
) -> None:
    short = {"RAI_TIMEOUT_SECONDS": "3"}  # which is more than enough for a service that says something
    async with OpenAIStandIn() as model, guarded(data_dir, model, **short, **concurrent) as app:
        await asyncio.to_thread(app.host.wait_for, "warmed up in")
        app.rai.script(cleared(), DONE)  # for the question
        app.rai.script(SILENCE)
        script(app, "Alpha.", "Beta.")
        status, text = await app.post(BATCH)
        assert status == 200
        errors = [message["Metadata"].get("error") for message in json.loads(text)]
        assert sorted(errors, key=str) == [None, "timeout"]
