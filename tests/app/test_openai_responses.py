"""OpenAI's Responses, as its own Python package reads them, against the running app."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import openai as sdk
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from shared.core.fold import notice_of
from shared.events import Finished
from tests.app.guarded import BAD, guarded
from tests.app.openai_sdk import COVER, FOLLOWUPS, MODEL, PIXEL, TEAM, Cover, client_of, extra
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
BEGIN = ["response.created", "response.in_progress"]
MESSAGE_BEGIN = ["response.output_item.added", "response.content_part.added"]
MESSAGE_END = ["response.output_text.done", "response.content_part.done", "response.output_item.done"]
CITED = "response.output_text.annotation.added"
DELTA = "response.output_text.delta"
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}


async def raw_events(host: RunningHost, **asked: Any) -> list[dict[str, Any]]:
    """The events of a stream as they came, each of the package's type for it, in their order and with their names."""
    async with httpx2.AsyncClient(timeout=60) as http:
        response = await http.post(f"{host.url}/v1/responses", json={"model": MODEL, "stream": True, **asked})
    assert response.headers["content-type"] == "text/event-stream", response.text
    assert "\r" not in response.text
    *blocks, rest = response.text.split("\n\n")
    assert rest == ""
    events: list[dict[str, Any]] = []
    for block in blocks:
        if block.startswith(":"):
            continue  # a keep-alive
        named, line = block.split("\n")
        event = json.loads(line.removeprefix("data: "))
        assert named == f"event: {event['type']}"
        EVENT.validate_python(event, strict=True)
        events.append(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def types_of(events: list[Any]) -> list[str]:
    return [event["type"] if isinstance(event, dict) else event.type for event in events]


async def streamed(client: sdk.AsyncOpenAI, question: str = QUESTION) -> tuple[list[Any], sdk.APIError | None]:
    """The events of a stream as the package gives them, and the error that ended it."""
    events: list[Any] = []
    try:
        async for event in await client.responses.create(model=MODEL, input=question, stream=True):
            events.append(event)  # noqa: PERF401 (an exception may end it)
    except sdk.APIError as error:
        return events, error
    return events, None


async def test_an_answer_has_its_sources_at_their_places_and_the_followups(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].\n<<What is paid for glasses?>>")
    answer = await client.responses.create(model=MODEL, input=QUESTION, extra_body=FOLLOWUPS)
    Response.model_validate(answer.model_dump(mode="json"))
    assert (answer.status, answer.output_text, answer.model) == ("completed", "80 % [plan.pdf#page=3].", MODEL)
    [message] = answer.output
    assert message.type == "message"
    [content] = message.content
    assert content.type == "output_text"
    [cited] = content.annotations
    assert cited.type == "url_citation"
    assert content.text[cited.start_index : cited.end_index] == f"[{cited.title}]" == "[plan.pdf#page=3]"
    assert cited.url.endswith("/api/content/plan.pdf#page=3")
    context = extra(answer, "context")
    assert context["followup_questions"] == ["What is paid for glasses?"]
    assert cited.title in {one["title"] for one in context["citations"]}
    assert (answer.usage and answer.usage.total_tokens, extra(answer, "store")) == (12, True)


async def test_a_stream_is_the_events_of_openais_reference(app: RunningHost, openai: OpenAIStandIn) -> None:
    openai.reply("80 % [plan", ".pdf#page=3].", "\n<<And glasses?>>")
    events = await raw_events(app, input=QUESTION, **FOLLOWUPS)
    types = types_of(events)
    deltas = types.count(DELTA)
    assert types == [*BEGIN, *MESSAGE_BEGIN, *[DELTA] * deltas, CITED, *MESSAGE_END, "response.completed"]
    assert deltas >= 2
    ended = events[-1]["response"]
    [item] = ended["output"]
    assert "".join(event["delta"] for event in events if event["type"] == DELTA) == "80 % [plan.pdf#page=3]."
    assert ended["context"]["followup_questions"] == ["And glasses?"]
    assert {event["response"]["id"] for event in events if "response" in event} == {ended["id"]}
    assert {event["item_id"] for event in events if "item_id" in event} == {item["id"]}


async def test_ids_are_new_each_time(documents: sdk.AsyncOpenAI) -> None:
    answers = [await documents.responses.create(model=MODEL, input=QUESTION) for _ in range(2)]
    assert len({answer.id for answer in answers}) == 2
    assert len({extra(answer.output[0], "id") for answer in answers}) == 2


async def test_the_stream_helper_adds_it_up_to_what_a_whole_answer_is(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    for _ in range(2):
        openai.reply("80 % ", "[plan.pdf#page=3].")
    whole = await client.responses.create(model=MODEL, input=QUESTION)
    async with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        snapshots = [event.snapshot async for event in stream if event.type == DELTA]
        added_up = await stream.get_final_response()
    assert snapshots == ["80 % ", "80 % [plan.pdf#page=3]."]
    assert (added_up.output_text, added_up.status) == (whole.output_text, whole.status)
    assert extra(added_up, "context") == extra(whole, "context")


async def test_the_client_without_asyncio_reads_an_answer_and_a_stream(built_in: RunningHost) -> None:
    def ask() -> tuple[Response, list[Any]]:
        with sdk.OpenAI(base_url=f"{built_in.url}/v1", api_key="any", max_retries=0, timeout=60) as client:
            whole = client.responses.create(model=MODEL, input=QUESTION)
            return whole, list(client.responses.create(model=MODEL, input=QUESTION, stream=True))

    whole, events = await asyncio.to_thread(ask)
    assert "".join(event.delta for event in events if event.type == DELTA) == whole.output_text


async def test_a_conversation_is_the_output_sent_back_with_instructions_and_items_that_are_skipped(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80 % [plan.pdf#page=3].")
    first = await client.responses.create(model=MODEL, input=QUESTION)
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply("After two years.")
    skipped: list[Any] = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "hidden"},
    ]
    asked: list[Any] = [
        {"role": "user", "content": QUESTION},
        *(item.to_dict() for item in first.output),
        *skipped,
        {"role": "developer", "content": "Say it in verse."},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "And"}, {"type": "input_text", "text": "implants?"}],
        },
    ]
    answer = await client.responses.create(
        model=MODEL, input=asked, instructions="Be brief.", temperature=0.3, tools=[], max_output_tokens=9, store=True
    )
    assert answer.output_text == "After two years."
    sent = openai.chats[-1].body
    said = json.dumps(sent["messages"])
    words = ("Be brief.", QUESTION, "80 % [plan.pdf#page=3].", "Say it in verse.", "And\\n\\nimplants?")
    assert sorted(words, key=said.index) == [*words]
    assert said.index("hidden") < said.index("Say it in verse.")
    assert (sent["temperature"], sent["max_tokens"]) == (0.3, 9)


