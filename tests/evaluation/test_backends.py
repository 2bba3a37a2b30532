"""Backends by their URL: what is read of their answers, and what is said of those that give none."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from evaluation.backends import MOST_BYTES, Backend, NoAnswer, Reply, Source
from tests.evaluation.backend import Answer, ChatBackend, answer_ai_chat, raw
from tests.stand_ins.openai_service import OpenAIStandIn


@asynccontextmanager
async def asking(base: str, protocol: str = "ai-chat", model: str = "", **options: Any) -> AsyncGenerator[Backend]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(options.pop("seconds", 30)), **options) as session:
        yield Backend(session, base, protocol, model)


async def answer_of(answer: Answer, protocol: str = "ai-chat") -> Reply:
    async with ChatBackend(answer) as server, asking(server.endpoint, protocol) as backend:
        return await backend.ask("How many?")


async def test_an_answer_in_ai_chat_has_its_sources_by_their_whole_names() -> None:
    reply = await answer_of(answer_ai_chat)
    assert reply.sources == (Source("file0: a.md", "You get 30 days."),)
    assert reply.cited == ("file0: a.md",)
    assert (reply.model, reply.tokens, reply.prompt) == ("gpt-4o-mini-2024-07-18", (1_000, 100), "v1")
    assert reply.seconds > 0


async def test_more_sources_are_asked_for_and_the_rest_of_the_stream_is_left() -> None:
    left = asyncio.Event()

    async def first_line_only(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        assert request.path == "/chat/stream"
        assert body["context"]["overrides"]["top"] == 10
        points = {"text": [f"{n}.md: " + "x" * 100_000 for n in range(12)]}
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"\n" + json.dumps({"delta": {}, "context": {"data_points": points}}).encode() + b"\n")
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return response

    async with ChatBackend(first_line_only) as server, asking(server.endpoint) as backend:
        found = await backend.ranking("How many?", 10)
        async with asyncio.timeout(30):
            await left.wait()
    assert [source.name for source in found] == [f"{n}.md" for n in range(10)]


async def test_a_stream_without_sources_has_none() -> None:
    lines = b'{"delta": {}}\n{"delta": {}, "context": {"data_points": {"text": []}}}\n{"delta": {"content": "I"}}\n'
    async with ChatBackend(raw(lines)) as server, asking(server.endpoint) as backend:
        assert await backend.ranking("How many?", 10) == ()


async def test_a_stream_that_is_none_has_no_answer() -> None:
    async with ChatBackend(raw(b'{"text": "hello"}\n')) as server, asking(server.endpoint) as backend:
        with pytest.raises(NoAnswer, match="no `message`"):
            await backend.ranking("How many?", 10)


async def test_earlier_questions_are_asked_first_and_their_answers_go_with_the_question() -> None:
    asked: list[list[str]] = []

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        asked.append([message["content"] for message in body["messages"]])
        return await answer_ai_chat(request, body)

    async with ChatBackend(answer) as server, asking(server.endpoint) as backend:
        before = await backend.converse(["How many days?", "And after a year?"])
        await backend.ask("And after five?", before)
    said = "You get 30 days. [file0: a.md]"
    assert asked[2] == ["How many days?", said, "And after a year?", said, "And after five?"]


ON_YOUR_DATA = {
    "model": "gpt-4o",
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "30 days [doc2], see [doc9].",
                "context": {
                    "citations": [
                        {"title": "Plan", "filepath": "plan.pdf", "url": None, "content": "80 %", "chunk_id": "0"},
                        {"title": "Leave", "filepath": "leave.md", "content": "30 days", "chunk_id": "0"},
                    ]
                },
            }
        }
    ],
}
ANNOTATED = {
    "choices": [
        {
            "message": {
                "content": "30 days.",
                "annotations": [
                    {"type": "url_citation", "url_citation": {"url": "https://example.org/leave", "title": "Leave"}},
                    {"type": "url_citation", "url_citation": {"url": "https://example.org/leave", "title": "Leave"}},
                    {"type": "file_citation"},
                ],
            }
        }
    ]
}


async def test_an_answer_of_azures_on_your_data_has_its_citations() -> None:
    reply = await answer_of(raw(json.dumps(ON_YOUR_DATA).encode()), "openai")
    assert reply.sources == (Source("Plan", "80 %", ("plan.pdf",)), Source("Leave", "30 days", ("leave.md",)))
    assert reply.cited == ("Leave",)
    assert (reply.model, reply.tokens) == ("gpt-4o", (9, 3))


async def test_annotations_are_sources_whose_text_is_not_known() -> None:
    reply = await answer_of(raw(json.dumps(ANNOTATED).encode()), "openai")
    assert reply.sources == (Source("Leave", "", ("https://example.org/leave",)),)
    assert reply.cited == ("Leave",)
    assert reply.tokens is None


async def test_a_service_with_openais_api_is_asked_with_a_token_and_a_model() -> None:
    async with OpenAIStandIn() as service:
        headers = {"Authorization": f"Bearer {service.api_key}"}
        async with asking(service.base_url, "openai", service.model, headers=headers) as backend:
            reply = await backend.ask("How many?")
            assert await backend.ranking("How many?", 10) == ()
        async with asking(service.base_url, "openai", "other", headers=headers) as backend:
            with pytest.raises(NoAnswer, match="status 404: The model `other` does not exist"):
                await backend.ask("How many?")
    assert reply.text == "The answer is in the documents."
    assert reply.tokens == (7, 5)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (raw(b"<html>", "text/html"), "a page of HTML"),
        (raw(b"<html>", "text/html", 502), "status 502"),
        (raw(b"{"), "no JSON object"),
        (raw(b"\xff"), "no JSON object"),
        (raw(b"[" * 100_000), "no JSON object"),
        (raw(b"[]"), "no JSON object"),
        (raw(b"{}"), "no `message`"),
        (raw(b'{"message": {"content": 5}}'), "no `message`"),
        (raw(b'{"error": "Too long."}', status=400), "status 400: Too long."),
        (raw(b'{"error": {"message": "Sign in."}}', status=401), "status 401: Sign in."),
        (raw(b" " * (MOST_BYTES + 1)), "more than 8,000,000 bytes"),
    ],
)
async def test_what_is_no_answer_is_named(answer: Answer, said: str) -> None:
    with pytest.raises(NoAnswer) as told:
        await answer_of(answer)
    assert said in str(told.value)


async def test_a_backend_that_is_down_or_too_slow_is_named(unused_tcp_port: int) -> None:
    async with asking(f"http://127.0.0.1:{unused_tcp_port}") as backend:
        with pytest.raises(NoAnswer, match="cannot be reached"):
            await backend.ask("How many?")

    async def never(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        del request, body
        await asyncio.Event().wait()
        return web.Response()

    async with ChatBackend(never) as server, asking(server.endpoint, seconds=0.05) as backend:
        with pytest.raises(NoAnswer, match="did not answer in time"):
            await backend.ask("How many?")


async def test_a_backend_that_asks_to_wait_is_asked_again_a_few_times() -> None:
    waits = [raw(b"", status=429, **{"Retry-After": "0"}), raw(b"", status=503, **{"Retry-After": "0"})]

    async def third_time(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return await (waits.pop(0) if waits else answer_ai_chat)(request, body)

    assert (await answer_of(third_time)).cited
    async with ChatBackend(raw(b"", status=429, **{"Retry-After": "0"})) as server, asking(server.endpoint) as backend:
        with pytest.raises(NoAnswer, match="status 429"):
            await backend.ask("How many?")
    assert len(server.asked) == 4
