"""What callers get and do not get from the app when a safety service has to clear everything."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from shared.guard import Place, Side
from shared.guard.chat_payloads import ANSWER, MORE
from tests.app.guarded import BAD, NOTED, NOTHING_FOUND, PROTOCOLS, Guarded, guarded, records
from tests.app.test_answers import body
from tests.app.test_history import Chats
from tests.app.test_protocols import text_of
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import cleared

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-ins that the tests script."""

FOLLOWUPS = {"overrides": {"suggest_followup_questions": True}}
CONVERSATION = [
    {"role": "user", "content": "What of dental care?"},
    {"role": "assistant", "content": "It is paid."},
    {"role": "user", "content": "And implants?"},
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def safe(data_dir: Path, openai: OpenAIStandIn) -> AsyncGenerator[Guarded]:
    """The app that enforces."""
    async with guarded(data_dir, openai) as app:
        yield app


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_safe_answer_comes_whole_and_tells_of_its_check(safe: Guarded, protocol: str) -> None:
    safe.openai.reply("All € is", f" {NOTED}", " well. 👩‍👩‍👧")
    status, answer = await safe.post(f"/{protocol}/chat", f"Why {NOTED}?")
    assert status == 200
    assert text_of(json.loads(answer)) == f"All € is {NOTED} well. 👩‍👩‍👧"
    assert '"Safety"' in answer
    assert '"severity":"medium"' in answer
    safe.openai.reply("All € is", f" {NOTED}", " well. 👩‍👩‍👧")
    status, stream = await safe.post(f"/{protocol}/chat/stream", f"Why {NOTED}?")
    assert status == 200
    assert '"Safety"' in stream
    assert '"severity":"medium"' in stream
    assert '"error"' not in stream


async def test_results_are_where_the_choices_protocol_has_them(safe: Guarded) -> None:
    medium = {"violence": {"filtered": False, "severity": "medium"}}
    safe.openai.reply(f"{NOTED} is allowed.")
    _, answer = await safe.post("/rag-chat/chat", NOTED)
    whole = json.loads(answer)
    assert whole["choices"][0]["content_filter_results"] == medium
    assert whole["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": medium}]
    safe.openai.reply(f"{NOTED} is allowed.")
    _, stream = await safe.post("/rag-chat/chat/stream", NOTED)
    chunks = records(stream)
    assert [chunk["prompt_filter_results"] for chunk in chunks if "prompt_filter_results" in chunk] == [
        [{"prompt_index": 0, "content_filter_results": medium}]
    ]
    last = next(chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["finish_reason"])
    assert last["content_filter_results"] == medium


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_stream_ends_before_what_is_forbidden_and_so_does_the_models(safe: Guarded, protocol: str) -> None:
    never = asyncio.Event()
    safe.openai.reply("First this. ", f"Then {BAD[:5]}", f"{BAD[5:]} and", " more.", never)
    status, stream = await safe.post(f"/{protocol}/chat/stream")
    assert status == 200
    assert "First this. " in stream
    assert BAD[:5] not in stream
    assert "more." not in stream
    assert "safety check" in json.dumps(records(stream)[-1])
    assert "filter" in json.dumps(records(stream)[-2:]).lower()
    await asyncio.wait_for(safe.openai.chats[-1].disconnected.wait(), 60)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_forbidden_answer_is_no_answer(safe: Guarded, protocol: str) -> None:
    safe.openai.reply("First this. ", f"Then {BAD} and", " more.")
    status, answer = await safe.post(f"/{protocol}/chat")
    assert status == 400
    assert "safety check stopped this answer" in answer
    assert BAD not in answer
    assert "First this" not in answer


