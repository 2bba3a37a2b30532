"""API keys through the running app, by real clients: who has one is let in as its own caller, and nobody else is."""

import asyncio
import json
import secrets
import subprocess
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import aiohttp
import openai as sdk
import pytest

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.identity.conftest import (
    FLOWS,
    FORGED,
    QUESTION,
    REPORT,
    Key,
    ask,
    messages_of,
    overrides,
    seen_in,
    start_chat,
    taking,
)
from tests.app.test_answers import body
from tests.local.running_host import RunningHost
from tests.stand_ins.collector import CollectorStandIn
from tests.stand_ins.entra import EntraStandIn
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins."""

ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
UNKNOWN = Key("unknown")


def client_of(host: RunningHost, key: Key) -> sdk.AsyncOpenAI:
    return sdk.AsyncOpenAI(base_url=f"{host.url}/v1", api_key=key.made[0], max_retries=0, timeout=60)


async def test_openais_client_answers_streams_and_lists_models_with_a_key(with_keys: RunningHost) -> None:
    async with client_of(with_keys, FLOWS) as client:
        assert "switchboard" in {model.id async for model in client.models.list()}
        answer = await client.chat.completions.create(model="switchboard", messages=ASKED)
        assert seen_in(answer.choices[0].message.content or "") == {"STAFF"}
        stream = await client.chat.completions.create(model="switchboard", messages=ASKED, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
        assert seen_in(text) == {"STAFF"}


async def test_openais_client_is_told_that_its_key_is_refused(with_keys: RunningHost) -> None:
    async with client_of(with_keys, UNKNOWN) as client:
        for request in (client.models.list(), client.chat.completions.create(model="switchboard", messages=ASKED)):
            with pytest.raises(sdk.AuthenticationError) as refused:
                await request
            assert (refused.value.code, refused.value.type) == ("unauthorized", "authentication_error")
            assert UNKNOWN.made[0] not in str(refused.value)


async def test_curl_gets_an_answer_with_a_key(with_keys: RunningHost) -> None:
    command = ["curl", "-sS", f"{with_keys.url}/chat", "-H", f"Authorization: Bearer {FLOWS.made[0]}"]
    done = await asyncio.to_thread(
        subprocess.run,
        [*command, "-d", json.dumps(overrides())],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert seen_in(done.stdout) == {"STAFF"}


async def test_a_key_sees_only_the_documents_of_the_groups_that_it_was_given(
    with_keys: RunningHost, rights_dir: Path, http: aiohttp.ClientSession
) -> None:
    assert [seen_in((await ask(http, with_keys, key.bearer))[1]) for key in (REPORT, FLOWS)] == [set(), {"STAFF"}]
    by_oid = overrides(use_oid_security_filter=True)
    assert seen_in((await ask(http, with_keys, FLOWS.bearer, by_oid))[1]) == set()
    async with http.get(f"{with_keys.url}/content/ADA.md", headers=FLOWS.bearer) as response:
        assert response.status == 404
    open_too = taking(REPORT) | {"ACCESS_CONTROL": "enforced-or-open"}
    async with hosted(rights_dir, open_too) as host:
        assert seen_in((await ask(http, host, REPORT.bearer))[1]) == {"NOBODY", "ALL"}


async def test_no_key_sees_the_chats_of_another(with_keys: RunningHost, http: aiohttp.ClientSession) -> None:
    chat = await start_chat(http, with_keys, FLOWS.bearer)
    sent = body(QUESTION, session_state={"conversation_id": chat})
    for key, kept in ((REPORT, 0), (FLOWS, 2)):
        await ask(http, with_keys, key.bearer, sent)
        async with http.get(f"{with_keys.url}/chat-history/{chat}/messages", headers=FLOWS.bearer) as response:
            assert len(await response.json()) == kept
    assert await messages_of(http, with_keys, REPORT.bearer, chat) == 404
    async with http.get(with_keys.url + "/chat-history", headers=REPORT.bearer) as response:
        assert chat not in {one["id"] for one in await response.json()}
    async with http.delete(f"{with_keys.url}/chat-history/{chat}", headers=REPORT.bearer) as response:
        assert response.status == 404


async def test_a_removed_key_is_refused_and_one_in_its_place_has_its_chats(
    rights_dir: Path, http: aiohttp.ClientSession
) -> None:
    async with hosted(rights_dir, taking(REPORT, FLOWS)) as host:
        chat = await start_chat(http, host, FLOWS.bearer)
    renewed = Key("flows")
    async with hosted(rights_dir, taking(REPORT, renewed)) as host:
        assert await messages_of(http, host, FLOWS.bearer, chat) == 401
        assert await messages_of(http, host, renewed.bearer, chat) == 200
        assert await messages_of(http, host, REPORT.bearer, chat) == 404


SHAPES = [
    ("POST", "/chat", ["error"]),
    ("POST", "/ai-chat-2024-05-29/chat", ["error", "message"]),
    ("POST", "/semantic-kernel/chat", ["error"]),
    ("POST", "/v1/chat/completions", ["error", "message"]),
    ("POST", "/ag-ui", ["error", "message"]),
    ("GET", "/v1/models", ["error", "message"]),
    ("GET", "/chat-history", ["error"]),
    ("GET", "/content/STAFF.md", ["error"]),
]
"""Routes, and where their errors have the sentence."""


@pytest.mark.parametrize(("method", "path", "place"), SHAPES)
async def test_every_refusal_is_the_same_in_the_shape_of_its_protocol(
    with_keys: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession, method: str, path: str, place: list[str]
) -> None:
    key = FLOWS.made[0]
    forged: list[list[tuple[str, str]]] = [
        [],
        [*FORGED.items()],
        [*UNKNOWN.bearer.items()],
        [*entra.bearer().items()],
        [("Authorization", key)],
        [("Authorization", f"Basic {key}")],
        [("Authorization", f"Bearer {FLOWS.made[1]}")],
        [("Authorization", f"Bearer {'x' * 20_000}")],
        [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")],
        [("api-key", key)],
        [("x-functions-key", key)],
    ]
    said: set[str] = set()
    for headers in forged:
        async with http.request(method, with_keys.url + path, headers=headers) as response:
            assert (response.status, response.headers["WWW-Authenticate"]) == (401, "Bearer")
            error = await response.json()
        said.add(reduce(getitem, place, error).partition(" (invocation")[0])
    assert said == {"Sign in with one of this app's API keys (Authorization: Bearer …)."}


async def test_wrong_keys_by_the_hundreds_count_for_nobody(rights_dir: Path, http: aiohttp.ClientSession) -> None:
    async with hosted(rights_dir, taking(REPORT, FLOWS) | {"LIMIT_CALLER_REQUESTS_PER_MINUTE": "2"}) as host:

        async def attempt() -> int:
            headers = {"Authorization": f"Bearer switchboard_{secrets.token_urlsafe(32)}"}
            return (await ask(http, host, headers))[0]

        assert set(await asyncio.gather(*(attempt() for _ in range(500)))) == {401}
        answers = [(await ask(http, host, key.bearer))[0] for key in (REPORT, FLOWS, REPORT, FLOWS, REPORT)]
        assert answers == [200, 200, 200, 200, 429]


async def test_a_trace_has_the_keys_name_and_nothing_has_the_key(
    rights_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with CollectorStandIn() as collector, RaiStandIn() as rai:
        environment = openai.settings | NO_VECTORS | collector.settings | rai.settings | taking(REPORT)
        async with hosted(rights_dir, environment) as host:
            assert (await ask(http, host, UNKNOWN.bearer))[0] == 401
            assert (await ask(http, host, REPORT.bearer))[0] == 200
            await collector.wait(lambda: [span for span in collector.spans if "workflow" in span.name])
            async with http.post(host.url + "/rai/analyze", json={}, headers=REPORT.bearer) as response:
                assert response.status == 400
            async with http.get(host.url + "/health") as response:
                told = await response.text()
            assert json.loads(told)["parts"]["identity"]["kind"] == "api-key"
            (turn,) = (span for span in collector.spans if "workflow" in span.name)
        assert turn.attributes["enduser.id"] == "report"
        assert {span.attributes.get("enduser.id") for span in collector.spans} == {"report", None}
        received = bytes(collector.received).decode(errors="replace")
        assert rai.sessions
        for part in (*REPORT.made, *UNKNOWN.made):
            for place in (received, host.log(), told, repr(rai.sessions), repr(openai.chats)):
                assert part not in place
