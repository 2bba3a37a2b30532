"""OpenAI's own Python package, as an app uses it, against the running app."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import openai as sdk
import pytest
import pytest_asyncio
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.app.conftest import hosted
from tests.app.guarded import BAD, guarded
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

MODEL, TEAM = "switchboard", "switchboard-team"
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
FOLLOWUPS = {"context": {"overrides": {"suggest_followup_questions": True}}}
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c626001000000ffff030000060005"
        "57bfabd40000000049454e44ae426082"
    )
).decode()


@asynccontextmanager
async def client_of(host: RunningHost) -> AsyncGenerator[sdk.AsyncOpenAI]:
    """The package as its users configure it: the URL, any key, and no retries, which would hide a status."""
    async with sdk.AsyncOpenAI(base_url=f"{host.url}/v1", api_key="any", max_retries=0, timeout=60) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def client(app: RunningHost) -> AsyncGenerator[sdk.AsyncOpenAI]:
    """A client of the app in front of the scripted model."""
    async with client_of(app) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def documents(built_in: RunningHost) -> AsyncGenerator[sdk.AsyncOpenAI]:
    """A client of the app with nothing configured."""
    async with client_of(built_in) as client:
        yield client


def extra(found: Any, key: str) -> Any:
    """A key that the package's types do not have."""
    return getattr(found, key, None)


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def streamed(client: sdk.AsyncOpenAI, question: str) -> tuple[list[ChatCompletionChunk], sdk.APIError | None]:
    """The chunks of a stream, and the error that ended it."""
    chunks: list[ChatCompletionChunk] = []
    try:
        async for chunk in await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": question}], stream=True
        ):
            chunks.append(chunk)  # noqa: PERF401 (an exception may end it)
    except sdk.APIError as error:
        return chunks, error
    return chunks, None


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
    assert context["followup_questions"] == []
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
    openai.call_tool("search_sources", {"search_query": "dental"})
    openai.reply("Yes.")
    answer = await client.chat.completions.create(
        model=MODEL, messages=messages, temperature=0.3, seed=7, tools=[], user="u", metadata={"a": "b"}
    )
    assert answer.choices[0].message.content == "Yes."
    sent = openai.chats[-1].body
    said = json.dumps(sent["messages"])
    assert all(words in said for words in ("Say it in verse.", "One?\\n\\nTwo?", "Both."))
    assert (sent["temperature"], sent["seed"]) == (0.3, 7)


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


BAD_REQUESTS: list[tuple[dict[str, Any], type[sdk.APIStatusError], str | None, str, str]] = [
    ({"model": "gpt-4"}, sdk.NotFoundError, "model", "model_not_found", "switchboard-team"),
    ({"n": 2}, sdk.BadRequestError, "n", "bad_request", "one answer"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
        sdk.BadRequestError,
        "response_format",
        "bad_request",
        "JSON schema",
    ),
    ({"messages": []}, sdk.BadRequestError, "messages", "bad_request", "is empty"),
    (
        {"messages": [*ASKED, {"role": "tool", "tool_call_id": "1", "content": "x"}]},
        sdk.BadRequestError,
        None,
        "bad_request",
        "role is 'tool'",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0]",
        "bad_request",
        "a text or an image",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]},
        sdk.BadRequestError,
        "messages[0].content[0].image_url.url",
        "bad_request",
        "data: URL",
    ),
    ({"temperature": 3}, sdk.BadRequestError, "temperature", "bad_request", "less than or equal to 2"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("more", "kind", "param", "code", "words"), BAD_REQUESTS)
async def test_a_request_that_is_not_possible_is_an_error_object(
    documents: sdk.AsyncOpenAI,
    more: dict[str, Any],
    kind: type[sdk.APIStatusError],
    param: str | None,
    code: str,
    words: str,
    *,
    stream: bool,
) -> None:
    with pytest.raises(kind) as caught:
        await documents.post("/chat/completions", cast_to=object, body={"messages": ASKED, "stream": stream} | more)
    error: Any = caught.value
    assert (error.param, error.code, error.type) == (param, code, "invalid_request_error")
    assert words in error.message


def pictured(data: str) -> list[Any]:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}]


