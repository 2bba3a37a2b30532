"""An app that serves loads only packages that are deployed, whatever else is installed beside them."""

import sys
import sysconfig
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.processes import DEPLOYED
from bench.targets import in_azure
from tests.app.test_answers import body
from tests.app.test_mcp import call
from tests.app.test_warm_up import module_files, probed
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

INSTALLED = Path(sysconfig.get_path("purelib"))
"""All packages of this environment: those for development too."""
IN_DEPLOYMENT = DEPLOYED.parents[1] / INSTALLED.relative_to(sys.prefix)
AT_EACH_START = "_distutils_hack"
"""Setuptools has every Python of its environment load this."""


async def post(host: RunningHost, http: aiohttp.ClientSession, path: str, sent: dict[str, Any]) -> None:
    headers = {"accept": "application/json, text/event-stream"}
    async with http.post(host.url + path, json=sent, headers=headers) as response:
        assert response.status == 200, await response.text()
        assert await response.text()


async def not_deployed(host: RunningHost, http: aiohttp.ClientSession) -> set[str]:
    """The packages of the modules that the app has loaded for a chat, a team and a search and that are not deployed."""
    await post(host, http, "/chat/stream", body())
    await post(host, http, "/multi-agent-chat/batch", body())
    await post(host, http, "/mcp", call("search", query="dental care"))
    loaded = {Path(file) for file in (await module_files(host, http)).values() if file}
    installed = {file.relative_to(INSTALLED) for file in loaded if file.is_relative_to(INSTALLED)}
    assert {"msgspec", "agent_framework"} <= {file.parts[0] for file in installed}
    return {file.parts[0] for file in installed if not (IN_DEPLOYMENT / file).exists()} - {AT_EACH_START}


async def test_with_the_built_in_parts(tmp_path: Path, data_dir: Path, http: aiohttp.ClientSession) -> None:
    async with probed(tmp_path, data_dir, {}, Path(sys.executable)) as host:
        assert await not_deployed(host, http) == set()


async def test_with_the_services_of_azure(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    async with (
        OpenAIStandIn(prefix="/openai/v1") as openai,
        in_azure(openai.endpoint, openai.api_key) as settings,
        probed(
            tmp_path, tmp_path, settings | {"AZURE_OPENAI_CHAT_DEPLOYMENT": openai.model}, Path(sys.executable)
        ) as host,
    ):
        assert await not_deployed(host, http) == set()
        assert openai.chats
