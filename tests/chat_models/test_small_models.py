"""What the model of a local server says, as llama.cpp, Ollama, LM Studio and vLLM send it."""

import asyncio
import json
from copy import replace
from typing import Any

import pytest

from shared.chat_models import ModelFinished, ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Json, Message, Role, ToolCall, ToolDefinition
from shared.core.prompts import SEARCH_TOOL
from shared.errors import BadRequest
from shared.events import CompletionStarted, ReasoningDelta
from shared.outbound.openai_service.connection import ServedModel
from shared.outbound.openai_service.service import OpenAIService
from tests.stand_ins.openai_connected import QUESTION, ask, connection_to, context, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

LOOK = ToolDefinition("crm_look", "Looks an order up.", {"type": "object", "properties": {}})


def served(service: OpenAIStandIn, lists: dict[str, Json]) -> None:
    """Let the service answer these paths as such servers do."""
    for path, body in lists.items():
        service.reply_raw(json.dumps(body).encode(), content_type="application/json", on=path)


LLAMA_CPP: dict[str, Json] = {
    "/models": {"object": "list", "data": [{"id": "/m/qwen.gguf", "object": "model", "meta": {"n_ctx": 8192}}]},
    "/props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2},
}
OLLAMA: dict[str, Json] = {
    "/models": {"object": "list", "data": [{"id": "NAME", "object": "model", "owned_by": "library"}]},
    "/api/ps": {"models": [{"name": "NAME:latest", "model": "NAME:latest", "context_length": 4096}]},
}
VLLM: dict[str, Json] = {"/models": {"data": [{"id": "NAME", "object": "model", "max_model_len": 4096}]}}
LM_STUDIO: dict[str, Json] = {
    "/models": {"data": [{"id": "NAME", "object": "model"}]},
    "/api/v0/models": {"data": [{"id": "NAME", "loaded_context_length": 4096, "max_context_length": 32768}]},
}


@pytest.mark.parametrize(
    "lists", [LLAMA_CPP, OLLAMA, VLLM, LM_STUDIO], ids=["llama.cpp", "Ollama", "vLLM", "LM Studio"]
)
async def test_sources_history_and_answer_fit_the_window_that_a_server_tells(lists: dict[str, Any]) -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        served(service, json.loads(json.dumps(lists).replace("NAME", service.model)))
        room = await model.room()
        assert 500 < room.sources < room.sources + room.history < 2_500
        service.reply("Hi")
        await ask(model, replace(QUESTION, max_tokens=4_096))
        assert service.chats[-1].body["max_tokens"] == 1_024


@pytest.mark.parametrize(
    ("name", "about", "is_small"),
    [
        ("qwen2.5-coder:1.5b", {}, True),
        ("smollm2:135m", {}, True),
        ("gemma3", {"details": {"parameter_size": "999.89M"}}, True),
        ("llama3.2", {"details": {"parameter_size": "3.2B"}}, False),
        ("x.gguf", {"meta": {"n_ctx": 4096, "n_params": 494_032_768}}, True),
        ("Llama-3.1-8B-Instruct", {}, False),
        ("qwen3-30b-a3b", {}, False),
        ("mixtral-8x7b", {}, False),
        ("gpt-4b-turbo.1", {"details": {"parameter_size": "70.6B"}}, False),
        ("llama3.2", {}, False),
    ],
)
async def test_a_small_model_answers_as_json(name: str, about: dict[str, Json], *, is_small: bool) -> None:
    async with OpenAIStandIn() as service:
        connection = connection_to(service)
        connection = replace(connection, chat_model=ServedModel(name, "OPENAI_CHAT_MODEL"))
        served(service, {"/models": {"data": [{"id": name, "max_model_len": 8192, **about}]}, "/props": {}})
        async with model_of(connection) as model:
            room = await model.room()
            assert (room.answers_json, room.sources < 1_000) == (is_small, is_small)


async def test_a_model_that_is_being_loaded_gets_a_short_prompt_and_is_asked_again_for_its_window() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        loading: Json = {"message": "Loading model", "type": "unavailable_error", "code": 503}
        service.fail(503, error=loading, on="/models")
        assert (await model.room()).sources < 1_500
        assert (await model.check()).facts["window"] == 4_096


async def test_what_the_operator_sets_holds_whatever_the_server_tells() -> None:
    async with OpenAIStandIn() as service:
        served(service, json.loads(json.dumps(VLLM).replace("NAME", service.model)))
        client = OpenAIService(connection_to(service))
        model = OpenAIChatModel(client, source_tokens=9_000, longest_answer=4_096)
        assert (await model.room()).sources == 9_000
        await client.aclose()


async def test_the_window_is_learned_where_a_prompt_is_too_long_for_it() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        before = await model.room()
        told: Json = {"code": 400, "type": "exceed_context_size_error", "message": "too long", "n_ctx": 4096}
        service.fail(400, error=told)
        with pytest.raises(Exception, match="CHAT_SOURCE_TOKENS"):
            await ask(model)
        assert (await model.room()).sources < before.sources


async def test_the_window_is_learned_from_a_service_that_cuts_in_silence() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        before = await model.room()
        usage: Json = {"prompt_tokens": 4096, "completion_tokens": 2, "total_tokens": 4098}
        service.reply("Hi", {"choices": [], "usage": usage}, usage=False)
        await ask(model, replace(QUESTION, messages=(Message(Role.USER, "word " * 7_000),)))
        assert (await model.room()).sources < before.sources


