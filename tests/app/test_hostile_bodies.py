"""Hostile bodies over HTTP: what is sent up to the size limits is answered as documented, and costs little.

What a body costs is the memory that the app takes for it, and the processor time in relation to that of plain texts of
the largest size, measured beside it: a duration alone would say how busy the machine is.
"""

import json
import sys
import time
from collections.abc import AsyncGenerator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import hosted
from tests.app.test_described_answers import problems
from tests.description.documents import OPENAPI
from tests.hostile.bodies import HOSTILE_BODIES, PLAIN_TEXT, BodyFuzzer, HostileBody, limit_of
from tests.local.running_host import RunningHost

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
]

SEED = 13
COUNTS = [80, pytest.param(240, marks=pytest.mark.nightly)]
"""How many bodies are made: at least one for each of the operations."""
TAKING_JSON = {
    (method, path)
    for path, methods in OPENAPI["paths"].items()
    for method, operation in methods.items()
    if "application/json" in operation.get("requestBody", {}).get("content", {})
}
"""The operations that take JSON."""
MOST_MEMORY = 100 * 1024 * 1024
"""Bytes that a request may take."""
MOST_RATIO = 6
"""Processor time that a request may take, as a multiple of what storing a plain text of the largest size takes."""
MOST_ANSWER = 5
"""Size of an answer, as a multiple of the largest body: each agent of a team gives the session state back."""


class Costs:
    """What the app's process has used."""

    def __init__(self, host: RunningHost) -> None:
        self._id = host.process.pid
        self._before = self._status("VmRSS")
        Path(f"/proc/{self._id}/clear_refs").write_text("5")  # the peak begins anew
        self._cpu = self._clock()

    def memory(self) -> int:
        """Bytes at the peak since then, beyond those before."""
        return self._status("VmHWM") - self._before

    def seconds(self) -> float:
        """Processor time since then."""
        return self._clock() - self._cpu

    def _clock(self) -> float:
        return time.clock_gettime((~self._id << 3) | 2)  # CPUCLOCK_SCHED of the process (linux/posix-timers.h)

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self._id}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(name + ":")).split()[1]) * 1024


class Attack:
    """Sends bodies to the app, one at a time, and says what is wrong with what comes of them."""

    def __init__(self, host: RunningHost, http: aiohttp.ClientSession) -> None:
        self._host = host
        self._http = http
        self._yardstick = 0.0

    async def measure(self) -> None:
        """Measure what a plain text of the largest size takes; the first one warms up what a chat needs."""
        for self._yardstick in (float("inf"), 0.0):
            assert not await self.problems(PLAIN_TEXT)

    async def problems(self, hostile: HostileBody) -> list[str]:
        """Send a body and, if a chat has it now, open that chat."""
        if not hostile.path.startswith("/chat-history/{id}"):
            return await self._sent(hostile.method, hostile.path, hostile.path, hostile.body)
        async with self._http.post(self._host.url + "/chat-history", json={}) as response:
            chat = (await response.json())["id"]
        put = hostile.path.replace("{id}", chat)
        found = await self._sent(hostile.method, hostile.path, put, hostile.body)
        found += await self._sent("get", hostile.path + "/messages", put + "/messages", b"")
        async with self._http.delete(self._host.url + put):
            return found

    async def _sent(self, method: str, path: str, url: str, body: bytes) -> list[str]:
        """Send a body, and again if it took long: the machine is busy with other things too."""
        found, seconds = await self._once(method, path, url, body)
        self._yardstick = self._yardstick or seconds
        for _ in range(2):
            if seconds > MOST_RATIO * self._yardstick:
                seconds = min(seconds, (await self._once(method, path, url, body))[1])
        if seconds > MOST_RATIO * self._yardstick:
            found.append(f"took {seconds / self._yardstick:.1f} times as long as a plain text")
        return [f"{method} {path}: {problem}" for problem in found]

    async def _once(self, method: str, path: str, url: str, body: bytes) -> tuple[list[str], float]:
        """What is wrong with the answer, and the processor time in seconds."""
        costs = Costs(self._host)
        headers = {"content-type": "application/json"}
        async with self._http.request(method, self._host.url + url, data=BytesIO(body), headers=headers) as response:
            answer = await response.read()
        memory, seconds = costs.memory(), costs.seconds()
        found = wrong_in(OPENAPI["paths"][path][method]["responses"], response, answer)
        if memory > MOST_MEMORY:
            found.append(f"took {memory:,} bytes")
        if len(answer) > MOST_ANSWER * limit_of(path):
            found.append(f"answered with {len(answer):,} bytes")
        return found, seconds


def wrong_in(described: dict[str, Any], response: aiohttp.ClientResponse, answer: bytes) -> list[str]:
    """Whether an answer has a documented status and shape, and is no fault of ours."""
    if response.status >= 500 or str(response.status) not in described:
        return [f"status {response.status}: {answer[:300]!r}"]
    if response.content_type != "application/json":
        return []
    return problems(described[str(response.status)], response.content_type, json.loads(answer))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def attack(data_dir: Path) -> AsyncGenerator[Attack]:
    """The app with nothing configured but safety checks, and what a plain text costs it."""
    timeout = aiohttp.ClientTimeout(total=300)
    async with hosted(data_dir, {"RAI_MODE": "annotate"}) as host, aiohttp.ClientSession(timeout=timeout) as http:
        attack = Attack(host, http)
        await attack.measure()
        yield attack


@pytest.mark.parametrize("hostile", HOSTILE_BODIES, ids=lambda hostile: hostile.name)
async def test_a_body_that_stopped_the_app_costs_little(attack: Attack, hostile: HostileBody) -> None:
    assert not await attack.problems(hostile)


@pytest.mark.parametrize("count", COUNTS)
async def test_bodies_made_of_the_openapi_document_cost_little_and_are_answered_as_described(
    attack: Attack, count: int
) -> None:
    bodies = list(BodyFuzzer(OPENAPI, SEED).bodies(count))
    assert {(hostile.method, hostile.path) for hostile in bodies} == TAKING_JSON
    found = {hostile.name: await attack.problems(hostile) for hostile in bodies}
    assert not {name: problems for name, problems in found.items() if problems}
