"""What becomes of a team's answer when agents fail, hang or are left, and when the team's file is wrong."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body
from tests.app.test_multi_agent import ALPHA, BATCH, BETA, PROTOCOLS, STREAM, agent_of
from tests.app.test_protocols import events_of
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

PATHS = pytest.mark.parametrize("path", [BATCH, STREAM])


async def messages_of(response: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    """By the name of the agent."""
    assert response.status == 200, await response.text()
    messages = await (events_of(response) if response.content_type == "text/event-stream" else response.json())
    return sorted(messages, key=agent_of)


@PATHS
async def test_an_agent_that_fails_says_so_in_words_and_the_others_answer(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    with openai.to(ALPHA):
        openai.reply("Alpha's.")
    with openai.to(BETA):
        openai.fail(429, headers={"Retry-After": "120"})
    async with http.post(team.url + path, json=body()) as response:
        alpha, beta = await messages_of(response)
    assert alpha["Content"] == "Alpha's."
    assert "error" not in alpha["Metadata"]
    assert beta["Metadata"]["error"] == "rate_limited"
    assert beta["Content"] == beta["Items"][0]["Text"] != ""
    assert "scripted" not in str(beta)
    assert (alpha["ConversationId"], alpha["AuthorName"]) == (beta["ConversationId"], "Alpha")


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_every_protocol_tells_which_agent_failed_and_with_what(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, name: str
) -> None:
    with openai.to(BETA):
        openai.fail(400, code="content_filter")
    async with http.post(f"{team.url}/{name}{BATCH}", json=body()) as response:
        alpha, beta = await messages_of(response)
    assert '"error"' not in json.dumps(alpha)
    assert '"error": "content_filter"' in json.dumps(beta)
    assert "error" not in beta  # where clients take it for the end of everything
    assert "filter" in json.dumps(beta.get("choices", beta))


@PATHS
async def test_what_a_failed_agent_said_is_no_part_of_the_conversation_when_a_client_sends_it_back(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    with openai.to(BETA):
        openai.fail(400, code="content_filter")
    async with http.post(team.url + path, json=body()) as response:
        said = await messages_of(response)
    chat = [*body()["messages"], *({"role": "assistant", "content": each["Content"]} for each in said)]
    question = {"role": "user", "content": "And implants?"}
    async with http.post(team.url + path, json={"messages": [*chat, question]}) as response:
        assert response.status == 200
    sent = json.dumps(openai.chats[-1].body["messages"])
    assert said[0]["Content"] in sent
    assert "filter" not in sent


@PATHS
@pytest.mark.parametrize("name", ["", "/ai-chat-2024-05-29"])
async def test_when_all_agents_fail_the_request_does_with_the_status_of_the_first(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str, name: str
) -> None:
    for agent in (ALPHA, BETA):
        with openai.to(agent):
            openai.fail(429, headers={"Retry-After": "47"}, times=1)
    async with http.post(team.url + name + path, json=body()) as response:
        error = (await response.json())["error"]
    assert response.status == 429
    assert response.headers["retry-after"] == "47"
    assert "(invocation " in (error["message"] if name else error)


async def test_when_all_agents_fail_after_the_stream_began_its_last_event_is_the_error(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    for agent in (ALPHA, BETA):
        with openai.to(agent):
            openai.reply_raw(gate, b"", cut=True)
    async with http.post(team.url + STREAM, json=body()) as response:
        gate.set()
        *messages, last = await events_of(response)
    assert {message["Metadata"]["error"] for message in messages} == {"unavailable"}
    assert {message["AuthorName"] for message in messages} == {"Alpha", "Beta"}
    assert list(last) == ["error"]


@PATHS
async def test_a_caller_who_leaves_ends_all_agents_work(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    for agent in (ALPHA, BETA):
        with openai.to(agent):
            openai.hang()
    number = len(openai.requests) + 2
    request = asyncio.create_task(http.post(team.url + path, json=body()))
    await openai.request_number(number)
    received = openai.requests[number - 2 :]
    request.cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(*(one.disconnected.wait() for one in received))


async def test_a_caller_who_leaves_after_the_first_message_ends_the_work_on_the_others(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    with openai.to(ALPHA):
        openai.reply("Alpha's.")
    with openai.to(BETA):
        openai.reply("Half", asyncio.Event())
    number = len(openai.requests) + 2
    async with http.post(team.url + STREAM, json=body()) as response:
        assert b"Alpha's." in await response.content.readline()
        await openai.request_number(number)
    beta = next(request for request in openai.requests[number - 2 :] if BETA in str(request.body))
    async with asyncio.timeout(60):
        await beta.disconnected.wait()


async def test_an_agent_that_is_late_says_so_and_what_the_others_said_is_not_lost(
    data_dir: Any, concurrent: dict[str, str], http: aiohttp.ClientSession
) -> None:
    async def ask(host: RunningHost, path: str) -> list[dict[str, Any]]:
        async with http.post(host.url + path, json=body()) as response:
            return await messages_of(response)

    short = {"AGENTS_DEADLINE_SECONDS": "5"}  # which is more than enough for who answers
    async with OpenAIStandIn() as model, hosted(data_dir, model.settings | NO_VECTORS | concurrent | short) as host:
        await asyncio.to_thread(host.wait_for, "warmed up in")
        for _ in (BATCH, STREAM):
            with model.to(ALPHA):
                model.reply("Alpha's.")
            with model.to(BETA):
                model.hang()
        for alpha, beta in await asyncio.gather(ask(host, BATCH), ask(host, STREAM)):
            assert alpha["Content"] == "Alpha's."
            assert beta["Metadata"]["error"] == "timeout"
            assert "Beta took too long" in beta["Content"]


@PATHS
async def test_bad_input_is_refused_as_on_every_route(
    team: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    async with http.post(team.url + path, json={"messages": []}) as response:
        assert (response.status, response.content_type) == (400, "application/json")
        assert "messages" in (await response.json())["error"]
    async with http.post(f"{team.url}/smoke-signals{path}", json=body()) as response:
        assert response.status == 404
    async with http.post(team.url + path, data=aiohttp.FormData({"json": "{}"}, default_to_multipart=True)) as response:
        assert response.status == 400
        assert "takes no files" in (await response.json())["error"]


async def test_a_fault_in_the_teams_file_is_named_at_start_in_health_and_to_callers(
    data_dir: Any, tmp_path: Any, http: aiohttp.ClientSession
) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text("team: {pattern: quarrel}\nagents: [{name: A, instructions: B}]\n", encoding="utf-8")
    async with hosted(data_dir, {"AGENTS_FILE": str(file)}) as host:
        await asyncio.to_thread(host.wait_for, "quarrel|pattern")
        async with http.get(host.url + "/health") as response:
            assert response.status == 503
            told = (await response.json())["error"]
        async with http.post(host.url + BATCH, json=body()) as response:
            assert response.status == 503
            assert told in (await response.json())["error"]
    assert "agents.yaml" in told
    assert "concurrent" in told


async def test_the_log_has_no_users_text_and_no_agents(
    team: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    for agent in (ALPHA, BETA):
        with openai.to(agent):
            openai.reply("Zebrafish answer")
            openai.fail(400, error={"message": "Okapi", "code": "x"})
    before = team.log()
    for status in (200, 400):
        async with http.post(team.url + BATCH, json=body("Xylophone question")) as response:
            assert response.status == status
    await asyncio.to_thread(team.wait_for, r"turn ended: bad_request", after=before)
    assert not [word for word in ("Zebrafish", "Xylophone", "Okapi", openai.api_key) if word in team.log()]