async def test_a_tool_is_called_and_its_result_answers_the_question(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    asked: dict[str, Any] = {
        "model": MODEL,
        "tools": [WEATHER],
        "tool_choice": {"type": "function", "name": "get_weather"},
    }
    pieces: Any = [
        {"index": index, "id": f"c{index}", "function": {"name": "get_weather", "arguments": arguments}}
        for index, arguments in enumerate(('{"city": "Oslo"}', "{}"))
    ]
    openai.reply("I look.", openai.chunk({"tool_calls": pieces}), finish_reason="tool_calls")
    async with client.responses.stream(input=QUESTION, **asked) as stream:
        events = [event async for event in stream]
        called = await stream.get_final_response()
    done = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert [(extra(event, "name"), event.arguments) for event in done] == [
        ("get_weather", '{"city": "Oslo"}'),
        ("get_weather", "{}"),
    ]
    message, *calls = called.output
    assert (called.status, called.output_text, message.type) == ("completed", "I look.", "message")
    assert [tool.to_dict() for tool in called.tools] == [WEATHER]
    results: Any = [
        {"type": "function_call_output", "call_id": call.call_id, "output": [{"type": "input_text", "text": "Snow."}]}
        for call in calls
        if call.type == "function_call"
    ]
    sent_back: Any = [{"role": "user", "content": QUESTION}, *(item.to_dict() for item in called.output), *results]
    openai.reply("Snow.")
    answer = await client.responses.create(model=MODEL, input=sent_back, tools=[WEATHER])
    assert (answer.output_text, len(answer.output)) == ("Snow.", 1)
    said: Any = openai.chats[-1].body["messages"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "tool", "tool"]
    assert (said[2]["content"], len(said[2]["tool_calls"])) == ("I look.", 2)
    openai.call_tool("get_weather", "{}")
    whole = await client.responses.create(model=MODEL, input=QUESTION, tools=[WEATHER], tool_choice="required")
    assert [item.type for item in whole.output] == ["function_call"]


async def test_an_answer_that_reaches_the_callers_most_tokens_is_incomplete(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80", finish_reason="length")
    answer = await client.responses.create(model=MODEL, input=QUESTION, max_output_tokens=1)
    assert (answer.status, answer.output_text, openai.chats[-1].body["max_tokens"]) == ("incomplete", "80", 1)
    assert answer.incomplete_details
    assert answer.incomplete_details.reason == "max_output_tokens"


def pictured(data: str) -> list[Any]:
    image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{data}"}
    return [{"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, image]}]


@pytest.mark.parametrize("more", [{}, {"instructions": "Be brief."}])
async def test_an_image_goes_with_its_message_to_a_model_that_sees(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, more: dict[str, Any]
) -> None:
    openai.call_tool("search_sources", {"search_queries": ["dots"]})
    openai.reply("A dot.")
    earlier: list[Any] = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    await client.responses.create(model=MODEL, input=[*earlier, *pictured(PIXEL)], **more)
    messages: Any = openai.chats[-1].body["messages"]
    asked = messages[-1]
    assert asked["role"] == "user"
    assert PIXEL in json.dumps(asked)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_services_fault_before_the_answer_keeps_its_status(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    with pytest.raises(sdk.RateLimitError) as limited:
        await client.responses.create(model=MODEL, input=QUESTION, stream=stream)
    assert limited.value.response.headers["retry-after"] == "47"
    openai.fail(400, code="content_filter")
    with pytest.raises(sdk.BadRequestError) as refused:
        await client.responses.create(model=MODEL, input=QUESTION, stream=stream)
    assert (refused.value.code, refused.value.param) == ("content_filter", "prompt")


async def test_a_fault_amid_the_stream_is_raised_after_the_text(
    app: RunningHost, client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    half = b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n'
    openai.reply_raw(half, cut=True)
    events, error = await streamed(client)
    assert types_of(events) == [*BEGIN, *MESSAGE_BEGIN, DELTA]
    assert error
    assert (error.code, error.type) == ("unavailable", "server_error")
    assert "(invocation " in error.message
    openai.reply_raw(half, cut=True)
    with pytest.raises(sdk.APIError, match=r"\(invocation "):
        async with client.responses.stream(model=MODEL, input=QUESTION) as stream:
            await stream.get_final_response()
    openai.reply_raw(half, cut=True)
    last = (await raw_events(app, input=QUESTION))[-1]
    assert {key: last[key] for key in ("code", "message", "param")}.items() <= last["error"].items()


@pytest.mark.parametrize(("ended", "reason"), [("content_filter", "content_filter"), ("length", "max_output_tokens")])
async def test_a_text_that_was_cut_short_is_incomplete_and_says_why(
    app: RunningHost, client: sdk.AsyncOpenAI, openai: OpenAIStandIn, ended: str, reason: str
) -> None:
    for _ in range(3):
        openai.reply("Half", finish_reason=ended)
    whole = await client.responses.create(model=MODEL, input=QUESTION)
    async with client.responses.stream(model=MODEL, input=QUESTION) as stream:
        [last] = [event async for event in stream if event.type == "response.incomplete"]
    for answer in (whole, last.response):
        assert (answer.status, answer.output_text) == ("incomplete", f"Half{notice_of(Finished(ended))}")
        assert answer.incomplete_details
        assert answer.incomplete_details.reason == reason
        assert answer.output[0].type == "message"
        assert answer.output[0].status == "incomplete"
    assert types_of(await raw_events(app, input=QUESTION))[-4:] == [*MESSAGE_END, "response.incomplete"]


async def test_each_agent_of_a_team_has_a_message(team: RunningHost, openai: OpenAIStandIn) -> None:
    for _ in range(3):
        with openai.to("You are Alpha"):
            openai.reply("Yes. [plan.pdf#page=3]")
        with openai.to("You are Beta"):
            openai.reply("No.")
    async with client_of(team) as client:
        whole = await client.responses.create(model=TEAM, input=QUESTION)
        async with client.responses.stream(model=TEAM, input=QUESTION) as stream:
            added_up = await stream.get_final_response()
    assert whole.output_text == "**Alpha**\n\nYes. [plan.pdf#page=3]\n\n**Beta**\n\nNo."
    assert sorted(added_up.output_text.split("\n\n")) == sorted(whole.output_text.split("\n\n"))
    for answer in (whole, added_up):
        assert len({extra(item, "id") for item in answer.output}) == 2
        assert answer.usage
        assert answer.usage.total_tokens == 24
    events = await raw_events(team, model=TEAM, input=QUESTION)
    assert [event["output_index"] for event in events if event["type"] == "response.output_item.done"] == [0, 1]


async def test_who_leaves_a_stream_ends_the_models_work(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    stream = await client.responses.create(model=MODEL, input=QUESTION, stream=True)
    async for event in stream:
        if event.type == DELTA:
            break
    await stream.close()
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


@pytest.mark.parametrize("model", [MODEL, TEAM])
async def test_a_task_of_the_front_end_is_answered_without_sources(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, model: str
) -> None:
    before = len(openai.chats)
    openai.reply("Dental Care")
    answer = await client.responses.create(model=model, input="### Task:\nGenerate a concise, 3-5 word title.")
    assert answer.output_text == "Dental Care"
    assert extra(answer, "context")["citations"] == []
    [asked] = openai.chats[before:]
    assert "Sources:" not in json.dumps(asked.body["messages"])


async def test_the_thoughts_are_shown_only_to_a_client_that_sends_a_context(documents: sdk.AsyncOpenAI) -> None:
    plain = await documents.responses.create(model=MODEL, input=QUESTION)
    own = await documents.responses.create(model=MODEL, input=QUESTION, extra_body={"context": {"top": 1}})
    assert "thoughts" not in extra(plain, "context")
    assert extra(own, "context")["thoughts"]
    assert len(extra(own, "context")["citations"]) == 1


async def test_what_the_guard_stops_is_no_part_of_the_text(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard, client_of(under_guard.host) as client:
        with pytest.raises(sdk.BadRequestError) as refused:
            await client.responses.create(model=MODEL, input=f"A {BAD}?")
        assert refused.value.code == "content_filter"
        await openai.caught_up()  # the refused turn may have asked the model
        cut: list[Any] = []
        for _ in range(2):
            openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        cut.append(await client.responses.create(model=MODEL, input="Hello?"))
        events, error = await streamed(client, "Hello?")
        assert error is None
        assert types_of(events)[-4:] == [*MESSAGE_END, "response.incomplete"]
        cut.append(events[-1].response)
        for answer in cut:
            assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "content_filter")
            assert answer.output_text.startswith("It is fine.")
            assert BAD not in answer.output_text
        openai.reply("It is fine.")
        assert (await client.responses.create(model=MODEL, input="Hello?")).output_text == "It is fine."


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_in_a_shape_is_parsed_and_has_its_sources_beside_it(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.reply(COVER[:9], COVER[9:])
    if stream:
        async with client.responses.stream(model=MODEL, input=QUESTION, text_format=Cover) as events:
            answer = await events.get_final_response()
    else:
        answer = await client.responses.parse(model=MODEL, input=QUESTION, text_format=Cover)
    assert (answer.output_text, answer.output_parsed) == (COVER, Cover(share=80, note="[sic]"))
    [message] = answer.output
    assert message.type == "message"
    [content] = message.content
    assert content.type == "output_text"
    assert "plan.pdf#page=3" in {one.title for one in content.annotations if one.type == "url_citation"}
    assert openai.chats[-1].form["json_schema"]["name"] == "Cover"


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_model_thinks_is_an_item_before_the_message(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.reply(*(openai.chunk({"reasoning_content": text}) for text in ("80 or ", "100 %?")), "80 %.")
    if stream:
        async with client.responses.stream(model=MODEL, input=QUESTION, reasoning={"effort": "low"}) as events:
            pieces = [event.delta async for event in events if event.type == "response.reasoning_summary_text.delta"]
            answer: Any = await events.get_final_response()
        assert pieces == ["80 or ", "100 %?"]
    else:
        answer = await client.responses.create(model=MODEL, input=QUESTION, reasoning={"effort": "low"})
    Response.model_validate(answer.model_dump(mode="json"))
    thought, said = answer.output
    assert ([one.text for one in thought.summary], said.content[0].text) == (["80 or 100 %?"], "80 %.")
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply("It is.")
    more = await client.responses.create(model=MODEL, input="And implants?", previous_response_id=answer.id)
    assert more.output_text == "It is."
    assert "100 %?" not in str(openai.chats[-1].body["messages"])
