"""What is kept of an answer in a chat whose host ends by `kill -9`: the question, and what was shown a while before."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import QUESTION, body
from tests.app.test_history import Chats
from tests.local.running_host import REPOSITORY, RunningHost
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

SOON = """
import runpy
import shared.core.recorded_chat
shared.core.recorded_chat.SHOWN_SECONDS = 0.1
runpy.run_module("local", run_name="__main__")
"""


class OftenWriting(RunningHost):
    """A host that writes what was shown after a tenth of a second, and not after five seconds."""

    run = ("-c", SOON)


@pytest_asyncio.fixture(params=["file", "table"], loop_scope="session")
async def env(
    request: pytest.FixtureRequest, tmp_path: Path, openai: OpenAIStandIn
) -> AsyncGenerator[Mapping[str, str]]:
    """The settings of an app with each of the stores."""
    settings = openai.settings | NO_VECTORS | {"DATA_DIR": str(tmp_path), "ERRORS_AS_MESSAGES": "none"}
    if request.param == "file":
        yield settings
        return
    async with Azurite() as azurite:
        yield settings | {"HISTORY_BACKEND": "azure-table", "AzureWebJobsStorage": azurite.connection_string}


async def test_a_killed_host_leaves_the_question_and_what_it_has_shown(
    env: Mapping[str, str], tmp_path: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    host = OftenWriting(REPOSITORY, env, ("--port", "0"))
    try:
        await asyncio.to_thread(host.wait_for, "Switchboard is ready")
        chats = Chats(host, http)
        silent, cut, again = await chats.start(title="New Chat"), await chats.start(), await chats.start()
        openai.reply("80 %.")
        asked_again = {"messages": [{"role": "user", "content": QUESTION}], "session_state": again, "stream": True}
        async with http.post(f"{host.url}/v1/chat/completions", json=asked_again) as answered:
            assert "80 %." in await answered.text()
        openai.reply("It pays", " 80 %", asyncio.Event())
        response = await http.post(f"{host.url}/chat/stream", json=body(session_state=cut))
        async with asyncio.timeout(30):
            while len(kept := await chats.messages(cut)) < 2 or kept[1]["content"] != "It pays 80 %":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        openai.hang()
        number = len(openai.requests) + 1
        asking = asyncio.create_task(http.post(f"{host.url}/chat/stream", json=body(session_state=silent)))
        await openai.request_number(number)
        openai.hang()
        asking_again = asyncio.create_task(http.post(f"{host.url}/v1/chat/completions", json=asked_again))
        await openai.request_number(number + 1)
    finally:
        host.process.kill()
        await asyncio.to_thread(host.wait)
    response.close()
    with pytest.raises(aiohttp.ClientError):
        await asking
    with pytest.raises(aiohttp.ClientError):
        await asking_again
    async with hosted(tmp_path, env) as other:
        chats = Chats(other, http)
        assert [one["content"] for one in await chats.messages(silent)] == [QUESTION]
        _, listed = await chats.send("GET")
        (entry,) = [chat for chat in listed if chat["id"] == silent]
        assert (entry["title"], entry["lastMessage"], entry["messageCount"]) == (QUESTION, QUESTION, 1)
        kept = [(one["content"], one.get("finishReason")) for one in await chats.messages(cut)]
        assert kept == [(QUESTION, None), ("It pays 80 %", "stopped")]
        assert [one["content"] for one in await chats.messages(again)] == [QUESTION, "80 %."]
        openai.reply("80 %, then.")
        async with http.post(f"{other.url}/v1/chat/completions", json=asked_again) as answered:
            assert "80 %, then." in await answered.text()
        assert [one["content"] for one in await chats.messages(again)] == [QUESTION, "80 %, then."]
