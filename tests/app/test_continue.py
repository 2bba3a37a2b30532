"""*Continue*: a conversation that ends with the assistant's message goes on from its last letter, on every wire."""

import json
import re
from typing import Any

import aiohttp
import pytest

from shared.core.fold import notice_of
from shared.events import Finished
from tests.app.test_answers import QUESTION
from tests.app.test_history import Chats
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

CUT = notice_of(Finished("length"))
"""What the app has written below an answer that broke off, and its clients send back."""


def plain(role: str, text: str | None) -> Any:
    return {"role": role, "content": text}


def items(role: str, text: str | None) -> Any:
    return {"role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]}


def parts(role: str, text: str | None) -> Any:
    return {"id": role, "role": role, "parts": [{"type": "text", "text": text}] if text else []}


def with_id(role: str, text: str | None) -> Any:
    return {"id": role, "role": role, "content": text}


def kernel(role: str, text: str | None) -> Any:
    return {"Role": {"Label": role}, "Items": [{"$type": "TextContent", "Text": text}] if text else []}


def flat(role: str, text: str | None) -> Any:
    return {"authorRole": role.upper(), "content": text}


def package(role: str, text: str | None) -> Any:
    return {"role": role, "items": [{"content_type": "text", "text": text}] if text else []}


WIRES = [
    ("/v1/chat/completions", "messages", plain),
    ("/openai/deployments/gpt-4o/chat/completions", "messages", plain),
    ("/v1/responses", "input", items),
    ("/ai-sdk/chat", "messages", parts),
    ("/ag-ui", "messages", with_id),
    ("/semantic-kernel/chat", "messages", kernel),
    ("/semantic-kernel/chat", "messages", flat),
    ("/semantic-kernel-python/chat", "messages", package),
    *(
        (path, "messages", plain)
        for path in (
            "/semantic-kernel/chat",
            "/chat",
            "/chat/stream",
            "/ai-chat-2026-04/chat/stream",
            "/ai-chat-2024-05-29/chat",
            "/rag-chat/chat",
        )
    ),
]


async def post(http: aiohttp.ClientSession, url: str, body: Any) -> tuple[int, str]:
    async with http.post(url, json=body) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("written", ["It pays", None])
@pytest.mark.parametrize(("path", "key", "said"), WIRES, ids=[f"{path} {said.__name__}" for path, _, said in WIRES])
async def test_each_wire_goes_on_with_an_answer_and_begins_one_that_has_no_word(
    app: RunningHost,
    http: aiohttp.ClientSession,
    openai: OpenAIStandIn,
    path: str,
    key: str,
    said: Any,
    written: str | None,
) -> None:
    openai.reply("80 percent of it [plan.pdf#page=3].")
    sent = [said("user", QUESTION), *([said("assistant", written + CUT)] if written else [])]
    if not written and key != "input":
        sent.append(said("assistant", None))
    status, told = await post(http, app.url + path, {key: sent})
    assert status == 200, told
    assert "80 percent of it" in told
    assert "It pays80" not in told
    *_, question, last = [{"role": "", "content": ""}, *_prompt(openai)]
    if written:
        assert last == {"role": "assistant", "content": written}
        assert QUESTION in question["content"]
        assert "Go on from its last letter" in _prompt(openai)[0]["content"]
    else:
        assert (last["role"], QUESTION in last["content"]) == ("user", True)
        assert "Go on from its last letter" not in _prompt(openai)[0]["content"]


AGAIN = [
    ("/v1/chat/completions", {"session_state": {"id": "CHAT"}}, "messages", plain),
    ("/chat", {"session_state": {"id": "CHAT"}}, "messages", plain),
    ("/semantic-kernel/chat", {"ConversationId": "CHAT"}, "messages", kernel),
    ("/ai-sdk/chat", {"id": "CHAT", "trigger": "regenerate-message"}, "messages", parts),
    ("/ag-ui", {"threadId": "CHAT"}, "messages", with_id),
    ("/ai-sdk/chat", {"id": "CHAT"}, "messages", parts),
    ("/v1/responses", {"session_state": {"id": "CHAT"}}, "input", items),
    ("/v1/responses", {"previous_response_id": "RESPONSE"}, "input", items),
]


@pytest.mark.parametrize(
    ("path", "chat", "key", "said"), AGAIN, ids=[f"{path} {sorted(chat)}" for path, chat, *_ in AGAIN]
)
async def test_a_question_that_is_asked_again_is_answered_without_its_first_answer(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn, path: str, chat: Any, key: str, said: Any
) -> None:
    """*Regenerate*, where the request names a chat or a response that the app keeps."""
    openai.reply("Hello.")
    _, hello = await post(http, f"{app.url}/v1/responses", {"input": "Hello?"})
    chats = Chats(app, http)
    ids = {"CHAT": await chats.start(), "RESPONSE": json.loads(hello)["id"]}
    named = json.loads(re.sub("CHAT|RESPONSE", lambda found: ids[found[0]], json.dumps(chat)))
    for answer in ("Once.", "Twice."):
        if "previous_response_id" in chat:
            openai.call_tool("search_sources", {"search_queries": ["dental"]})
        openai.reply(answer)
        status, told = await post(http, app.url + path, named | {key: [said("user", QUESTION)]})
        assert (status, answer in told) == (200, True), told
    kept = [one["content"] for one in await chats.messages(ids["CHAT"])]
    assert "Once." not in json.dumps(_prompt(openai))
    assert kept == ([] if "previous_response_id" in chat else [QUESTION, "Twice."])


def _prompt(openai: OpenAIStandIn) -> list[Any]:
    messages: Any = openai.chats[-1].body["messages"]
    return messages


async def test_an_answer_to_which_nothing_is_missing_stays_as_it_is(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    openai.reply()
    body = {"messages": [plain("user", QUESTION), plain("assistant", "It pays 80 % [plan.pdf#page=3].")]}
    status, told = await post(http, f"{app.url}/v1/chat/completions", body)
    assert (status, json.loads(told)["choices"][0]["message"]["content"]) == (200, "")


async def test_the_built_in_model_adds_what_it_has_not_said(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    url = f"{built_in.url}/v1/chat/completions"
    _, first = await post(http, url, {"messages": [plain("user", QUESTION)]})
    text = json.loads(first)["choices"][0]["message"]["content"]
    status, told = await post(http, url, {"messages": [plain("user", QUESTION), plain("assistant", text)]})
    assert status == 200, told
    assert json.loads(told)["choices"][0]["message"]["content"] != text


async def test_a_system_message_at_the_end_is_done_by_the_model_alone(
    app: RunningHost, http: aiohttp.ClientSession, openai: OpenAIStandIn
) -> None:
    openai.reply("They spoke of the plan.")
    asked = [plain("user", QUESTION), plain("assistant", "80 %."), plain("system", "Summarize the discussion.")]
    status, told = await post(http, f"{app.url}/v1/chat/completions", {"messages": asked})
    assert (status, "They spoke of the plan." in told) == (200, True)
    assert _prompt(openai)[-1] == plain("user", "Summarize the discussion.")
    assert "<source>" not in json.dumps(_prompt(openai))
