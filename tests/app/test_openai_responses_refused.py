"""What OpenAI's Responses cannot do here: refused with an error that OpenAI's package shows."""

import json
from typing import Any

import openai as sdk
import pytest

from tests.app.openai_sdk import PIXEL
from tests.app.test_answers import QUESTION, body
from tests.app.test_openai_responses import MODEL, pictured

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the app."""


def after_question(**item: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": QUESTION}, item]}


BAD_REQUESTS: list[tuple[dict[str, Any], str | None, str]] = [
    ({"previous_response_id": "resp_1"}, "previous_response_id", "Previous response with id 'resp_1' not found"),
    ({"conversation": {"id": "conv_1"}}, "conversation", "whole conversation in 'input'"),
    ({"prompt": {"id": "pmpt_1"}}, "prompt", "'instructions'"),
    ({"background": True, "store": False}, "background", "needs 'store'"),
    ({"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}}, "text.format", "writes no JSON"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type", "'text', 'json_object' or 'json_schema'"),
    ({"text": "short"}, "text", "an object"),
    ({"stream": "yes"}, "stream", "a valid boolean"),
    ({"instructions": ["a"]}, "instructions", "a valid string"),
    ({"temperature": 3}, "temperature", "less than or equal to 2"),
    ({"input": None}, "input", "a string or a list"),
    ({"input": 7}, "input", "a string or a list"),
    ({"input": ""}, None, "is empty"),
    ({"input": []}, "input", "should have a message"),
    ({"input": [{"type": "reasoning", "summary": []}]}, "input", "should have a message"),
    (after_question(type="mcp_approval_response", approve=True), "input", "approval_request_id"),
    (after_question(type="computer_call_output", call_id="c"), "input[1]", "not called"),
    (after_question(type="function_call_output", call_id="c", output="x"), "messages[1]", "no call before it"),
    (after_question(type="function_call_output", output="x"), "input[1].call_id", "a string"),
    (after_question(type="function_call_output", call_id="c", output=7), "input[1].output", "a string or a list"),
    (after_question(type="function_call", call_id="c", name="f"), "input[1]", "call_id, name and arguments"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type", "'function'"),
    ({"tools": [{"type": "function", "name": "f"}]}, "tools", "built-in model"),
    ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice", "not among the tools"),
    ({"max_output_tokens": 0}, "max_output_tokens", "greater than or equal to 1"),
    ({"input": ["Hello"]}, "input[0]", "an object with a 'role'"),
    ({"input": [{"content": "Hello"}]}, "input[0]", "an object with a 'role'"),
    ({"input": [{"role": "tool", "content": "Hello"}]}, "input[0].role", "'developer'"),
    ({"input": [{"role": {}, "content": "Hello"}]}, "input[0].role", "'developer'"),
    ({"input": [{"role": "user"}]}, "input[0].content", "a string or a list of parts"),
    ({"input": [{"role": "user", "content": 7}]}, "input[0].content", "a string or a list of parts"),
    ({"input": [{"role": "user", "content": ["Hello"]}]}, "input[0].content[0]", "'input_text'"),
    ({"input": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}, "input[0].content[0]", "'input_text'"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
        "input[0].content[0].file_id",
        "no files are kept here",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://x/y.pdf"}]}]},
        "input[0].content[0].file_url",
        "nothing is fetched from elsewhere",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_file", "filename": "a.pdf"}]}]},
        "input[0].content[0].file_data",
        "the file in base64",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
        "input[0].content[0]",
        "a text, an image or a file",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/y.png"}]}]},
        "input[0].content[0].image_url",
        "nothing is fetched",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}]},
        "input[0].content[0].image_url",
        "no files are kept",
    ),
    ({"input": [{"role": "user", "content": "a"}] * 1001}, "input", "at most 1000 items"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}] * 1001}]},
        "input[0].content",
        "1,000",
    ),
    ({"input": [{"role": "assistant", "content": "b"}]}, "messages", "there is no question"),
    (
        {"input": [{"role": "user", "content": json.loads("[" * 100 + "]" * 100)}]},
        "input[0].content[0]",
        "'input_text'",
    ),
    ({"context": {"overrides": {"top": 0}}}, "context.overrides.top", "greater than or equal to 1"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("more", "param", "words"), BAD_REQUESTS)
async def test_a_request_that_is_not_possible_is_an_error_that_names_the_key(
    documents: sdk.AsyncOpenAI, more: dict[str, Any], param: str | None, words: str, *, stream: bool
) -> None:
    asked = {"input": QUESTION, "stream": stream} | more
    with pytest.raises(sdk.BadRequestError) as caught:
        await documents.post("/responses", cast_to=object, body=asked)
    error: Any = caught.value
    assert (error.param, error.code, error.type) == (param, "bad_request", "invalid_request_error")
    assert words in error.message


@pytest.mark.parametrize(
    ("path", "sent", "param", "names"),
    [
        ("/responses", body(), "messages", "/v1/chat/completions"),
        ("/chat/completions", {"input": QUESTION}, "input", "/v1/responses"),
        ("/responses", {}, "input", "is missing"),
    ],
)
async def test_a_body_of_the_other_route_is_told_where_it_belongs(
    documents: sdk.AsyncOpenAI, path: str, sent: dict[str, Any], param: str, names: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as caught:
        await documents.post(path, cast_to=object, body=sent)
    assert caught.value.param == param
    assert names in caught.value.message


async def test_what_is_not_there_is_a_404(documents: sdk.AsyncOpenAI) -> None:
    with pytest.raises(sdk.NotFoundError) as model:
        await documents.responses.create(model="gpt-4", input=QUESTION)
    assert (model.value.code, model.value.param) == ("model_not_found", "model")
    for asked in (documents.responses.retrieve, documents.responses.delete):
        with pytest.raises(sdk.NotFoundError, match="Response with id 'resp_1' not found") as kept:
            await asked("resp_1")
        assert kept.value.code == "not_found"


@pytest.mark.parametrize(("data", "words"), [(PIXEL, "sees no images"), ("$$", "in base64")])
async def test_an_image_that_nothing_sees_is_a_400(documents: sdk.AsyncOpenAI, data: str, words: str) -> None:
    with pytest.raises(sdk.BadRequestError, match=words):
        await documents.responses.create(model=MODEL, input=pictured(data))
