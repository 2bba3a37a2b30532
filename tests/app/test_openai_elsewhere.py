"""OpenAI's npm package and LangChain's `ChatOpenAI` against the running app."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.guarded import BAD, guarded
from tests.app.openai_sdk import FILTERED
from tests.app.test_answers import QUESTION
from tests.clients.asking import Client, Seen
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
COVER = '{"share": 80, "note": "[sic]"}'
FOLLOWUPS: Any = {"context": {"overrides": {"suggest_followup_questions": True}}}


@pytest.fixture(params=["npm_openai", "langchain"])
def client(request: pytest.FixtureRequest) -> Client:
    return request.getfixturevalue(request.param)


WEATHER: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


READING = pytest.mark.parametrize("kind", ["answer", "stream"])


async def ask(client: Client, host: RunningHost, kind: str = "answer", question: str = QUESTION, **more: Any) -> Seen:
    body: dict[str, Any] = {"model": "switchboard", "messages": [{"role": "user", "content": question}]}
    return await client.ask(f"{host.url}/v1", kind, body | more)


@pytest.mark.parametrize("kind", ["answer", "stream", "helper"])
async def test_openais_package_has_the_text_its_sources_the_followups_and_the_tokens(
    npm_openai: Client, app: RunningHost, openai: OpenAIStandIn, kind: str
) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].\n<<What is paid for glasses?>>")
    options: Any = {} if kind == "answer" else {"stream_options": {"include_usage": True}}
    seen = await ask(npm_openai, app, kind, **FOLLOWUPS, **options)
    assert (seen.error, seen.text, seen.finish) == ({}, "80 % [plan.pdf#page=3].", "stop")
    assert seen.annotations
    (annotation,) = seen.annotations
    assert annotation["type"] == "url_citation"
    cited = annotation["url_citation"]
    assert cited["url"] == f"{app.url}/content/plan.pdf#page=3"
    assert seen.text[cited["start_index"] : cited["end_index"]] == "[plan.pdf#page=3]"
    assert seen.context
    assert "plan.pdf#page=3" in {one["title"] for one in seen.context["citations"]}
    assert seen.context["followup_questions"] == ["What is paid for glasses?"]
    assert seen.usage
    assert seen.usage["total_tokens"] == 12
    if kind != "answer":
        assert len(seen.pieces) > 1


@READING
async def test_langchain_has_the_text_with_its_marks_and_the_tokens(
    langchain: Client, app: RunningHost, openai: OpenAIStandIn, kind: str
) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].\n<<What is paid for glasses?>>")
    seen = await ask(langchain, app, kind, **FOLLOWUPS, stream_options={"include_usage": True})
    assert (seen.error, seen.text, seen.finish) == ({}, "80 % [plan.pdf#page=3].", "stop")
    assert seen.usage == {"total_tokens": 12}


async def test_langchains_structured_output_is_what_the_model_wrote(
    langchain: Client, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(COVER)
    seen = await ask(langchain, app, "shaped")
    assert (seen.error, seen.pieces) == ({}, [COVER])
    assert openai.chats[-1].form["json_schema"]["name"] == "Cover"


@READING
async def test_a_conversation_goes_on(client: Client, app: RunningHost, openai: OpenAIStandIn, kind: str) -> None:
    openai.call_tool("search_sources", {"search_queries": ["dental"]})
    openai.reply("Yes.")
    earlier = [
        {"role": "system", "content": "Say it in verse."},
        {"role": "user", "content": "Is there a plan?"},
        {"role": "assistant", "content": "The Standard plan."},
    ]
    seen = await ask(client, app, kind, messages=[*earlier, *ASKED])
    assert (seen.error, seen.text) == ({}, "Yes.")
    said = json.dumps(openai.chats[-1].body["messages"])
    assert all(message["content"] in said for message in earlier)


async def test_their_loops_of_tools_call_and_send_the_results_until_there_is_an_answer(
    client: Client, app: RunningHost, openai: OpenAIStandIn
) -> None:
    cities: Any = [{"city": "Oslo"}, {"city": "Bergen"}]
    for city in cities:
        openai.call_tool("get_weather", city, call_id="same")
    openai.reply("Snow.")
    seen = await ask(client, app, "tools", tools=WEATHER)
    assert (seen.error, seen.text, seen.finish, seen.kept["calls"]) == ({}, "Snow.", "stop", cities)
    said: Any = openai.chats[-1].body["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert [message["content"] for message in said if message["role"] == "tool"] == ["Snow."] * 2


@READING
async def test_an_error_before_the_answer_has_its_status_and_says_what_to_do(
    client: Client, app: RunningHost, openai: OpenAIStandIn, kind: str
) -> None:
    seen = await ask(client, app, kind, model="gpt-4")
    assert (seen.error["status"], seen.error["code"], seen.error["param"]) == (404, "model_not_found", "model")
    assert "switchboard-team" in seen.error["message"]
    openai.fail(429, headers={"Retry-After": "47"})
    seen = await ask(client, app, kind)
    assert (seen.error["status"], seen.error["type"]) == (429, "rate_limit_error")
    seen = await ask(client, app, kind, question=" ")
    assert (seen.error["status"], seen.error["type"]) == (400, "invalid_request_error")
    assert "empty" in seen.error["message"]


async def test_an_error_amid_the_stream_is_thrown_after_the_text(
    client: Client, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    seen = await ask(client, app, "stream")
    assert (seen.text, seen.error["code"]) == ("Half", "unavailable")
    assert "(invocation " in seen.error["message"]


@READING
async def test_a_filter_ends_the_text_with_its_reason(
    client: Client, app: RunningHost, openai: OpenAIStandIn, kind: str
) -> None:
    openai.reply("Half", finish_reason="content_filter")
    seen = await ask(client, app, kind)
    assert (seen.error, seen.text, seen.finish) == ({}, f"Half{FILTERED}", "content_filter")


async def test_a_team_answers_in_one_text(client: Client, team: RunningHost, openai: OpenAIStandIn) -> None:
    for kind in ("answer", "stream"):
        for agent in ("Alpha", "Beta"):
            with openai.to(f"You are {agent}"):
                openai.reply(f"{agent} says so.")
        seen = await ask(client, team, kind, model="switchboard-team")
        said = ["**Alpha**", "Alpha says so.", "**Beta**", "Beta says so."]
        assert (seen.error, sorted(seen.text.split("\n\n"))) == ({}, sorted(said))


async def test_who_leaves_a_stream_ends_the_models_work(
    client: Client, app: RunningHost, openai: OpenAIStandIn
) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    seen = await ask(client, app, "leave")
    assert (seen.error, seen.text) == ({}, "Half")
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


async def test_what_the_guard_refuses_and_stops(client: Client, data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard:
        for kind in ("answer", "stream"):
            refused = await ask(client, under_guard.host, kind, f"Where is the {BAD}?")
            assert (refused.error["status"], refused.error["code"]) == (400, "content_filter")
            await openai.caught_up()
            openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
            seen = await ask(client, under_guard.host, kind, "Hello?")
            assert (seen.error, seen.finish) == ({}, "content_filter")
            assert seen.text.startswith("It is fine. ")
            assert BAD not in seen.text
            openai.reply("It is fine.")
            assert (await ask(client, under_guard.host, kind, "Hello?")).text == "It is fine."
