"""Vercel's AI SDK, in versions from 5.0.92 to 7, as a page uses it, against the running app."""

import asyncio
import base64
import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.app.guarded import BAD, guarded
from tests.app.openai_sdk import FILTERED, PIXEL
from tests.app.test_answers import QUESTION
from tests.app.test_history import Chats
from tests.clients.ai_sdk import VERSIONS, chat
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.wire.test_goldens import ALL_SCENARIOS, GOLDENS

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("ai_sdk")]
"""One loop with the stand-in that the tests script."""

EACH = pytest.mark.parametrize(
    "version", [*(pytest.param(older, marks=pytest.mark.nightly) for older in VERSIONS[:-1]), VERSIONS[-1]]
)
FOLLOWUPS = {"context": {"overrides": {"suggest_followup_questions": True}}}
ASKED = {"role": "user", "parts": [{"type": "text", "text": QUESTION}]}


def send(text: str = QUESTION, **more: Any) -> dict[str, Any]:
    return {"do": "send", "text": text, **more}


def url_of(host: RunningHost) -> str:
    return f"{host.url}/ai-sdk/chat"


def parts_of(step: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The parts of the last message that have this type."""
    return [part for part in step["message"]["parts"] if part["type"] == kind]


def text_of(step: dict[str, Any]) -> str:
    return "".join(part["text"] for part in parts_of(step, "text"))


def ended(step: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """What a page knows of the end: the chat's status, the error, and the reason."""
    return step["status"], step.get("error"), step.get("finishReason")


@EACH
async def test_an_answer_has_the_sources_that_it_cites_after_the_text_and_links_that_open(
    version: str, app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("80 % [plan", ".pdf#page=3].\n<<What is paid for glasses?>>")
    (step,) = await chat(version, url_of(app), send(body=FOLLOWUPS))
    assert ended(step) == ("ready", None, "stop")
    message = step["message"]
    kinds = [part["type"] for part in message["parts"]]
    assert kinds == ["step-start", "data-sources", "data-thoughts", "text", "source-url", "data-followup-questions"]
    found = parts_of(step, "data-sources")[0]["data"]
    assert {"plan.pdf#page=3", "dental.md"} == {source["sourceId"] for source in found}
    (plan,) = parts_of(step, "source-url")
    assert plan["sourceId"] == "plan.pdf#page=3"
    assert plan["url"] == f"{app.url}/content/plan.pdf#page=3"
    assert plan["title"] == "plan.pdf#page=3"
    assert plan["providerMetadata"] == {"switchboard": {"text": "The Standard plan pays 80 % of dental care."}}
    async with http.get(plan["url"]) as response:
        assert response.status == 200
    assert text_of(step) == "80 % [plan.pdf#page=3]."
    assert parts_of(step, "text")[0]["state"] == "done"
    assert parts_of(step, "data-followup-questions")[0]["data"] == ["What is paid for glasses?"]
    assert message["metadata"]["model"] == openai.model
    assert message["metadata"]["usage"] == {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}


@EACH
async def test_a_stream_read_without_a_chat_is_the_same_message(version: str, built_in: RunningHost) -> None:
    read, asked = await chat(version, url_of(built_in), {"do": "read", "text": QUESTION}, send())
    assert read["message"]["parts"] == asked["message"]["parts"]
    assert not parts_of(read, "data-thoughts")
    deltas = [chunk["delta"] for chunk in read["chunks"] if chunk["type"] == "text-delta"]
    assert len(deltas) > 1
    assert "".join(deltas) == text_of(asked)
    assert read["message"]["id"] != asked["message"]["id"]


@EACH
async def test_a_chat_sends_its_texts_to_the_model_and_nothing_else_of_its_answers(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("80 % [plan.pdf#page=3].")
    openai.call_tool("search_sources", {"search_queries": ["dental implants"]})
    openai.reply("After two years.")
    steps = await chat(version, url_of(app), send(body=FOLLOWUPS), send("And implants?"))
    assert [text_of(step) for step in steps] == ["80 % [plan.pdf#page=3].", "After two years."]
    assert len(steps[1]["messages"]) == 4
    sent: Any = openai.chats[-1].body["messages"]
    history = [message["content"] for message in sent if message["role"] != "system"]
    assert history[:2] == [QUESTION, "80 % [plan.pdf#page=3]."]
    assert "source-url" not in json.dumps(sent)


@EACH
async def test_a_page_answers_the_calls_of_its_tools_and_its_message_grows(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    pieces: Any = [
        {"index": index, "id": "same", "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'}}
        for index, city in enumerate(("Oslo", "Bergen"))
    ]
    openai.reply("I look.", openai.chunk({"tool_calls": pieces[:1]}), finish_reason="tool_calls")
    openai.reply(openai.chunk({"tool_calls": pieces[1:]}), finish_reason="tool_calls")
    openai.reply("Snow [plan.pdf#page=3].")
    openai.call_tool("search_sources", {"search_queries": ["glasses"]})
    openai.reply("80 %.")
    tools = {"get_weather": {"description": "Tells the weather.", "parameters": {"type": "object"}}}
    step, after = await chat(version, url_of(app), {"do": "tools", "text": QUESTION, "tools": tools}, send("Glasses?"))
    assert ended(step) == ("ready", None, "stop")
    cities: list[Any] = [{"toolName": "get_weather", "input": {"city": city}} for city in ("Oslo", "Bergen")]
    assert step["calls"] == cities
    assert [message["role"] for message in step["messages"]] == ["user", "assistant"]
    assert [part["state"] for part in parts_of(step, "tool-get_weather")] == ["output-available"] * 2
    assert text_of(step) == "I look.Snow [plan.pdf#page=3]."
    assert (ended(after), text_of(after)) == (("ready", None, "stop"), "80 %.")
    said: Any = openai.chats[-1].body["messages"]
    turns = ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in said] == ["system", *turns]
    assert (said[2]["content"], json.loads(said[3]["content"])) == ("I look.", {"sky": "Snow."})


@EACH
async def test_an_answer_made_anew_takes_the_place_of_the_old_one(
    version: str, app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("Once.")
    openai.reply("Twice.")
    openai.call_tool("search_sources", {"search_queries": ["dental"]})
    openai.reply("Said.")
    kept = Chats(app, http)
    chat_id = await kept.start()
    steps = send(), {"do": "regenerate"}, send()  # the last one is the same question, asked after its answer
    first, second, third = await chat(version, url_of(app), *steps, chat_id=chat_id)
    assert (text_of(first), text_of(second), text_of(third)) == ("Once.", "Twice.", "Said.")
    assert [one["content"] for one in await kept.messages(chat_id)] == [QUESTION, "Twice.", QUESTION, "Said."]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant"]
    assert first["message"]["id"] != second["message"]["id"]
    assert "Once." not in json.dumps(openai.chats[-1].body)


@EACH
async def test_an_error_before_the_text_is_the_sentence_that_the_page_shows(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    openai.call_tool("search_sources", {"search_queries": ["dental"]})
    openai.reply("80 %.")
    limited, empty, again = await chat(version, url_of(app), send(), send(" "), send())
    assert limited["status"] == "error"
    assert limited["error"].startswith("The model's service")
    assert "(invocation " in limited["error"]
    assert "{" not in limited["error"]
    assert empty["error"].startswith("The last message is empty")
    assert text_of(again) == "80 %."


@EACH
async def test_an_error_amid_the_text_leaves_the_text_and_is_told(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    openai.call_tool("search_sources", {"search_queries": ["dental"]})
    openai.reply("Whole.")
    broken, next_one = await chat(version, url_of(app), send(), send())
    assert broken["status"] == "error"
    assert "(invocation " in broken["error"]
    assert text_of(broken) == "Half"
    assert parts_of(broken, "text")[0]["state"] == "done"
    assert ended(next_one) == ("ready", None, "stop")


@EACH
async def test_a_filter_of_the_model_ends_the_text_with_its_reason(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("Half", finish_reason="content_filter")
    (step,) = await chat(version, url_of(app), send())
    assert ended(step) == ("ready", None, "content-filter")
    assert text_of(step) == f"Half{FILTERED}"


@EACH
async def test_a_team_answers_in_one_message_with_a_step_for_each_agent(
    version: str, team: RunningHost, openai: OpenAIStandIn
) -> None:
    with openai.to("You are Alpha"):
        openai.reply("Yes.")
    with openai.to("You are Beta"):
        openai.fail(400, code="content_filter")
    (step,) = await chat(version, f"{team.url}/ai-sdk/multi-agent-chat/stream", send())
    assert ended(step) == ("ready", None, "stop")
    assert len(parts_of(step, "step-start")) == 2
    agents = {part["data"]["name"]: part["data"].get("error") for part in parts_of(step, "data-agent")}
    assert agents == {"Alpha": None, "Beta": "content_filter"}
    kinds = [part["type"] for part in step["message"]["parts"] if part["type"] in {"data-agent", "text"}]
    assert kinds == ["data-agent", "text"] * 2
    assert "Yes." in [part["text"] for part in parts_of(step, "text")]


@EACH
async def test_who_stops_an_answer_ends_the_models_work(version: str, app: RunningHost, openai: OpenAIStandIn) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    (step,) = await chat(version, url_of(app), {"do": "leave", "text": QUESTION})
    assert (step["status"], step["isAbort"], text_of(step)) == ("ready", True, "Half")
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


async def test_what_the_guard_stops_is_no_part_of_the_text(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard:
        for version in VERSIONS:
            openai.reply("First this. ", f"Then {BAD[:5]}", f"{BAD[5:]} and", " more.")
            (stopped,) = await chat(version, url_of(under_guard.host), send("Hello?"))
            assert ended(stopped) == ("ready", None, "content-filter")
            assert text_of(stopped).startswith("First this.")
            assert BAD[:5] not in json.dumps(stopped)
            assert stopped["message"]["metadata"]["contentFilterResults"]
            (refused,) = await chat(version, url_of(under_guard.host), send(f"Where is the {BAD}?"))
            assert refused["status"] == "error"
            assert "safety check refused what was asked" in refused["error"]
            await openai.caught_up()  # the refused turn may have asked the model


@EACH
async def test_an_image_goes_to_a_model_that_sees(version: str, app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("A dot.")
    image = {"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": f"data:image/png;base64,{PIXEL}"}
    (step,) = await chat(version, url_of(app), send(files=[image]))
    assert text_of(step) == "A dot."
    assert PIXEL in json.dumps(openai.chats[-1].body["messages"])


@EACH
async def test_there_is_nothing_to_resume_and_that_is_no_error(version: str, built_in: RunningHost) -> None:
    for url in (url_of(built_in), f"{built_in.url}/ai-sdk/multi-agent-chat/stream"):
        (step,) = await chat(version, url, {"do": "resume"}, messages=[{"id": "1", **ASKED}])
        assert ended(step) == ("ready", None, None)


@EACH
async def test_pages_that_are_loaded_again_in_mid_answer_show_the_whole_of_it(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    go_on = asyncio.Event()

    async def release(_: web.Request) -> web.Response:
        go_on.set()
        return web.Response()

    server = web.Application()
    server.router.add_get("/", release)
    openai.requests.clear()
    openai.reply("80 % ", "of ", "dental ", go_on, "care ", "[plan.pdf#page=3].")
    async with TestServer(server) as gate:
        reload = {"do": "reload", "text": QUESTION, "body": {"resumable": True}, "release": str(gate.make_url("/"))}
        (step,) = await chat(version, url_of(app), reload)
    assert ended(step)[:2] == ("ready", None)
    assert text_of(step) == "80 % of dental care [plan.pdf#page=3]."
    assert step["other"] == step["messages"]
    assert len(openai.chats) == 1


async def test_a_kept_answer_that_is_stopped_does_not_come_back_after_a_reload(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    """As a page does: its *Stop* closes the stream, which the answer outlives, and says so to the app."""
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    body = {"id": str(uuid4()), "messages": [{"id": "1", **ASKED}], "resumable": True}
    kept = f"{url_of(app)}/{body['id']}/stream"
    async with http.post(url_of(app), json=body) as response:
        while b'"Half"' not in await response.content.readline():
            assert not response.content.at_eof()
    async with http.get(kept) as response:
        assert response.status == 200
    async with http.delete(kept) as response:
        assert response.status == 204
    async with http.get(kept) as response:  # at once: a silent model would end it, too
        assert response.status == 204
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


@asynccontextmanager
async def goldens() -> AsyncGenerator[str]:
    """A server that answers with the golden streams, each at the name of its scenario."""

    async def answer(request: web.Request) -> web.Response:
        stream = (GOLDENS / "ai-sdk" / request.match_info["scenario"]).with_suffix(".jsonl").read_bytes()
        return web.Response(body=stream + b"data: [DONE]\n\n", content_type="text/event-stream")

    server = web.Application()
    server.router.add_post("/{scenario}", answer)
    async with TestServer(server) as running:
        yield str(running.make_url("/"))


@EACH
async def test_every_version_takes_every_golden_stream(version: str) -> None:
    """The checks of the versions are strict about keys, null and types, and differ."""
    async with goldens() as url:
        steps = await chat(version, url, *(send(at=f"{url}{scenario}") for scenario in ALL_SCENARIOS))
    for scenario, step in zip(ALL_SCENARIOS, steps, strict=True):
        cut = scenario in {"cut_off", "cut_off_in_reasoning", "team_cut_off"}
        assert step.get("error") == ("Too many. (invocation id-1)" if cut else None), scenario
        states = {part["state"] for part in step["message"]["parts"] if "state" in part}
        assert states <= {"done", "input-available", "output-available", "output-error"}, scenario


async def post(host: RunningHost, http: aiohttp.ClientSession, body: Any, route: str = "chat") -> tuple[int, str]:
    sent = io.BytesIO(json.dumps(body).encode())
    async with http.post(f"{host.url}/ai-sdk/{route}", data=sent) as response:
        answer = await response.text()
        assert response.status == 200 or response.content_type == "text/plain"
        return response.status, answer


TEXT = base64.b64encode(b"The premium of the Gold plan is 90 euros.").decode()


def with_part(*parts: Any) -> dict[str, Any]:
    return {"messages": [{"id": "1", "role": "user", "parts": [*ASKED["parts"], *parts]}]}


def deep(levels: int) -> Any:
    return {"a": deep(levels - 1)} if levels else 1


CALL: Any = {"type": "tool-look", "toolCallId": "1", "state": "input-available", "input": {"q": "x"}}
ANSWERED: Any = CALL | {"state": "output-error", "errorText": "Nobody is there."}
BAD_BODIES: list[tuple[Any, str]] = [
    ({}, "messages: is missing"),
    ({"messages": None}, "messages: should be a list"),
    ({"messages": {}}, "messages: should be a list"),
    ({"messages": []}, "messages: is empty"),
    ({"messages": ["Hi"]}, "messages[0]: should be an object"),
    ({"messages": [ASKED] * 1001}, "messages: "),
    ({"messages": [{"role": "user"}]}, "messages[0].parts: should be a list"),
    ({"messages": [{"role": "user", "parts": None}]}, "messages[0].parts: should be a list"),
    ({"messages": [{"role": "user", "parts": "Hi"}]}, "messages[0].parts: should be a list"),
    ({"messages": [{"role": "user", "parts": []}]}, "The last message is empty"),
    ({"messages": [{"role": "user", "parts": [{"type": "text", "text": " \n"}]}]}, "The last message is empty"),
    ({"messages": [{"role": "robot", "parts": ASKED["parts"]}]}, "messages[0].role: "),
    ({"messages": [{"parts": ASKED["parts"]}]}, "messages[0].role: "),
    ({"messages": [{"role": "assistant", "parts": ASKED["parts"]}]}, "there is no question"),
    ({"messages": [ASKED, {"role": "assistant", "parts": [CALL]}]}, "messages[1].parts[0]: this call of a tool has no"),
    ({"messages": [ASKED, {"role": "assistant", "parts": [ANSWERED] * 2}]}, "tool_calls: each should have an id"),
    ({"messages": [ASKED, {"role": "assistant", "parts": [ANSWERED]}]}, "tools: the built-in model"),
    ({"messages": [ASKED], "tools": {"look": {"parameters": {}}}}, "tools: the built-in model"),
    ({"messages": [ASKED], "tools": [{"name": "look"}]}, "tools: should be an object"),
    ({"messages": [ASKED], "tools": {"look up": {}}}, "name: String should match"),
    ({"messages": [ASKED], "tools": {"look": {"parameters": [1]}}}, "parameters: "),
    (
        {"messages": [ASKED], "tools": {"look": {}}, "toolChoice": {"type": "tool", "toolName": "x"}},
        "tool_choice: names",
    ),
    ({"messages": [ASKED], "toolChoice": "required"}, "tool_choice: is 'required'"),
    ({"input": "Hi"}, "messages: is missing"),
    (with_part(None), "messages[0].parts[1]: should be an object with a type"),
    (with_part("Hi"), "messages[0].parts[1]: should be an object with a type"),
    (with_part({"text": "Hi"}), "messages[0].parts[1]: should be an object with a type"),
    (with_part({"type": "text"}), "messages[0].parts[1].text: should be a string"),
    (with_part({"type": "text", "text": None}), "messages[0].parts[1].text: should be a string"),
    (with_part(*[{"type": "x"}] * 1000), "messages[0].parts: should have at most 1,000 parts"),
    (with_part({"type": "file"}), "messages[0].parts[1]: should have strings as its url"),
    (with_part({"type": "file", "url": 1}), "messages[0].parts[1]: should have strings as its url"),
    (with_part({"type": "file", "url": "https://x/y.png"}), "messages[0].parts[1].url: should be a data: URL"),
    (with_part({"type": "file", "url": "blob:x"}), "nothing is fetched from elsewhere"),
    (with_part({"type": "file", "url": "data:,Hi"}), "in base64"),
    (with_part({"type": "file", "url": "data:text/plain;base64,$$"}), "in base64"),
    (with_part({"type": "file", "url": f"data:text/plain;base64,{TEXT}", "mediaType": [1]}), "should have strings"),
    (with_part({"type": "file", "url": f"data:audio/mp3;base64,{TEXT}"}), "audio/mp3"),
    (with_part({"type": "file", "url": f"data:image/png;base64,{TEXT}"}), "image/png"),
    (with_part({"type": "file", "url": f"data:image/png;base64,{PIXEL}"}), "sees no images"),
    (with_part(*[{"type": "file", "url": f"data:text/plain;base64,{TEXT}"}] * 11), "more than 10 images and files"),
    (
        {"messages": [{"role": "user", "parts": [{"type": "file", "url": f"data:,{TEXT}"}]}]},
        "The last message is empty",
    ),
    (with_part({"type": "text", "text": "x" * 2**20}), "over 1,048,576 bytes"),
    ({"messages": [ASKED], "context": {"overrides": {"top": "many"}}}, "context.overrides.top"),
    ({"messages": [{**ASKED, "metadata": deep(300)}]}, "recursion limit"),
    ([ASKED], "no object"),
]


@pytest.mark.parametrize(("body", "words"), BAD_BODIES)
async def test_a_body_that_is_wrong_is_a_sentence_in_plain_text(
    built_in: RunningHost, http: aiohttp.ClientSession, body: Any, words: str
) -> None:
    status, said = await post(built_in, http, body)
    assert status == (413 if words.startswith(("over", "more than")) else 400), said
    assert words in said
    assert not said.startswith("{")


ECHOED: list[Any] = [
    {"type": "step-start"},
    {"type": "source-url", "sourceId": "a", "url": "https://x"},
    {"type": "source-document", "sourceId": "a", "mediaType": "text/plain", "title": "a"},
    {"type": "data-agent", "id": "0", "data": {"name": "A"}},
    {"type": "reasoning", "text": "Hm.", "state": "done"},
    {"type": "tool-search", "toolCallId": "1", "state": "output-available", "input": {}, "output": None},
    {"type": "file", "mediaType": "image/png", "url": "https://x/y.png"},
    {"type": "nobody-knows", "text": 7},
]
TAKEN: list[Any] = [
    {"messages": [{"role": "user", "content": QUESTION}]},
    {"messages": [{"role": "user", "content": "No.", "parts": ASKED["parts"]}]},
    {"messages": [ASKED, {"role": "assistant", "parts": ECHOED}, ASKED]},
    {"messages": [{"role": "system", "parts": [{"type": "text", "text": "Be brief."}]}, ASKED]},
    {"messages": [ASKED], "id": 7, "trigger": None, "messageId": None, "context": None, "tools": {}, "system": "Hm."},
    {"messages": [{**ASKED, "metadata": deep(100)}]},
]


@pytest.mark.parametrize("body", TAKEN)
async def test_what_a_page_sends_besides_is_skipped(
    built_in: RunningHost, http: aiohttp.ClientSession, body: Any
) -> None:
    status, answer = await post(built_in, http, body)
    assert status == 200
    assert "plan.pdf#page=3" in answer


async def test_a_documents_text_goes_to_the_model(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.call_tool("search_sources", {"search_queries": ["gold"]})
    openai.reply("90 euros.")
    file = {"type": "file", "url": f"data:text/plain;base64,{TEXT}", "filename": "C:\\gold[1].txt", "mediaType": ""}
    earlier = [ASKED, {"role": "assistant", "parts": [CALL | {"toolCallId": "0"}, ANSWERED]}]
    status, _ = await post(app, http, {"messages": [*earlier, *with_part(file)["messages"]]})
    assert status == 200
    messages: Any = openai.chats[-1].body["messages"]
    sent = json.dumps(messages[-1])
    assert [len(message.get("tool_calls") or ()) for message in messages] == [0, 0, 1, 0, 0]
    assert messages[3]["content"] == "Error: Nobody is there."
    assert "Name: gold(1).txt" in sent
    assert "The premium of the Gold plan is 90 euros." in sent


@pytest.mark.parametrize("route", ["chat", "chat/stream", "ask"])
async def test_every_route_streams_lines_that_end_in_done(
    built_in: RunningHost, http: aiohttp.ClientSession, route: str
) -> None:
    async with http.post(f"{built_in.url}/ai-sdk/{route}", json={"messages": [ASKED], "stream": False}) as response:
        stream = await response.text()
    assert response.status == 200
    headers = response.headers
    assert (headers["content-type"], headers["x-vercel-ai-ui-message-stream"]) == ("text/event-stream", "v1")
    assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-cache", "no")
    assert "\r" not in stream
    *events, done, rest = stream.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    records = [json.loads(event.removeprefix("data: ")) for event in events]
    assert [records[0]["type"], records[-1]["type"]] == ["start", "finish"]


async def test_a_turn_is_recorded_in_the_chat_of_its_id(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.post(f"{built_in.url}/chat-history", json={}) as response:
        entry = await response.json()
    await post(built_in, http, {"id": entry["id"], "messages": [ASKED]})
    async with http.get(f"{built_in.url}/chat-history/{entry['id']}/messages") as response:
        kept = await response.json()
    assert [message["role"] for message in kept] == ["user", "assistant"]
    assert kept[0]["content"] == QUESTION


async def test_a_rate_limit_says_how_long_to_wait(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    async with http.post(url_of(app), json={"messages": [ASKED]}) as response:
        assert (response.status, response.headers["retry-after"]) == (429, "47")
        assert response.headers["content-type"] == "text/plain; charset=utf-8"


@EACH
async def test_what_a_model_thinks_is_a_part_before_the_text(
    version: str, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply("<think>80 or ", "100 %?</think>\n\n", "80 %.")
    (step,) = await chat(version, url_of(app), send())
    assert ended(step) == ("ready", None, "stop")
    (part,) = parts_of(step, "reasoning")
    assert (part["text"], part["state"], text_of(step)) == ("80 or 100 %?", "done", "80 %.")
