"""The app in environments of a deployment's packages: with each feature alone it serves what it should."""

import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.processes import ROOT
from bench.targets import in_azure
from shared.runtime.features import FEATURES
from tests.app.test_answers import body
from tests.app.test_files_in_json import completed
from tests.local.running_host import RunningHost, host_beside
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOTES = (b"The code word is kingfisher.", "text/plain", "notes.txt")
TEAM: dict[str, Any] = {"messages": [{"role": "user", "content": "What does the plan pay?"}]}


def installed(folder: Path, features: list[str]) -> Path:
    """Make an environment of what is deployed with these features, and of the local host; return its Python."""
    (folder / "tools").mkdir()
    for name in ("requirements.py", "setup.py"):
        shutil.copy(ROOT / "tools" / name, folder / "tools")
    wanted, python = shutil.copy(ROOT / "requirements.txt", folder), folder / "venv" / "bin" / "python"
    chosen = [sys.executable, folder / "tools" / "requirements.py", "--features", ",".join(features) or "none"]
    uv: str | Path = shutil.which("uv") or ROOT / ".tools" / "bin" / "uv"
    host = [uv, "export", "--quiet", "--locked", "--only-group", "local", "-o", folder / "local.txt"]
    venv = [uv, "venv", "--quiet", "--python", sys.executable, folder / "venv"]
    pip = [uv, "pip", "install", "--quiet", "--python", python, "-r", wanted, "-r", folder / "local.txt"]
    for command in (chosen, host, venv, pip, [uv, "pip", "check", "--python", python]):
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return python


@asynccontextmanager
async def alone(
    tmp_path: Path, features: list[str], settings: Mapping[str, str]
) -> AsyncGenerator[tuple[RunningHost, OpenAIStandIn]]:
    """The app with these features, as it is in Azure."""
    async with AsyncExitStack() as closing:
        openai = await closing.enter_async_context(OpenAIStandIn(prefix="/openai/v1"))
        azure = await closing.enter_async_context(in_azure(openai.endpoint, openai.api_key))
        env = azure | {"AZURE_OPENAI_CHAT_DEPLOYMENT": openai.model, "DOCUMENTS_WRITERS": "nobody"}
        env = {name: value for name, value in (env | dict(settings)).items() if value}
        python = installed(tmp_path, features)
        yield (
            await closing.enter_async_context(host_beside(env={"DATA_DIR": str(tmp_path), **env}, python=python)),
            openai,
        )


async def post(host: RunningHost, http: aiohttp.ClientSession, path: str, sent: Any) -> tuple[int, str]:
    async with http.post(host.url + path, json=sent) as response:
        return response.status, await response.text()


@pytest.mark.nightly
async def test_chat_without_any_names_what_is_not_there(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    async with alone(tmp_path, [], {}) as (host, openai):
        async with http.get(f"{host.url}/health") as response:
            assert response.status == 200
            lacks = (await response.json())["parts"]["packages"]["detail"]
        assert all(f"add {name} to DEPLOY_FEATURES" in lacks for name in FEATURES)
        async with http.get(f"{host.url}/v1/models") as response:
            assert [model["id"] for model in (await response.json())["data"]] == ["switchboard"]
        assert "deployed without readers, agents, built-in, rai" in host.log()
        for path in ("/chat", "/chat/stream", "/v1/responses"):
            openai.reply("80 % [plan.pdf#page=3].")
            status, answer = await post(host, http, path, body() if "chat" in path else {"input": "What is paid?"})
            assert (status, "80 %" in answer) == (200, True), answer
        for path, sent, lack in (
            ("/v1/chat/completions", completed(NOTES), "readers"),
            ("/semantic-kernel-python/multi-agent-chat/batch", TEAM, "agents"),
        ):
            _, answer = await post(host, http, path, sent)
            assert f"add {lack} to DEPLOY_FEATURES" in answer


@pytest.mark.nightly
@pytest.mark.parametrize("feature", FEATURES)
async def test_each_alone_serves_what_it_should(tmp_path: Path, http: aiohttp.ClientSession, feature: str) -> None:
    async with RaiStandIn() as rai:
        without_services = dict.fromkeys(
            ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_CHAT_DEPLOYMENT", "AZURE_SEARCH_ENDPOINT", "AZURE_SEARCH_INDEX"), ""
        ) | {"AZURE_SEARCH_API_KEY": "", "HISTORY_BACKEND": "sqlite"}
        settings = {"rai": rai.settings, "built-in": without_services}.get(feature, {})
        async with alone(tmp_path, [feature], settings) as (host, openai):
            if feature == "readers":
                status, answer = await post(host, http, "/v1/chat/completions", completed(NOTES))
                assert status == 200, answer
                assert "kingfisher" in str(openai.chats[-1].body)
            elif feature == "agents":
                status, answer = await post(host, http, "/multi-agent-chat/batch", TEAM)
            else:
                status, answer = await post(host, http, "/chat", body())
            assert status == 200, answer
            assert "DEPLOY_FEATURES" not in answer
            if feature == "rai":
                assert rai.sessions
