"""The chat model against a real local server: requests, answers, and leaving early."""

import asyncio
import gzip
from contextlib import aclosing
from copy import replace
from typing import Any

import pytest

from shared.chat_models import ModelFinished, ModelText, ToolDefinition
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import FileText, ImagePart, JsonForm, Message, Role, ToolCall
from shared.errors import BadRequest, Unavailable
from shared.events import CompletionStarted, Usage
from shared.outbound.openai_service.connection import ServedModel
from tests.stand_ins.openai_answers import event
from tests.stand_ins.openai_connected import QUESTION, ask, connection_to, context, error_of, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

WITH_TOOL = replace(QUESTION, tools=(ToolDefinition("search", "Searches.", {"type": "object"}),))


async def test_an_answer_is_text_then_how_it_ended(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.reply("Hel", "lo")
    assert await ask(model) == [ModelText("Hel"), ModelText("lo"), ModelFinished("stop", Usage(7, 5))]
    assert service.chats[0].body == {
        "model": service.model,
        "messages": [{"role": "user", "content": "What is covered?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_images_and_the_text_of_files_come_before_what_was_said(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    images = (ImagePart("image/png", b"\x89PNG"), ImagePart("image/webp", b"RIFF"))
    seen = Message(Role.USER, "What is it?", files=(FileText("a.txt", "Text."),), images=images)
    read = Message(Role.USER, "And this?", files=(FileText("b.txt", "Long te", left_out=1_234),))
    assert await ask(model, replace(QUESTION, messages=(seen, read)))
    assert service.chats[0].body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                {"type": "image_url", "image_url": {"url": "data:image/webp;base64,UklGRg=="}},
                {"type": "text", "text": "<file>\nName: a.txt\n\nText.\n</file>\n\nWhat is it?"},
            ],
        },
        {
            "role": "user",
            "content": "<file>\nName: b.txt\n\nLong te\n[cut here: 1,234 more characters of the file are left out]\n"
            "</file>\n\nAnd this?",
        },
    ]


async def test_an_image_with_a_name_follows_it(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    images = (ImagePart("image/png", b"\x89PNG"), ImagePart("image/png", b"\x89PNG", "plan.pdf#page=3"))
    assert await ask(model, replace(QUESTION, messages=(Message(Role.USER, "What is it?", images=images),)))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    name = {"type": "text", "text": "plan.pdf#page=3:"}
    assert service.chats[0].body["messages"] == [
        {"role": "user", "content": [image, name, image, {"type": "text", "text": "What is it?"}]}
    ]


async def test_an_answer_is_asked_for_unpacked_and_a_packed_one_is_none(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    answer = b"".join(map(event, [service.chunk({"content": "Héllo"}), service.chunk({}, "stop")]))
    service.reply_raw(gzip.compress(answer), encoding="gzip")
    service.reply_raw(answer)
    assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message
    assert await ask(model) == [ModelText("Héllo"), ModelFinished("stop")]
    assert {request.headers["Accept-Encoding"] for request in service.chats} == {"identity"}


async def test_text_arrives_while_the_service_is_still_answering(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    gate = asyncio.Event()
    service.reply("Hel", gate, "lo")
    async with asyncio.timeout(10), aclosing(model.stream(QUESTION, context())) as events:
        assert isinstance(await anext(events), CompletionStarted)
        assert await anext(events) == ModelText("Hel")
        assert not service.chats[0].answered.is_set()
        gate.set()
        assert await anext(events) == ModelText("lo")


async def test_what_came_in_one_read_is_yielded_without_suspending(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    lines = b"".join(b'data: {"choices":[{"delta":{"content":"%d"}}]}\n\n' % number for number in range(50))
    service.reply_raw(lines + b"data: [DONE]\n\n")
    async with asyncio.timeout(10), aclosing(model.stream(QUESTION, context())) as events:
        assert isinstance(await anext(events), CompletionStarted)
        assert await anext(events) == ModelText("0")
        for number in range(1, 50):
            step = events.__anext__()
            with pytest.raises(StopIteration) as stepped:
                step.__await__().__next__()
            assert stepped.value.value == ModelText(str(number))


async def test_a_request_carries_all_that_was_asked_for(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"search_query": {"type": "string"}}}
    request = replace(
        QUESTION,
        messages=(
            Message(Role.SYSTEM, "Be brief."),
            Message(Role.USER, "Hi"),
            Message(Role.ASSISTANT, "", tool_calls=(ToolCall("call_9", "search", "{}"),)),
            Message(Role.TOOL, "found", tool_call_id="call_9"),
            Message(Role.USER, "And eyes?"),
        ),
        tools=(ToolDefinition("search", "Searches.", schema),),
        temperature=0.0,
        seed=7,
        max_tokens=100,
    )
    service.call_tool("search", {"search_query": "eyes"})
    assert await ask(model, request) == [
        ToolCall("call_1", "search", '{"search_query": "eyes"}'),
        ModelFinished("tool_calls", Usage(7, 5)),
    ]
    body = service.chats[0].body
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_9", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "found", "tool_call_id": "call_9"},
        {"role": "user", "content": "And eyes?"},
    ]
    assert body["tools"] == [
        {"type": "function", "function": {"name": "search", "description": "Searches.", "parameters": schema}}
    ]
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.0, 7, 100)


async def test_the_other_model_of_a_request_is_called_for_that_request_only(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    for _ in range(2):
        service.reply_raw(b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n')
    started: list[str] = []
    for other in (service.other_model, None):
        async with aclosing(model.stream(replace(QUESTION, model=other), context())) as events:
            started += [event.model async for event in events if isinstance(event, CompletionStarted)]
    asked = [chat.body["model"] for chat in service.chats]
    assert asked == started == [service.other_model, service.model]


async def test_the_services_of_openai_get_the_new_name_of_the_token_limit(service: OpenAIStandIn) -> None:
    async with model_of(replace(connection_to(service), kind="azure-openai")) as model:
        await ask(model, replace(QUESTION, max_tokens=100))
    assert service.chats[0].body["max_completion_tokens"] == 100
    assert "max_tokens" not in service.chats[0].body


async def test_a_service_that_refuses_stream_options_is_asked_without_them_from_then_on(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(400, error={"message": "unknown field: stream_options", "code": None})
    service.reply("one")
    service.reply("two")
    assert [ModelText("one"), ModelText("two")] == [(await ask(model))[0], (await ask(model))[0]]
    assert ["stream_options" in chat.body for chat in service.chats] == [True, False, False]


async def test_a_reasoning_model_is_asked_without_what_it_refuses_and_from_then_on_at_once(
    service: OpenAIStandIn,
) -> None:
    thinking = ServedModel(service.reasoning_model, "AZURE_OPENAI_CHAT_DEPLOYMENT")
    async with model_of(
        replace(connection_to(service), kind="azure-openai", chat_model=thinking), reasoning_effort="low"
    ) as model:
        question = replace(QUESTION, temperature=0.3, max_tokens=100)
        service.reply("one")
        service.reply("two")
        assert [ModelText("one"), ModelText("two")] == [
            (await ask(model, question))[0],
            (await ask(model, question))[0],
        ]
    assert ["temperature" in chat.body for chat in service.chats] == [True, False, False]
    assert all(chat.body["reasoning_effort"] == "low" for chat in service.chats)


@pytest.mark.parametrize("effort", ["low", None])
async def test_a_model_that_takes_no_tools_while_it_thinks_thinks_only_without_tools(
    service: OpenAIStandIn, effort: str | None
) -> None:
    thinking = ServedModel(service.reasoning_model, "AZURE_OPENAI_CHAT_DEPLOYMENT")
    connection = replace(connection_to(service), kind="azure-openai", chat_model=thinking)
    async with model_of(connection, reasoning_effort=effort) as model:
        for question in (WITH_TOOL, WITH_TOOL, QUESTION):
            service.reply("one")
            assert ModelText("one") in await ask(model, question)
    efforts = [chat.body.get("reasoning_effort") for chat in service.chats]
    assert efforts == [effort, "none", "none", effort]


async def test_a_model_that_takes_no_tools_at_all_is_asked_twice_and_not_for_ever(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(400, error={"message": "Function tools with reasoning_effort are not supported"}, times=2)
    with pytest.raises(BadRequest):
        await ask(model, replace(WITH_TOOL, model=service.reasoning_model))
    assert len(service.chats) == 2


async def test_a_reasoning_model_behind_a_gateway_is_given_the_token_limit_by_its_new_name(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    question = replace(QUESTION, model=service.reasoning_model, max_tokens=100)
    service.reply("one")
    service.reply("two")
    assert [ModelText("one"), ModelText("two")] == [(await ask(model, question))[0], (await ask(model, question))[0]]
    limits = [(chat.body.get("max_tokens"), chat.body.get("max_completion_tokens")) for chat in service.chats]
    assert limits == [(100, None), (None, 100), (None, 100)]


async def test_a_service_that_knows_no_token_limit_by_any_name_is_asked_without(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        service.fail(400, error={"message": "no", "param": name, "code": "unsupported_parameter"})
    service.reply("one")
    assert (await ask(model, replace(QUESTION, max_tokens=100)))[0] == ModelText("one")
    assert not {"max_tokens", "max_completion_tokens"} & service.chats[-1].body.keys()


async def test_a_model_that_does_not_reason_answers_without_the_effort(service: OpenAIStandIn) -> None:
    async with model_of(connection_to(service), reasoning_effort="high") as model:
        service.reply("one")
        assert (await ask(model, replace(QUESTION, temperature=0.3)))[0] == ModelText("one")
    assert ["reasoning_effort" in chat.body for chat in service.chats] == [True, False]
    assert service.chats[-1].body["temperature"] == 0.3


async def test_what_one_model_refuses_another_still_gets(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    warm = replace(QUESTION, temperature=0.3)
    await ask(model, replace(warm, model=service.reasoning_model))
    await ask(model, warm)
    assert [chat.body.get("temperature") for chat in service.chats] == [0.3, None, 0.3]


async def test_a_temperature_that_a_model_finds_too_high_is_the_callers_error(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(400, error={"message": "too hot", "param": "temperature", "code": "invalid_value"})
    assert "`temperature`" in (await error_of(model, BadRequest)).message
    assert len(service.chats) == 1


@pytest.mark.parametrize("leave", ["close", "cancel"])
async def test_leaving_early_is_seen_by_the_service(service: OpenAIStandIn, model: OpenAIChatModel, leave: str) -> None:
    service.reply("Hel", asyncio.Event())
    events = model.stream(QUESTION, context())
    assert isinstance(await anext(events), CompletionStarted)
    assert await anext(events) == ModelText("Hel")
    async with asyncio.timeout(10):
        if leave == "close":
            await events.aclose()
        else:
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await service.chats[0].disconnected.wait()


async def test_the_next_request_uses_the_same_connection(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    end_of_body = asyncio.Event()
    service.reply_raw(b'data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n', end_of_body)
    async with asyncio.timeout(10), aclosing(model.stream(QUESTION, context())) as events:
        assert isinstance(await anext(events), CompletionStarted)
        assert await anext(events) == ModelFinished("stop")
        end_of_body.set()
        assert [event async for event in events] == []
    await ask(model)
    assert service.chats[0].client_port == service.chats[1].client_port


async def test_fifty_answers_at_once_do_not_mix(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    gate = asyncio.Event()
    for number in range(50):
        service.reply("answer ", gate, str(number))
    asking = [asyncio.ensure_future(ask(model)) for _ in range(50)]
    await service.request_number(50)
    gate.set()
    answers = await asyncio.gather(*asking)
    texts = {"".join(event.text for event in answer if isinstance(event, ModelText)) for answer in answers}
    assert texts == {f"answer {number}" for number in range(50)}


async def test_a_document_instead_of_a_stream_is_accepted(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.reply_raw(
        b'{"choices": [{"message": {"content": "Hi"}, ', b'"finish_reason": "stop"}]}', content_type="application/json"
    )
    assert await ask(model) == [ModelText("Hi"), ModelFinished("stop")]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"<html>Log in</html>", "text/html"), (b"hello", "text/plain"), (b"[]", "application/json")],
)
async def test_something_else_in_a_200_is_an_unavailable_service(
    service: OpenAIStandIn, model: OpenAIChatModel, body: bytes, content_type: str
) -> None:
    service.reply_raw(body, content_type=content_type)
    assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message


async def test_an_answer_that_is_not_read_is_closed(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.reply_raw(b"<html>", asyncio.Event(), content_type="text/html")
    # The error holds the frames, so that no garbage collection closes the answer instead.
    error = await error_of(model, Unavailable)
    async with asyncio.timeout(5):
        await service.chats[0].disconnected.wait()
    assert error.__traceback__


async def test_a_schema_that_the_service_does_not_accept_is_the_callers_to_change(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    error: Any = {"message": "Invalid schema for response_format 'a'.", "param": "response_format", "code": None}
    service.fail(400, error=error)
    form = JsonForm("response_format", "a", {"type": "object"}, strict=True)
    with pytest.raises(BadRequest, match="does not accept this `response_format`"):
        await ask(model, replace(QUESTION, form=form))


async def test_a_request_says_how_long_to_think_and_a_value_that_a_model_lacks_is_left_out_alone(
    service: OpenAIStandIn,
) -> None:
    thinking = ServedModel(service.reasoning_model, "AZURE_OPENAI_CHAT_DEPLOYMENT")
    connection = replace(connection_to(service), kind="azure-openai", chat_model=thinking)
    error: Any = {"message": "Unsupported value.", "param": "reasoning_effort", "code": "unsupported_value"}
    service.fail(400, error=error)
    async with model_of(connection, reasoning_effort="low") as model:
        for effort in ("minimal", "minimal", None, "high"):
            assert await ask(model, replace(QUESTION, reasoning_effort=effort))
    efforts = [chat.body.get("reasoning_effort") for chat in service.chats]
    assert efforts == ["minimal", None, None, "low", "high"]
