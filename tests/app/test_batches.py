"""Batches that outlive their request, over real sockets: in a folder, and with Azurite's blobs and queue."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio

from tests.app.batches import BATCH, LATER, Place, accepted, contents, pending, place_of, polled, said_so_far, until
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body, without_ids
from tests.app.test_multi_agent import ALPHA, BETA
from tests.local.running_host import RunningHost
from tests.runs.aging import age
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

KINDS = ("folder", "queue")
DAY = 24 * 60 * 60


class App:
    """A host with a team of two, the model behind it, and the place of its batches."""

    def __init__(self, host: RunningHost, openai: OpenAIStandIn, place: Place) -> None:
        self.host = host
        self.openai = openai
        self.place = place
        self.url = host.url + BATCH

    def script(self, alpha: str = "Alpha agrees.", beta: str = "Beta objects.") -> None:
        for agent, text in ((ALPHA, alpha), (BETA, beta)):
            with self.openai.to(agent):
                self.openai.reply(text)


@asynccontextmanager
async def running(kind: str, folder: Path, azurite: Azurite, settings: dict[str, str]) -> AsyncGenerator[App]:
    async with OpenAIStandIn() as openai, place_of(kind, folder, azurite) as place:
        env = openai.settings | NO_VECTORS | dict(place.settings) | settings
        async with hosted(place.data_dir, env) as host:
            yield App(host, openai, place)


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=KINDS)
async def app(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    azurite: Azurite,
    concurrent: dict[str, str],
) -> AsyncGenerator[App]:
    """The app in each of the places."""
    folder = tmp_path_factory.mktemp("batches")
    async with running(request.param, folder, azurite, {**concurrent, "HISTORY_BACKEND": "off"}) as app:
        yield app


async def test_a_batch_is_polled_until_it_has_the_synchronous_answer(app: App, http: aiohttp.ClientSession) -> None:
    app.script()
    async with http.post(app.url, json=body()) as response:
        at_once = await response.json()
    app.script()
    status, later = await polled(http, await accepted(http, app.url, body()))
    assert status == 200
    assert without_ids(later) == without_ids(at_once)


async def test_the_response_says_that_the_preference_was_followed(app: App, http: aiohttp.ClientSession) -> None:
    app.script()
    async with http.post(app.url, json=body(), headers=LATER) as response:
        assert response.status == 202
        assert response.headers["Preference-Applied"] == "respond-async"
        assert response.headers["Vary"] == "Prefer"
        exposed = response.headers["Access-Control-Expose-Headers"]
        assert {"location", "preference-applied", "retry-after"} <= set(exposed.split(", "))
        location = pending(response)
        standing = await response.json()
    assert location == f"{app.host.url}/multi-agent-chat/batches/{standing['id']}"
    _, whole = await polled(http, location)
    assert all(message in whole for message in standing["messages"])  # none, unless the store was slow


async def test_who_waits_long_enough_gets_the_answer_at_once(app: App, http: aiohttp.ClientSession) -> None:
    app.script()
    async with http.post(app.url, json=body(), headers={"Prefer": "respond-async, wait=60"}) as response:
        assert response.status == 200
        assert contents(await response.json()) == [("Alpha", "Alpha agrees."), ("Beta", "Beta objects.")]


@pytest.mark.parametrize(
    "prefer", ["wait=5", "respond-async=no", 'respond-async; "', "respond, async", "return=minimal"]
)
async def test_without_the_preference_or_with_a_malformed_one_the_answer_comes_at_once(
    app: App, http: aiohttp.ClientSession, prefer: str
) -> None:
    app.script()
    async with http.post(app.url, json=body(), headers={"Prefer": prefer}) as response:
        assert (response.status, response.headers["Vary"]) == (200, "Prefer")
        assert "Preference-Applied" not in response.headers


@pytest.mark.parametrize("protocol", ["ai-chat", "rag-chat", "openai", "openai-responses", "semantic-kernel-python"])
async def test_a_batch_speaks_the_protocol_of_its_route(app: App, http: aiohttp.ClientSession, protocol: str) -> None:
    sent = body() | {"input": "What does it pay?", "model": "switchboard"}
    url = f"{app.host.url}/{protocol}{BATCH}"
    app.script()
    async with http.post(url, json=sent) as response:
        at_once = await response.json()
    app.script()
    status, later = await polled(http, await accepted(http, url, sent))
    assert status == 200
    assert keys_in(later) == keys_in(at_once)
    assert "Alpha agrees." in json.dumps(later)


def keys_in(value: Any) -> Any:
    """A value without its texts and numbers."""
    if isinstance(value, dict):
        return {key: keys_in(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [keys_in(item) for item in cast("list[Any]", value)]
    return type(value).__name__


@pytest.mark.parametrize("protocol", ["ai-sdk", "ag-ui"])
async def test_a_protocol_that_only_streams_streams(app: App, http: aiohttp.ClientSession, protocol: str) -> None:
    app.script()
    sent = body()
    async with http.post(f"{app.host.url}/{protocol}{BATCH}", json=sent, headers=LATER) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream"), await response.text()
        assert "Alpha agrees." in await response.text()


async def test_messages_are_shown_and_streamed_as_they_are_done(app: App, http: aiohttp.ClientSession) -> None:
    go_on = asyncio.Event()
    with app.openai.to(ALPHA):
        app.openai.reply("Alpha agrees.")
    with app.openai.to(BETA):
        app.openai.reply(go_on, "Beta objects.")
    location = await accepted(http, app.url, body())
    assert contents(await said_so_far(http, location, 1)) == [("Alpha", "Alpha agrees.")]
    async with http.get(location + "/stream") as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        first = await response.content.readuntil(b"\n\n")
        assert first.startswith(b"id: 1\nevent: message\ndata: [")
        assert b"Alpha agrees." in first
        go_on.set()
        rest = await response.text()
    assert rest.startswith("id: 2\nevent: message\ndata: [")
    assert rest.endswith('id: end\nevent: end\ndata: {"status":200}\n\n')
    for last, count in (("1", 1), ("0", 2), ("nonsense", 2), ("-1", 2), ("9" * 400, 2)):
        async with http.get(location + "/stream", headers={"Last-Event-ID": last}) as response:
            assert (await response.text()).count("event: message") == count
    async with http.get(location + "/stream", headers={"Last-Event-ID": "end"}) as response:
        assert response.status == 204


async def test_one_key_makes_one_batch_however_often_it_comes_at_once(app: App, http: aiohttp.ClientSession) -> None:
    app.script()
    app.openai.requests.clear()
    key = str(uuid4())
    locations = await asyncio.gather(
        *(accepted(http, app.url, body("Once"), **{"Idempotency-Key": key}) for _ in range(20)),
        return_exceptions=True,
    )
    found = {location for location in locations if isinstance(location, str)}
    # Where the batch ends before the last of them is answered, that one is told the answer.
    assert len(found) == 1
    status, result = await polled(http, found.pop())
    assert (status, len(contents(result))) == (200, 2)
    assert len(app.openai.chats) == 2
    async with http.post(app.url, json=body("Once"), headers=LATER | {"Idempotency-Key": f'"{key}"'}) as response:
        assert (response.status, await response.json()) == (200, result)
    async with http.post(app.url, json=body("Twice"), headers=LATER | {"Idempotency-Key": key}) as response:
        assert response.status == 422
        assert "Idempotency-Key" in (await response.json())["error"]
    other = app.url.replace(BATCH, "/semantic-kernel" + BATCH)
    async with http.post(other, json=body("Once"), headers=LATER | {"Idempotency-Key": key}) as response:
        assert response.status == 422
    assert len(app.openai.chats) == 2


async def test_a_bad_request_is_refused_before_anything_is_kept(app: App, http: aiohttp.ClientSession) -> None:
    before = await app.place.names()
    for sent, headers, status in (
        (b"{", {}, 400),
        (b'{"messages": []}', {}, 400),
        (json.dumps(body("long " * 20_000)).encode(), {}, 413),
        (json.dumps(body()).encode(), {"Idempotency-Key": "k" * 7000}, 400),
        (json.dumps(body()).encode(), {"Idempotency-Key": ""}, 400),
    ):
        async with http.post(app.url, data=sent, headers=LATER | headers) as response:
            assert response.status == status, await response.text()
    async with http.post(f"{app.host.url}/nonsense{BATCH}", json=body(), headers=LATER) as response:
        assert response.status == 404
    assert await app.place.names() == before


@pytest.mark.parametrize(
    "run_id", ["1", "0" * 32, "A" * 32, "%2e%2e%2fkeys", "%2Fetc%2Fpasswd", "a" * 3000, "%F0%9F%99%82"]
)
async def test_an_id_that_is_none_is_not_found(app: App, http: aiohttp.ClientSession, run_id: str) -> None:
    url = f"{app.host.url}/multi-agent-chat/batches/{run_id}"
    for method, tail in (("GET", ""), ("DELETE", ""), ("GET", "/stream")):
        async with http.request(method, url + tail) as response:
            assert response.status == 404


async def test_a_deleted_batch_stops_its_model_and_leaves_nothing(app: App, http: aiohttp.ClientSession) -> None:
    app.openai.requests.clear()
    with app.openai.to(ALPHA):
        app.openai.hang()
    with app.openai.to(BETA):
        app.openai.reply("Beta objects.")
    location = await accepted(http, app.url, body(), **{"Idempotency-Key": "deleted"})
    await said_so_far(http, location, 1)
    async with http.delete(location) as response:
        assert (response.status, await response.text()) == (204, "")
    asked = next(request for request in app.openai.chats if ALPHA in json.dumps(request.body))
    await asyncio.wait_for(asked.disconnected.wait(), 60)
    for method, tail in (("GET", ""), ("DELETE", ""), ("GET", "/stream")):
        async with http.request(method, location + tail) as response:
            assert response.status == 404
    run_id = location.rpartition("/")[2]

    async def is_empty() -> bool:
        return await app.place.names(run_id) == [f"{run_id}/state"]

    await until(is_empty)  # a runner elsewhere cleans up after itself
    app.script()  # the key is free again
    again = await accepted(http, app.url, body(), **{"Idempotency-Key": "deleted"})
    assert again != location
    await polled(http, again)


async def test_a_batch_that_failed_has_its_own_status_and_never_one_to_try_again(
    app: App, http: aiohttp.ClientSession
) -> None:
    for answered, code, told in ((401, None, 500), (400, "content_filter", 400)):
        app.openai.fail(answered, code=code, times=2)
        status, failed = await polled(http, await accepted(http, app.url, body()))
        assert status == told
        assert "(invocation " in failed["error"]


async def test_after_a_day_a_batch_is_not_found(app: App, http: aiohttp.ClientSession) -> None:
    app.script()
    location = await accepted(http, app.url, body(), **{"Idempotency-Key": "expired"})
    await polled(http, location)
    await age(app.place.store, DAY, created=True)
    async with http.get(location) as response:
        assert response.status == 404
    app.script()
    assert await accepted(http, app.url, body(), **{"Idempotency-Key": "expired"}) != location
