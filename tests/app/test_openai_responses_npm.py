"""OpenAI's Responses, as OpenAI's npm package and AI SDK's provider for OpenAI read them, against the running app."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.app.guarded import BAD, guarded
from tests.app.openai_sdk import COVER, FOLLOWUPS, MODEL, TEAM, Cover
from tests.app.test_answers import QUESTION
from tests.app.test_openai_responses import BEGIN, DELTA, MESSAGE_BEGIN, MESSAGE_END, WEATHER
from tests.clients.openai_responses import respond
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("openai_responses")]
"""One loop with the stand-in that the tests script."""

CUT = b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'


async def asked(client: str, host: RunningHost, **body: Any) -> dict[str, Any]:
    return await respond(client, f"{host.url}/v1", **({"model": MODEL, "input": QUESTION} | body))


async def told(client: str, host: RunningHost, *said: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Let a client ask with a conversation."""
    return await asked(client, host, input=[{"role": role, "content": text} for role, text in said], **more)


def types_of(outcome: dict[str, Any]) -> list[str]:
    return [one["type"] for one in outcome["seen"]]


def text_of(response: dict[str, Any]) -> str:
    return "".join(content["text"] for item in response["output"] for content in item["content"])


@pytest.mark.parametrize("client", ["whole", "helper"])
async def test_an_answer_has_its_sources_and_the_followups(
    app: RunningHost, openai: OpenAIStandIn, client: str
) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].\n<<What is paid for glasses?>>")
    outcome = await asked(client, app, **FOLLOWUPS)
    response = outcome["response"]
    assert (response["status"], response["output_text"]) == ("completed", "80 % [plan.pdf#page=3].")
    [cited] = response["output"][0]["content"][0]["annotations"]
    assert cited["title"] == "plan.pdf#page=3"
    assert response["context"]["followup_questions"] == ["What is paid for glasses?"]
    assert response["usage"]["total_tokens"] == 12