IN_THE_STREAM = ("ai-chat", "chat/stream")
"""Where the page of azure-search-openai-demo would show nothing but the status."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("path", ["chat", "chat/stream"])
async def test_a_forbidden_question_is_refused_with_its_status(safe: Guarded, protocol: str, path: str) -> None:
    status, answer = await safe.post(f"/{protocol}/{path}", f"Where is the {BAD}?")
    assert status == (200 if (protocol, path) == IN_THE_STREAM else 400)
    assert "safety check refused what was asked" in answer
    assert BAD not in answer


async def test_the_demos_page_reads_a_refusal_in_the_stream(safe: Guarded) -> None:
    _, stream = await safe.post("/ai-chat/chat/stream", f"Where is the {BAD}?")
    *_, last = records(stream)
    assert "safety check refused what was asked" in last["error"]
    assert not [one for one in records(stream) if one.get("delta", {}).get("content")]


async def test_forbidden_follow_up_questions_do_not_go_out(safe: Guarded) -> None:
    safe.openai.reply("Fine.", f"\n<<Why?>>\n<<Who is {BAD}?>>")
    _, stream = await safe.post("/ai-chat/chat/stream", context=FOLLOWUPS)
    assert "Fine." in stream
    assert "Why?" not in stream
    assert BAD not in stream
    assert safe.rai.sessions[-1].texts[MORE] == f"Why?\nWho is {BAD}?"


async def test_follow_up_questions_that_are_cleared_go_out(safe: Guarded) -> None:
    safe.openai.reply("Fine.", "\n<<Why?>>\n<<Who?>>")
    _, stream = await safe.post("/ai-chat/chat/stream", context=FOLLOWUPS)
    assert records(stream)[-1]["context"]["followup_questions"] == ["Why?", "Who?"]


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_a_forbidden_search_query_of_the_models_is_not_shown(safe: Guarded, path: str) -> None:
    safe.openai.call_tool("search_sources", {"search_queries": [f"{BAD} implants"]})
    status, answer = await safe.post(path, messages=CONVERSATION)
    assert status == (200 if path == "/chat/stream" else 400)
    assert BAD not in answer


async def test_a_search_query_of_the_models_is_shown_when_it_is_cleared(safe: Guarded) -> None:
    safe.openai.call_tool("search_sources", {"search_queries": ["dental implants"]})
    safe.openai.reply("Fine.")
    _, answer = await safe.post("/chat/stream", messages=CONVERSATION)
    assert "dental implants" in answer
    assert {ANSWER: "dental implants"} in [session.texts for session in safe.rai.sessions[-3:]]
    asked = [session.texts for session in safe.rai.sessions if Place(Side.PROMPT, "2", 0) in session.texts][-1]
    assert [asked[Place(Side.PROMPT, str(index), 0)] for index in range(3)] == [
        message["content"] for message in CONVERSATION
    ]


async def test_what_was_refused_is_in_no_history_and_no_log(safe: Guarded) -> None:
    chats = Chats(safe.host, safe.http)
    chat = await chats.start()
    state = {"conversation_id": chat}
    safe.openai.reply(f"The {BAD}")
    await safe.post("/chat/stream", "Who?", session_state=state)
    await safe.post("/chat/stream", f"{BAD}?", session_state=state)
    safe.openai.reply("Me.")
    await safe.post("/chat/stream", "Really?", session_state=state)
    async with asyncio.timeout(30):  # what was shown of the answer that the guard has cut is written in the background
        while len(kept := await chats.messages(chat)) < 4:  # noqa: ASYNC110 (in another process)
            await asyncio.sleep(0.05)
    assert sorted(message["content"].strip() for message in kept) == ["Me.", "Really?", "The", "Who?"]
    await asyncio.to_thread(safe.host.wait_for, r"turn ended: content_filter")
    assert BAD not in safe.host.log()


async def test_a_caller_who_leaves_ends_the_check_and_the_models_work(safe: Guarded) -> None:
    never = asyncio.Event()
    safe.openai.reply("First this. ", never)
    # To a server the end of a call that was given up may look like the client's last word, after which it completes.
    safe.rai.script(cleared(), never)
    async with safe.http.post(safe.host.url + "/chat/stream", json=body(NOTHING_FOUND)) as response:
        await response.content.readline()
    response.close()
    session = safe.rai.sessions[-1]
    await asyncio.wait_for(session.ended.wait(), 60)
    assert session.left
    await asyncio.wait_for(safe.openai.chats[-1].disconnected.wait(), 60)


async def test_many_at_once_do_not_mix(safe: Guarded) -> None:
    async def one(number: int) -> tuple[int, str]:
        return await safe.post("/semantic-kernel/chat", f"{BAD if number % 3 == 0 else 'Good'} {number}")

    answers = await asyncio.gather(*(one(number) for number in range(20)))
    for number, (status, answer) in enumerate(answers):
        assert status == (400 if number % 3 == 0 else 200), answer


async def test_annotate_reports_and_holds_nothing_back(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="annotate") as app:
        openai.reply("First this. ", f"Then {BAD}.")
        status, stream = await app.post("/rag-chat/chat/stream", f"{BAD}?")
        assert status == 200
        assert f"Then {BAD}." in stream
        chunks = records(stream)
        high = {"hate": {"filtered": False, "severity": "high"}}
        (last,) = [chunk for chunk in chunks if chunk["choices"][0]["finish_reason"]]
        assert last["choices"][0]["content_filter_results"] == high
        assert last["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": high}]
        async with app.http.get(app.host.url + "/health") as response:
            safety = (await response.json())["parts"]["safety"]
        assert (safety["ok"], safety["mode"]) == (True, "annotate")


async def test_off_means_that_nothing_is_asked(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, RAI_MODE="off") as app:
        async with app.http.get(app.host.url + "/health") as response:
            assert (await response.json())["parts"]["safety"]["mode"] == "off"
        before = len(app.rai.sessions)
        openai.reply(f"The {BAD}.")
        status, answer = await app.post("/chat")
        assert (status, len(app.rai.sessions)) == (200, before)
        assert BAD in answer
        assert '"Safety"' not in answer


async def test_an_agent_who_answers_single_chat_is_guarded(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, CHAT_AGENT="Researcher") as app:
        openai.call_tool("search", {"query": f"a {BAD}"})
        status, answer = await app.post("/chat")
        assert status == 400
        assert BAD not in answer
        openai.call_tool("search", {"query": "dental"})
        openai.reply("Fine.")
        status, answer = await app.post("/chat")
        assert status == 200
        assert "Fine." in answer


async def test_health_says_what_checks_and_how(safe: Guarded) -> None:
    async with safe.http.get(safe.host.url + "/health") as response:
        safety = (await response.json())["parts"]["safety"]
    assert (response.status, safety["ok"], safety["mode"]) == (200, True, "enforce")
