"""What is loaded before the first request: as soon as the worker serves, and by the trigger that Azure runs."""

import asyncio
import json
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.processes import DEPLOYED
from tests.app.conftest import NO_VECTORS
from tests.app.test_answers import body
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.stand_ins.identity_endpoint import identity_endpoint
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROBED = f"""
import os
import runpy
import sys
from types import SimpleNamespace as Record

import azure_functions_runtime as worker
from starlette.requests import Request
from starlette.responses import JSONResponse

app = runpy.run_path({str(REPOSITORY / "function_app.py")!r})["app"]


@app.route("probe/modules", methods=["GET"])
async def probe_modules(req: Request) -> JSONResponse:
    return JSONResponse({{name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}})


@app.route("probe/settings", methods=["POST"])
async def probe_settings(req: Request) -> JSONResponse:
    os.environ.update(await req.json())
    return JSONResponse({{}})


class Data(Record):
    def WhichOneof(self, group):
        return "data" if group == "rpc_data" else "string"


@app.route("probe/warm-up", methods=["POST"])
async def probe_warm_up(req: Request) -> JSONResponse:
    found = await worker.functions_metadata_request(Record())
    (trigger,) = [each for each in found.function_metadata_results if "warmupTrigger" in each.raw_bindings[0]]
    invocation = Record(
        invocation_id="warm-up",
        function_id=trigger.function_id,
        input_data=[Data(name="context", data=Data(string=""))],
        trigger_metadata={{}},
        trace_context=Record(trace_parent="", trace_state="", attributes={{}}),
        retry_context=Record(retry_count=0, max_retry_count=0, exception=None),
    )
    answer = await worker.invocation_request(Record(request=Record(invocation_request=invocation)))
    return JSONResponse({{"name": trigger.name, "status": answer.result.status}})
"""
"""Our app with two routes more: what is imported, and the warm-up, invoked as the platform does."""


@asynccontextmanager
async def probed(
    tmp_path: Path, data_dir: Path, env: Mapping[str, str], python: Path = DEPLOYED
) -> AsyncGenerator[RunningHost]:
    (tmp_path / "function_app.py").write_text(PROBED, "utf-8")
    shutil.copy(REPOSITORY / "host.json", tmp_path)
    async with host_beside(tmp_path, {"DATA_DIR": str(data_dir), **env}, python) as host:
        yield host


async def modules(host: RunningHost, http: aiohttp.ClientSession) -> set[str]:
    return set(await module_files(host, http))


async def module_files(host: RunningHost, http: aiohttp.ClientSession) -> dict[str, str | None]:
    """The modules that the app has loaded, by name, and their files."""
    async with http.get(host.url + "/probe/modules") as response:
        return await response.json()


