"""Runs of all, for operators: what goes on, waits, is stuck or has failed; they stop one, and try one again."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from hashlib import sha256
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.batches import LATER, place_of, polled
from tests.app.conftest import NO_VECTORS, hosted
from tests.local.running_host import RunningHost
from tests.runs.acting import agents_file, crm
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECRETS = {name: f"switchboard_{name * 10}" for name in ("alice", "boss")}
ALICE, BOSS = ({"Authorization": f"Bearer {secret}"} for secret in SECRETS.values())
type Answer = tuple[int, Any]


class App:
    """A host whose clerk drops orders if a person agrees, and the model behind it."""

    def __init__(self, host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession) -> None:
        self.host, self.openai, self._http = host, openai, http

    async def ask(self, question: str) -> str:
        """Ask for later as Alice; return the run's id."""
        sent = {"messages": [{"role": "user", "content": question}]}
        url = f"{self.host.url}/ai-chat/chat"
        async with self._http.post(url, json=sent, headers=LATER | ALICE) as response:
            assert response.status == 202, await response.text()
            return response.headers["Location"].rpartition("/")[2]

    async def send(self, method: str, path: str, sent: Any = None, who: Mapping[str, str] = BOSS) -> Answer:
        async with self._http.request(method, self.host.url + path, json=sent, headers=who) as response:
            return response.status, await response.json() if response.content_length else None

    async def listed(self, state: str) -> dict[str, Any]:
        """Wait until a run stands so; return it."""
        async with asyncio.timeout(60):
            while not (found := (await self.send("GET", f"/runs?state={state}"))[1]["runs"]):  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.05)
        return found[0]

    async def ended(self, run_id: str) -> Answer:
        return await polled(self._http, f"{self.host.url}/runs/{run_id}", ALICE)


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["folder", "queue"])
async def app(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    azurite: Azurite,
) -> AsyncGenerator[App]:
    folder = tmp_path_factory.mktemp("operated")
    keys = ",".join(f"{name}:{sha256(secret.encode()).hexdigest()}" for name, secret in SECRETS.items())
    async with (
        crm() as server,
        OpenAIStandIn() as openai,
        place_of(request.param, folder, azurite) as place,
        aiohttp.ClientSession() as http,
    ):
        file = await asyncio.to_thread(agents_file, folder, server.url)
        env = openai.settings | NO_VECTORS | dict(place.settings) | {"AUTH_MODE": "api-key", "API_KEYS": keys}
        env |= {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk", "OPERATORS": "boss"}
        async with hosted(folder, env) as host:
            yield App(host, openai, http)


async def test_only_operators_see_to_the_runs_of_others(app: App) -> None:
    for method, path in (("GET", "/runs"), ("POST", f"/runs/{'0' * 44}/stop"), ("POST", f"/runs/{'0' * 44}/retry")):
        status, body = await app.send(method, path, who=ALICE)
        assert (status, "OPERATORS" in str(body)) == (403, True)
    for path in (f"/runs/{'0' * 44}/stop", "/runs/x/retry"):
        assert (await app.send("POST", path))[0] == 404
    for wrong in ("state=done", "after=x", "limit=0"):
        assert (await app.send("GET", f"/runs?{wrong}"))[0] == 400


async def test_a_run_that_goes_on_is_listed_with_who_asked_and_stopped(app: App) -> None:
    app.openai.hang()
    before = len(app.openai.requests)
    run_id = await app.ask("What takes so long?")
    await app.openai.request_number(before + 1)
    run = await app.listed("running")
    assert {key: run[key] for key in ("id", "wire", "owner", "waits_for")} == {
        "id": run_id,
        "wire": "ai-chat",
        "owner": "key:alice",
        "waits_for": [],
    }
    assert "takes so long" not in str(run)
    assert (await app.send("POST", f"/runs/{run_id}/retry"))[0] == 409
    assert (await app.send("POST", f"/runs/{run_id}/stop"))[0] == 204
    assert (await app.ended(run_id))[0] == 409
    assert (await app.send("GET", "/runs"))[1] == {"runs": [], "next": None}


async def test_a_run_that_failed_is_tried_again_and_answers(app: App) -> None:
    app.openai.fail(401)
    run_id = await app.ask("Who pays?")
    assert (await app.ended(run_id))[0] == 500
    assert (await app.listed("failed"))["id"] == run_id
    app.openai.reply("The company pays.")
    assert (await app.send("POST", f"/runs/{run_id}/retry"))[0] == 204
    status, body = await app.ended(run_id)
    assert (status, body["message"]["content"]) == (200, "The company pays.")
    assert (await app.send("GET", "/runs?state=failed"))[1]["runs"] == []
    assert (await app.send("POST", f"/runs/{run_id}/retry"))[0] == 409


async def test_what_waits_for_a_person_is_listed_and_what_was_decided_afterwards(app: App) -> None:
    asked = list[str]()
    for name in ("x", "y"):
        app.openai.call_tool("crm_drop", {"name": name})
        asked.append(await app.ask(f"Drop {name}."))
        async with asyncio.timeout(60):
            while len((await app.send("GET", "/approvals", who=ALICE))[1]["approvals"]) < len(asked):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    first = (await app.send("GET", "/runs?state=waiting&limit=1"))[1]
    second = (await app.send("GET", f"/runs?state=waiting&limit=1&after={first['next']}"))[1]
    pages = [*first["runs"], *second["runs"]]
    assert ([one["id"] for one in pages], second["next"]) == (sorted(asked), None)
    assert {(one["state"], *one["waits_for"]) for one in pages} == {("waiting", "crm.drop")}
    app.openai.reply("x stays.")
    assert (await app.send("POST", f"/runs/{asked[1]}/stop"))[0] == 204
    (open_one,) = (await app.send("GET", "/approvals", who=ALICE))[1]["approvals"]
    no = {"approved": False, "reason": "not today"}
    assert (await app.send("POST", f"/approvals/{open_one['id']}", no, ALICE))[0] == 200
    assert (await app.ended(asked[0]))[0] == 200
    assert (await app.send("GET", "/approvals", who=ALICE))[1]["approvals"] == []
    decided = (await app.send("GET", "/approvals?state=decided", who=ALICE))[1]["approvals"]
    assert {(one["state"], one["decided_by"], one["reason"]) for one in decided} == {
        ("denied", "key:alice", "not today"),
        ("abandoned", None, None),
    }
    assert (await app.send("GET", "/approvals?state=decided"))[1]["approvals"] == []  # the boss is no approver
    assert (await app.send("GET", "/approvals?state=all", who=ALICE))[0] == 400
