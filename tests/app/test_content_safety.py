"""The guard with Azure AI Content Safety behind it, over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import records
from tests.app.test_answers import body
from tests.local.running_host import RunningHost
from tests.stand_ins.content_safety import ContentSafetyStandIn
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

BAD = "Zebrafish"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def service() -> AsyncGenerator[ContentSafetyStandIn]:
    async with ContentSafetyStandIn() as stand_in:
        stand_in.finds(BAD, "SelfHarm", 6)
        stand_in.finds("sighing", "Hate", 2)
        yield stand_in


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def safe(service: ContentSafetyStandIn, openai: OpenAIStandIn, data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app that enforces."""
    settings = openai.settings | NO_VECTORS | service.settings | {"RAI_MODE": "enforce"}
    async with hosted(data_dir, settings) as host:
        yield host


async def test_a_safe_answer_streams_whole_sentence_by_sentence(
    safe: RunningHost, openai: OpenAIStandIn, service: ContentSafetyStandIn, http: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    openai.reply("All € is ", "sighing. And", gate, " well.")
    async with http.post(safe.url + "/rag-chat/chat/stream", json=body("What is paid?")) as response:
        assert response.status == 200
        lines: list[str] = []
        while "sighing. " not in "".join(lines):
            assert not response.content.at_eof()
            lines.append((await response.content.readline()).decode())
        assert "And" not in "".join(lines)
        gate.set()
        rest = (await response.read()).decode()
    assert '"And well."' in rest or ('"And"' in rest and '" well."' in rest)
    [last] = [line for line in records(rest) if line.get("choices") and line["choices"][0]["finish_reason"]]
    found = last["choices"][0]["content_filter_results"]
    assert found["hate"] == {"filtered": False, "severity": "low"}
    assert found["self_harm"] == {"filtered": False, "severity": "safe"}
    assert "What is paid?" in service.texts


async def test_nothing_of_a_forbidden_sentence_goes_out_and_the_models_stream_is_closed(
    safe: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    openai.reply("First this. ", gate, "Then ", BAD, " follows. ", "More.", asyncio.Event())
    async with http.post(safe.url + "/ai-chat/chat/stream", json=body("What is paid?")) as response:
        stream = ""
        while "First this. " not in stream:
            assert not response.content.at_eof()
            stream += (await response.content.readline()).decode()
        gate.set()
        stream += (await response.read()).decode()
    assert "Then" not in stream
    assert BAD not in stream
    assert "safety check" in json.dumps(records(stream)[-1])
    await asyncio.wait_for(openai.chats[-1].disconnected.wait(), 60)


async def test_a_forbidden_question_is_refused(
    safe: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with http.post(safe.url + "/ai-chat/chat", json=body(f"Where is the {BAD}?")) as response:
        assert response.status == 400
        assert "safety check" in (await response.json())["error"]
    await openai.caught_up()  # the turn may have asked the model


async def test_an_agents_forbidden_message_is_held_back_and_the_others_come(
    safe: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, service: ContentSafetyStandIn
) -> None:
    before = len(service.texts)
    for text in (f"One says {BAD}.", "Another is fine.", "A third is fine."):
        openai.reply(text)
    async with http.post(safe.url + "/multi-agent-chat/batch", json=body("What is paid?")) as response:
        answer = await response.text()
    assert response.status == 200
    assert BAD not in answer
    assert "is fine." in answer
    assert len(service.texts) > before


async def test_a_service_that_fails_lets_nothing_out(
    safe: RunningHost, http: aiohttp.ClientSession, service: ContentSafetyStandIn
) -> None:
    # Each request: of one alone it is not said which text it is about, and a source that cannot be checked is withheld.
    with service.failing(401):
        async with http.post(safe.url + "/ai-chat/chat", json=body("What is paid?")) as response:
            assert response.status == 503
            assert list(await response.json()) == ["error"]


async def test_health_names_the_service(
    safe: RunningHost, http: aiohttp.ClientSession, service: ContentSafetyStandIn
) -> None:
    async with http.get(safe.url + "/health") as response:
        part = (await response.json())["parts"]["safety"]
    assert (part["kind"], part["ok"], part["mode"]) == ("content-safety", True, "enforce")
    assert part["host"] in service.endpoint
    assert service.key not in safe.log()
