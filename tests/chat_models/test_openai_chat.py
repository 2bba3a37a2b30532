"""The chat model against a real local server; nothing of ours or of the SDK is replaced."""

import asyncio
import logging
import socket
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, Tool
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Message, RequestContext, Role, ToolCall
from shared.errors import BadRequest, ContentFiltered, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.events import Usage
from shared.openai_service.connection import OpenAIConnection, ServedModel
from shared.openai_service.service import OpenAIService, Patience
from tests.stand_ins.openai_service import MODELS, OpenAIStandIn

QUESTION = ModelRequest(messages=(Message(Role.USER, "What is covered?"),), question="What is covered?")


@pytest.fixture
async def service() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


def connection_to(service: OpenAIStandIn) -> OpenAIConnection:
    return OpenAIConnection(
        kind="openai-compatible",
        base_url=service.base_url,
        api_key=SecretStr(service.api_key),
        address_setting="OPENAI_BASE_URL",
        key_setting="OPENAI_API_KEY",
        chat_model=ServedModel(service.model, "OPENAI_CHAT_MODEL"),
    )


@asynccontextmanager
async def model_of(connection: OpenAIConnection, **patience: Any) -> AsyncGenerator[OpenAIChatModel]:
    client = OpenAIService(connection, Patience(**patience))
    try:
        yield OpenAIChatModel(client)
    finally:
        await client.aclose()


@pytest.fixture
async def model(service: OpenAIStandIn) -> AsyncIterator[OpenAIChatModel]:
    async with model_of(connection_to(service)) as model:
        yield model


def context(seconds: float = 30.0) -> RequestContext:
    return RequestContext("invocation-1", asyncio.get_running_loop().time() + seconds)


async def ask(model: OpenAIChatModel, request: ModelRequest = QUESTION, *, seconds: float = 30.0) -> list[ModelEvent]:
    async with aclosing(model.stream(request, context(seconds))) as events:
        return [event async for event in events]


async def error_of[Error: SwitchboardError](
    model: OpenAIChatModel, kind: type[Error], *, request: ModelRequest = QUESTION, seconds: float = 30.0
) -> Error:
    with pytest.raises(kind) as caught:
        await ask(model, request, seconds=seconds)
    assert type(caught.value) is kind
    return caught.value


