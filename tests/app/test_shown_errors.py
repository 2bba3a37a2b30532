"""What ChatUI shows of turns that fail or are refused: it shows messages of the assistant, and no error."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import BAD, NOTHING_FOUND, Guarded, guarded, records
from tests.app.test_answers import body
from tests.app.test_history import Chats
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

CHAT, BATCH, STREAM = "/semantic-kernel/chat", "/multi-agent-chat/batch", "/multi-agent-chat/stream"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def safe(data_dir: Path, openai: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    """The app that enforces, with its settings as they are."""
    async with guarded(data_dir, openai, ERRORS_AS_MESSAGES="semantic-kernel, ag-ui") as app:
        yield app


def shown(answer: str) -> dict[str, Any]:
    """The one message that ChatUI takes from a whole answer or a stream."""
    (message,) = json.loads(answer) if answer.startswith("[") else records(answer)
    assert message["authorRole"] == "ASSISTANT"
    assert message["content"] == message["Content"] == message["Items"][0]["Text"]
    return message


@pytest.mark.parametrize("path", [CHAT, BATCH, STREAM])
async def test_a_refused_question_is_told_in_a_message(safe: Guarded, path: str) -> None:
    before = safe.host.log()
    status, answer = await safe.post(path, f"Where is the {BAD}?")
    assert status == 200
    message = shown(answer)
    assert "safety check refused what was asked" in message["content"]
    assert message["metadata"]["error"] == "content_filter"
    assert message.get("AuthorName") == (None if path == CHAT else "team")
    assert BAD not in answer
    await asyncio.to_thread(safe.host.wait_for, "turn ended: content_filter", after=before)


async def test_a_failed_turn_is_told_in_a_message(safe: Guarded) -> None:
    safe.openai.fail(400, code="context_length_exceeded")
    status, answer = await safe.post(CHAT)
    assert status == 200
    assert shown(answer)["metadata"]["error"] == "bad_request"


async def test_a_stream_that_fails_amid_its_words_ends_with_the_message(safe: Guarded) -> None:
    safe.openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half. "}}]}\n\n', cut=True)
    _, answer = await safe.post(f"{CHAT}/stream")
    last = records(answer)[-1]
    assert "(invocation " in last["content"]
    assert last["metadata"]["error"] == "unavailable"


@pytest.mark.parametrize("path", [CHAT, BATCH, STREAM])
async def test_what_is_no_turn_keeps_its_status(safe: Guarded, path: str) -> None:
    async with safe.http.post(safe.host.url + path, json={"messages": []}) as response:
        assert response.status == 400
        assert "messages" in (await response.json())["error"]


@pytest.mark.parametrize("path", [CHAT, BATCH, STREAM])
async def test_what_a_person_can_meet_before_the_turn_is_told_in_a_message(safe: Guarded, path: str) -> None:
    status, answer = await safe.post(path, "dental " * 5_000)
    assert status == 200
    assert "shorten it" in shown(answer)["content"]
    assert shown(answer)["metadata"]["error"] == "too_large"


async def ag_ui(safe: Guarded, question: str = NOTHING_FOUND) -> list[dict[str, Any]]:
    """The events of a run, in which no error is."""
    status, answer = await safe.post("/ag-ui", question)
    events = records(answer)
    assert (status, events[0]["type"], events[-1]["type"]) == (200, "RUN_STARTED", "RUN_FINISHED")
    return events


@pytest.mark.parametrize("question", [f"Where is the {BAD}?", "dental " * 5_000], ids=["refused", "too long"])
async def test_copilotkits_chat_shows_an_error_as_a_message(safe: Guarded, question: str) -> None:
    events = await ag_ui(safe, question)
    assert [event["type"] for event in events[-4:-1]] == [
        f"TEXT_MESSAGE_{part}" for part in ("START", "CONTENT", "END")
    ]
    assert "(invocation " in events[-3]["delta"]


async def test_the_chat_goes_on_and_its_history_knows_the_error(safe: Guarded) -> None:
    refused = {"role": "user", "content": f"Where is the {BAD}?"}
    _, answer = await safe.post(CHAT, messages=[refused])
    error = {"role": "assistant", "content": shown(answer)["content"]}
    status, answer = await safe.post(CHAT, messages=[refused, error, {"role": "user", "content": NOTHING_FOUND}])
    assert status == 200
    assert "error" not in json.loads(answer)[0]["metadata"]
    chats = Chats(safe.host, safe.http)
    chat = await chats.start(title="New Chat")
    kept = [refused | {"id": "1"}, error | {"id": "2"}, {"role": "assistant", "content": "Fine.", "id": "3"}]
    await chats.send("PUT", f"/{chat}", {"messages": kept})
    assert [one.get("finishReason") for one in await chats.messages(chat)] == [None, "error", None]


async def test_a_whole_answer_fails_before_chatui_gives_up(
    data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    short = openai.settings | NO_VECTORS | {"AGENTS_DEADLINE_SECONDS": "3", "ERRORS_AS_MESSAGES": "semantic-kernel"}
    async with hosted(data_dir, short) as host:
        openai.hang()
        async with http.post(host.url + CHAT, json=body()) as response:
            assert shown(await response.text())["metadata"]["error"] == "timeout"


async def test_with_a_setting_the_error_has_its_status(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, ERRORS_AS_MESSAGES="none") as app:
        for path in (CHAT, BATCH, STREAM):
            status, answer = await app.post(path, BAD)
            assert status == 400
            assert "refused what was asked" in json.loads(answer)["error"]
