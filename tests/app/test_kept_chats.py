"""Conversations as the sample page of Microsoft's client has them: it sends only the newest message, with the state."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.app.conftest import hosted
from tests.app.test_answers import QUESTION, body
from tests.app.test_history import Chats
from tests.clients.ai_chat_protocol import ask
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

PINNED, BARE = "/ai-chat-2024-05-29/chat", "/chat"


def message(content: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


@pytest.mark.usefixtures("npm_clients")
@pytest.mark.parametrize("kind", ["answer", "stream"])
@pytest.mark.parametrize("path", [PINNED, BARE])
async def test_a_question_that_refers_back_is_asked_with_what_was_said(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, kind: str, path: str
) -> None:
    openai.reply("The plan pays well.")
    first = await ask(app.url + path, kind, message(QUESTION))
    state = next(record["sessionState"] for record in first.records if record.get("sessionState"))
    await ask(app.url + path, kind, message("And for implants?"), sessionState=state)
    prompt = json.dumps(openai.chats[-1].body["messages"])
    assert QUESTION in prompt
    assert "The plan pays well." in prompt
    kept = await Chats(app, http).messages(state)
    assert [one["content"] for one in kept][:3] == [QUESTION, "The plan pays well.", "And for implants?"]


async def test_chatui_does_not_list_what_another_front_end_began_and_the_playground_does(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("The plan pays well.")
    async with http.post(app.url + PINNED, json=body()) as response:
        state = (await response.json())["sessionState"]
    chats = Chats(app, http)
    _, begun = await chats.send("POST", sent={"mode": "standard", "elsewhere": True})
    own = await chats.start()
    for asks, listed in (({"mode": "standard"}, {own}), ({}, {own, state, begun["id"]})):
        _, found = await chats.send("GET", **asks)
        assert {chat["id"] for chat in found} & {own, state, begun["id"]} == listed
    _, found = await chats.send("GET", mode="standard", limit="1")  # a page is filled with what may be listed
    assert [chat["id"] for chat in found] == [own]


@pytest.mark.usefixtures("npm_clients")
@pytest.mark.parametrize("kind", ["answer", "stream"])
async def test_the_client_is_told_an_error_with_its_code_where_no_route_names_its_protocol(
    built_in: RunningHost, kind: str
) -> None:
    outcome = await ask(built_in.url + BARE, kind, message(""))
    assert outcome.thrown["code"] == "bad_request"
    assert "last message is empty" in outcome.thrown["message"]


async def test_the_client_is_known_in_a_browser_as_well(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    headers = {"x-ms-useragent": "ts-http-runtime/1.0.0-beta.1 OS/Linux", "User-Agent": "Mozilla/5.0"}
    async with http.post(built_in.url + BARE, json=body(), headers=headers) as response:
        assert isinstance((await response.json())["sessionState"], str)
    async with http.post(built_in.url + BARE, json=body()) as response:
        assert "sessionState" not in await response.json()


async def test_without_a_history_each_message_is_answered_alone_and_no_state_is_given(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with (
        hosted(data_dir, {"HISTORY_BACKEND": "off"}) as host,
        http.post(host.url + PINNED, json=body()) as response,
    ):
        assert response.status == 200
        assert "sessionState" not in await response.json()


@pytest.mark.parametrize("path", [PINNED, BARE])
async def test_a_file_in_json_is_refused_with_the_way_to_send_it(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    file = {"contentType": "image/png", "data": {"0": 137, "1": 80}}
    asked = {"messages": [{"role": "user", "content": "What is this?", "files": [file]}]}
    async with http.post(built_in.url + path, json=asked) as response:
        assert response.status == 400
        text = await response.text()
    assert "messages[0].files" in text
    assert "multipart/form-data" in text
