"""Batches of several users, under guard, of several hosts, and where there are none."""

import asyncio
import json
import time
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from azure.storage.queue.aio import QueueClient

from shared.chat_types import Caller
from shared.runs import NEW
from shared.runs.records import RunRequest, State, digest
from shared.turns.accept import RouteOptions
from shared.wire.request_body import Body
from tests.app.batches import BATCH, LATER, accepted, contents, pending, place_of, polled, said_so_far, until
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import BAD
from tests.app.test_answers import body
from tests.app.test_multi_agent import ALPHA, BETA
from tests.kinds import one_in
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.aging import age
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

KINDS = pytest.mark.parametrize("kind", one_in(2, ["queue", "folder"]))
WORDS = "The Zanzibar merger is off."
"""What a user says that nobody else may read."""


async def test_a_batch_is_only_for_its_owner(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, concurrent: dict[str, str]
) -> None:
    keys = {name: f"switchboard_{name * 20}" for name in ("ada", "bob")}
    entries = ", ".join(f"{name}:{sha256(key.encode()).hexdigest()}" for name, key in keys.items())
    ada, bob = ({"Authorization": f"Bearer {key}"} for key in keys.values())
    async with OpenAIStandIn() as openai, place_of("folder", tmp_path, azurite) as place:
        env = openai.settings | NO_VECTORS | concurrent | {"AUTH_MODE": "api-key", "API_KEYS": entries}
        async with hosted(place.data_dir, env) as host:
            location = await accepted(http, host.url + BATCH, body(), **ada, **{"Idempotency-Key": "1"})
            for method, tail in (("GET", ""), ("GET", "/stream"), ("DELETE", "")):
                async with http.request(method, location + tail, headers=bob) as response:
                    assert response.status == 404
                async with http.request(method, location + tail) as response:
                    assert response.status == 401
            # The same key of another caller is another key.
            assert await accepted(http, host.url + BATCH, body(), **bob, **{"Idempotency-Key": "1"}) != location
            assert (await polled(http, location, ada))[0] == 200


async def test_where_batches_are_off_the_preference_is_ignored(data_dir: Path, http: aiohttp.ClientSession) -> None:
    async with hosted(data_dir, {"BATCH_BACKEND": "off"}) as host:
        async with http.post(host.url + BATCH, json=body(), headers=LATER) as response:
            assert response.status == 200
            assert "Preference-Applied" not in response.headers
        for method in ("GET", "DELETE"):
            async with http.request(method, f"{host.url}/multi-agent-chat/batches/{'0' * 32}") as response:
                assert response.status == 404


@KINDS
async def test_what_the_guard_blocks_is_never_shown_even_by_the_next_runner(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, concurrent: dict[str, str], kind: str
) -> None:
    async with OpenAIStandIn() as openai, RaiStandIn() as rai, place_of(kind, tmp_path / "data", azurite) as place:
        rai.find(BAD)
        own = {"DATA_DIR": str(place.data_dir), "HISTORY_BACKEND": "off"}
        env = openai.settings | NO_VECTORS | concurrent | rai.settings | dict(place.settings) | own
        with openai.to(BETA):
            openai.reply(f"Beta on {BAD}.")
        with openai.to(ALPHA):
            openai.hang()
            openai.reply("Alpha agrees.")
        first = RunningHost(REPOSITORY, env, ("--port", "0"))
        try:
            await asyncio.to_thread(first.wait_for, "Switchboard is ready")
            location = await accepted(http, first.url + BATCH, body("Hello?"))
            before = json.dumps(await said_so_far(http, location, 1))
        finally:
            first.process.kill()
            await asyncio.to_thread(first.wait)
        await age(place.store)
        async with host_beside(env=env) as second:
            location = location.replace(first.url, second.url)
            status, result = await polled(http, location)
            async with http.get(location + "/stream") as response:
                streamed = await response.text()
        assert status == 200
        assert ("Alpha", "Alpha agrees.") in contents(result)
        assert "content_filter" in json.dumps(result)
        for shown in (before, json.dumps(result), streamed):
            assert "Beta" in shown
            assert BAD not in shown


