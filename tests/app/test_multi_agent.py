"""What a team of agents says, over real sockets: in one array or as it comes, in every protocol."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import pytest

from tests.app.test_answers import QUESTION, body, read_lines
from tests.app.test_history import Chats
from tests.app.test_multipart import ROUTE, form
from tests.app.test_protocols import events_of, text_of
from tests.conformance.clients.chatui import kept, read_message
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

BATCH, STREAM = "/multi-agent-chat/batch", "/multi-agent-chat/stream"
SAMPLE_TEAM = ["Researcher", "Critic", "Writer"]
ALPHA, BETA = "You are Alpha", "You are Beta"
USAGE = {"InputTokenCount": 7, "OutputTokenCount": 5, "TotalTokenCount": 12}
DELTAS = ["ai-chat", "ai-chat-2024-05-29", "ai-chat-2024-01-28"]
PROTOCOLS = [*DELTAS, "ai-chat-2026-04", "semantic-kernel", "semantic-kernel-python"]


async def said_by_all(host: RunningHost, http: aiohttp.ClientSession, path: str = BATCH, **more: Any) -> Any:
    """The whole answer as JSON."""
    async with http.post(host.url + path, json=body(**more)) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "application/json"
        return await response.json()


async def streamed(host: RunningHost, http: aiohttp.ClientSession, **more: Any) -> list[dict[str, Any]]:
    """The messages of a stream in Semantic Kernel's shape."""
    async with http.post(host.url + STREAM, json=body(**more)) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        return await events_of(response)


async def events_as_they_come(response: aiohttp.ClientResponse) -> AsyncGenerator[dict[str, Any]]:
    async for line in response.content:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


def agent_of(message: dict[str, Any]) -> str:
    """Whose message it is, wherever its protocol has it."""
    if "name" in message or "AuthorName" in message:
        return message.get("name") or message["AuthorName"]
    return (message["choices"][0] if "choices" in message else message)["context"]["agent"]


