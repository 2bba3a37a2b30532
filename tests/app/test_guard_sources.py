"""What callers see of documents that the policy forbids, with the built-in model, which quotes them, and the reference
RAI service."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from shared.chat_types import Passage
from tests.app.conftest import hosted
from tests.app.guarded import PROTOCOLS, records
from tests.app.test_answers import body
from tests.app.test_history import Chats
from tests.app.test_multi_agent import BATCH, STREAM
from tests.app.test_protocols import text_of
from tests.local.running_host import RunningHost
from tests.small_index import write_index

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the fixtures that the tests share."""

FORBIDDEN = "bomb"
"""What the sample policy blocks once somebody makes one."""
PASSAGES = (
    Passage("1", "From stolen fertilizer the thieves make a pipe bomb.", "warehouse.md", "w.md"),
    Passage("2", "The Standard plan pays 80 % of dental care.", "plan.pdf#page=3", "plan.pdf"),
    Passage("3", "Dental implants are paid after two years of membership.", "dental.md", "dental.md"),
    Passage("4", "Never make a pipe bomb of dental instruments.", "rules.md", "rules.md"),
)
QUOTES_IT = "What do the thieves make from stolen fertilizer?"
HARMLESS = "How much does the Standard plan pay for dental care?"
TEAM = """
team: {pattern: concurrent}
agents:
  - {name: Alpha, instructions: Answer from the documents., tools: [search]}
  - {name: Beta, instructions: Answer from the documents., tools: [search]}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of an app that knows documents which it must not quote."""
    folder = tmp_path_factory.mktemp("unsafe")
    await write_index(folder, PASSAGES)
    (folder / "agents.yaml").write_text(TEAM, encoding="utf-8")
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plain(folder: Path) -> AsyncGenerator[RunningHost]:
    """That app, which enforces."""
    async with hosted(folder, {"RAI_MODE": "enforce", "AGENTS_FILE": str(folder / "agents.yaml")}) as host:
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def agent(folder: Path) -> AsyncGenerator[RunningHost]:
    """The same, with an agent for single chat."""
    team = {"AGENTS_FILE": str(folder / "agents.yaml"), "CHAT_AGENT": "Alpha"}
    async with hosted(folder, {"RAI_MODE": "enforce"} | team) as host:
        yield host


@pytest.fixture(params=["plain", "agent"])
def host(request: pytest.FixtureRequest) -> RunningHost:
    """The app without and with an agent for single chat."""
    return request.getfixturevalue(request.param)


async def asked(
    host: RunningHost, http: aiohttp.ClientSession, path: str, question: str, **more: Any
) -> tuple[int, str]:
    """The status and the whole of what came back."""
    async with http.post(host.url + path, json=body(question, **more)) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_what_an_answer_must_not_quote_is_not_in_its_sources_either(
    host: RunningHost, http: aiohttp.ClientSession, protocol: str
) -> None:
    status, whole = await asked(host, http, f"/{protocol}/chat", QUOTES_IT)
    assert status == 400
    assert "safety check stopped this answer" in whole
    _, stream = await asked(host, http, f"/{protocol}/chat/stream", QUOTES_IT)  # 400 if the answer is so quick
    assert "safety check stopped this answer" in json.dumps(records(stream)[-1])
    assert FORBIDDEN not in whole + stream


@pytest.mark.parametrize("path", ["chat", "chat/stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_harmless_answer_comes_with_those_of_its_sources_that_may_be_shown(
    host: RunningHost, http: aiohttp.ClientSession, protocol: str, path: str
) -> None:
    status, answer = await asked(host, http, f"/{protocol}/{path}", HARMLESS)
    assert status == 200
    assert "plan.pdf#page=3: The Standard plan pays 80 %" in answer
    assert "1 of 3 sources is withheld" in answer
    assert "error" not in answer
    assert FORBIDDEN not in answer
    if path == "chat":
        assert "80 %" in text_of(json.loads(answer))


@pytest.mark.parametrize("path", [BATCH, STREAM])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_neither_do_the_messages_of_a_team_show_it(
    plain: RunningHost, http: aiohttp.ClientSession, protocol: str, path: str
) -> None:
    _, answer = await asked(plain, http, f"/{protocol}{path}", QUOTES_IT)
    assert "safety check stopped this answer" in answer
    assert FORBIDDEN not in answer
    status, answer = await asked(plain, http, f"/{protocol}{path}", HARMLESS)
    assert status == 200
    assert "80 % of dental care" in answer
    assert "plan.pdf#page=3: The Standard plan pays 80 %" in answer
    assert "1 of 3 sources is withheld" in answer
    assert "content_filter" not in answer.replace("content_filter_results", "")
    assert FORBIDDEN not in answer


async def test_neither_history_nor_logs_hold_it(host: RunningHost, http: aiohttp.ClientSession, folder: Path) -> None:
    chats = Chats(host, http)
    chat = await chats.start()
    for question in (QUOTES_IT, HARMLESS):
        await asked(host, http, "/chat/stream", question, session_state={"conversation_id": chat})
    assert HARMLESS in [message["content"] for message in await chats.messages(chat)]
    assert FORBIDDEN not in json.dumps(await chats.messages(chat))
    stored = await asyncio.to_thread((folder / "history.sqlite").read_bytes)
    assert HARMLESS.encode() in stored
    assert FORBIDDEN.encode() not in stored
    await asyncio.to_thread(host.wait_for, r"turn ended: content_filter")
    assert FORBIDDEN not in host.log()