async def test_an_image_goes_to_a_model_that_sees(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    openai.reply("A dot.")
    await client.chat.completions.create(model=MODEL, messages=pictured(PIXEL))
    assert PIXEL in json.dumps(openai.chats[-1].body["messages"])


@pytest.mark.parametrize(("data", "words"), [(PIXEL, "sees no images"), ("$$", "in base64")])
async def test_an_image_that_nothing_sees_is_a_400(documents: sdk.AsyncOpenAI, data: str, words: str) -> None:
    with pytest.raises(sdk.BadRequestError, match=words):
        await documents.chat.completions.create(model=MODEL, messages=pictured(data))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_services_fault_before_the_answer_keeps_its_status(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, *, stream: bool
) -> None:
    openai.fail(429, headers={"Retry-After": "47"})
    with pytest.raises(sdk.RateLimitError) as limited:
        await client.chat.completions.create(model=MODEL, messages=ASKED, stream=stream)
    assert limited.value.response.headers["retry-after"] == "47"
    assert limited.value.type == "rate_limit_error"
    openai.fail(400, code="content_filter")
    with pytest.raises(sdk.BadRequestError) as refused:
        await client.chat.completions.create(model=MODEL, messages=ASKED, stream=stream)
    assert (refused.value.code, refused.value.param) == ("content_filter", "prompt")
    openai.fail(401, code="invalid_api_key")
    with pytest.raises(sdk.InternalServerError) as broken:
        await client.chat.completions.create(model=MODEL, messages=ASKED, stream=stream)
    assert (broken.value.status_code, broken.value.type) == (503, "server_error")


async def test_a_fault_amid_the_stream_is_raised_after_the_text(client: sdk.AsyncOpenAI, openai: OpenAIStandIn) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    chunks, error = await streamed(client, QUESTION)
    assert text_of(chunks) == "Half"
    assert error
    assert error.code == "unavailable"
    assert "(invocation " in error.message


async def test_a_filter_of_the_model_ends_the_text_with_its_reason(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("Half", finish_reason="content_filter")
    whole = await client.chat.completions.create(model=MODEL, messages=ASKED)
    assert (whole.choices[0].finish_reason, whole.choices[0].message.content) == ("content_filter", "Half")
    openai.reply("Half", finish_reason="content_filter")
    chunks = [c async for c in await client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)]
    assert (text_of(chunks), chunks[-1].choices[0].finish_reason) == ("Half", "content_filter")


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


@pytest.mark.parametrize(
    "task",
    [
        "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.",
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.",
    ],
)
@pytest.mark.parametrize("model", [MODEL, TEAM])
async def test_a_task_of_the_front_end_is_answered_without_sources(
    client: sdk.AsyncOpenAI, openai: OpenAIStandIn, task: str, model: str
) -> None:
    before = len(openai.chats)
    openai.reply("Dental Care")
    answer = await client.chat.completions.create(model=model, messages=[{"role": "user", "content": task}])
    assert answer.choices[0].message.content == "Dental Care"
    assert extra(answer.choices[0].message, "context")["citations"] == []
    (asked,) = openai.chats[before:]
    assert "Sources:" not in json.dumps(asked.body["messages"])


async def test_the_thoughts_are_shown_only_to_a_client_that_sends_a_context(documents: sdk.AsyncOpenAI) -> None:
    plain = await documents.chat.completions.create(model=MODEL, messages=ASKED)
    own = await documents.chat.completions.create(model=MODEL, messages=ASKED, extra_body={"context": {"top": 1}})
    assert "thoughts" not in extra(plain.choices[0].message, "context")
    assert extra(own.choices[0].message, "context")["thoughts"]
    assert len(extra(own.choices[0].message, "context")["citations"]) == 1


async def test_what_the_guard_stops_is_no_part_of_the_text(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="enforce") as under_guard, client_of(under_guard.host) as client:
        with pytest.raises(sdk.BadRequestError) as refused:
            await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": f"A {BAD}?"}])
        assert refused.value.code == "content_filter"
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        chunks, error = await streamed(client, "Hello?")
        end = error.code if error and not text_of(chunks) else chunks[-1].choices[0].finish_reason
        assert end == "content_filter"
        assert BAD not in text_of(chunks)
        openai.reply("It is fine. " * 50, f"And a {BAD}. ", "More.")
        whole = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello?"}])
        assert whole.choices[0].finish_reason == "content_filter"
        said = whole.choices[0].message.content or ""
        assert said.startswith("It is fine. ")
        assert BAD not in said
        openai.reply("It is fine.")
        answer = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello?"}])
        assert answer.choices[0].message.content == "It is fine."


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
