"""Answers of chat that outlive their request: left, followed, cut off by `kill -9`, taken over, stopped, deleted."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio

from shared.verdicts import answer_id_of
from tests.app.batches import LATER, Place, accepted, place_of, polled, until
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import QUESTION, body
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.aging import age
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

TOKENS = tuple(f"word{number} " for number in range(30))
TEXT = "".join(TOKENS)


def resumable(question: str = QUESTION, **more: Any) -> dict[str, Any]:
    return body(question) | {"context": {"overrides": {"resumable": True}}} | more


def text_of(lines: str) -> str:
    """The text of a stream of `ai-chat`."""
    records = [json.loads(line) for line in lines.splitlines()]
    assert not any("error" in record for record in records), records[-1]
    return "".join(record.get("delta", {}).get("content") or "" for record in records)


async def begun(http: aiohttp.ClientSession, url: str, sent: Any, shown: str, **headers: str) -> tuple[str, str]:
    """Ask for a stream, read it until it has shown a word, and leave; return where the run is, and what was read."""
    async with http.post(url, json=sent, headers=headers) as response:
        assert response.status == 200, await response.text()
        read = ""
        while shown not in read:
            piece = await response.content.readany()
            assert piece, read
            read += piece.decode()
        return response.headers["Location"], read


async def followed(http: aiohttp.ClientSession, location: str, headers: Mapping[str, str] | None = None) -> str:
    async with http.get(f"{location}/stream", headers=headers) as response:
        assert response.status == 200, await response.text()
        return await response.text()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(tmp_path_factory: pytest.TempPathFactory, azurite: Azurite) -> AsyncGenerator[Place]:
    async with place_of("folder", tmp_path_factory.mktemp("runs"), azurite) as place:
        yield place


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(openai: OpenAIStandIn, place: Place) -> AsyncGenerator[RunningHost]:
    async with hosted(place.data_dir, openai.settings | NO_VECTORS) as host:
        yield host


async def test_who_leaves_finds_the_whole_answer_and_may_read_it_from_any_record_on(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.requests.clear()
    go_on = asyncio.Event()
    openai.reply(*TOKENS[:10], go_on, *TOKENS[10:])
    location, read = await begun(http, f"{host.url}/chat/stream", resumable(), "word9")
    assert location.startswith(f"{host.url}/runs/")
    async with http.get(location) as response:
        assert (response.status, (await response.json())["status"]) == (202, "running")
    two = asyncio.gather(followed(http, location), followed(http, location))
    go_on.set()
    assert len({*await two}) == 1
    whole = await followed(http, location)
    assert (text_of(whole), whole.startswith(read)) == (TEXT, True)
    lines = whole.splitlines(keepends=True)
    for after in (0, 7, len(lines) - 2):
        async with http.get(f"{location}/stream?starting_after={after}") as response:
            assert await response.text() == "".join(lines[after + 1 :])
    assert (await polled(http, location))[1]["message"]["content"] == TEXT
    assert len(openai.chats) == 1


async def test_the_id_of_an_answer_is_no_key_to_its_run(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    for _ in range(2):
        openai.reply("80 %.")
    async with http.post(f"{host.url}/chat", json=resumable()) as response:
        location, answered = response.headers["Location"], await response.json()
    async with http.post(f"{host.url}/v1/responses", json={"model": "switchboard", "input": QUESTION}) as response:
        stored = await response.json()
    keys = [location.rpartition("/")[2], stored["id"].removeprefix("resp_")]
    assert [len(key) for key in keys] == [12 + 128 // 4] * 2
    for answer_id in (answered["context"]["answer_id"], answer_id_of(keys[1])):
        assert not any(answer_id in key for key in keys)
        for method, path in (
            ("GET", f"/runs/{answer_id}"),
            ("GET", f"/runs/{answer_id}/stream"),
            ("GET", f"/v1/responses/resp_{answer_id}"),
            ("POST", f"/v1/responses/resp_{answer_id}/cancel"),
            ("DELETE", f"/runs/{answer_id}"),
            ("DELETE", f"/v1/responses/resp_{answer_id}"),
        ):
            async with http.request(method, host.url + path) as response:
                assert response.status == 404, (method, path)
        sent = {"model": "switchboard", "input": "And?", "previous_response_id": f"resp_{answer_id}"}
        async with http.post(f"{host.url}/v1/responses", json=sent) as response:
            assert response.status == 400
    for path in (f"/runs/{keys[0]}", f"/v1/responses/resp_{keys[1]}"):
        async with http.get(host.url + path) as response:
            assert response.status == 200


async def test_server_sent_events_have_numbers_and_go_on_after_one(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.requests.clear()
    openai.reply(*TOKENS)
    run_id = str(uuid4())  # AG-UI: the run id of the request names the run
    sent = {
        "threadId": "t1",
        "runId": run_id,
        "messages": [{"id": "1", "role": "user", "content": QUESTION}],
        "forwardedProps": {"overrides": {"resumable": True}},
    }
    async with http.post(f"{host.url}/ag-ui", json=sent) as response:
        events = (await response.text()).split("\n\n")[:-1]
    location = f"{host.url}/runs/{run_id}"
    kept = (await followed(http, location)).split("\n\n")[:-1]
    assert kept == [f"id: {number}\n{event}" for number, event in enumerate(events)]
    assert (await followed(http, location, {"Last-Event-ID": "4"})).split("\n\n")[:-1] == kept[5:]
    async with http.post(f"{host.url}/ag-ui", json=sent) as response:  # sent again, it is the same run
        assert (await response.text()).split("\n\n")[:-1] == events
    async with http.post(f"{host.url}/ag-ui", json=sent | {"threadId": "t2"}) as response:
        assert response.status == 422
    assert len(openai.chats) == 1


async def test_what_asks_for_no_run_is_none(
    host: RunningHost, place: Place, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    before = await place.names()
    openai.reply("80 %.")
    async with http.post(f"{host.url}/chat/stream", json=body()) as response:
        assert text_of(await response.text()) == "80 %."
        assert "Location" not in response.headers
    assert await place.names() == before


async def test_a_chat_is_answered_later_if_the_request_prefers_that(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("80 %.")
    location = await accepted(http, f"{host.url}/chat", body(), **{"Idempotency-Key": "chat-1"})
    assert location.startswith(f"{host.url}/runs/")
    status, answer = await polled(http, location)
    assert (status, answer["message"]["content"]) == (200, "80 %.")
    async with http.post(f"{host.url}/chat", json=body(), headers=LATER | {"Idempotency-Key": "chat-1"}) as again:
        assert (again.status, await again.json()) == (200, answer)
    async with http.delete(location) as response:
        assert response.status == 204
    for method, tail in (("GET", ""), ("GET", "/stream"), ("DELETE", "")):
        async with http.request(method, location + tail) as response:
            assert response.status == 404


async def test_an_early_failure_of_a_run_keeps_its_status_and_is_read_again_as_its_end(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.fail(429, headers={"retry-after": "60"})
    async with http.post(f"{host.url}/chat/stream", json=resumable()) as response:
        assert response.status == 429, await response.text()
    openai.fail(429, headers={"retry-after": "60"})
    status, failed = await polled(http, await accepted(http, f"{host.url}/chat", body()))
    assert (status, "error" in failed) == (500, True)


async def test_a_run_is_stopped_and_deleted_with_its_chat_and_its_text_stays_until_then(
    host: RunningHost, place: Place, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{host.url}/chat-history", json={}) as response:
        chat = (await response.json())["id"]
    openai.reply(*TOKENS[:10], asyncio.Event())
    location, _ = await begun(http, f"{host.url}/chat/stream", resumable(session_state=chat), "word9")
    run_id = location.rpartition("/")[2]
    assert await place.names(run_id)
    async with http.delete(location) as response:
        assert response.status == 204

    async def kept() -> list[tuple[str, str | None]]:
        async with http.get(f"{host.url}/chat-history/{chat}/messages") as response:
            return [(one["content"], one.get("finishReason")) for one in await response.json()]

    async def is_kept() -> bool:
        return len(await kept()) == 2

    await until(is_kept)
    assert await kept() == [(QUESTION, None), ("".join(TOKENS[:10]), "stopped")]
    openai.reply("80 %.")
    location, _ = await begun(http, f"{host.url}/chat/stream", resumable(session_state=chat), "80")
    async with http.delete(f"{host.url}/chat-history/{chat}") as response:
        assert response.status == 204
    async with http.get(location) as response:
        assert response.status == 404


@pytest.mark.parametrize("kind", ["folder", pytest.param("queue", marks=pytest.mark.nightly)])
async def test_an_answer_that_a_killed_host_has_cut_off_is_read_whole_from_the_next(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession, kind: str
) -> None:
    async with OpenAIStandIn() as openai, place_of(kind, tmp_path / "data", azurite) as place:
        env = openai.settings | NO_VECTORS | dict(place.settings) | {"DATA_DIR": str(place.data_dir)}
        env |= {"CHAT_RUNS": "always"}
        first = RunningHost(REPOSITORY, env, ("--port", "0"))
        async with host_beside(env=env) as second:
            try:
                await asyncio.to_thread(first.wait_for, "Switchboard is ready")
                openai.reply(*TOKENS[:10], asyncio.Event())
                location, read = await begun(http, f"{first.url}/chat/stream", body(), "word9")
                ended = await begun_and_ended(http, openai, first)
                here = location.replace(first.url, second.url)
                watching = asyncio.create_task(followed(http, here))

                async def has(*words: bytes) -> bool:
                    run_id = location.rpartition("/")[2]
                    names = [*await place.names(f"{run_id}/journal/"), f"{run_id}/state"]
                    kept = b"".join([found.data for name in names if (found := await place.store.read(name))])
                    return all(word in kept for word in words)

                await until(partial(has, b"word9", b'"followed":true'))
            finally:
                first.process.kill()
                await asyncio.to_thread(first.wait)
            go_on = asyncio.Event()
            openai.reply(*TOKENS[:20], go_on, *TOKENS[20:])
            await age(place.store)
            async with host_beside(env=env) as third:
                later = asyncio.create_task(followed(http, location.replace(first.url, third.url)))
                await until(partial(has, b"word19"))  # who watches is in the middle of the second run
                go_on.set()
                both = await asyncio.gather(watching, later)
            assert both[0] == both[1]
            assert both[0].startswith(read)
            assert text_of(both[0]) == TEXT
            assert (await polled(http, here))[1]["message"]["content"] == TEXT
            assert text_of(await followed(http, ended.replace(first.url, second.url))) == "Whole."
        assert len(openai.chats) == 3  # the one that was cut off was made again, and no other


async def begun_and_ended(http: aiohttp.ClientSession, openai: OpenAIStandIn, host: RunningHost) -> str:
    """Ask and read the whole answer; return where its run is once it is kept."""
    openai.reply("Whole.")
    async with http.post(f"{host.url}/chat/stream", json=body("Another?")) as response:
        assert text_of(await response.text()) == "Whole."
        location = response.headers["Location"]
    await polled(http, location)
    return location


async def test_a_run_is_only_for_its_owner(tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession) -> None:
    keys = {name: f"switchboard_{name * 20}" for name in ("ada", "bob")}
    entries = ", ".join(f"{name}:{sha256(key.encode()).hexdigest()}" for name, key in keys.items())
    ada, bob = ({"Authorization": f"Bearer {key}"} for key in keys.values())
    async with place_of("folder", tmp_path, azurite) as place:
        env = {"AUTH_MODE": "api-key", "API_KEYS": entries}
        async with hosted(place.data_dir, env) as host:
            sent = {
                "threadId": "t1",
                "runId": str(uuid4()),
                "messages": [{"id": "1", "role": "user", "content": QUESTION}],
                "forwardedProps": {"overrides": {"resumable": True}},
            }
            async with http.post(f"{host.url}/ag-ui", json=sent, headers=ada) as response:
                location = response.headers["Location"]
                await response.text()
            for method, tail in (("GET", ""), ("GET", "/stream"), ("DELETE", "")):
                async with http.request(method, location + tail, headers=bob) as response:
                    assert response.status == 404
            async with http.post(f"{host.url}/ag-ui", json=sent, headers=bob) as response:
                assert response.status == 422
            assert "RUN_FINISHED" in await followed(http, location, ada)