async def test_a_raw_stream_has_its_events_in_their_order(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 % ", "of it.")
    outcome = await asked("raw", app)
    assert types_of(outcome) == [*BEGIN, *MESSAGE_BEGIN, DELTA, DELTA, *MESSAGE_END, "response.completed"]


@pytest.mark.parametrize("options", [{}, {"openai": {"store": False}}])
async def test_ai_sdk_calls_a_tool_and_answers_with_its_result(
    app: RunningHost, openai: OpenAIStandIn, options: dict[str, Any]
) -> None:
    openai.call_tool("get_weather", {"city": "Oslo"})
    openai.reply("Snow.")
    outcome = await told("aiSdk", app, ("user", QUESTION), tools=[WEATHER], providerOptions=options)
    assert (outcome["text"], outcome["finishReason"]) == ("Snow.", "stop")
    assert [part["input"] for part in outcome["seen"] if part["type"] == "tool-call"] == [{"city": "Oslo"}]
    said: Any = openai.chats[-1].body["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "tool"]


async def test_a_conversation_is_the_output_sent_back(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 %.")
    first = await asked("whole", app)
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply("After two years.")
    conversation = [
        {"role": "user", "content": QUESTION},
        *first["response"]["output"],
        {"role": "user", "content": "Implants?"},
    ]
    second = await asked("helper", app, input=conversation)
    assert second["response"]["output_text"] == "After two years."
    assert "80 %." in str(openai.chats[-1].body["messages"])


@pytest.mark.parametrize("client", one_in(3, ["whole", "raw", "helper"]))
async def test_an_error_before_the_answer_has_its_status(app: RunningHost, openai: OpenAIStandIn, client: str) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    thrown = (await asked(client, app))["thrown"]
    assert (thrown["status"], thrown["code"]) == (429, "rate_limited")
    thrown = (await asked(client, app, previous_response_id="resp_1"))["thrown"]
    assert (thrown["status"], thrown["param"]) == (400, "previous_response_id")


@pytest.mark.parametrize("client", ["raw", "helper"])
async def test_an_error_amid_the_stream_is_thrown_after_the_text(
    app: RunningHost, openai: OpenAIStandIn, client: str
) -> None:
    openai.reply_raw(CUT, cut=True)
    outcome = await asked(client, app)
    assert DELTA in types_of(outcome)
    assert "(invocation " in outcome["thrown"]["message"]


async def test_a_team_has_a_message_for_each_agent(team: RunningHost, openai: OpenAIStandIn) -> None:
    for name, text in (("Alpha", "Yes."), ("Beta", "No.")):
        with openai.to(f"You are {name}"):
            openai.reply(text)
    response = (await asked("helper", team, model=TEAM))["response"]
    assert len(response["output"]) == 2
    assert sorted(text_of(response).split("\n\n")) == sorted(["**Alpha**", "Yes.", "**Beta**", "No."])


@pytest.mark.parametrize("client", ["raw", "aiSdk"])
async def test_who_leaves_a_stream_ends_the_models_work(app: RunningHost, openai: OpenAIStandIn, client: str) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    await told(client, app, ("user", QUESTION), leaveAfterText=True)
    left = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await left.disconnected.wait()


async def test_what_the_guard_stops_is_incomplete(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard:
        refused = await asked("raw", under_guard.host, input=f"A {BAD}?")
        assert (refused["thrown"]["status"], refused["thrown"]["code"]) == (400, "content_filter")
        await openai.caught_up()  # the refused turn may have asked the model
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        events = (await asked("raw", under_guard.host, input="Hello?"))["seen"]
        assert events[-1]["type"] == "response.incomplete"
        assert events[-1]["response"]["incomplete_details"] == {"reason": "content_filter"}
        assert BAD not in str(events)
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        shown = await told("aiSdk", under_guard.host, ("user", "Hello?"))
        assert shown["finishReason"] == "content-filter"
        assert shown["text"].startswith("It is fine.")
        assert BAD not in str(shown)


async def test_ai_sdks_provider_shows_the_text_and_the_sources(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].")
    outcome = await told("aiSdk", app, ("user", QUESTION))
    assert (outcome["text"], outcome["finishReason"]) == ("80 % [plan.pdf#page=3].", "stop")
    [source] = [part for part in outcome["seen"] if part["type"] == "source"]
    assert (source["title"], source["url"]) == ("plan.pdf#page=3", f"{app.url}/content/plan.pdf#page=3")


async def test_ai_sdks_provider_holds_a_conversation_as_it_is_and_without_a_store(
    app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("80 %.")
    first = await told("aiSdk", app, ("user", QUESTION))
    conversation = [
        {"role": "user", "content": QUESTION},
        *first["messages"],
        {"role": "user", "content": "Implants?"},
    ]
    for options in ({}, {"openai": {"store": False}}):  # by default it refers to the answer by its id
        openai.call_tool("search_sources", {"search_queries": ["implants"]})
        openai.reply("After two years.")
        second = await asked("aiSdk", app, input=conversation, providerOptions=options)
        assert second["text"] == "After two years."
        assert "80 %." in str(openai.chats[-1].body["messages"])


async def test_ai_sdks_provider_shows_an_error_amid_the_stream(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply_raw(CUT, cut=True)
    outcome = await told("aiSdk", app, ("user", QUESTION))
    assert [part["text"] for part in outcome["seen"] if part["type"] == "text-delta"] == ["Half"]
    [error] = [part["error"] for part in outcome["seen"] if part["type"] == "error"]
    assert "(invocation " in str(error)


async def test_ai_sdk_generates_an_object_of_its_schema(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply(COVER)
    outcome = await asked("aiSdkObject", app, schema=Cover.model_json_schema() | {"additionalProperties": False})
    assert outcome.get("object") == {"share": 80, "note": "[sic]"}, outcome
    assert openai.chats[-1].form["type"] == "json_schema"


async def test_openais_package_parses_what_its_own_schema_asks_for(app: RunningHost, openai: OpenAIStandIn) -> None:
    for _ in range(2):
        openai.reply(COVER)
    outcome = await asked("zod", app)
    assert outcome.get("parsed") == [{"share": 80, "note": "[sic]"}] * 2, outcome
    assert [chat.form["json_schema"]["name"] for chat in openai.chats[-2:]] == ["Cover"] * 2


@pytest.mark.parametrize("api", ["chat", pytest.param("responses", marks=pytest.mark.nightly)])
async def test_ai_sdk_generates_a_text_in_steps_with_a_tool(app: RunningHost, openai: OpenAIStandIn, api: str) -> None:
    for city in ("Oslo", "Bergen"):
        openai.call_tool("get_weather", {"city": city})
    openai.reply("Snow [plan.pdf#page=3].")
    outcome = await asked("aiSdkGenerate", app, api=api, tools=[WEATHER])
    assert outcome.get("text") == "Snow [plan.pdf#page=3].", outcome
    called = [{"toolName": "get_weather", "input": {"city": city}} for city in ("Oslo", "Bergen")]
    assert outcome["calls"] == [*([call] for call in called), []]
    assert outcome["sources"] == [f"{app.url}/content/plan.pdf#page=3"]
    said: Any = openai.chats[-1].body["messages"]
    roles = [message["role"] for message in said]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