async def test_a_language_whose_tokens_hold_many_bytes_is_not_taken_for_a_prompt_that_was_cut() -> None:
    question = replace(QUESTION, messages=(Message(Role.USER, "Отпуск предоставляется по графику. " * 560),))
    usage: Json = {"prompt_tokens": 4096, "completion_tokens": 2, "total_tokens": 4098}  # 0.21 a letter, as of gpt-4o
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        before = await model.room()
        service.reply("Да", {"choices": [], "usage": usage}, usage=False)
        await ask(model, question)
        assert await model.room() == before


async def test_openai_and_azure_refuse_what_is_too_long_and_so_nothing_is_learned_of_their_window() -> None:
    async with OpenAIStandIn() as service, model_of(replace(connection_to(service), kind="openai")) as model:
        before = await model.room()
        usage: Json = {"prompt_tokens": 4096, "completion_tokens": 2, "total_tokens": 4098}
        service.reply("Hi", {"choices": [], "usage": usage}, usage=False)
        await ask(model, replace(QUESTION, messages=(Message(Role.USER, "word " * 7_000),)))
        assert await model.room() == before


async def test_a_call_that_is_written_as_text_is_a_call() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        service.reply("```json\n", '{"name": "crm_look", "arguments": {"order": "7"}}', "\n```")
        call, finished = await ask(model, replace(QUESTION, tools=(LOOK,)))
        assert isinstance(call, ToolCall)
        assert (call.name, call.arguments) == ("crm_look", '{"order":"7"}')
        assert isinstance(finished, ModelFinished)
        assert finished.reason == "tool_calls"


async def test_search_queries_are_asked_for_as_json_of_their_schema() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        service.reply('{"search_queries": ', '["plus plan glasses"]}')
        call, _ = await ask(model, replace(QUESTION, tools=(SEARCH_TOOL,)))
        assert isinstance(call, ToolCall)
        assert call.arguments == '{"search_queries":["plus plan glasses"]}'
        assert "tools" not in service.chats[-1].body
        assert service.chats[-1].form["json_schema"]["schema"] == SEARCH_TOOL.parameters


async def test_a_model_that_repeats_itself_is_ended() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service), ending=60.0) as model, asyncio.timeout(20):
        never = asyncio.Event()
        service.reply(*["75 % of your insurance payments on your monthly invoice for "] * 60, never)
        *texts, finished = await ask(model)
        assert len(texts) < 60
        assert isinstance(finished, ModelFinished)
        assert finished.reason == "length"


async def test_an_answer_ends_though_its_service_keeps_the_connection_open() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service), ending=60.0) as model, asyncio.timeout(20):
        said = b'data: {"id": "1", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
        service.reply_raw(said, b"data: [DONE]\n\n", asyncio.Event())
        assert await ask(model) == [ModelText("Hi"), ModelFinished("stop")]


async def test_thoughts_with_their_end_alone_are_known_from_the_answer_before() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        for _ in range(2):
            service.reply("The user greets.", "\n</think>", "\n\n", "Hello.")
        first, second = [await ask(model) for _ in range(2)]
        assert ModelText("\n</think>") in first  # a stream cannot know it the first time
        assert [event for event in second if isinstance(event, ModelText)] == [ModelText("Hello.")]
        assert ReasoningDelta("The user greets.") in second
        service.reply("No thoughts", " today.")
        assert ModelText("No thoughts today.") in await ask(model)


async def test_a_whole_answer_never_begins_with_its_thoughts() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        service.reply("The user greets.", "\n</thi", "nk>\n\nHello.")
        events = [event async for event in model.stream(QUESTION, replace(context(), is_whole=True))]
        assert [event.text for event in events if isinstance(event, ModelText)] == ["Hello."]


async def test_the_name_of_the_model_is_the_configured_one() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        service.reply({"id": "1", "model": "/models/qwen.gguf", "choices": []}, "Hi")
        events = [event async for event in model.stream(QUESTION, context())]
        assert [one.model for one in events if isinstance(one, CompletionStarted)] == [service.model]


async def test_what_came_with_a_call_goes_back_with_it() -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        beside: dict[str, Json] = {"extra_content": {"google": {"thought_signature": "SIG"}}}
        piece: Json = {"index": 0, "id": "c1", "function": {"name": "crm_look", "arguments": "{}"}, **beside}
        service.reply(
            service.chunk({"reasoning_content": "Let me look."}),
            service.chunk({"tool_calls": [piece]}),
            finish_reason="tool_calls",
        )
        call = next(one for one in await ask(model, replace(QUESTION, tools=(LOOK,))) if isinstance(one, ToolCall))
        assert call.beside.items() >= (beside | {"reasoning_content": "Let me look."}).items()
        spoken = (
            *QUESTION.messages,
            Message(Role.ASSISTANT, "", (call,)),
            Message(Role.TOOL, "paid", tool_call_id="c1"),
        )
        with pytest.raises(BadRequest):  # the stand-in is as strict as OpenAI, which is never sent such keys
            await ask(model, replace(QUESTION, messages=spoken))
        sent: Any = service.chats[-1].body
        message = sent["messages"][1]
        assert message["reasoning_content"] == "Let me look."
        assert message["tool_calls"][0]["extra_content"] == beside["extra_content"]
        assert "sent_by" not in str(sent)
        elsewhere = replace(call, beside=call.beside | {"sent_by": "0" * 8})
        await ask(model, replace(QUESTION, messages=(spoken[0], Message(Role.ASSISTANT, "", (elsewhere,)), spoken[2])))
        assert "Let me look." not in str(service.chats[-1].body)
        assert "SIG" not in str(service.chats[-1].body)
