"""Whatever the model's service sends: callers get what the documents say, others are served, and nothing leaks."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body
from tests.hostile.faulty_service import KEY, FaultyService
from tests.hostile.upstream_faults import KINDS, SECRET
from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

AT_THE_SAME_TIME = 12
CODES = {
    200: {""},
    400: {"bad_request", "content_filter"},
    429: {"rate_limited"},
    503: {"unavailable"},
    504: {"timeout"},
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def faulty() -> AsyncGenerator[FaultyService]:
    async with FaultyService() as service:
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def patient(faulty: FaultyService, data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app with more time than any test has: what ends here is ended by its size."""
    async with hosted(data_dir, faulty.settings | NO_VECTORS | {"CHAT_DEADLINE_SECONDS": "1000"}) as host:
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hasty(faulty: FaultyService, data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app with a short time limit."""
    async with hosted(data_dir, faulty.settings | NO_VECTORS | {"CHAT_DEADLINE_SECONDS": "3"}) as host:
        yield host


async def told(http: aiohttp.ClientSession, url: str, name: str) -> tuple[int, str, bytes]:
    """The status of an answer, its error's code if it has one, and its bytes."""
    async with http.post(url, json=body(f"dental fault:{name}")) as response:
        sent = await response.read()
        last = json.loads(sent.strip().rpartition(b"\n")[2])
        assert "retry-after" not in response.headers or 1 <= int(response.headers["retry-after"]) <= 60
        return response.status, last.get("error", {}).get("code", ""), sent


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        pytest.param(route, kind, marks=[] if (place + number) % 2 == 0 else pytest.mark.nightly)
        for number, route in enumerate(["chat", "chat/stream"])
        for place, kind in enumerate(KINDS)
    ],
)
async def test_each_fault_of_the_service_is_told_as_documented(
    patient: RunningHost, hasty: RunningHost, http: aiohttp.ClientSession, route: str, kind: str
) -> None:
    slots = asyncio.Semaphore(AT_THE_SAME_TIME)

    async def check(name: str) -> str | None:
        fault = KINDS[kind][name]
        app = hasty if fault.waits else patient
        async with slots:
            status, code, sent = await told(http, f"{app.url}/ai-chat-2024-05-29/{route}", name)
        # A stream begins after two seconds, also where nothing has come yet: then its last line tells of the fault.
        right = {fault.status, fault.or_status or fault.status}
        statuses = right | {200} if route == "chat/stream" else right
        leaked = SECRET.encode() in sent or KEY.encode() in sent
        is_right = status in statuses and any(code in CODES[each] for each in right) and not leaked
        return None if is_right else f"{name}: {status} {code}{' LEAKED' * leaked}"

    wrong = [found for found in await asyncio.gather(*map(check, KINDS[kind])) if found]
    assert not wrong, "\n".join(wrong)
    for app in (patient, hasty):
        log = app.log()
        assert not [word for word in (SECRET, KEY, "Traceback") if word in log]
    assert (await told(http, f"{patient.url}/ai-chat-2024-05-29/{route}", ""))[:2] == (200, "")
