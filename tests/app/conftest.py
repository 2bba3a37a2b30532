"""The real app on the local host, with a small index, alone or in front of a model that the tests script."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from shared.chat_types import Passage
from tests.app.openai_sdk import client_of
from tests.local.running_host import RunningHost, host_beside
from tests.small_index import write_index
from tests.stand_ins.bot_service import BotService
from tests.stand_ins.openai_service import OpenAIStandIn

LABEL = "Confidential"
"""Sensitivity label of the plan."""
PASSAGES = (
    Passage(
        *("1", "The Standard plan pays 80 % of dental care.", "plan.pdf#page=3", "plan.pdf", "health"),
        sensitivity=LABEL,
    ),
    Passage("2", "Dental implants are paid after two years of membership.", "dental.md", "dental.md", "health"),
    Passage("3", "Die Kündigungsfrist beträgt drei Monate.", "Kündigung.md", "Kündigung.md", "work"),
)

NO_VECTORS = {"OPENAI_EMBEDDING_MODEL": ""}
"""The small index has none."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    await write_index(folder, PASSAGES)
    content = folder / "content"
    content.mkdir()
    (content / "plan.pdf").write_bytes(bytes(range(256)) * 4)
    (content / "Kündigung.md").write_text("Die Kündigungsfrist beträgt drei Monate.", encoding="utf-8")
    return folder


@asynccontextmanager
async def hosted(data_dir: Path, env: Mapping[str, str]) -> AsyncGenerator[RunningHost]:
    """The app under these settings, with errors by their status in all protocols: ChatUI's are in test_shown_errors."""
    async with host_beside(env={"DATA_DIR": str(data_dir), "ERRORS_AS_MESSAGES": "none", **env}) as host:
        if "RAI_ENDPOINT" in env:  # the app greets the service once it has started: no script is for that session
            await asyncio.to_thread(host.wait_for, "warmed up")
        yield host


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def built_in(data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app with nothing configured."""
    async with hosted(data_dir, {}) as host:
        yield host


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def openai() -> AsyncGenerator[OpenAIStandIn]:
    """The model that the tests script."""
    async with OpenAIStandIn() as service:
        yield service


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bot_service() -> AsyncGenerator[BotService]:
    """Azure Bot Service; a test begins it anew."""
    async with BotService() as service:
        yield service


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def nothing_left_behind(request: pytest.FixtureRequest) -> AsyncGenerator[None]:
    """Fail the test that leaves a scripted reply, or a request that is not answered: the next test would get it."""
    yield
    used: dict[str, Any] = request.node.funcargs
    for service in (value for value in used.values() if isinstance(value, OpenAIStandIn)):
        left = service.forget_scripts()
        assert not left, f"scripted, but not asked for: {left}"
        await service.settled()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def app(openai: OpenAIStandIn, data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app in front of the scripted model."""
    async with hosted(data_dir, openai.settings | NO_VECTORS) as host:
        yield host


TEAM = """
team: {pattern: concurrent}
agents:
  - {name: Alpha, instructions: Say what you think.}
  - {name: Beta, instructions: Say what you think.}
"""


@pytest.fixture(scope="session")
def concurrent(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings of a team of two who answer at the same time."""
    file = tmp_path_factory.mktemp("team") / "agents.yaml"
    file.write_text(TEAM, encoding="utf-8")
    return {"AGENTS_FILE": str(file)}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def team(openai: OpenAIStandIn, data_dir: Path, concurrent: dict[str, str]) -> AsyncGenerator[RunningHost]:
    """That team in front of the scripted model."""
    async with hosted(data_dir, openai.settings | NO_VECTORS | concurrent) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="session")
async def http() -> AsyncGenerator[aiohttp.ClientSession]:
    """A caller."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        yield session


@pytest_asyncio.fixture(loop_scope="session")
async def client(app: RunningHost) -> AsyncGenerator[AsyncOpenAI]:
    """A client of the app in front of the scripted model."""
    async with client_of(app) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def documents(built_in: RunningHost) -> AsyncGenerator[AsyncOpenAI]:
    """A client of the app with nothing configured."""
    async with client_of(built_in) as client:
        yield client