async def test_an_answer_is_text_then_how_it_ended(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.reply("Hel", "lo")
    assert await ask(model) == [ModelText("Hel"), ModelText("lo"), ModelFinished("stop", service.model, Usage(7, 5))]
    assert service.chats[0].body == {
        "model": service.model,
        "messages": [{"role": "user", "content": "What is covered?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_text_arrives_while_the_service_is_still_answering(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    gate = asyncio.Event()
    service.reply("Hel", gate, "lo")
    async with asyncio.timeout(10), aclosing(model.stream(QUESTION, context())) as events:
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
        tools=(Tool("search", "Searches.", schema),),
        temperature=0.0,
        seed=7,
        max_tokens=100,
    )
    service.call_tool("search", {"search_query": "eyes"})
    assert await ask(model, request) == [
        ToolCall("call_1", "search", '{"search_query": "eyes"}'),
        ModelFinished("tool_calls", service.model, Usage(7, 5)),
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


@pytest.mark.parametrize("leave", ["close", "cancel"])
async def test_leaving_early_is_seen_by_the_service(service: OpenAIStandIn, model: OpenAIChatModel, leave: str) -> None:
    service.reply("Hel", asyncio.Event())
    events = model.stream(QUESTION, context())
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
    await ask(model)
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
    assert await ask(model) == [ModelText("Hi"), ModelFinished("stop", service.model)]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"<html>Log in</html>", "text/html"), (b"hello", "text/plain"), (b"[]", "application/json")],
)
async def test_something_else_in_a_200_is_an_unavailable_service(
    service: OpenAIStandIn, model: OpenAIChatModel, body: bytes, content_type: str
) -> None:
    service.reply_raw(body, content_type=content_type)
    assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message


@pytest.mark.parametrize("cut", [True, False])
async def test_an_answer_that_is_cut_off_is_an_error_after_its_text(
    service: OpenAIStandIn, model: OpenAIChatModel, cut: bool
) -> None:
    service.reply_raw(b'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n', cut=cut)
    events: list[ModelEvent] = []
    with pytest.raises(Unavailable, match="cut off"):
        async with aclosing(model.stream(QUESTION, context())) as stream:
            events.extend([event async for event in stream])
    assert len(service.chats) == 1


async def test_a_connection_cut_after_the_finish_reason_does_not_matter(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.reply_raw(b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n', cut=True)
    assert await ask(model) == [ModelText("Hi"), ModelFinished("stop", service.model)]


async def test_a_short_rate_limit_is_waited_for(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, headers={"Retry-After": "1"})
    service.reply("Hi")
    begun = asyncio.get_running_loop().time()
    assert (await ask(model))[0] == ModelText("Hi")
    assert asyncio.get_running_loop().time() - begun >= 1.0
    assert len(service.chats) == 2


async def test_azures_milliseconds_are_waited_for(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, headers={"retry-after-ms": "20", "Retry-After": "60"})
    service.reply("Hi")
    assert (await ask(model))[0] == ModelText("Hi")


async def test_a_rate_limit_that_stays_is_passed_on_with_its_wait(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(429, headers={"Retry-After": "0.2"}, times=3)
    assert (await error_of(model, RateLimited)).retry_after == 1
    assert len(service.chats) == 3


async def test_a_long_rate_limit_is_passed_on_at_once(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, headers={"Retry-After": "41.5"})
    assert (await error_of(model, RateLimited)).retry_after == 42
    assert len(service.chats) == 1


async def test_a_rate_limit_that_outlasts_the_deadline_is_passed_on_at_once(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(429, headers={"Retry-After": "15"})
    assert (await error_of(model, RateLimited, seconds=10)).retry_after == 15
    assert len(service.chats) == 1


async def test_a_used_up_quota_is_not_tried_again(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, code="insufficient_quota")
    assert "quota" in (await error_of(model, RateLimited)).message
    assert len(service.chats) == 1


@pytest.mark.parametrize("status", [409, 500, 502, 503])
async def test_a_fault_that_passes_is_tried_again(service: OpenAIStandIn, model: OpenAIChatModel, status: int) -> None:
    service.fail(status, headers={"Retry-After": "0.01"}, times=2)
    service.reply("Hi")
    assert (await ask(model))[0] == ModelText("Hi")
    assert len(service.chats) == 3


async def test_a_connection_that_is_closed_without_an_answer_is_tried_again(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.hang_up()
    service.reply("Hi")
    assert (await ask(model))[0] == ModelText("Hi")


async def test_a_service_that_only_hangs_up_is_unavailable(service: OpenAIStandIn) -> None:
    service.hang_up(times=2)
    async with model_of(connection_to(service), retries=1) as model:
        assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message


async def test_nobody_listening_is_unavailable_and_names_the_address_setting(service: OpenAIStandIn) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        async with model_of(replace(connection_to(service), base_url=nobody), retries=1) as model:
            assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message


async def test_a_hanging_service_is_left_at_the_deadline(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.hang()
    await error_of(model, TooSlow, seconds=0.5)
    async with asyncio.timeout(10):
        await service.chats[0].disconnected.wait()
    assert len(service.chats) == 1


async def test_a_deadline_in_the_middle_of_an_answer_ends_it(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.reply("Hel", asyncio.Event())
    await error_of(model, TooSlow, seconds=0.5)
    async with asyncio.timeout(10):
        await service.chats[0].disconnected.wait()


@pytest.mark.parametrize("patience", [{"first": 0.3}, {"between": 0.3}])
async def test_silence_is_too_slow_before_and_between_the_pieces(
    service: OpenAIStandIn, patience: dict[str, float]
) -> None:
    if "first" in patience:
        service.reply(asyncio.Event())
    else:
        service.reply("Hel", asyncio.Event())
    async with model_of(connection_to(service), **patience) as model:
        await error_of(model, TooSlow)
    assert len(service.chats) == 1


async def test_thinking_before_the_first_text_may_take_longer(service: OpenAIStandIn) -> None:
    gate = asyncio.Event()
    service.reply({"choices": [], "prompt_filter_results": []}, gate, "Hi")
    async with model_of(connection_to(service), between=0.1) as model:
        asyncio.get_running_loop().call_later(0.5, gate.set)
        assert (await ask(model))[0] == ModelText("Hi")


ERRORS: list[tuple[int, dict[str, Any], type[SwitchboardError], str]] = [
    (401, {"code": "invalid_api_key"}, Unavailable, "OPENAI_API_KEY"),
    (403, {}, Unavailable, "OPENAI_API_KEY"),
    (404, {"code": "model_not_found"}, Unavailable, "OPENAI_CHAT_MODEL"),
    (404, {}, Unavailable, "OPENAI_CHAT_MODEL"),
    (408, {}, TooSlow, "too long"),
    (400, {"code": "context_length_exceeded"}, BadRequest, "too long"),
    (400, {"code": 400, "message": "This model's maximum context length is 4096 tokens."}, BadRequest, "too long"),
    (413, {}, BadRequest, "too long"),
    (400, {"code": "content_filter", "innererror": {"code": "x"}}, ContentFiltered, "content filter"),
    (400, {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}, ContentFiltered, "content filter"),
    (400, {"code": "", "inner_error": {"code": "ResponsibleAIPolicyViolation"}}, ContentFiltered, "content filter"),
    (400, {"param": "temperature", "code": "unsupported_value"}, BadRequest, "`temperature`"),
    (422, {"param": "seed"}, BadRequest, "`seed`"),
    (400, {"param": "messages"}, Unavailable, "OPENAI_CHAT_MODEL"),
    (418, {}, Unavailable, "OPENAI_CHAT_MODEL"),
    (504, {}, TooSlow, "too long"),
]


@pytest.mark.parametrize(("status", "error", "kind", "says"), ERRORS)
async def test_each_refusal_is_our_error_with_our_sentence(
    service: OpenAIStandIn,
    model: OpenAIChatModel,
    status: int,
    error: dict[str, Any],
    kind: type[SwitchboardError],
    says: str,
) -> None:
    service.fail(status, error={"message": "the service's own words", **error})
    raised = await error_of(model, kind)
    assert says in raised.message
    assert "own words" not in raised.message
    assert len(service.chats) == 1


@pytest.mark.parametrize("body", [b"", b"oops", b"[1]", b'"x"', b'{"error": "x"}', b'{"detail": [{"loc": ["body"]}]}'])
async def test_a_refusal_of_any_shape_has_its_status(
    service: OpenAIStandIn, model: OpenAIChatModel, body: bytes
) -> None:
    service.fail(401, raw=body)
    assert "OPENAI_API_KEY" in (await error_of(model, Unavailable)).message


async def test_neither_key_nor_prompt_show_in_errors_logs_or_reprs(
    service: OpenAIStandIn, model: OpenAIChatModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    quoted = f"{service.api_key} asked 'What is covered?'"
    service.fail(
        401,
        error={"message": quoted, "code": quoted, "type": quoted, "param": quoted},
        headers={"x-request-id": quoted},
    )
    refused = await error_of(model, Unavailable)
    service.reply({"error": {"message": quoted, "code": quoted}})
    broken = await error_of(model, Unavailable)
    service.reply_raw(f"data: {quoted}\n\n".encode())
    garbled = await error_of(model, Unavailable)
    seen = [caplog.text, repr(connection_to(service)), str(connection_to(service)), str(await model.check())]
    for error in (refused, broken, garbled):
        seen += [error.message, repr(error), "".join(traceback.format_exception(error))]
    assert "CREDENTIALS" in caplog.text
    for text in seen:
        assert service.api_key not in text
        assert QUESTION.question not in text


async def test_a_fault_is_logged_once_with_what_finds_it(
    service: OpenAIStandIn, model: OpenAIChatModel, caplog: pytest.LogCaptureFixture
) -> None:
    service.fail(404, code="model_not_found", headers={"x-request-id": "req_42"})
    await error_of(model, Unavailable)
    (record,) = [record for record in caplog.records if record.name == "switchboard.openai"]
    assert record.levelno == logging.WARNING
    for fact in ("404", "model_not_found", "req_42", "invocation-1"):
        assert fact in record.getMessage()


async def test_a_check_tells_host_and_model_and_is_asked_once(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    health, again = await asyncio.gather(model.check(), model.check())
    assert health is again
    assert health.ok
    assert health.kind == "openai-compatible"
    assert service.model in health.detail
    assert "127.0.0.1" in health.detail
    assert [request.path for request in service.requests] == [MODELS]


@pytest.mark.parametrize("status", [404, 405, 429])
async def test_a_service_that_does_not_list_its_models_is_there(
    service: OpenAIStandIn, model: OpenAIChatModel, status: int
) -> None:
    service.fail(status, on=MODELS)
    assert (await model.check()).ok


async def test_a_check_names_the_key_that_is_refused(service: OpenAIStandIn) -> None:
    async with model_of(replace(connection_to(service), api_key=SecretStr("sk-wrong"))) as model:
        health = await model.check()
    assert not health.ok
    assert "OPENAI_API_KEY" in health.detail
    assert "sk-wrong" not in health.detail


async def test_a_check_does_not_wait_for_a_hanging_service(service: OpenAIStandIn) -> None:
    service.hang(on=MODELS)
    async with model_of(connection_to(service), check=0.3) as model, asyncio.timeout(10):
        assert not (await model.check()).ok
