"""Single chat through one agent (`CHAT_AGENT`), through the local host: every protocol shows it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from shared.chat_types import Json
from shared.errors import NotConfigured
from shared.parts import build_service
from shared.settings import Settings
from shared.wire.table import NAMES
from tests.app.conftest import hosted
from tests.local.running_host import RunningHost

ASKED: list[Json] = [{"role": "user", "content": "What does the plan pay for dental care?"}]
BODY: dict[str, Json] = {"messages": ASKED, "input": ASKED, "context": {}}
"""With a context, since OpenAI's protocols have the thoughts, which name the agent, only in an answer to one."""
IN_AG_UI: dict[str, Json] = {"context": [], "forwardedProps": {"overrides": {"top": 3}}}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def researcher(data_dir: Path) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, {"CHAT_AGENT": "Researcher"}) as host:
        yield host


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("route", ["chat", "chat/stream", "ask"])
@pytest.mark.parametrize("protocol", NAMES)
async def test_an_agent_answers_single_chat_in_every_protocol(
    researcher: RunningHost, protocol: str, route: str
) -> None:
    sent = BODY | IN_AG_UI if protocol == "ag-ui" else BODY
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{researcher.url}/{protocol}/{route}", json=sent) as response,
    ):
        answer = await response.text()
    assert response.status == 200
    assert ("[doc1]" if protocol == "azure-openai" else "[plan.pdf#page=3]") in answer
    assert '"Researcher"' in answer


def test_a_name_that_no_agent_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    settings = Settings.read({"DATA_DIR": str(tmp_path), "CHAT_AGENT": "Nobody"})
    with pytest.raises(NotConfigured, match="Researcher, Critic, Writer"):
        build_service(settings)


def test_a_fault_in_the_agents_file_is_a_fault_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text("team: {pattern: chorus}\nagents: []\n")
    settings = Settings.read({"DATA_DIR": str(tmp_path), "AGENTS_FILE": str(tmp_path / "agents.yaml")})
    with pytest.raises(NotConfigured, match="line 1: `pattern` should be concurrent"):
        build_service(settings)