async def test_the_sample_team_answers_from_the_documents_with_nothing_configured(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    messages = await said_by_all(built_in, http)
    assert [message["AuthorName"] for message in messages] == SAMPLE_TEAM
    assert "80 % of dental care. [plan.pdf#page=3]" in messages[0]["Content"]
    assert messages[0]["Metadata"]["Context"]["data_points"]["text"][0].startswith("plan.pdf#page=3: ")
    assert len({message["ConversationId"] for message in messages}) == 1
    assert ["TotalUsage" in message["Metadata"] for message in messages] == [False, False, True]


async def test_a_message_is_what_chatui_reads_by_its_document_and_by_its_source(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    for message in [*await said_by_all(built_in, http), *await streamed(built_in, http)]:
        assert message["Role"] == {"Label": "Assistant"}
        assert message["Items"] == [{"$type": "TextContent", "Text": message["Content"]}]
        assert message["content"] == message["Content"] != ""
        assert message["authorName"] == message["AuthorName"] == message["metadata"]["authorName"]
        assert message["metadata"] == message["Metadata"]
        read = read_message(message)
        assert kept(read, message)
        assert (read.role, read.text, read.agent) == ("assistant", message["Content"], message["AuthorName"])


async def test_the_stream_is_the_same_messages_one_an_event_and_nothing_else(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + STREAM, json=body()) as response:
        stream = (await response.read()).decode()
    *events, rest = stream.split("\n\n")
    assert rest == ""
    assert all(event.startswith("data: ") and "\n" not in event for event in events)
    texts = [json.loads(event.removeprefix("data: "))["Content"] for event in events]
    assert texts == [message["Content"] for message in await said_by_all(built_in, http)]


@pytest.mark.parametrize("name", [*PROTOCOLS, "rag-chat"])
async def test_every_protocol_has_an_array_with_each_agents_answer(
    built_in: RunningHost, http: aiohttp.ClientSession, name: str
) -> None:
    messages = await said_by_all(built_in, http, f"/{name}{BATCH}")
    assert list(map(agent_of, messages)) == SAMPLE_TEAM
    assert "80 %" in text_of([messages[0]] if name.startswith("semantic") else messages[0])


@pytest.mark.parametrize("name", DELTAS)
async def test_a_stream_in_the_ai_chat_protocols_joins_to_all_that_was_said(
    built_in: RunningHost, http: aiohttp.ClientSession, name: str
) -> None:
    async with http.post(f"{built_in.url}/{name}{STREAM}", json=body(session_state=1, sessionState=1)) as response:
        assert response.status == 200
        lines = await read_lines(response)
    parts = [line["choices"][0] if "choices" in line else line for line in lines]
    agents = [part["context"]["agent"] for part in parts if "agent" in part.get("context", {})]
    assert list(dict.fromkeys(agents)) == SAMPLE_TEAM
    text = "".join(part["delta"].get("content") or "" for part in parts)
    whole = await said_by_all(built_in, http, f"/{name}{BATCH}")
    assert text == "\n\n".join(text_of(message) for message in whole)
    assert sum("session_state" in part or "sessionState" in part for part in parts) == 1
    end = parts[-1]["finish_reason"] if "choices" in lines[-1] else parts[-1]["context"]["finish_reason"]
    assert end == "stop"


async def test_the_conversation_is_the_one_that_was_named(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    for messages in (
        await said_by_all(built_in, http, ConversationId="mine"),
        await streamed(built_in, http, conversationId="mine"),
    ):
        assert {message["ConversationId"] for message in messages} == {"mine"}
    first, second = await streamed(built_in, http), await streamed(built_in, http)
    assert len({message["ConversationId"] for message in (*first, *second)}) == 2


async def test_a_message_is_streamed_the_moment_that_its_agent_is_done(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    with openai.to(ALPHA):
        openai.reply("Alpha's.", gate)
    with openai.to(BETA):
        openai.reply("Beta's.")
    async with http.post(team.url + STREAM, json=body()) as response:
        events = events_as_they_come(response)
        first = await anext(events)
        assert (first["AuthorName"], first["Content"]) == ("Beta", "Beta's.")
        assert (first["Metadata"]["Usage"], first["Metadata"].get("TotalUsage")) == (USAGE, None)
        gate.set()
        last = await anext(events)
        assert (last["AuthorName"], last["Content"]) == ("Alpha", "Alpha's.")
        assert last["Metadata"]["TotalUsage"] == {key: 2 * count for key, count in USAGE.items()}
        assert [event async for event in events] == []


async def test_the_array_has_the_order_of_the_file_whoever_is_done_first(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    with openai.to(ALPHA):
        openai.reply("Alpha's.", gate)
    number = len(openai.requests) + 2
    asking = asyncio.create_task(said_by_all(team, http))
    await openai.request_number(number)
    async with asyncio.timeout(60):
        await next(one for one in openai.chats[-2:] if BETA in str(one.body)).answered.wait()
    gate.set()
    messages = await asking
    assert [message["AuthorName"] for message in messages] == ["Alpha", "Beta"]
    assert ["TotalUsage" in message["Metadata"] for message in messages] == [False, True]


async def test_a_file_that_came_with_the_question_reaches_every_agent(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    sent = form(("messages[0].files[0]", "text/plain", b"The code word is pumpkin."))
    async with http.post(team.url + ROUTE.replace("/chat", BATCH), data=sent) as response:
        messages = await response.json()
    assert response.status == 200, messages
    assert all("pumpkin" in str(request.body["messages"]) for request in openai.chats[-2:])


async def test_twenty_at_once_each_get_their_own_answer(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    before = len(openai.chats)

    async def ask(number: int) -> None:
        path = BATCH if number % 2 else STREAM
        asked = {"messages": [{"role": "user", "content": f"question <{number}>"}], "ConversationId": f"c{number}"}
        async with http.post(team.url + path, json=asked) as response:
            assert response.status == 200
            messages = await (response.json() if path == BATCH else events_of(response))
        assert sorted(message["AuthorName"] for message in messages) == ["Alpha", "Beta"]
        assert {message["ConversationId"] for message in messages} == {f"c{number}"}

    await asyncio.gather(*(ask(number) for number in range(20)))
    prompts = [str(request.body["messages"]) for request in openai.chats[before:]]
    for number in range(20):
        assert len([prompt for prompt in prompts if f"question <{number}>" in prompt]) == 2


@pytest.mark.parametrize("path", [BATCH, STREAM])
async def test_what_each_agent_said_is_recorded_and_read_back_as_chatui_does(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    chats = Chats(team, http)
    chat = await chats.start("multiAgent")
    with openai.to(ALPHA):
        openai.reply("Alpha's.")
    with openai.to(BETA):
        openai.fail(400, code="content_filter")
    async with http.post(team.url + path, json=body(ConversationId=chat)) as response:
        assert response.status == 200
        await response.read()
    question, alpha, beta = await chats.messages(chat)
    assert (question["role"], question["content"]) == ("user", QUESTION)
    assert alpha == alpha | {"role": "assistant", "content": "Alpha's.", "agentIdentifier": "Alpha"}
    assert beta == beta | {"agentName": "Beta", "agentIdentifier": "Beta", "finishReason": "content_filter"}
    assert "finishReason" not in alpha
    _, listed = await chats.send("GET", mode="multiAgent")
    assert next(entry for entry in listed if entry["id"] == chat)["messageCount"] == 3
