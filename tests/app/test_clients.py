"""What a person or a program sees in each client: one chat of seven situations, with the package itself."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from tests.app.guarded import Guarded, guarded
from tests.clients.asking import Client
from tests.clients.rows import ROWS, Row, hold
from tests.clients.situations import ANSWER
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("ag_ui", "ai_sdk", "npm_clients", "npm_mcp", "openai_responses"),
]
"""One loop with the stand-ins."""

type HoldChats = Callable[..., Awaitable[None]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def safe(data_dir: Path, openai: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    """The app that enforces, in front of the scripted model."""
    async with guarded(data_dir, openai, RAI_MODE="enforce") as app:
        yield app


@pytest.fixture
def hold_chats(
    app: RunningHost, openai: OpenAIStandIn, safe: Guarded, record_property: Callable[[str, object], None]
) -> HoldChats:
    """Let a client hold both chats, with its running program if it has one, and check what it shows."""

    async def hold_both(row: Row, **programs: Client) -> None:
        told = await hold(row, programs.get(row.fixture), openai, app.url, safe.host.url)
        record_property("seen", told)
        assert told == row.expected

    return hold_both


def rows(*, rare: bool) -> pytest.MarkDecorator:
    chosen = [row for row in ROWS if row.is_rare == rare]
    return pytest.mark.parametrize("row", chosen, ids=[f"{row.wire} {row.title} {row.package}" for row in chosen])


@rows(rare=False)
async def test_each_client_shows_answers_sources_and_the_sentences_of_errors(
    row: Row, hold_chats: HoldChats, npm_openai: Client, langchain: Client, python_clients: Client
) -> None:
    await hold_chats(row, npm_openai=npm_openai, langchain=langchain, python_clients=python_clients)


@pytest.mark.nightly
@pytest.mark.usefixtures("copilotkit", "inspector")
@rows(rare=True)
async def test_so_do_rarer_clients(
    row: Row, hold_chats: HoldChats, python_clients: Client, older_python_clients: Client, open_webui: Client
) -> None:
    programs = {"older_python_clients": older_python_clients, "open_webui": open_webui}
    await hold_chats(row, python_clients=python_clients, **programs)


@pytest.mark.nightly
@pytest.mark.parametrize("client", ["open-webui", "open-webui-responses"])
async def test_open_webui_gets_answers_of_a_model_that_calls_none_of_its_tools(
    open_webui: Client, built_in: RunningHost, client: str
) -> None:
    [shown] = await open_webui.give({"client": client, "url": built_in.url, "questions": [ANSWER]})
    assert "80 %" in shown["text"], shown


_AGENTS_SDK = [pytest.param(name, marks=pytest.mark.nightly) for name in ("agents", "agents-chat")]


@pytest.mark.parametrize("client", ["agent-framework", "agent-framework-chat", "agent-framework-ag-ui", *_AGENTS_SDK])
async def test_an_agent_with_a_tool_of_its_own_calls_it_and_answers_with_the_result(
    python_clients: Client, app: RunningHost, openai: OpenAIStandIn, client: str
) -> None:
    openai.call_tool("get_weather", {"city": "Oslo"})
    openai.reply("It snows, ", "and 80 % [plan.pdf#page=3].")
    asked = {"client": f"{client} with a tool", "url": app.url, "questions": [ANSWER]}
    [shown] = await python_clients.give(asked)
    assert (shown["text"], shown["error"]) == ("It snows, and 80 % [plan.pdf#page=3].", "")
    called, result = cast("Any", openai.chats[-1].body["messages"])[-2:]
    [call] = called["tool_calls"]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", call["id"], "Snow in Oslo.")
