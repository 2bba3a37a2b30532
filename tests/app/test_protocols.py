"""Which protocol a request is answered in, by its route and its body, over HTTP."""

import json
from typing import Any

import aiohttp
import httpx2
import pytest

from tests.app.conftest import hosted
from tests.app.test_answers import QUESTION, body, read_lines
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""


def text_of(answer: list[dict[str, Any]] | dict[str, Any]) -> str:
    """The text, wherever its protocol has it."""
    if isinstance(answer, list):
        message = answer[0]
        return message["Content"] if "Content" in message else message["items"][0]["text"]
    if "output_text" in answer:
        return answer["output_text"]
    return answer["choices"][0]["message"]["content"] if "choices" in answer else answer["message"]["content"]


async def events_of(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    """Server-sent events, split the way ChatUI splits them."""
    stream = (await response.read()).decode()
    assert "\r" not in stream
    return [json.loads(event.removeprefix("data: ")) for event in stream.split("\n\n") if event.startswith("data: ")]


ROUTES: list[tuple[str, dict[str, Any], str]] = [
    ("/chat", {}, "message"),
    ("/chat", {"sessionState": None}, "message"),
    ("/chat", {"stream": False}, "choices"),
    ("/ask", {}, "choices"),
    ("/rag-chat/chat", {}, "choices"),
    ("/rag-chat/ask", {}, "choices"),
    ("/ai-chat-2024-01-28/chat", {"stream": None}, "choices"),
    ("/ai-chat/ask", {}, "message"),
    ("/ai-chat-2026-04/chat", {}, "output_text"),
    ("/AI-Chat-2026-04/ask", {"stream": True}, "output_text"),
    ("/semantic-kernel/chat", {}, "Content"),
    ("/Semantic-Kernel/chat", {}, "Content"),
    ("/semantic-kernel/ask", {"stream": True}, "Content"),
    ("/semantic-kernel-python/chat", {}, "items"),
]


@pytest.mark.parametrize(("path", "more", "key"), ROUTES)
async def test_route_and_body_decide(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str, more: dict[str, Any], key: str
) -> None:
    async with http.post(built_in.url + path, json=body(**more)) as response:
        answer: list[dict[str, Any]] | dict[str, Any] = await response.json()
    assert response.status == 200
    assert key in (answer[0] if isinstance(answer, list) else answer)
    assert "80 %" in text_of(answer)


@pytest.mark.parametrize("path", ["/chat", "/ask", "/rag-chat/chat", "/rag-chat/ask"])
async def test_a_body_that_asks_for_a_stream_gets_choices_line_by_line(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(built_in.url + path, json=body(stream=True, session_state={"a": 1})) as response:
        assert response.content_type == "application/json-lines"
        lines = await read_lines(response)
    first = lines[0]["choices"][0]
    assert first["context"]["data_points"]["text"]
    assert first["delta"]["context"]["data_points"] == first["context"]["data_points"]
    assert first["context"]["thoughts"][0]["title"] in first["delta"]["context"]["thoughts"]
    assert first["session_state"] == {"a": 1}
    assert "80 %" in "".join(line["choices"][0]["delta"].get("content") or "" for line in lines)
    assert lines[-1]["choices"][0]["finish_reason"] == "stop"
    assert len({line.get("id") for line in lines[1:]}) == 1


async def test_what_the_models_service_says_is_copied(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("80 %.", finish_reason="length")
    async with http.post(app.url + "/rag-chat/chat", json=body()) as response:
        answer = await response.json()
    assert (answer["id"], answer["created"], answer["model"]) == ("chatcmpl-1", 1_700_000_000, openai.model)
    assert answer["object"] == "chat.completion"
    assert answer["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    assert answer["choices"][0]["finish_reason"] == "length"


async def test_a_filtered_answer_says_so(app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession) -> None:
    openai.reply("Half", finish_reason="content_filter")
    async with http.post(app.url + "/chat", json=body(stream=True)) as response:
        *_, end, error = await read_lines(response)
    assert end["choices"][0]["finish_reason"] == "content_filter"
    assert error["error"].startswith("The content filter of the model's service ended the answer here.")
    assert "(invocation " in error["error"]


async def test_what_the_models_filter_says_of_each_piece_is_in_each_chunk(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    for piece in (pieces := [openai.chunk({"content": text}) for text in ("80", " %", ".")]):
        choices: Any = piece["choices"]
        choices[0]["content_filter_results"] = safe
    openai.reply(*pieces)
    async with http.post(app.url + "/chat", json=body(stream=True)) as response:
        lines = await read_lines(response)
    choices = [line["choices"][0] for line in lines]
    texts = [choice for choice in choices if choice["delta"].get("content")]
    assert "".join(choice["delta"]["content"] for choice in texts) == "80 %."
    assert [choice["content_filter_results"] for choice in texts] == [safe] * len(texts)


async def test_a_question_on_its_own_forgets_what_was_said(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    earlier = [{"role": "user", "content": "Earlier"}, {"role": "assistant", "content": "Said"}]
    async with http.post(app.url + "/ask", json={"messages": [*earlier, *body()["messages"]]}) as response:
        await response.read()
    assert "Earlier" not in str(openai.chats[-1].body["messages"])


async def test_an_error_line_is_read_by_the_web_component_and_by_the_document(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + "/chat", json=body(stream=True, context={"top": 0})) as response:
        answer = await response.json()
    assert answer["statusCode"] == response.status == 400
    assert answer["error"] == answer["message"]


@pytest.mark.parametrize("stream", ["true", 1, []])
async def test_a_stream_that_is_no_boolean_is_named(
    built_in: RunningHost, http: aiohttp.ClientSession, stream: Any
) -> None:
    async with http.post(built_in.url + "/rag-chat/chat", json=body(stream=stream)) as response:
        assert "stream: should be true or false" in (await response.json())["error"]


async def test_chatui_gets_its_shape_where_it_is_the_default(data_dir: Any, http: aiohttp.ClientSession) -> None:
    async with (
        hosted(data_dir, {"CHAT_DEFAULT_PROTOCOL": "semantic-kernel"}) as host,
        http.post(host.url + "/chat", json=body()) as response,
    ):
        (message,) = await response.json()
    assert message["Role"] == {"Label": "Assistant"}
    assert message["authorRole"] == "ASSISTANT"
    assert message["Items"] == [{"$type": "TextContent", "Text": message["Content"]}]
    assert message["content"] == message["Content"]
    assert message["ConversationId"]
    assert message["Metadata"]["Context"]["data_points"]["text"]
    assert not {"AuthorName", "authorName"} & set(message)


@pytest.mark.parametrize(
    ("path", "echoed"),
    [
        ("/semantic-kernel/chat", {"Role": {"Label": "User"}, "Items": [{"$type": "TextContent", "Text": QUESTION}]}),
        ("/semantic-kernel/chat", {"Role": "User", "Content": QUESTION}),
        ("/semantic-kernel/chat", {"authorRole": "USER", "content": QUESTION, "contentType": "TEXT"}),
        ("/semantic-kernel/chat", {"role": "user", "items": [{"content_type": "text", "text": QUESTION}]}),
        (
            "/semantic-kernel-python/chat",
            {"role": "user", "content_type": "message", "items": [{"content_type": "text", "text": QUESTION}]},
        ),
    ],
)
async def test_a_message_in_semantic_kernels_own_shape_is_read(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str, echoed: dict[str, Any]
) -> None:
    async with http.post(built_in.url + path, json={"messages": [echoed]}) as response:
        assert "80 %" in text_of(await response.json())


@pytest.mark.parametrize("path", ["/semantic-kernel/chat/stream", "/semantic-kernel-python/chat/stream"])
async def test_semantic_kernel_streams_server_sent_events(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(built_in.url + path, json=body()) as response:
        assert response.content_type == "text/event-stream"
        events = await events_of(response)
    texts = [event.get("Content", "".join(item["text"] for item in event.get("items", []))) for event in events]
    assert "80 %" in "".join(texts)


@pytest.mark.parametrize("path", ["/chat/stream", "/ai-chat-2024-05-29/chat/stream", "/semantic-kernel/chat/stream"])
async def test_a_client_that_ends_lines_at_more_than_line_feeds_reads_each_record_whole(
    app: RunningHost, openai: OpenAIStandIn, path: str
) -> None:
    text = "One\u2028two\u2029three\x85four \u2027 € four"
    openai.reply(text[:5], text[5:])
    async with (
        httpx2.AsyncClient(timeout=60) as client,
        client.stream("POST", app.url + path, json=body()) as response,
    ):
        records = [json.loads(line.removeprefix("data: ")) async for line in response.aiter_lines() if line]
    said = [record["Content"] if "Content" in record else record["delta"].get("content", "") for record in records]
    assert "".join(said) == text
