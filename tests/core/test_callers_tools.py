"""Tools that the caller brings: what the model is offered, which of its calls go out, and what becomes of results."""

import json
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path
from typing import Any

import pytest

from shared.chat_types import ChatRequest, Json, Message, Role, ToolCall, ToolChoice, ToolDefinition
from shared.core.callers_tools import MOST_STEPS_TOKENS, check_steps, check_tools
from shared.errors import BadRequest, SwitchboardError, TooLarge, Unavailable
from shared.retrieval.sqlite.retriever import SqliteRetriever
from tests.core.test_turn import QUESTION, answer_of, asked, chat_model
from tests.small_index import small_index
from tests.stand_ins.openai_service import OpenAIStandIn

WEATHER = ToolDefinition(
    "get_weather",
    "Tells the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    strict=True,
)
CLOCK = ToolDefinition("get-time", "", {"type": "object", "properties": {}})
WITH_TOOLS = replace(asked(), tools=(WEATHER, CLOCK))
CALL = ToolCall("c1", "get_weather", '{"city": "Oslo"}')
STEPS = (Message(Role.ASSISTANT, "", (CALL,)), Message(Role.TOOL, "Snow.", tool_call_id="c1"))


@pytest.fixture
async def retriever(tmp_path: Path) -> AsyncGenerator[SqliteRetriever]:
    async with small_index(tmp_path) as retriever:
        yield retriever


@pytest.fixture
async def service() -> AsyncGenerator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


