"""Feedback over HTTP: by the id that each protocol gives an answer, from its caller alone, to those who may read it."""

import json
from typing import Any

import aiohttp
import pytest

from shared.verdicts import answer_id_of, new_turn_id
from tests.app.identity.conftest import FLOWS, QUESTION, REPORT, Key
from tests.app.test_answers import body, read_lines
from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPENAI: dict[str, Any] = {"model": "switchboard", "messages": [{"role": "user", "content": QUESTION}]}
AG_UI: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
AG_UI.update({"messages": [{"id": "1", "role": "user", "content": QUESTION}]})
AI_SDK: dict[str, Any] = {
    "id": "c",
    "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}],
}
WAYS: list[tuple[str, dict[str, Any], str]] = [
    ("/chat", body(QUESTION), "answer_id"),
    ("/chat/stream", body(QUESTION), "answer_id"),
    ("/ask", body(QUESTION), "answer_id"),
    ("/rag-chat/chat/stream", body(QUESTION), "answer_id"),
    ("/ai-chat-2024-05-29/chat", body(QUESTION), "answer_id"),
    ("/ai-chat-2026-04/chat/stream", body(QUESTION), "answer_id"),
    ("/semantic-kernel/chat", body(QUESTION), "answer_id"),
    ("/semantic-kernel-python/chat/stream", body(QUESTION), "answer_id"),
    ("/multi-agent-chat/batch", body(QUESTION), "answer_id"),
    ("/v1/chat/completions", OPENAI, "id"),
    ("/v1/chat/completions", OPENAI | {"stream": True}, "id"),
    ("/v1/responses", {"model": "switchboard", "input": QUESTION}, "id"),
    ("/ag-ui", AG_UI, "messageId"),
    ("/ai-sdk/chat", AI_SDK, "messageId"),
]


def first_of(name: str, text: str) -> str:
    """The first value of a key in a document or a stream."""
    after = text.partition(f'"{name}":')[2]
    return json.JSONDecoder().raw_decode(after.strip())[0]


async def judge(http: aiohttp.ClientSession, host: RunningHost, key: Key, **sent: Any) -> tuple[int, Any]:
    async with http.post(f"{host.url}/feedback", json=sent, headers=key.bearer) as response:
        return response.status, await response.json()


async def listed(http: aiohttp.ClientSession, url: str, key: Key) -> tuple[list[dict[str, Any]], str | None]:
    """A page of feedback, and the address of the next."""
    async with http.get(url, headers=key.bearer) as response:
        assert response.status == 200
        link = response.links.get("next")
        return (await response.json())["feedback"], str(link["url"]) if link else None


@pytest.mark.parametrize(("path", "sent", "name"), WAYS)
async def test_an_answer_is_judged_by_the_id_that_its_protocol_gives_it_and_by_its_caller_alone(
    with_keys: RunningHost, http: aiohttp.ClientSession, path: str, sent: dict[str, Any], name: str
) -> None:
    async with http.post(with_keys.url + path, json=sent, headers=FLOWS.bearer) as response:
        assert response.status == 200
        answer_id = first_of(name, await response.text())
    assert (await judge(http, with_keys, REPORT, answer_id=answer_id, rating="up"))[0] == 404
    status, kept = await judge(http, with_keys, FLOWS, answer_id=answer_id, rating="down", expected="Nothing.")
    assert (status, kept["rating"], kept["expected"]) == (201, "down", "Nothing.")
    status, kept = await judge(http, with_keys, FLOWS, answer_id=answer_id, rating="up", comment=path)
    assert (status, kept["expected"]) == (200, "")
    newest, _ = await listed(http, f"{with_keys.url}/feedback?limit=1", FLOWS)
    assert (newest[0]["comment"], newest[0]["question"], newest[0]["answer_id"]) == (path, QUESTION, kept["answer_id"])
    assert newest[0]["sources"] == ["STAFF.md"] or "multi-agent" in path


async def test_who_may_read_gets_every_verdict_page_by_page_and_others_none(
    with_keys: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{with_keys.url}/feedback", headers=REPORT.bearer) as response:
        assert (response.status, "FEEDBACK_READERS" in await response.text()) == (403, True)
    for query in ("limit=0", "limit=101", "limit=x", "after=1"):
        async with http.get(f"{with_keys.url}/feedback?{query}", headers=FLOWS.bearer) as response:
            assert response.status == 400
    everything, _ = await listed(http, f"{with_keys.url}/feedback", FLOWS)
    paged, url = list[Any](), f"{with_keys.url}/feedback?limit=3"
    while url:
        page, url = await listed(http, url, FLOWS)
        paged += page
    assert paged == everything
    assert len(paged) > 3


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({}, "answer_id: is missing. rating: is missing."),
        ({"answer_id": "1" * 32, "rating": "good"}, "rating: "),
        ({"answer_id": "1" * 32, "rating": "up", "comment": "x" * 4_001}, "comment: "),
        ({"answer_id": "1" * 32, "rating": "up", "expected": ["x"]}, "expected: "),
        ({"answer_id": 7, "rating": "up"}, "answer_id: "),
    ],
)
async def test_a_wrong_verdict_is_refused_with_what_is_wrong(
    with_keys: RunningHost, http: aiohttp.ClientSession, wrong: dict[str, Any], named: str
) -> None:
    status, refused = await judge(http, with_keys, FLOWS, **wrong)
    assert (status, named in refused["error"]) == (400, True)


async def test_unknown_and_unkept_answers_cannot_be_judged(with_keys: RunningHost, http: aiohttp.ClientSession) -> None:
    sent = OPENAI | {"store": False}
    async with http.post(f"{with_keys.url}/v1/chat/completions", json=sent, headers=FLOWS.bearer) as response:
        unkept = (await response.json())["id"]
    for answer_id in (unkept, answer_id_of(new_turn_id()), "0" * 32, "f" * 32, "x", "🦷", "chatcmpl-" + "e" * 33):
        status, refused = await judge(http, with_keys, FLOWS, answer_id=answer_id, rating="up")
        assert (status, "no such answer of yours" in refused["error"]) == (404, True)


async def test_with_a_chat_its_verdicts_are_deleted_and_nothing_said_is_in_the_logs(
    with_keys: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{with_keys.url}/chat-history", json={}, headers=FLOWS.bearer) as response:
        chat = (await response.json())["id"]
    sent = body(QUESTION, session_state=chat)
    async with http.post(f"{with_keys.url}/chat/stream", json=sent, headers=FLOWS.bearer) as response:
        answer_id = (await read_lines(response))[0]["context"]["answer_id"]
    said = {"comment": "Okapi comment", "expected": "Okapi expected"}
    assert (await judge(http, with_keys, FLOWS, answer_id=answer_id, rating="down", **said))[0] == 201
    async with http.delete(f"{with_keys.url}/chat-history/{chat}", headers=FLOWS.bearer) as response:
        assert response.status == 204
    assert (await judge(http, with_keys, FLOWS, answer_id=answer_id, rating="up"))[0] == 404
    everything, _ = await listed(http, f"{with_keys.url}/feedback", FLOWS)
    assert answer_id not in {one["answer_id"] for one in everything}
    assert "Okapi" not in with_keys.log()
