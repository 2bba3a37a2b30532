"""Approvals over HTTP: an answer waits, its host is killed, and another host goes on when a person has decided."""

import asyncio
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.batches import LATER, place_of, polled, until
from tests.app.conftest import NO_VECTORS
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.acting import Crm, agents_file, crm
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECRETS = {name: f"switchboard_{name * 10}" for name in ("alice", "bob", "boss")}
ALICE, BOB, BOSS = ({"Authorization": f"Bearer {secret}"} for secret in SECRETS.values())
ASKED: list[Any] = [{"role": "user", "content": "Drop it."}]


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncGenerator[Crm]:
    async with crm() as server:
        yield server


async def answer(http: aiohttp.ClientSession, method: str, url: str, who: Any, sent: Any = None) -> tuple[int, Any]:
    async with http.request(method, url, json=sent, headers=who) as response:
        return response.status, await response.json(content_type=None)


async def waiting(http: aiohttp.ClientSession, url: str) -> Any:
    """Poll until a run waits; return its approval."""
    async with asyncio.timeout(60):
        while (await answer(http, "GET", url, ALICE))[1]["status"] != "waiting":  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.05)
    (approval,) = (await answer(http, "GET", url, ALICE))[1]["approvals"]
    return approval


async def test_a_paused_answer_survives_its_host_and_goes_on_when_a_person_has_decided(
    tmp_path: Path, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    entries = ",".join(f"{name}:{sha256(secret.encode()).hexdigest()}" for name, secret in SECRETS.items())
    file = await asyncio.to_thread(agents_file, tmp_path, server.url)
    env = openai.settings | NO_VECTORS | {"AUTH_MODE": "api-key", "API_KEYS": entries, "APPROVERS": "boss"}
    env |= {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk", "DATA_DIR": str(tmp_path)}
    first = RunningHost(REPOSITORY, env, ("--port", "0"))
    try:
        await asyncio.to_thread(first.wait_for, "Switchboard is ready")
        openai.call_tool("crm_drop", {"name": "x"})
        status, _ = await answer(http, "POST", f"{first.url}/ai-chat/chat", ALICE, {"messages": ASKED})
        (chat,) = (await answer(http, "GET", f"{first.url}/approvals", ALICE))[1]["approvals"]
        openai.call_tool("crm_drop", {"name": "y"})
        batch = f"{first.url}/multi-agent-chat/batch"
        async with http.post(batch, json={"messages": ASKED}, headers=LATER | ALICE) as response:
            location = response.headers["Location"]
        waits = await waiting(http, location)
        assert (status, waits["arguments"], waits["tool"]) == (200, '{"name":"y"}', "drop")
    finally:
        first.process.kill()
        await asyncio.to_thread(first.wait)
    async with host_beside(env=env) as host:
        batch, url = location.replace(first.url, host.url), f"{host.url}/approvals/{waits['id']}"
        assert await waiting(http, batch) == waits
        async with http.get(url, headers={"Accept": "text/html, */*;q=0.1"}, allow_redirects=False) as page:
            assert (page.status, page.headers["Location"]) == (303, f"../#/approvals/{waits['id']}")
        yes = {"approved": True, "reason": "go"}
        refused: list[tuple[Any, Any, int]] = [
            (BOB, yes, 404),
            (BOSS, {"approved": "yes"}, 400),
            (BOSS, [], 400),
            (BOSS, {}, 400),
        ]
        for who, sent, expected in refused:
            assert (await answer(http, "POST", url, who, sent))[0] == expected
        seen = (await answer(http, "GET", f"{host.url}/approvals", BOSS))[1]["approvals"]
        assert [("run" in one, one["asker"]) for one in seen] == [(False, "key:alice")] * 2
        assert server.dropped == []
        openai.reply("y is dropped.")
        for sent, expected in ((yes, 200), (yes, 200), ({"approved": False}, 409)):
            assert (await answer(http, "POST", url, BOSS, sent))[0] == expected
        status, body = await polled(http, batch, headers=ALICE)
        assert (status, server.dropped) == (200, ["y"])
        told, said = body[0]["Content"].split("\n\n")  # the app's own word comes first, whatever the model makes of it
        assert "drop was done: " in told
        assert said == "y is dropped."
        assert body[0]["Metadata"]["Context"]["thoughts"][-1] == {
            "title": "Approved call",
            "description": told,
            "props": None,
        }
        openai.reply("x stays.")
        phrase = [*ASKED, {"role": "user", "content": f" Decline {chat['code'].lower()} "}]
        status, body = await answer(http, "POST", f"{host.url}/ai-chat/chat", ALICE, {"messages": phrase})
        assert (status, body["message"]["content"]) == (200, "x stays.")
        assert (await answer(http, "GET", f"{host.url}/approvals/{chat['id']}", ALICE))[1]["state"] == "denied"
    assert server.dropped == ["y"]


@pytest.mark.nightly
@pytest.mark.parametrize("seconds", [0, 0.02, 0.1])
@pytest.mark.parametrize("way", ["post", "phrase"])
@pytest.mark.parametrize("kind", ["folder", "queue"])
async def test_what_was_agreed_to_is_done_though_the_host_is_killed_at_once_and_nobody_asks_again(
    kind: str,
    way: str,
    seconds: float,
    tmp_path: Path,
    azurite: Azurite,
    server: Crm,
    openai: OpenAIStandIn,
    http: aiohttp.ClientSession,
) -> None:
    async with place_of(kind, tmp_path, azurite) as place:
        file = await asyncio.to_thread(agents_file, tmp_path, server.url)
        env = openai.settings | NO_VECTORS | dict(place.settings) | {"DATA_DIR": str(tmp_path)}
        env |= {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        first = RunningHost(REPOSITORY, env, ("--port", "0"))
        try:
            await asyncio.to_thread(first.wait_for, "Switchboard is ready")
            openai.call_tool("crm_drop", {"name": "x"})
            await answer(http, "POST", f"{first.url}/ai-chat/chat", {}, {"messages": ASKED})
            (asked,) = (await answer(http, "GET", f"{first.url}/approvals", {}))[1]["approvals"]
            openai.reply("Done.")
            openai.reply("Done.")
            if way == "post":
                url = f"{first.url}/approvals/{asked['id']}"
                assert (await answer(http, "POST", url, {}, {"approved": True}))[0] == 200
            else:
                said = [{"role": "user", "content": f"approve {asked['code']}"}]
                await http.post(f"{first.url}/ai-chat/chat/stream", json={"messages": said})
            await asyncio.sleep(seconds)  # at this moment, and at no other
        finally:
            first.process.kill()
            await asyncio.to_thread(first.wait)
        async with host_beside(env=env) as host:

            async def has_ended() -> bool:
                return await place.names("/result") != [] and await place.names("going/") == []

            await until(has_ended, 120)
            state = (await answer(http, "GET", f"{host.url}/approvals/{asked['id']}", {}))[1]["state"]
        openai.forget_scripts()
    assert (state, server.dropped) in (("executed", ["x"]), ("unknown", ["x"]), ("unknown", []))
