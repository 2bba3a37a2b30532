"""The chat model and refusals: each is our error; nothing of theirs shows. And its health check."""

import asyncio
import logging
import traceback
from copy import replace
from typing import Any

import pytest
from pydantic import SecretStr

from shared.chat_models.openai_chat import OpenAIChatModel
from shared.errors import BadRequest, ContentFiltered, SwitchboardError, TooSlow, Unavailable
from tests.stand_ins.openai_connected import QUESTION, connection_to, error_of, model_of
from tests.stand_ins.openai_service import MODELS, OpenAIStandIn

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
    (400, {"param": "messages"}, BadRequest, "OPENAI_CHAT_MODEL"),
    (400, {"param": {"a": 1}, "code": "unsupported_value"}, BadRequest, "OPENAI_CHAT_MODEL"),
    (422, {"param": ["seed"], "code": ["unsupported_value"]}, BadRequest, "OPENAI_CHAT_MODEL"),
    (418, {}, BadRequest, "OPENAI_CHAT_MODEL"),
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


async def test_the_refusal_of_another_model_names_where_that_one_was_asked_for(model: OpenAIChatModel) -> None:
    raised = await error_of(model, Unavailable, request=replace(QUESTION, model="gpt-unheard-of"))
    assert "`model` in AGENTS_FILE" in raised.message
    assert "OPENAI_CHAT_MODEL" not in raised.message


@pytest.mark.parametrize("body", [b"", b"oops", b"[1]", b'"x"', b'{"error": "x"}', b'{"detail": [{"loc": ["body"]}]}'])
async def test_a_refusal_of_any_shape_has_its_status(
    service: OpenAIStandIn, model: OpenAIChatModel, body: bytes
) -> None:
    service.fail(401, raw=body)
    assert "OPENAI_API_KEY" in (await error_of(model, Unavailable)).message


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
NOT_HTTP = {
    "garbage": b"\x00\x01 secret \r\n\r\n",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x46",
    "no status line": b"<html>secret</html>",
    "a bad status": b"HTTP/1.1 abc OK\r\n\r\n",
    "a long header": HEAD + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
    "a bad chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n",
}


@pytest.mark.parametrize("sent", NOT_HTTP.values(), ids=NOT_HTTP.keys())
async def test_a_service_that_does_not_speak_http_is_unavailable(
    service: OpenAIStandIn, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with model_of(replace(connection_to(service), base_url=address), retries=0) as model:
            raised = await error_of(model, Unavailable)
    assert "OPENAI_BASE_URL" in raised.message
    assert "secret" not in "".join(traceback.format_exception(raised)) + caplog.text


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
    assert service.looked_up.count(MODELS) == 2  # one of them for the window


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
