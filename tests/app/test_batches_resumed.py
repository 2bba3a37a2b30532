"""A host that is killed in the middle of a batch: the next one finishes it, in a folder and with Azurite's queue."""

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from tests.app.batches import BATCH, accepted, place_of, polled, until
from tests.app.conftest import NO_VECTORS
from tests.app.test_answers import body, without_ids
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.aging import age
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

NAMES = ("Alpha", "Beta", "Gamma")
PATTERNS = ("concurrent", "sequential", "group_chat", "handoff")
KILLED = [
    pytest.param(pattern, kind, marks=[] if (2 * order + place) % 3 == 0 else pytest.mark.nightly)
    for order, pattern in enumerate(PATTERNS)
    for place, kind in enumerate(("folder", "queue"))
]
"""Each pattern and each place; every combination is tried at night."""
READY = "Switchboard is ready"


def team(pattern: str) -> str:
    rounds = ", max_rounds: 3" if pattern == "group_chat" else ""
    members = "".join(f"  - {{name: {name}, instructions: Say what you think.}}\n" for name in NAMES)
    return f"team: {{pattern: {pattern}{rounds}}}\nagents:\n{members}"


def says(openai: OpenAIStandIn, pattern: str, name: str) -> Callable[[], None]:
    """What an agent's model answers."""
    nexts: dict[str, str] = dict(pairwise(NAMES))
    following = nexts.get(name)
    if pattern == "handoff" and following:
        return lambda: openai.call_tool(f"handoff_to_{following}", {}, call_id=f"call_{name}")
    return lambda: openai.reply(f"{name} thinks so.")


def asked(openai: OpenAIStandIn, name: str) -> int:
    """How often an agent's model was asked."""
    return sum(f"You are {name}" in json.dumps(request.body["messages"]) for request in openai.chats)


@pytest.mark.parametrize(("pattern", "kind"), KILLED)
async def test_a_killed_hosts_batch_is_finished_and_no_finished_call_repeated(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, pattern: str, kind: str
) -> None:
    (tmp_path / "agents.yaml").write_text(team(pattern), encoding="utf-8")
    async with OpenAIStandIn() as openai, place_of(kind, tmp_path / "data", azurite) as place:
        own = {"DATA_DIR": str(place.data_dir), "AGENTS_FILE": str(tmp_path / "agents.yaml")}
        env = openai.settings | NO_VECTORS | dict(place.settings) | own
        first = RunningHost(REPOSITORY, env, ("--port", "0"))
        try:
            await asyncio.to_thread(first.wait_for, READY)
            for name in NAMES:
                with openai.to(f"You are {name}"):
                    says(openai, pattern, name)()
            async with http.post(first.url + BATCH, json=body()) as response:
                at_once = await response.json()
            openai.requests.clear()
            for name in NAMES:
                with openai.to(f"You are {name}"):
                    if name == "Beta":
                        openai.hang()
                    says(openai, pattern, name)()
            location = await accepted(http, first.url + BATCH, body())
            count = 2 if pattern == "concurrent" else 1

            async def is_in_second() -> bool:
                return asked(openai, "Beta") == 1 and len(await place.names("/calls/")) == count

            await until(is_in_second)
        finally:
            first.process.kill()
            await asyncio.to_thread(first.wait)
        await age(place.store)
        async with host_beside(env=env) as second:
            status, result = await polled(http, location.replace(first.url, second.url))
        assert status == 200
        assert without_ids(result) == without_ids(at_once)
        assert [asked(openai, name) for name in NAMES] == [1, 2, 1]
