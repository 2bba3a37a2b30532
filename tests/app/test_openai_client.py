"""OpenAI's own Python package, as an app uses it, against the running app."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import openai as sdk
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.app.conftest import hosted
from tests.app.openai_sdk import ASKED, COVER, FOLLOWUPS, MODEL, TEAM, Cover, client_of, extra, text_of
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn


def function(**keys: Any) -> Any:
    return {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}} | keys}


def deep(levels: int) -> Any:
    return {"items": deep(levels - 1)} if levels else {}


WEATHER: Any = [function(description="Tells the weather.")]
_CALL: Any = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
CALLED: Any = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
TWICE: Any = CALLED | {"tool_calls": [_CALL, _CALL]}
RESULT: Any = {"role": "tool", "tool_call_id": "c1", "content": "Snow."}

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""


async def test_an_answer_has_its_sources_at_their_places_and_links_that_open(
    built_in: RunningHost, documents: sdk.AsyncOpenAI, http: aiohttp.ClientSession
) -> None:
    answer = await documents.chat.completions.create(model=MODEL, messages=ASKED, extra_body=FOLLOWUPS)
    (choice,) = answer.choices
    text = choice.message.content or ""
    assert (answer.object, answer.model, choice.finish_reason) == ("chat.completion", MODEL, "stop")
    assert "80 %" in text
    assert choice.message.annotations
    cited = [one.url_citation for one in choice.message.annotations]
    assert {text[one.start_index : one.end_index] for one in cited} == {f"[{one.title}]" for one in cited}
    context = extra(choice.message, "context")
    assert "plan.pdf#page=3" in {one["title"] for one in context["citations"]}
    assert json.loads(context["intent"]) == [QUESTION]
    assert all(question.endswith("?") for question in context["followup_questions"])
    assert "<<" not in text
    (plan,) = {one.url for one in cited if one.title == "plan.pdf#page=3"}
    assert plan == f"{built_in.url}/content/plan.pdf#page=3"
    async with http.get(plan) as response:
        assert response.status == 200


async def test_a_raw_stream_is_the_role_the_text_the_sources_the_end_and_the_tokens(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80 % [plan", ".pdf#page=3].")
    asked = client.chat.completions.create(
        model=MODEL, messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in await asked]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert text_of(chunks) == "80 % [plan.pdf#page=3]."
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    (found,) = [delta for delta in deltas if extra(delta, "context")]
    (annotation,) = extra(found, "annotations")
    assert annotation["url_citation"]["title"] == "plan.pdf#page=3"
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:-1]] == ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens == 12
    assert len({(chunk.id, chunk.created, chunk.model, chunk.object) for chunk in chunks}) == 1


async def test_the_stream_helper_adds_it_up(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    openai.reply("80 % ", "[plan.pdf#page=3].\n<<What is paid for glasses?>>")
    helper = client.chat.completions.stream(
        model=MODEL, messages=ASKED, stream_options={"include_usage": True}, extra_body=FOLLOWUPS
    )
    async with helper as stream:
        events = [event async for event in stream]
        answer = await stream.get_final_completion()
    assert "".join(event.delta for event in events if event.type == "content.delta") == "80 % [plan.pdf#page=3]."
    message = answer.choices[0].message
    assert (message.role, message.content) == ("assistant", "80 % [plan.pdf#page=3].")
    assert message.annotations
    assert extra(message, "context")["followup_questions"] == ["What is paid for glasses?"]
    assert answer.usage


async def test_the_client_without_asyncio_reads_an_answer_and_a_stream(built_in: RunningHost) -> None:
    def ask() -> tuple[ChatCompletion, list[ChatCompletionChunk]]:
        with sdk.OpenAI(base_url=f"{built_in.url}/v1", api_key="any", max_retries=0, timeout=60) as client:
            whole = client.chat.completions.create(model=MODEL, messages=ASKED)
            return whole, list(client.chat.completions.create(model=MODEL, messages=ASKED, stream=True))

    whole, chunks = await asyncio.to_thread(ask)
    assert text_of(chunks) == whole.choices[0].message.content
    assert all(chunk.choices for chunk in chunks)


async def test_a_conversation_is_sent_with_its_roles_and_parts(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    messages: list[Any] = [
        {"role": "developer", "content": "Say it in verse."},
        {"role": "user", "content": [{"type": "text", "text": "One?"}, {"type": "text", "text": "Two?"}]},
        {"role": "assistant", "content": "Both.", "annotations": []},
        *ASKED,
    ]
    openai.call_tool("search_sources", {"search_queries": ["dental"]})
    openai.reply("Yes.")
    answer = await client.chat.completions.create(
        model=MODEL, messages=messages, temperature=0.3, seed=7, tools=[], user="u", metadata={"a": "b"}
    )
    assert answer.choices[0].message.content == "Yes."
    sent = openai.chats[-1].body
    said = json.dumps(sent["messages"])
    assert all(words in said for words in ("Say it in verse.", "One?\\n\\nTwo?", "Both."))
    assert (sent["temperature"], sent["seed"]) == (0.3, 7)


async def test_a_tool_is_called_and_its_result_answers_the_question(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    asked: dict[str, Any] = {"model": MODEL, "tools": WEATHER}
    create: Any = client.chat.completions.create
    openai.call_tool("get_weather", {"city": "Oslo"})
    async with client.chat.completions.stream(messages=ASKED, tool_choice="required", **asked) as stream:
        seen = [event async for event in stream]
        called = await stream.get_final_completion()
    done = [event for event in seen if event.type == "tool_calls.function.arguments.done"]
    assert [(event.name, json.loads(event.arguments)) for event in done] == [("get_weather", {"city": "Oslo"})]
    assert (called.choices[0].finish_reason, openai.chats[-1].body["tool_choice"]) == ("tool_calls", "required")
    (call,) = called.choices[0].message.tool_calls or []
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": [{"type": "text", "text": "Snow."}]}
    turn: Any = called.choices[0].message.model_dump(exclude_none=True)
    openai.reply("Snow, and 80 % [plan.pdf#page=3].")
    answer = await create(messages=[*ASKED, turn, result], **asked)
    assert (answer.choices[0].finish_reason, answer.choices[0].message.tool_calls) == ("stop", None)
    assert answer.choices[0].message.annotations
    openai.call_tool("get_weather", "{}")
    again = await create(messages=ASKED, parallel_tool_calls=False, **asked)
    assert (again.choices[0].finish_reason, again.choices[0].message.content) == ("tool_calls", None)
    assert again.choices[0].message.tool_calls


async def test_no_more_tokens_are_written_than_the_caller_wants(
    client: sdk.AsyncOpenAI, documents: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80", finish_reason="length")
    answer = await client.chat.completions.create(model=MODEL, messages=ASKED, max_completion_tokens=9, max_tokens=1)
    assert (answer.choices[0].finish_reason, openai.chats[-1].body["max_tokens"]) == ("length", 9)
    built_in = await documents.chat.completions.create(model=MODEL, messages=ASKED, max_tokens=3)
    assert built_in.choices[0].finish_reason == "length"
    assert len((built_in.choices[0].message.content or "").split()) == 3
    openai.reply("80", finish_reason="length")  # as sample-app limits each answer that it shows
    shown = await client.chat.completions.create(model=MODEL, messages=ASKED, max_tokens=1_000)
    assert "The answer ends here" in (shown.choices[0].message.content or "")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tools": WEATHER}, "tools: the built-in model"),
        ({"tools": WEATHER, "model": TEAM}, "tools: a team of agents"),
        ({"messages": [*ASKED, CALLED, RESULT]}, "tools: the built-in model"),
        ({"messages": [*ASKED, CALLED]}, r"messages\[1\]: after it one call has no result"),
        ({"messages": [*ASKED, CALLED, RESULT, RESULT]}, r"messages\[3\]: no call"),
        ({"messages": [*ASKED, RESULT]}, r"messages\[1\]: no call"),
        ({"messages": [CALLED, RESULT]}, "messages: there is no question"),
        ({"messages": [*ASKED, CALLED, CALLED, RESULT]}, r"messages\[1\]: after it one call"),
        ({"messages": [*ASKED, TWICE, RESULT]}, r"messages\[1\].tool_calls: each"),
        ({"tool_choice": "required"}, "tool_choice: is 'required'"),
        ({"tools": WEATHER, "tool_choice": "sometimes"}, "tool_choice: should be"),
        ({"tools": WEATHER, "tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice: names"),
        ({"tools": WEATHER * 2}, r"tools\[1\]: another tool"),
        ({"tools": WEATHER * 129}, "tools: should have at most 128"),
        ({"tools": [{"type": "web_search"}]}, r"tools\[0\].type: should be 'function'"),
        ({"tools": [function(name="a b")]}, r"tools\[0\].function.name"),
        ({"tools": [function(parameters=deep(40))]}, r"tools\[0\]: its schema should have at most 32 levels"),
        ({"tools": [function(description="x" * 131_072)]}, "tools: they are over 131,072 bytes"),
        ({"functions": [{"name": "x"}]}, "functions: are the older form"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
async def test_tools_that_cannot_be_called_are_refused_in_words(
    documents: sdk.AsyncOpenAI, more: dict[str, Any], words: str
) -> None:
    body: dict[str, Any] = {"model": MODEL, "messages": ASKED}
    create: Any = documents.chat.completions.create
    with pytest.raises(sdk.APIStatusError, match=words) as refused:
        await create(**body | more)
    assert refused.value.status_code == (413 if "bytes" in words else 400)


async def test_tools_that_shall_not_be_called_are_no_reason_to_refuse(documents: sdk.AsyncOpenAI) -> None:
    answer = await documents.chat.completions.create(model=MODEL, messages=ASKED, tools=WEATHER, tool_choice="none")
    assert answer.choices[0].finish_reason == "stop"


async def test_the_models_are_listed_and_found(documents: sdk.AsyncOpenAI) -> None:
    agents = ["switchboard-Researcher", "switchboard-Critic", "switchboard-Writer"]
    assert [model.id async for model in documents.models.list()] == [MODEL, TEAM, *agents]
    assert (await documents.models.retrieve("switchboard-Critic")).id == "switchboard-Critic"
    with pytest.raises(sdk.NotFoundError) as caught:
        await documents.models.retrieve("gpt-4")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_is_an_agent_is_that_agent_alone(
    team: RunningHost, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.reply("No.")
    async with client_of(team) as client:
        asked: dict[str, Any] = {"model": "switchboard-Beta", "messages": ASKED, "extra_body": {"context": {}}}
        asked["stream"] = stream
        create: Any = client.chat.completions.create
        answer: Any = await create(**asked)
        if stream:
            chunks = [chunk async for chunk in answer]
            said = text_of(chunks)
            (context,) = (found for chunk in chunks if (found := extra(chunk.choices[0].delta, "context")))
        else:
            said, context = answer.choices[0].message.content, extra(answer.choices[0].message, "context")
        assert said == "No."
        assert '"Beta"' in json.dumps(context["thoughts"])
        with pytest.raises(sdk.NotFoundError, match="Alpha, Beta") as caught:
            await create(**asked | {"model": "switchboard-Gamma"})
    assert (caught.value.param, caught.value.code) == ("model", "model_not_found")


async def test_a_team_answers_in_one_text(team: RunningHost, openai: OpenAIStandIn) -> None:
    for _ in range(2):
        with openai.to("You are Alpha"):
            openai.reply("Yes.")
        with openai.to("You are Beta"):
            openai.reply("No.")
    async with client_of(team) as client:
        whole = await client.chat.completions.create(model=TEAM, messages=ASKED)
        asked = client.chat.completions.create(
            model=TEAM, messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in await asked]
    assert whole.choices[0].message.content == "**Alpha**\n\nYes.\n\n**Beta**\n\nNo."
    assert sorted(text_of(chunks).split("\n\n")) == sorted(["**Alpha**", "Yes.", "**Beta**", "No."])
    assert (whole.usage and whole.usage.total_tokens, chunks[-1].usage and chunks[-1].usage.total_tokens) == (24, 24)


async def test_who_leaves_a_stream_ends_the_models_work(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    before = len(openai.requests)
    openai.reply("Half", asyncio.Event())
    stream = await client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    await stream.close()
    asked = await openai.request_number(before + 1)
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


async def test_the_thoughts_are_shown_only_to_a_client_that_sends_a_context(documents: sdk.AsyncOpenAI) -> None:
    plain = await documents.chat.completions.create(model=MODEL, messages=ASKED)
    own = await documents.chat.completions.create(model=MODEL, messages=ASKED, extra_body={"context": {"top": 1}})
    assert "thoughts" not in extra(plain.choices[0].message, "context")
    assert extra(own.choices[0].message, "context")["thoughts"]
    assert len(extra(own.choices[0].message, "context")["citations"]) == 1


async def test_every_event_of_a_stream_is_one_line_and_it_ends_with_done(built_in: RunningHost) -> None:
    body = {"model": MODEL, "messages": ASKED, "stream": True}
    async with httpx2.AsyncClient(timeout=60) as http:
        response = await http.post(f"{built_in.url}/v1/chat/completions", json=body)
    assert response.headers["content-type"] == "text/event-stream"
    assert "\r" not in response.text
    *events, done, rest = response.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    assert all(json.loads(event.removeprefix("data: "))["choices"] for event in events)


async def test_links_lead_to_the_host_that_the_platform_names(data_dir: Path) -> None:
    async with hosted(data_dir, {"WEBSITE_HOSTNAME": "chat.example.com"}) as host, client_of(host) as client:
        answer = await client.chat.completions.create(model=MODEL, messages=ASKED)
    urls = {one["url"] for one in extra(answer.choices[0].message, "context")["citations"]}
    assert "https://chat.example.com/api/content/plan.pdf#page=3" in urls
    assert "https://chat.example.com/api/content/dental.md" in urls


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_in_a_shape_is_parsed_and_has_its_sources_beside_it(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.reply(COVER[:9], COVER[9:])
    if stream:
        async with client.chat.completions.stream(model=MODEL, messages=ASKED, response_format=Cover) as chunks:
            answer = await chunks.get_final_completion()
    else:
        answer = await client.chat.completions.parse(model=MODEL, messages=ASKED, response_format=Cover)
    message = answer.choices[0].message
    assert (message.content, message.parsed) == (COVER, Cover(share=80, note="[sic]"))
    cited = [one.url_citation for one in message.annotations or ()]
    assert "plan.pdf#page=3" in {one.title for one in cited}
    assert {(one.start_index, one.end_index) for one in cited} == {(0, 0)}
    assert {one["title"] for one in extra(message, "context")["citations"]} == {one.title for one in cited}
    sent = openai.chats[-1].form["json_schema"]
    assert (sent["name"], sent["strict"], [*sent["schema"]["properties"]]) == ("Cover", True, ["share", "note"])


async def test_a_stream_that_is_not_the_json_asked_for_ends_with_an_error(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80 %.")
    with pytest.raises(sdk.APIError, match="JSON that it was asked for"):
        async for _ in await client.chat.completions.create(
            model=MODEL, messages=ASKED, stream=True, response_format={"type": "json_object"}
        ):
            pass


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_model_thinks_is_beside_the_text_as_deepseek_sends_it(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.reply(*(openai.chunk({"reasoning_content": text}) for text in ("80 or ", "100 %?")), "80 %.")
    asked = client.chat.completions.create(model=MODEL, messages=ASKED, reasoning_effort="high", stream=stream)
    answer: Any = await asked
    if stream:
        chunks = [chunk async for chunk in answer]
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        thought, text = "".join(extra(delta, "reasoning_content") or "" for delta in deltas), text_of(chunks)
    else:
        message = answer.choices[0].message
        thought, text = message.reasoning_content, message.content
    assert (thought, text) == ("80 or 100 %?", "80 %.")


async def test_an_effort_that_there_is_not_is_refused_by_its_name(client: sdk.AsyncOpenAI) -> None:
    wrong: Any = "a lot"
    with pytest.raises(sdk.BadRequestError, match="reasoning_effort: should be 'none', 'minimal'"):
        await client.chat.completions.create(model=MODEL, messages=ASKED, reasoning_effort=wrong)
    with pytest.raises(sdk.BadRequestError, match=r"reasoning.effort: should be 'none', 'minimal'"):
        await client.responses.create(model=MODEL, input=QUESTION, reasoning={"effort": wrong})