@pytest.mark.timeout(400)
@pytest.mark.nightly
async def test_two_hosts_on_one_queue_answer_two_hundred_batches_once_each(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, concurrent: dict[str, str]
) -> None:
    async with OpenAIStandIn() as openai, place_of("queue", tmp_path, azurite) as place:
        own = {"DATA_DIR": str(place.data_dir), "HISTORY_BACKEND": "off"}
        env = openai.settings | NO_VECTORS | concurrent | dict(place.settings) | own
        async with host_beside(env=env) as one, host_beside(env=env) as other:
            urls = [(one, other)[number % 2].url for number in range(200)]
            responses = await asyncio.gather(
                *(
                    http.post(url + BATCH, json=body(f"Question {number}?"), headers=LATER)
                    for number, url in enumerate(urls)
                )
            )
            # One that has ended before it is first reported, as under load, is its answer at once.
            assert {response.status for response in responses} <= {200, 202}
            locations = [pending(response) for response in responses if response.status == 202]

            async def are_done() -> bool:
                return len(await place.names("/result")) == 200

            await until(are_done, 300)
            ends = await asyncio.gather(*(polled(http, location) for location in locations))
            logs = one.log() + other.log()
        assert {status for status, _ in ends} == {200}
        assert len(openai.chats) == 400
        assert all("batch_run succeeded" in host.log() for host in (one, other))
        assert "Question" not in logs


@KINDS
async def test_what_users_say_is_in_no_log_and_no_message(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, concurrent: dict[str, str], kind: str
) -> None:
    async with OpenAIStandIn() as openai, place_of(kind, tmp_path, azurite) as place:
        env = openai.settings | NO_VECTORS | concurrent | dict(place.settings)
        async with hosted(place.data_dir, env) as host:
            location = await accepted(http, host.url + BATCH, body(WORDS), **{"Idempotency-Key": WORDS})
            assert (await polled(http, location))[0] == 200
            openai.reply(b"data: {" + WORDS.encode() + b"}\n\n")  # what the model's service sends is broken
            openai.hang_up(times=6)
            await polled(http, await accepted(http, host.url + BATCH, body(WORDS)))
            # What is kept of a batch is damaged.
            name = (await place.names("/state"))[0]
            await place.store.delete(name.replace("/state", "/result"))
            for message in await place.names("/journal/"):
                await place.store.delete(message)
                await place.store.write(message, b'["l", ["' + WORDS.encode() + b'"]]', NEW)
            await age(place.store)
            await polled(http, f"{host.url}/multi-agent-chat/batches/{name.partition('/')[0]}")
        assert "Zanzibar" not in host.log()
        assert name.partition("/")[0] not in host.log()  # who has the id of an anonymous batch can read it
        assert "Zanzibar" not in "".join(await place.names())


async def test_a_batch_whose_message_was_given_up_has_failed_and_garbage_is_dropped(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, concurrent: dict[str, str]
) -> None:
    async with OpenAIStandIn() as openai, place_of("queue", tmp_path, azurite) as place:
        run_id, now = uuid4().hex, time.time()
        asked = RunRequest(
            protocol="semantic-kernel",
            route=RouteOptions(team=True),
            caller=Caller(),
            budget_key="address:",
            invocation_id="invocation-1",
        )
        await place.store.write(f"{run_id}/request", asked.encode(Body(body())), NEW)
        state = msgspec.json.encode(State(digest("anonymous"), now, now))
        await place.store.write(f"{run_id}/state", state, NEW)
        queue = place.settings["BATCH_QUEUE"]
        async with hosted(place.data_dir, openai.settings | NO_VECTORS | concurrent | dict(place.settings)) as host:
            for name, sent in ((queue, "nonsense ../../etc"), (f"{queue}-poison", run_id)):
                async with QueueClient.from_connection_string(azurite.connection_string, name) as client:
                    await client.create_queue()
                    await client.send_message(sent)
            status, failed = await polled(http, f"{host.url}/multi-agent-chat/batches/{run_id}")
            await asyncio.to_thread(host.wait_for, "batch_run succeeded")
        assert status == 500
        assert "(invocation invocation-1)" in failed["error"]
        assert not openai.chats
