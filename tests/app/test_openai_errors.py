"""What OpenAI's Python package raises, and how its answers end, against the running app."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import openai as sdk
import pytest

from tests.app.guarded import BAD, guarded
from tests.app.openai_sdk import ASKED, FILTERED, MODEL, PIXEL, client_of, streamed, text_of
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

BAD_REQUESTS: list[tuple[dict[str, Any], type[sdk.APIStatusError], str | None, str, str]] = [
    ({"model": "gpt-4"}, sdk.NotFoundError, "model", "model_not_found", "switchboard-team"),
    ({"n": 2}, sdk.BadRequestError, "n", "bad_request", "one answer"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
        sdk.BadRequestError,
        "response_format",
        "bad_request",
        "the built-in model is no language model and writes no JSON",
    ),
    ({"messages": []}, sdk.BadRequestError, "messages", "bad_request", "is empty"),
    (
        {"messages": [*ASKED, {"role": "tool", "tool_call_id": "1", "content": "x"}]},
        sdk.BadRequestError,
        "messages[1]",
        "bad_request",
        "no call before it waits",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0]",
        "bad_request",
        "a text, an image or a file",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0].file.file_id",
        "bad_request",
        "no files are kept here",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf"}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0].file.file_data",
        "bad_request",
        "the file in base64",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "aGk=", "filename": 1}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0].file.filename",
        "bad_request",
        "a string",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": "aGk="}]}]},
        sdk.BadRequestError,
        "messages[0].content[0].file",
        "bad_request",
        "an object with 'file_data'",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0].image_url.url",
        "bad_request",
        "data: URL",
    ),
    ({"messages": "Hi"}, sdk.BadRequestError, "messages", "bad_request", "a list"),
    ({"messages": [7]}, sdk.BadRequestError, "messages[0]", "bad_request", "an object"),
    (
        {"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]},
        sdk.BadRequestError,
        "messages[0].content",
        "bad_request",
        "is missing",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 1001}]},
        sdk.BadRequestError,
        "messages[0].content",
        "bad_request",
        "at most 1,000 parts",
    ),
    (
        {"messages": [{"role": "robot", "content": "Hi"}]},
        sdk.BadRequestError,
        "messages[0].role",
        "bad_request",
        "user",
    ),
    ({"model": 7}, sdk.BadRequestError, "model", "bad_request", "string"),
    ({"model": "switchboard-" + "x" * 9999}, sdk.NotFoundError, "model", "model_not_found", "Researcher, Critic"),
    ({"n": 0}, sdk.BadRequestError, "n", "bad_request", "greater than"),
    ({"stream_options": []}, sdk.BadRequestError, "stream_options", "bad_request", "an object"),
    (
        {"response_format": {"type": "json_object"}, "model": "switchboard-team"},
        sdk.BadRequestError,
        "response_format",
        "bad_request",
        "a team of agents answers with a text of each",
    ),
    ({"response_format": "text"}, sdk.BadRequestError, "response_format", "bad_request", "an object"),
    ({"user": "u" * 2**20}, sdk.APIStatusError, None, "too_large", "1,048,576 bytes"),
    ({"temperature": 3}, sdk.BadRequestError, "temperature", "bad_request", "less than or equal to 2"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("more", "kind", "param", "code", "words"), BAD_REQUESTS)
async def test_a_request_that_is_not_possible_is_an_error_object(
    documents: sdk.AsyncOpenAI,
    more: dict[str, Any],
    kind: type[sdk.APIStatusError],
    param: str | None,
    code: str,
    words: str,
    *,
    stream: bool,
) -> None:
    with pytest.raises(kind) as caught:
        await documents.post("/chat/completions", cast_to=object, body={"messages": ASKED, "stream": stream} | more)
    error: Any = caught.value
    assert (error.param, error.code, error.type) == (param, code, "invalid_request_error")
    assert words in error.message


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no body"),
        (b"{", "not JSON"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', "no object"),
        (b'{"model": "switchboard", "input": "Hi"}', "Send this body to /v1/responses"),
        (b'{"prompt": "Hi"}', "messages: is missing"),
    ],
)
async def test_a_body_that_is_no_request_is_an_error_object(
    built_in: RunningHost, http: aiohttp.ClientSession, raw: bytes, words: str
) -> None:
    async with http.post(f"{built_in.url}/v1/chat/completions", data=raw) as response:
        assert response.status == 400
        error = (await response.json())["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "bad_request")
    assert words in error["message"]


@pytest.mark.parametrize("route", ["openai/chat", "openai/multi-agent-chat/batch", "openai/multi-agent-chat/stream"])
async def test_a_model_that_there_is_not_is_a_404_at_the_routes_of_a_team_too(
    documents: sdk.AsyncOpenAI, route: str
) -> None:
    with pytest.raises(sdk.NotFoundError, match="Researcher, Critic") as caught:
        await documents.post(
            f"../{route}", cast_to=object, body={"messages": ASKED, "model": "switchboard-" + "x" * 9999}
        )
    assert caught.value.code == "model_not_found"


async def test_what_the_package_asks_of_routes_that_there_are_not_is_an_error_that_it_shows(
    documents: sdk.AsyncOpenAI,
) -> None:
    with pytest.raises(sdk.NotFoundError, match="There is no such route") as caught:
        await documents.embeddings.create(model="any", input="Teeth")
    assert caught.value.code == "not_found"


async def test_an_echoed_conversation_with_tools_and_refusals_is_understood(documents: sdk.AsyncOpenAI) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    echoed: list[Any] = [
        *ASKED,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "12:00"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]},
        *ASKED,
    ]
    answer = await documents.chat.completions.create(model=MODEL, messages=echoed)
    assert "80 %" in (answer.choices[0].message.content or "")


def pictured(data: str, media_type: str = "image/png") -> list[Any]:
    image = {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}]


async def test_an_image_goes_to_a_model_that_sees(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    openai.reply("A dot.")
    await client.chat.completions.create(model=MODEL, messages=pictured(PIXEL))
    assert PIXEL in json.dumps(openai.chats[-1].body["messages"])


@pytest.mark.parametrize(("data", "words"), [(PIXEL, "sees no images"), ("$$", "in base64")])
async def test_an_image_that_nothing_sees_is_a_400(documents: sdk.AsyncOpenAI, data: str, words: str) -> None:
    with pytest.raises(sdk.BadRequestError, match=words):
        await documents.chat.completions.create(model=MODEL, messages=pictured(data))


async def test_an_error_shows_of_a_media_type_one_line_of_limited_length(documents: sdk.AsyncOpenAI) -> None:
    with pytest.raises(sdk.BadRequestError, match="which cannot be read") as caught:
        await documents.chat.completions.create(model=MODEL, messages=pictured(PIXEL, "image/a\nb\u2028c" + "x" * 9999))
    assert "image/a b c" in caught.value.message
    assert len(caught.value.message) < 1_000


@pytest.mark.parametrize("stream", [False, True])
async def test_a_services_fault_before_the_answer_keeps_its_status(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    with pytest.raises(sdk.RateLimitError) as limited:
        await client.chat.completions.create(model=MODEL, messages=ASKED, stream=stream)
    assert limited.value.response.headers["retry-after"] == "47"
    assert limited.value.response.headers["x-should-retry"] == "false"
    assert limited.value.type == "rate_limit_error"
    openai.fail(400, code="content_filter")
    with pytest.raises(sdk.BadRequestError) as refused:
        await client.chat.completions.create(model=MODEL, messages=ASKED, stream=stream)
    assert (refused.value.code, refused.value.param) == ("content_filter", "prompt")
    openai.fail(401, code="invalid_api_key")
    with pytest.raises(sdk.InternalServerError) as broken:
        await client.chat.completions.create(model=MODEL, messages=ASKED, stream=stream)
    assert (broken.value.status_code, broken.value.type) == (503, "server_error")


async def test_a_fault_amid_the_stream_is_raised_after_the_text(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    chunks, error = await streamed(client, QUESTION)
    assert text_of(chunks) == "Half"
    assert error
    assert error.code == "unavailable"
    assert "(invocation " in error.message


async def test_a_filter_of_the_model_ends_the_text_with_its_reason(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    told = f"Half{FILTERED}"
    openai.reply("Half", finish_reason="content_filter")
    whole = await client.chat.completions.create(model=MODEL, messages=ASKED)
    assert (whole.choices[0].finish_reason, whole.choices[0].message.content) == ("content_filter", told)
    openai.reply("Half", finish_reason="content_filter")
    chunks = [c async for c in await client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)]
    assert (text_of(chunks), chunks[-1].choices[0].finish_reason) == (told, "content_filter")


async def test_what_the_guard_stops_is_no_part_of_the_text(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard, client_of(under_guard.host) as client:
        with pytest.raises(sdk.BadRequestError) as refused:
            await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": f"A {BAD}?"}])
        assert refused.value.code == "content_filter"
        await openai.caught_up()  # the refused turn may have asked the model
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        chunks, error = await streamed(client, "Hello?")
        end = error.code if error and not text_of(chunks) else chunks[-1].choices[0].finish_reason
        assert end == "content_filter"
        assert BAD not in text_of(chunks)
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        whole = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello?"}])
        assert whole.choices[0].finish_reason == "content_filter"
        said = whole.choices[0].message.content or ""
        assert said.startswith("It is fine. ")
        assert BAD not in said
        openai.reply("It is fine.")
        answer = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello?"}])
        assert answer.choices[0].message.content == "It is fine."