def script(service: OpenAIStandIn, *calls: ToolCall, text: str = "", reason: str = "tool_calls") -> None:
    """Let the model say a text, and make these calls."""
    pieces: list[Json] = [
        {"index": place, "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
        for place, call in enumerate(calls)
    ]
    service.reply(service.chunk({"content": text, "tool_calls": pieces}), finish_reason=reason)


def sent(service: OpenAIStandIn, number: int = -1) -> dict[str, Any]:
    return service.chats[number].body


async def test_the_model_is_offered_them_beside_the_sources_and_its_calls_are_the_answer(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    script(service, CALL, ToolCall("c2", "get-time", ""), text="I look. ")
    answer = await answer_of(service, retriever, WITH_TOOLS)
    assert answer.calls == (CALL, ToolCall("c2", "get-time", "{}"))
    assert (answer.text, answer.finished.reason, bool(answer.data_points)) == ("I look. ", "tool_calls", True)
    body = sent(service)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_weather", "get-time"]
    assert body["tools"][0]["function"] == {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": WEATHER.parameters,
        "strict": True,
    }
    assert not body.keys() & {"tool_choice", "parallel_tool_calls"}
    assert "<source>" in body["messages"][-1]["content"]
    assert "functions of the application" in body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("choice", "on_the_wire"),
    [
        (ToolChoice(must_call=True), "required"),
        (ToolChoice(must_call=True, named="get-time"), {"type": "function", "function": {"name": "get-time"}}),
    ],
)
async def test_a_choice_is_obeyed_and_a_model_that_does_not_obey_it_is_an_error(
    service: OpenAIStandIn, retriever: SqliteRetriever, choice: ToolChoice, on_the_wire: Json
) -> None:
    request = replace(WITH_TOOLS, tool_choice=replace(choice, parallel=False))
    script(service, CALL, ToolCall("c2", "get-time", "{}"), reason="stop")
    answer = await answer_of(service, retriever, request)
    assert (answer.calls, answer.finished.reason) == ((CALL,), "tool_calls")
    assert (sent(service)["tool_choice"], sent(service)["parallel_tool_calls"]) == (on_the_wire, False)
    service.reply("I would rather talk.")
    with pytest.raises(Unavailable, match="tool_choice: "):
        await answer_of(service, retriever, request)


async def test_the_results_come_after_the_question_and_its_sources(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply("Snow in Oslo, and 80 % [plan.pdf#page=3].")
    answer = await answer_of(service, retriever, replace(WITH_TOOLS, steps=STEPS))
    assert (answer.text, answer.calls, answer.finished.reason) == (
        "Snow in Oslo, and 80 % [plan.pdf#page=3].",
        (),
        "stop",
    )
    _, question, call, result = sent(service)["messages"]
    assert question["content"].index("plan.pdf#page=3") < question["content"].index(QUESTION)
    assert call["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ]
    assert result == {"role": "tool", "content": "Snow.", "tool_call_id": "c1"}
    assert 'get_weather({"city": "Oslo"})' in json.dumps(answer.thoughts[-1].description).replace("\\", "")


async def test_calls_get_ids_of_their_own_where_the_service_repeats_or_forgets_them(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    script(service, CALL, replace(CALL, id="x" * 41), replace(CALL, id="c9"))
    answer = await answer_of(service, retriever, replace(WITH_TOOLS, steps=STEPS, answer_id="0" * 32))
    ids = [call.id for call in answer.calls]
    assert len({"c1", *ids}) == 4
    assert ids[-1] == "c9"
    assert all(len(one) <= 40 for one in ids)


async def test_a_call_of_a_tool_that_was_not_offered_is_none(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    script(service, replace(CALL, name="rm"), text="Well.")
    answer = await answer_of(service, retriever, WITH_TOOLS)
    assert (answer.calls, answer.text, answer.finished.reason) == ((), "Well.", "stop")


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "[" * 5_000])
async def test_arguments_that_are_no_object_are_an_error_or_what_the_longest_answer_cut_off(
    service: OpenAIStandIn, retriever: SqliteRetriever, arguments: str
) -> None:
    script(service, replace(CALL, arguments=arguments))
    with pytest.raises(Unavailable, match="no JSON object"):
        await answer_of(service, retriever, WITH_TOOLS)
    script(service, CALL, ToolCall("c2", "get-time", arguments), reason="length")
    answer = await answer_of(service, retriever, WITH_TOOLS)
    assert (answer.calls, answer.finished.reason) == ((CALL,), "length")


async def test_the_longest_answer_of_the_caller_is_the_models_and_may_leave_no_text(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply(finish_reason="length")
    answer = await answer_of(service, retriever, replace(asked(), max_tokens=3))
    assert (answer.text, answer.finished.reason) == ("", "length")
    assert sent(service)["max_tokens"] == 3


@pytest.mark.parametrize("request_", [WITH_TOOLS, replace(asked(), steps=STEPS)])
async def test_who_cannot_call_them_says_so(service: OpenAIStandIn, request_: ChatRequest) -> None:
    async with chat_model(service) as model:
        check_tools(request_, team=False, takes_tools=model.takes_tools, own=("search",))
    refused: list[tuple[str, dict[str, Any]]] = [
        ("a team of agents", {"team": True, "takes_tools": True, "own": ()}),
        ("built-in model", {"team": False, "takes_tools": False, "own": ()}),
    ]
    if request_.tools:
        refused.append((r"tools\[1\]", {"team": False, "takes_tools": True, "own": ("get-time",)}))
    for words, who in refused:
        with pytest.raises(BadRequest, match=words):
            check_tools(request_, **who)
        check_tools(asked(), **who)


def test_results_that_are_too_long_are_refused_and_never_cut() -> None:
    check_steps(replace(asked(), steps=STEPS))
    long = replace(STEPS[1], content="x" * 4 * MOST_STEPS_TOKENS)
    with pytest.raises(TooLarge, match="shorten the results") as refused:
        check_steps(replace(asked(), steps=(STEPS[0], long)))
    assert isinstance(refused.value, SwitchboardError)


def test_an_offer_is_left_out_where_it_cannot_be_called_unless_results_of_it_come() -> None:
    offer = replace(WITH_TOOLS, tool_choice=ToolChoice(is_offer=True))
    for team, takes_tools in ((True, True), (False, False)):
        assert check_tools(offer, team=team, takes_tools=takes_tools, own=()).tools == ()
        with pytest.raises(BadRequest):
            check_tools(replace(offer, steps=STEPS), team=team, takes_tools=takes_tools, own=())
    assert check_tools(offer, team=False, takes_tools=True, own=()) is offer
