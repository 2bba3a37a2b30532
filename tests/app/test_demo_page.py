"""The routes that azure-search-openai-demo's web page needs besides chat, as the page calls them."""

import re
from typing import Any

import aiohttp
import pytest

from tests.app.test_answers import body, read_lines
from tests.local.running_host import RunningHost

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the app."""

PAGES = pytest.mark.parametrize("page", ["ai-chat", "ai-chat-2026-04"])
SESSION = re.compile(r"[0-9a-f-]{36}")
NULL: dict[str, Any] = {"session_state": None}


async def answered(http: aiohttp.ClientSession, url: str, **more: Any) -> dict[str, Any]:
    async with http.post(f"{url}/chat", json=body(**more)) as response:
        assert response.status == 200
        return await response.json()


@PAGES
async def test_a_first_answer_comes_with_a_state_under_which_the_page_keeps_the_chat(
    built_in: RunningHost, http: aiohttp.ClientSession, page: str
) -> None:
    url = f"{built_in.url}/{page}"
    first, second = await answered(http, url, **NULL), await answered(http, url)
    assert SESSION.fullmatch(first["session_state"])
    assert first["session_state"] != second["session_state"]
    again = await answered(http, url, session_state=first["session_state"])
    assert again["session_state"] == first["session_state"]
    async with http.post(f"{url}/chat/stream", json=body(**NULL)) as response:
        assert SESSION.fullmatch((await read_lines(response))[0]["session_state"])


@PAGES
async def test_the_page_learns_what_it_can_offer_before_anyone_signs_in(
    built_in: RunningHost, http: aiohttp.ClientSession, page: str
) -> None:
    async with http.get(f"{built_in.url}/{page}/config") as response:
        config = await response.json()
    shown = {name for name, value in config.items() if value is True and name.startswith("show")}
    assert shown == {"showLanguagePicker", "showChatHistoryBrowser"}
    assert config["streamingEnabled"] is True
    async with http.get(f"{built_in.url}/{page}/auth_setup") as response:
        setup = await response.json()
    assert setup["useLogin"] is False
    assert setup["msalConfig"]["auth"]["redirectUri"] == "/redirect"


async def test_a_cited_document_opens_below_the_base_url(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.get(f"{built_in.url}/content/plan.pdf") as response:
        plain = await response.read()
    async with http.get(f"{built_in.url}/ai-chat-2026-04/content/plan.pdf") as response:
        assert (response.status, response.content_type) == (200, "application/pdf")
        assert await response.read() == plain
    async with http.get(f"{built_in.url}/ai-chat-2024-05-29/content/none.pdf") as response:
        assert response.status == 404
        assert isinstance((await response.json())["error"], str)
    async with http.get(f"{built_in.url}/smtp/content/plan.pdf") as response:
        assert response.status == 404
        assert "There is no protocol of that name" in await response.text()


@pytest.mark.parametrize(
    ("method", "path", "why"),
    [
        ("POST", "upload", "set AUTH_MODE"),
        ("GET", "list_uploaded", "set AUTH_MODE"),
        ("POST", "delete_uploaded", "set AUTH_MODE"),
        ("POST", "speech", "makes no speech"),
    ],
)
async def test_what_is_not_offered_is_a_404_that_says_why(
    built_in: RunningHost, http: aiohttp.ClientSession, method: str, path: str, why: str
) -> None:
    async with http.request(method, f"{built_in.url}/ai-chat-2026-04/{path}", json={}) as response:
        assert response.status == 404
        assert why in (await response.json())["error"]


async def test_protocols_that_the_page_does_not_speak_have_no_routes_for_it(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    for name in ("semantic-kernel", "ai-chat-2024-05-29", "smtp"):
        async with http.get(f"{built_in.url}/{name}/config") as response:
            assert response.status == 404
            assert "ai-chat-2026-04" in (await response.json())["error"]


async def test_a_chat_that_the_page_keeps_here_comes_back_for_every_version_of_it(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    newest, older = (f"{built_in.url}/{page}/chat_history" for page in ("ai-chat-2026-04", "ai-chat"))
    answer = await answered(http, f"{built_in.url}/ai-chat-2026-04", **NULL)
    session, question = answer["session_state"], "What does the plan pay? " * 5
    for answers in ([[question, answer]], [[question, answer], ["And glasses?", answer]]):
        async with http.post(newest, json={"id": session, "answers": answers}) as response:
            assert (response.status, await response.json()) == (201, {})
    async with http.get(f"{older}/sessions", params={"count": 100}) as response:
        listed = [chat for chat in (await response.json())["sessions"] if chat["id"] == session]
    assert [chat["title"][:24] for chat in listed] == ["What does the plan pay? "]
    async with http.get(f"{older}/sessions/{session}") as response:
        chat = await response.json()
    assert [pair[0] for pair in chat["answers"]] == [question, "And glasses?"]
    for _, kept in chat["answers"]:
        assert kept["output_text"] == kept["message"]["content"] == answer["output_text"]
        assert kept["context"] == answer["context"]
        assert kept["session_state"] == session
    async with http.delete(f"{older}/sessions/{session}") as response:
        assert response.status == 204
    async with http.get(f"{newest}/sessions/{session}") as response:
        assert response.status == 404


async def test_a_turn_of_a_chat_that_the_page_keeps_is_not_recorded_as_well(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    url = f"{built_in.url}/ai-chat-2026-04"
    answer = await answered(http, url, **NULL)
    session = answer["session_state"]
    async with http.post(f"{url}/chat_history", json={"id": session, "answers": [["What?", answer]]}) as response:
        assert response.status == 201
    await answered(http, url, session_state=session)
    async with http.get(f"{url}/chat_history/sessions/{session}") as response:
        assert len((await response.json())["answers"]) == 1
    async with http.delete(f"{url}/chat_history/sessions/{session}") as response:
        assert response.status == 204


async def test_the_list_of_chats_comes_in_pages(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    url = f"{built_in.url}/ai-chat/chat_history"
    made: list[str] = []
    for _ in range(3):
        answer = await answered(http, f"{built_in.url}/ai-chat", **NULL)
        made.insert(0, answer["session_state"])
        async with http.post(url, json={"id": made[0], "answers": [["What?", answer]]}) as response:
            assert response.status == 201
    found: list[str] = []
    after: dict[str, str] = {}
    while len(found) < 100:
        async with http.get(f"{url}/sessions", params={"count": 2} | after) as response:
            page = await response.json()
        found += [chat["id"] for chat in page["sessions"]]
        if not page["continuation_token"]:
            break
        after = {"continuationToken": page["continuation_token"]}
    assert [chat for chat in found if chat in made] == made
    for chat in made:
        async with http.delete(f"{url}/sessions/{chat}") as response:
            assert response.status == 204


WRONG_CHATS: list[tuple[dict[str, Any], str]] = [
    ({"id": "x", "answers": [["What?", {"output_text": "This."}]]}, "id: "),
    ({"id": "5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a", "answers": [["What?", {"output_text": "This."}]]}, "id: "),
    ({"id": "5f0c3f7e-8f5b-8c39-9d55-6f1f6f0f4b1a", "answers": []}, "answers: is empty"),
    ({"id": "5f0c3f7e-8f5b-8c39-9d55-6f1f6f0f4b1a", "answers": [["What?"]]}, "answers[0]"),
    ({"id": "5f0c3f7e-8f5b-8c39-9d55-6f1f6f0f4b1a", "answers": [["What?", {}]]}, "answers[0]"),
    ({"id": "5f0c3f7e-8f5b-8c39-9d55-6f1f6f0f4b1a", "answers": [[1, {"output_text": "This."}]]}, "answers[0]"),
]


@pytest.mark.parametrize(("sent", "named"), WRONG_CHATS)
async def test_a_chat_that_is_wrong_is_refused_with_what_is_wrong(
    built_in: RunningHost, http: aiohttp.ClientSession, sent: dict[str, Any], named: str
) -> None:
    async with http.post(f"{built_in.url}/ai-chat/chat_history", json=sent) as response:
        assert response.status == 400
        assert named in (await response.json())["error"]


@pytest.mark.parametrize("count", ["0", "101", "-1", "x", "²", "9" * 5000])
async def test_a_list_has_bounds(built_in: RunningHost, http: aiohttp.ClientSession, count: str) -> None:
    async with http.get(f"{built_in.url}/ai-chat/chat_history/sessions", params={"count": count}) as response:
        assert response.status == 400
        assert "from 1 to 100" in (await response.json())["error"]
