"""`@ag-ui/client`, as pages use it, in three versions, against the running app."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from tests.app.conftest import hosted
from tests.app.guarded import BAD, guarded
from tests.app.openai_sdk import PIXEL
from tests.app.test_answers import QUESTION, body
from tests.app.test_history import Chats
from tests.clients.ag_ui import AGAIN, VERSIONS, Run, follow, run, step, stop_and_reload
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("ag_ui")]
"""One loop with the stand-in that the tests script."""

NEWEST = VERSIONS[-1]
EACH_VERSION = pytest.mark.parametrize(
    "version", [*(pytest.param(older, marks=pytest.mark.nightly) for older in VERSIONS[:-1]), NEWEST]
)
FOLLOWUPS = {"overrides": {"suggest_followup_questions": True}}
TEXT = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
EVENTS = TypeAdapter[Any](Event)
SAMPLES = Path(__file__).parents[2] / "samples" / "pages"


def agent(host: RunningHost) -> str:
    return f"{host.url}/ag-ui"


def team_of(host: RunningHost) -> str:
    return f"{host.url}/ag-ui/multi-agent-chat/stream"


async def one(version: str, url: str, content: Any = QUESTION, **more: Any) -> Run:
    """A run of a new conversation."""
    (seen,) = await run(version, url, step(content, **more))
    return seen


@EACH_VERSION
async def test_an_answer_has_the_sources_that_it_cites_and_the_followups_after_the_text(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].\n<<What is paid for glasses?>>")
    seen = await one(version, agent(app), forwardedProps=FOLLOWUPS)
    assert seen.types == ["RUN_STARTED", "thoughts", *TEXT, "sources", "followup_questions", "RUN_FINISHED"]
    assert (seen.text, seen.messages[-1]["role"]) == ("80 % [plan.pdf#page=3].", "assistant")
    (found,) = seen.custom("sources")
    assert found["messageId"] == seen.messages[-1]["id"]
    assert seen.custom("followup_questions") == [["What is paid for glasses?"]]
    assert [source["id"] for source in found["sources"]] == ["plan.pdf#page=3"]
    result = seen.ended["result"]
    assert (result["finish_reason"], result["followup_questions"]) == ("stop", ["What is paid for glasses?"])
    assert {"plan.pdf#page=3", "dental.md"} == {source["id"] for source in result["sources"]}


async def test_the_links_of_the_sources_open(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    seen = await one(NEWEST, agent(built_in))
    (plan,) = [one for one in seen.ended["result"]["sources"] if one["id"] == "plan.pdf#page=3"]
    assert plan["url"] == f"{built_in.url}/content/plan.pdf#page=3"
    assert plan["text"] == "The Standard plan pays 80 % of dental care."
    async with http.get(plan["url"]) as response:
        assert response.status == 200


@EACH_VERSION
async def test_an_answer_made_anew_takes_the_place_of_the_old_one_in_the_kept_chat(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, version: str
) -> None:
    kept = Chats(app, http)
    chat_id = await kept.start()
    openai.reply("Once.")
    openai.reply("Twice.")
    openai.call_tool("search_sources", {"search_queries": ["dental"]})
    openai.reply("Said.")
    # The last step is the same question, asked after its answer.
    seen = await run(version, agent(app), step(QUESTION), AGAIN, step(QUESTION), thread_id=chat_id)
    assert [one.text for one in seen] == ["Once.", "Twice.", "Said."]
    assert [one["content"] for one in await kept.messages(chat_id)] == [QUESTION, "Twice.", QUESTION, "Said."]


@EACH_VERSION
async def test_a_conversation_goes_on_with_all_that_was_said(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    openai.reply("80 %.")
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply("After two years.")
    before = [
        {"id": "d", "role": "developer", "content": "Say it in verse."},
        {"id": "a", "role": "activity", "activityType": "PLAN", "content": {"steps": ["secret"]}},
        {"id": "r", "role": "reasoning", "content": "secret"},
    ]
    first, second = await run(version, agent(app), step(QUESTION), step("And implants?"), messages=before)
    assert (first.text, second.text) == ("80 %.", "After two years.")
    assert len({message["id"] for message in second.messages}) == 7
    said = json.dumps(openai.chats[-1].body["messages"])
    assert all(words in said for words in ("Say it in verse.", QUESTION, "80 %.", "And implants?"))
    assert "secret" not in said


@EACH_VERSION
async def test_a_run_that_fails_before_its_text_says_so_in_the_stream(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    seen = await one(version, agent(app))
    assert (seen.types[0], *seen.types[-2:]) == ("RUN_STARTED", "retry_after", "RUN_ERROR")
    assert seen.thrown is None
    assert 0 < next(event["value"] for event in seen.events if event.get("name") == "retry_after") <= 47
    (error,) = seen.errors
    assert error["code"] == "rate_limited"
    assert "(invocation " in error["message"]


@EACH_VERSION
async def test_an_error_amid_the_text_is_told_and_the_text_stays(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    seen = await one(version, agent(app))
    assert seen.types == ["RUN_STARTED", *TEXT, "RUN_ERROR"]
    assert (seen.text, seen.thrown) == ("Half", None)
    (error,) = seen.errors
    assert error["code"] == "unavailable"
    assert "(invocation " in error["message"]


@EACH_VERSION
async def test_a_filter_of_the_model_ends_the_text_with_an_error(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    openai.reply("Half", finish_reason="content_filter")
    seen = await one(version, agent(app))
    assert seen.text == "Half"
    assert [error["code"] for error in seen.errors] == ["content_filter"]


@EACH_VERSION
async def test_a_team_is_subagents_or_steps_with_their_names(
    team: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    with openai.to("You are Alpha"):
        openai.reply("Yes.")
    with openai.to("You are Beta"):
        openai.fail(400, code="content_filter")
    seen = await one(version, team_of(team))
    said = {message["name"]: message["content"] for message in seen.messages if message["role"] == "assistant"}
    assert said.keys() == {"Alpha", "Beta"}
    assert said["Alpha"] == "Yes."
    assert (seen.types[0], seen.types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    if version == NEWEST:
        started = {
            event["name"]: event["subagentRunId"] for event in seen.events if event["type"] == "SUBAGENT_STARTED"
        }
        (failed,) = [event for event in seen.events if event["type"] == "SUBAGENT_ERROR"]
        (finished,) = [event for event in seen.events if event["type"] == "SUBAGENT_FINISHED"]
        assert (finished["subagentRunId"], failed["subagentRunId"]) == (started["Alpha"], started["Beta"])
        assert (failed["code"], failed["message"]) == ("content_filter", said["Beta"])
    else:
        steps = [event["stepName"] for event in seen.events if event["type"] == "STEP_FINISHED"]
        assert sorted(steps) == ["Alpha", "Beta"]
        assert not [kind for kind in seen.types if "SUBAGENT" in kind]


async def test_the_tokens_come_with_the_end_of_a_run(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 %.")
    *_, finished = (await one(NEWEST, agent(app))).events
    (usage,) = finished["usage"]
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"] == 12
    assert usage["model"]


@EACH_VERSION
async def test_who_leaves_a_run_ends_the_models_work(app: RunningHost, openai: OpenAIStandIn, version: str) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    seen = await one(version, agent(app), leaves=True)
    assert seen.text == "Half"
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


async def test_a_page_that_is_loaded_again_follows_its_run(app: RunningHost, openai: OpenAIStandIn) -> None:
    run_id = str(uuid4())
    openai.reply("80 % ", "is ", "paid.")
    asked = step(QUESTION, leaves=True, runId=run_id, forwardedProps={"overrides": {"resumable": True}})
    _, again = await run(NEWEST, agent(app), asked, follow(run_id))
    assert [message["content"] for message in again.messages] == [QUESTION, "80 % is paid."]
    assert (again.types[0], again.types[-1]) == ("RUN_STARTED", "RUN_FINISHED")


async def test_an_answer_that_a_page_stops_does_not_come_back_after_a_reload(
    app: RunningHost, openai: OpenAIStandIn
) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    seen = await stop_and_reload(NEWEST, app.url, SAMPLES / "resumable-agent.js")
    assert (seen["status"], [one["role"] for one in seen["again"]]) == (204, ["user", "assistant"])
    assert seen["again"][-1]["content"] == seen["stopped"][-1]["content"] == "Half"
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


@EACH_VERSION
async def test_what_the_guard_stops_is_no_part_of_the_text(data_dir: Path, openai: OpenAIStandIn, version: str) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard:
        url = agent(under_guard.host)
        refused = await one(version, url, f"A {BAD}?")
        assert (refused.types[0], refused.types[-1]) == ("RUN_STARTED", "RUN_ERROR")
        assert [error["code"] for error in refused.errors] == ["content_filter"]
        await openai.caught_up()  # the refused turn may have asked the model
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        stopped = await one(version, url, "Hello?")
        assert stopped.errors[0]["code"] == "content_filter"
        assert BAD not in json.dumps(stopped.messages)
        openai.reply("It is fine.")
        assert (await one(version, url, "Hello?")).text == "It is fine."


@EACH_VERSION
async def test_files_go_to_the_model(app: RunningHost, openai: OpenAIStandIn, version: str) -> None:
    openai.reply("A dot.")
    notes = base64.b64encode(b"The dentist is in Kiel.").decode()
    content: list[Any] = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}},
        {"type": "binary", "mimeType": "text/plain", "data": notes, "filename": "notes.txt"},
    ]
    before = [{"id": "r", "role": "reasoning", "content": "Skipped, so that places differ."}]
    (seen,) = await run(version, agent(app), step(content), messages=before)
    assert seen.text == "A dot."
    said = json.dumps(openai.chats[-1].body["messages"])
    assert all(words in said for words in ("What is this?", PIXEL, "The dentist is in Kiel.", "notes.txt"))


async def test_only_a_client_that_sends_overrides_sees_the_thoughts(built_in: RunningHost) -> None:
    plain = await one(NEWEST, agent(built_in), forwardedProps={"theme": "dark", "top": 1})
    own = await one(NEWEST, agent(built_in), forwardedProps={"overrides": {"top": 1}})
    assert not plain.custom("thoughts")
    assert own.custom("thoughts")
    assert len(plain.ended["result"]["sources"]) == len(own.ended["result"]["sources"]) == 1


@EACH_VERSION
async def test_a_page_answers_the_calls_of_its_tools_and_what_it_tells_of_itself_is_left_alone(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    tool: dict[str, Any] = {"name": "get_weather", "description": "Tells.", "parameters": {"type": "object"}}
    pieces: Any = [
        {"index": index, "id": f"c{index}", "function": {"name": "get_weather", "arguments": f'{{"n": {index}}}'}}
        for index in range(2)
    ]
    openai.reply("I look.", openai.chunk({"tool_calls": pieces}), finish_reason="tool_calls")
    openai.call_tool("get_weather", "{}", call_id="c2")
    openai.reply("Snow.")
    seen = await one(version, agent(app), tools=[tool], context=[{"description": "Secret", "value": "Secret"}])
    assert (seen.text, seen.errors, seen.thrown) == ("Snow.", [], None)
    assert [message["role"] for message in seen.messages] == [
        "user",
        *["assistant", "tool", "tool"],
        "assistant",
        "tool",
        "assistant",
    ]
    calls = [call for message in seen.messages for call in message.get("toolCalls", ())]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [
        ("c0", '{"n": 0}'),
        ("c1", '{"n": 1}'),
        ("c2", "{}"),
    ]
    first = next(event for event in seen.events if event["type"] == "RUN_FINISHED")
    assert first["result"]["finish_reason"] == "tool_calls"
    if version == NEWEST:
        assert first["outcome"] == {"type": "success", "pendingToolCallIds": ["c0", "c1"]}
    said: Any = openai.chats[-1].body["messages"]
    assert [message["role"] for message in said] == ["system", *(message["role"] for message in seen.messages[:-1])]
    assert "Secret" not in json.dumps(said)


@pytest.mark.parametrize("route", ["chat", "chat/stream", "ask", "multi-agent-chat/batch"])
async def test_all_routes_of_the_protocol_stream(built_in: RunningHost, route: str) -> None:
    seen = await one(NEWEST, f"{built_in.url}/ag-ui/{route}")
    assert "80 %" in json.dumps(seen.messages, ensure_ascii=False)
    assert seen.types[-1] == "RUN_FINISHED"


ASKED = {"id": "1", "role": "user", "content": "Hi"}
CALLED = {
    "id": "2",
    "role": "assistant",
    "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
}
ANSWERED = {"id": "3", "role": "tool", "toolCallId": "c", "content": "Snow."}
BAD_REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"tools": "x"}, "tools: should be a list"),
    ({"tools": [{"name": "a b"}]}, "tools[0].name: "),
    ({"messages": [ASKED, CALLED, ANSWERED, ANSWERED]}, "messages[3]: no call before it"),
    ({"messages": [ASKED, ANSWERED]}, "messages[1]: no call before it"),
    ({"messages": []}, "messages: is empty"),
    ({"messages": [ASKED] * 1_001}, "messages: "),
    ({"messages": [{"id": "1", "role": "reasoning", "content": "x"}]}, "messages: is empty"),
    ({"messages": [{"role": "robot", "content": "x"}, ASKED]}, "messages[0].role: should be 'user'"),
    ({"messages": [{"role": "activity"}, {"role": "user"}, ASKED]}, "messages[1].content: should be a string"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content: should be a string"),
    ({"messages": [{"role": "user", "content": {"text": "x"}}]}, "messages[0].content: should be a string"),
    ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]: should be a text"),
    ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages[0].content[0]: should be a text"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}] * 1_001}]}, "at most 1,000 parts"),
    (
        {
            "messages": [
                {"role": "user", "content": [{"type": "image", "source": {"type": "url", "value": "https://x"}}]}
            ]
        },
        "messages[0].content[0].source: should be of the type 'data'",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "binary", "mimeType": "a/b", "url": "https://x"}]}]},
        "messages[0].content[0].data: should be the file in base64",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "binary", "mimeType": "a/b", "data": "§"}]}]},
        "last message is empty",
    ),
    (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "x"},
                        {"type": "document", "source": {"type": "data", "value": "§", "mimeType": "a/b"}},
                    ],
                }
            ]
        },
        "messages[0].content[1].source.value: should be the file in base64",
    ),
    ({"messages": [{"role": "assistant", "toolCalls": [{"id": "1"}]}, ASKED]}, "messages[0].toolCalls[0].function"),
    ({"messages": {"role": "user"}}, "messages: should be a list"),
    ({"threadId": 5}, "threadId: should be a valid string"),
    ({"runId": "r" * 201}, "runId: "),
    ({"protocolVersion": 1.0}, "protocolVersion: should be a valid string"),
    ({"forwardedProps": "x"}, "forwardedProps: should be an object"),
    ({"forwardedProps": {"overrides": {"top": 0}}}, "forwardedProps.overrides.top: "),
    ({"context": {"overrides": {"top": 1}}}, "Overrides go into forwardedProps"),
    ({"context": [None] * 1_001}, "context: "),
    ({"resume": [{"status": "resolved"}]}, "resume[0].interruptId: "),
]


@pytest.mark.parametrize(("more", "words"), BAD_REQUESTS)
async def test_a_request_that_is_not_possible_is_told_why(
    built_in: RunningHost, http: aiohttp.ClientSession, more: dict[str, Any], words: str
) -> None:
    async with http.post(agent(built_in), json={"messages": [ASKED]} | more) as response:
        error = (await response.json())["error"]
    assert (response.status, error["code"]) == (400, "bad_request")
    assert words in error["message"]


async def test_a_page_whose_tools_nothing_can_call_is_told_in_the_run(built_in: RunningHost) -> None:
    tool: dict[str, Any] = {"name": "f", "description": "", "parameters": {}}
    for route in ("", "/multi-agent-chat/stream"):
        seen = await one(NEWEST, f"{agent(built_in)}{route}", tools=[tool])
        assert seen.errors[0]["message"].startswith("tools: ")
        assert seen.types[-1] == "RUN_ERROR"


async def test_nulls_and_what_is_missing_count_as_left_out(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    keys = ("threadId", "runId", "protocolVersion", "state", "tools", "context", "forwardedProps", "resume")
    deep: Any = json.loads('{"a":' * 50 + "1" + "}" * 50)
    ignored: dict[str, Any] = {"state": deep, "tools": [], "resume": [], "parentRunId": "p"}
    empty: dict[str, Any] = dict.fromkeys(keys)
    for more in ({}, empty, ignored):
        async with http.post(agent(built_in), json=body() | more) as response:
            events = [json.loads(event[6:]) for event in (await response.text()).split("\n\n")[:-1]]
        assert response.headers["content-type"] == "text/event-stream"
        assert [EVENTS.validate_python(event) for event in events]
        assert (events[0]["threadId"], events[0]["runId"]) == (events[-1]["threadId"], events[-1]["runId"])
        assert all(events[0][key] for key in ("threadId", "runId"))


async def test_a_page_elsewhere_may_call_with_the_headers_that_its_client_sends(
    data_dir: Path, http: aiohttp.ClientSession
) -> None:
    origin = "https://pages.example.com"
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "accept,authorization,content-type",
    }
    async with hosted(data_dir, {"CORS": origin}) as host:
        async with http.options(agent(host), headers=asked) as response:
            allowed = response.headers["access-control-allow-headers"].lower()
        assert response.ok
        assert response.headers["access-control-allow-origin"] == origin
        assert "accept" in allowed
        async with http.post(agent(host), json=body(), headers={"Origin": origin}) as response:
            assert response.headers["access-control-allow-origin"] == origin


@EACH_VERSION
async def test_a_client_that_asks_for_progress_sees_what_each_agent_does_and_reads_the_whole_answer(
    team: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    for name in ("Alpha", "Beta"):
        with openai.to(f"You are {name}"):
            openai.reply(f"{name} says 80 %.")
    seen = await one(version, team_of(team), forwardedProps={"overrides": {"show_progress": True}})
    for name in ("Alpha", "Beta"):
        states = [work["state"] for work in seen.custom("progress") if work["agent"] == name]
        assert (states[0], states[-1]) == ("waiting", "done")
    said = [message["content"] for message in seen.messages if message["role"] == "assistant"]
    assert sorted(said) == ["Alpha says 80 %.", "Beta says 80 %."]
    assert seen.types[-1] == "RUN_FINISHED"


@EACH_VERSION
async def test_what_a_model_thinks_is_a_message_of_its_own_before_the_answer(
    app: RunningHost, openai: OpenAIStandIn, version: str
) -> None:
    openai.reply(*(openai.chunk({"reasoning": text}) for text in ("80 or ", "100 %?")), "80 %.")
    seen = await one(version, agent(app))
    begin, end = ["REASONING_START", "REASONING_MESSAGE_START"], ["REASONING_MESSAGE_END", "REASONING_END"]
    kinds = [kind for kind in seen.types if kind != "sources"]
    assert kinds == ["RUN_STARTED", *begin, "REASONING_MESSAGE_CONTENT", *end, *TEXT, "RUN_FINISHED"]
    thought, said = seen.messages[-2:]
    assert (thought["role"], thought["content"]) == ("reasoning", "80 or 100 %?")
    assert (said["role"], said["content"], seen.thrown) == ("assistant", "80 %.", None)
