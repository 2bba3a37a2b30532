"""The stand-in must refuse what OpenAI refuses, or tests that pass with it prove nothing."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from tests.stand_ins.openai_service import OpenAIStandIn


@pytest.fixture
async def service() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def client(service: OpenAIStandIn) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=service.base_url, api_key=service.api_key, max_retries=0) as client:
        yield client


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


CALL = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
REFUSED: dict[str, tuple[dict[str, Any], str | None]] = {
    "no messages": ({"messages": []}, "messages"),
    "messages of a wrong type": ({"messages": "hi"}, "messages"),
    "a role that is none": ({"messages": [{"role": "wizard", "content": "x"}]}, "messages"),
    "content that is a number": ({"messages": [{"role": "user", "content": 1}]}, "messages"),
    "an unknown parameter": ({"messages": [user("x")], "colour": "red"}, "colour"),
    "an unknown key of a message": ({"messages": [user("x") | {"context": "y"}]}, "messages.0.user.context"),
    "a temperature as text": ({"messages": [user("x")], "temperature": "1"}, "temperature"),
    "a temperature that is too high": ({"messages": [user("x")], "temperature": 3}, "temperature"),
    "stream options without a stream": (
        {"messages": [user("x")], "stream_options": {"include_usage": True}},
        "stream_options",
    ),
    "a tool's result without its call": (
        {"messages": [user("x"), {"role": "tool", "content": "y", "tool_call_id": "c"}]},
        "messages",
    ),
    "a call without its result": (
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [CALL]}, user("x")]},
        "messages",
    ),
    "an assistant that said nothing": ({"messages": [{"role": "assistant", "content": None}]}, "messages"),
    "a tool choice without tools": ({"messages": [user("x")], "tool_choice": "auto"}, "tool_choice"),
    "no model": ({"messages": [user("x")], "model": None}, "model"),
}


@pytest.mark.parametrize(("body", "param"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_openai_refuses_is_a_400_that_names_the_parameter(
    service: OpenAIStandIn, client: openai.AsyncOpenAI, body: dict[str, Any], param: str | None
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await client.post("/chat/completions", cast_to=object, body={"model": service.model, **body})
    assert refused.value.param == param


async def test_a_wrong_key_a_wrong_model_and_a_wrong_path_are_refused(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.AuthenticationError):
        await client.with_options(api_key="sk-other").models.list()
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        await client.get("/elsewhere", cast_to=object)
    with pytest.raises(openai.BadRequestError):
        await client.post("/chat/completions", cast_to=object, content=b"oops")


async def test_the_sdk_reads_its_default_answer_which_cites_the_first_source(
    service: OpenAIStandIn, client: openai.AsyncOpenAI
) -> None:
    prompt = "What is covered?\n\nSources:\n<source>\nName: handbook.pdf#page=3\n\nEyes are.\n</source>"
    whole = await client.chat.completions.create(model=service.model, messages=[{"role": "user", "content": prompt}])
    stream = await client.chat.completions.create(
        model=service.model, messages=[{"role": "user", "content": prompt}], stream=True
    )
    streamed = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert streamed == whole.choices[0].message.content == "The answer is in the documents [handbook.pdf#page=3]."


async def test_the_default_answer_to_tools_calls_the_first_one(
    service: OpenAIStandIn, client: openai.AsyncOpenAI
) -> None:
    stream = await client.chat.completions.create(
        model=service.model,
        messages=[{"role": "user", "content": "And eyes?"}],
        tools=[
            {
                "type": "function",
                "function": {"name": "search", "parameters": {"type": "object", "properties": {"query": {}}}},
            }
        ],
        stream=True,
    )
    chunks = [chunk async for chunk in stream]
    pieces = [call.function for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert [piece.name for piece in pieces if piece and piece.name] == ["search"]
    assert json.loads("".join(piece.arguments or "" for piece in pieces if piece)) == {"query": "And eyes?"}
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


async def test_embeddings_are_alike_for_texts_that_share_words(
    service: OpenAIStandIn, client: openai.AsyncOpenAI
) -> None:
    texts = ["dental care plan", "the plan for dental care", "parking garage"]
    answer = await client.embeddings.create(model=service.embedding_model, input=texts, encoding_format="float")
    plan, same, other = (item.embedding for item in sorted(answer.data, key=lambda item: item.index))
    assert sum(a * b for a, b in zip(plan, same, strict=True)) > sum(a * b for a, b in zip(plan, other, strict=True))


async def test_a_client_that_leaves_is_noticed(service: OpenAIStandIn, client: openai.AsyncOpenAI) -> None:
    service.reply("one", asyncio.Event())
    stream = await client.chat.completions.create(
        model=service.model, messages=[{"role": "user", "content": "x"}], stream=True
    )
    assert [await anext(stream) for _ in range(2)][1].choices[0].delta.content == "one"
    await stream.close()
    async with asyncio.timeout(10):
        await service.chats[0].disconnected.wait()
    assert not service.chats[0].answered.is_set()


async def test_a_request_that_was_given_up_before_takes_no_script_of_a_later_one(
    service: OpenAIStandIn, client: openai.AsyncOpenAI
) -> None:
    body = json.dumps({"model": service.model, "messages": [user("x")]})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.api_key}\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(service.endpoint).port or 0)) as given_up:
        given_up.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    await service.caught_up()
    service.reply("For the later one.")
    answer = await client.chat.completions.create(model=service.model, messages=[{"role": "user", "content": "y"}])
    assert answer.choices[0].message.content == "For the later one."


async def test_a_script_can_be_for_a_question(service: OpenAIStandIn, client: openai.AsyncOpenAI) -> None:
    with service.to("glasses"):
        service.reply("Of glasses.")
    service.reply("For any.")

    async def answer(*said: str) -> str | None:
        messages: list[Any] = [user(text) for text in said]
        whole = await client.chat.completions.create(model=service.model, messages=messages)
        return whole.choices[0].message.content

    assert await answer("What of glasses?", "And of teeth?") == "For any."
    assert await answer("What of teeth?", "And of glasses?") == "Of glasses."


async def test_a_script_that_nobody_asked_for_can_be_found(service: OpenAIStandIn, client: openai.AsyncOpenAI) -> None:
    service.reply("Asked for.")
    service.fail(500, times=2)
    with service.to("You are Critic"):
        service.hang()
    messages: list[Any] = [user("x")]
    await client.chat.completions.create(model=service.model, messages=messages)
    assert service.forget_scripts() == {"/chat/completions": 2, "/chat/completions You are Critic": 1}
    assert service.forget_scripts() == {}
