"""`semantic-kernel-python` against the package itself: it reads what the app sends, and would have written the same."""

import json
from typing import Any

import aiohttp
import pytest

from tests.app.test_answers import body
from tests.clients.asking import Client
from tests.clients.semantic_kernel.package import FOLDER
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

ROUTE = "/semantic-kernel-python/chat"
WITH_FOLLOWUPS = {"context": {"overrides": {"suggest_followup_questions": True}}}


async def whole(host: RunningHost, http: aiohttp.ClientSession, **more: Any) -> str:
    """The text of the one message in the app's answer."""
    async with http.post(host.url + ROUTE, json=body(**more)) as response:
        sent = await response.text()
    assert response.status == 200, sent
    (message,) = json.loads(sent)
    assert sent.startswith("[")
    assert json.loads(sent[1:-1]) == message
    return sent[1:-1]


async def pieces(host: RunningHost, http: aiohttp.ClientSession, **more: Any) -> list[str]:
    """The text of each event in the app's stream."""
    async with http.post(host.url + ROUTE + "/stream", json=body(**more)) as response:
        sent = await response.text()
    assert response.status == 200, sent
    return [event.removeprefix("data: ") for event in sent.split("\n\n") if event.startswith("data: ")]


async def test_the_package_still_writes_what_is_on_record(semantic_kernel: Client) -> None:
    on_record = json.loads((FOLDER / "written.json").read_text(encoding="utf-8"))
    written = await semantic_kernel.give({})
    assert {name: json.loads(text) for name, text in written.items()} == on_record


async def test_the_package_reads_an_answer_and_writes_the_same_bytes(
    built_in: RunningHost, semantic_kernel: Client, http: aiohttp.ClientSession
) -> None:
    sent = await whole(built_in, http, **WITH_FOLLOWUPS)
    (read,) = (await semantic_kernel.give({"whole": [sent]}))["whole"]
    assert "80 %" in read["text"]
    assert read["text"] == json.loads(sent)["items"][0]["text"]
    assert read["written"] == sent


@pytest.mark.parametrize(
    ("reason", "told"),
    [("stop", ""), ("length", "it reached the app's limit"), ("content_filter", "The content filter ended")],
)
async def test_the_package_knows_how_an_answer_ended(
    app: RunningHost,
    semantic_kernel: Client,
    openai: OpenAIStandIn,
    http: aiohttp.ClientSession,
    reason: str,
    told: str,
) -> None:
    openai.reply("Sehkraft", " 👓", finish_reason=reason)
    sent = await whole(app, http)
    (read,) = (await semantic_kernel.give({"whole": [sent]}))["whole"]
    text, _, after = read["text"].partition("\n\n")
    assert (text, read["written"]) == ("Sehkraft 👓", sent)
    assert told in after if told else not after
    assert json.loads(sent)["finish_reason"] == reason


async def test_the_package_adds_up_a_stream(
    built_in: RunningHost, semantic_kernel: Client, http: aiohttp.ClientSession
) -> None:
    sent = await pieces(built_in, http, **WITH_FOLLOWUPS)
    read = await semantic_kernel.give({"pieces": sent})
    assert [piece["written"] for piece in read["pieces"]] == sent
    assert read["sum"]["text"] == json.loads(await whole(built_in, http))["items"][0]["text"]
    total = json.loads(read["sum"]["written"])
    assert total["finish_reason"] == "stop"
    assert {"id", "data_points", "thoughts", "followup_questions"} <= total["metadata"].keys()


async def test_the_package_reads_each_agents_message_and_writes_the_same_bytes(
    built_in: RunningHost, semantic_kernel: Client, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + "/semantic-kernel-python/multi-agent-chat/stream", json=body()) as response:
        sent = [event.removeprefix("data: ") for event in (await response.text()).split("\n\n") if event]
    read = (await semantic_kernel.give({"whole": sent}))["whole"]
    assert [message["written"] for message in read] == sent
    assert [json.loads(text)["name"] for text in sent] == ["Researcher", "Critic", "Writer"]
    assert all(message["text"] for message in read)


async def test_what_the_package_writes_is_understood_as_history(
    built_in: RunningHost, semantic_kernel: Client, http: aiohttp.ClientSession
) -> None:
    written = await semantic_kernel.give({})
    messages = [json.loads(written[name]) for name in ("a question", "with metadata", "a question")]
    async with http.post(built_in.url + ROUTE, json={"messages": messages}) as response:
        assert response.status == 200, await response.text()