async def set_right(host: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.post(host.url + "/probe/settings", json={"HISTORY_BACKEND": "off"}) as response:
        assert response.status == 200


async def warm_up(host: RunningHost, http: aiohttp.ClientSession) -> Any:
    async with http.post(host.url + "/probe/warm-up") as response:
        return await response.json()


async def ask(host: RunningHost, http: aiohttp.ClientSession, path: str = "/chat/stream") -> tuple[int, str]:
    async with http.post(host.url + path, json=body()) as response:
        return response.status, await response.text()


NOT_YET = {"HISTORY_BACKEND": "nowhere"}
"""A setting with which the warm-up at the start fails."""
BUILT_IN = {"shared.chat_models.extractive.model", "shared.retrieval.sqlite.retriever"}
OPENAI = {"aiohttp", "shared.outbound.openai_service.sender"}
SAFETY = {"grpc", "google.protobuf", "shared.guard.stream_guard"}
AGENTS = {"agent_framework", "shared.agents.chat_client"}
TEAMS = {"agent_framework_orchestrations", "shared.agents.team"}


@pytest.mark.parametrize(
    ("settings", "path", "chosen"),
    [
        ({"OPENAI": "no"}, "/chat/stream", BUILT_IN),
        pytest.param({}, "/chat/stream", OPENAI, marks=pytest.mark.nightly),
        ({"OPENAI": "no", "RAI_MODE": "enforce"}, "/chat/stream", BUILT_IN | SAFETY),
        pytest.param({"CHAT_AGENT": "Researcher"}, "/chat/stream", OPENAI | AGENTS, marks=pytest.mark.nightly),
        ({"AGENTS_FILE": "team"}, "/multi-agent-chat/stream", OPENAI | AGENTS | TEAMS),
    ],
    ids=["embedded", "openai", "guarded", "agent", "team"],
)
async def test_soon_after_the_worker_serves_a_request_imports_nothing_more(
    tmp_path: Path,
    data_dir: Path,
    openai: OpenAIStandIn,
    http: aiohttp.ClientSession,
    concurrent: dict[str, str],
    settings: dict[str, str],
    path: str,
    chosen: set[str],
) -> None:
    env = dict(settings)
    if env.pop("OPENAI", None) is None:
        env |= openai.settings | NO_VECTORS
    if "AGENTS_FILE" in env:
        env |= concurrent
    async with probed(tmp_path, data_dir, env) as host:
        await asyncio.to_thread(host.wait_for, "warmed up in")
        before = await modules(host, http)
        status, answer = await ask(host, http, path)
        assert status == 200, answer
        assert await modules(host, http) - before == set()
    everything = BUILT_IN | OPENAI | SAFETY | AGENTS | TEAMS
    others = everything - chosen - {"aiohttp", "google.protobuf", "shared.retrieval.sqlite.retriever"}
    assert chosen <= before
    assert not before & others
    assert "not warmed up" not in host.log()
    assert "PUBLIC_URL" not in host.log()


async def test_the_trigger_warms_up_and_its_faults_come_back_at_the_request(
    tmp_path: Path, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with probed(tmp_path, data_dir, openai.settings | NO_VECTORS | NOT_YET) as host:
        assert await warm_up(host, http) == {"name": "warmup", "status": "success"}
        await asyncio.to_thread(host.wait_for, "not warmed up: HISTORY_BACKEND")
        assert "shared.outbound.openai_service.sender" not in await modules(host, http)
        status, answer = await ask(host, http)
        assert status == 503
        assert "HISTORY_BACKEND" in json.loads(answer)["error"]

        await set_right(host, http)
        assert await warm_up(host, http) == {"name": "warmup", "status": "success"}
        before = await modules(host, http)
        assert before >= OPENAI
        status, answer = await ask(host, http)
        assert status == 200, answer
        assert await modules(host, http) == before


NOT_FOR_A_QUESTION = {"yaml"}
"""What looks for models, and what reads the team."""


async def test_with_the_built_in_parts_a_first_question_does_not_import_what_it_does_not_need(
    tmp_path: Path, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with probed(tmp_path, data_dir, NOT_YET) as host:
        await set_right(host, http)
        status, answer = await ask(host, http)
        assert status == 200, answer
        assert not NOT_FOR_A_QUESTION & await modules(host, http)


async def test_in_azure_a_first_question_imports_neither_azure_identity_nor_the_sdk_of_blobs(
    tmp_path: Path, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with OpenAIStandIn(prefix="/openai/v1") as azure, identity_endpoint(azure.api_key) as (identity, _):
        settings = {
            **identity,
            **NOT_YET,
            "AZURE_OPENAI_ENDPOINT": azure.base_url.removesuffix("/openai/v1"),
            "AZURE_OPENAI_CHAT_DEPLOYMENT": azure.model,
            "CONTENT_STORAGE": "UseDevelopmentStorage=true",
        }
        async with probed(tmp_path, data_dir, settings) as host:
            await set_right(host, http)
            azure.reply("An answer.")
            status, answer = await ask(host, http)
            assert status == 200, answer
            assert not {"azure.identity", "msal", "azure.storage.blob", "requests"} & await modules(host, http)


async def test_a_service_that_is_down_ends_no_warm_up_and_is_the_requests_503(
    tmp_path: Path, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    nobody = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_CHAT_MODEL": "gpt-nobody", "HISTORY_BACKEND": "off"}
    async with probed(tmp_path, data_dir, nobody | {"AZURE_FUNCTIONS_ENVIRONMENT": "Production"}) as host:
        await asyncio.to_thread(host.wait_for, "warmed up in")
        assert "Links in answers lead to the worker itself: set PUBLIC_URL" in host.log()
        status, answer = await ask(host, http, "/chat")  # a stream's status waits only about as long as the app tries
        assert status == 503, answer


async def test_requests_that_come_during_the_warm_up_are_answered(
    tmp_path: Path, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with probed(tmp_path, data_dir, openai.settings | NO_VECTORS | NOT_YET) as host:
        await set_right(host, http)
        warmed, *answers = await asyncio.gather(warm_up(host, http), *(ask(host, http) for _ in range(4)))
        assert warmed["status"] == "success"
        assert [status for status, _ in answers] == [200] * 4
