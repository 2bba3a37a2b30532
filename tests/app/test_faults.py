"""What callers are told when something is wrong with their request, the services or the settings."""

import asyncio
import json
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.test_answers import body, read_lines
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

BAD_BODIES: list[tuple[bytes, str]] = [
    (b"", "no body"),
    (b"question=Hi", "not JSON"),
    (b"[]", "no object"),
    (b'{"messages": [{"role": "user", "content": "\xff"}]}', "not UTF-8"),
    (b'{"a":' * 3_000 + b"1" + b"}" * 3_000, "recursion limit"),
    (b"17", "no object"),
    (b'{"messages": [], "session_state": ' + b"1" * 5_000 + b"}", "more than 400 digits"),
    (b"{}", "messages: is missing"),
    (b'{"messages": []}', "messages"),
    (b'{"messages": [{"role": "assistant", "content": "Hi"}]}', "there is no question"),
    (b'{"messages": [{"role": "robot", "content": "Hi"}]}', "messages[0].role"),
    (b'{"messages": [{"role": "user", "content": {}}]}', "messages[0].content"),
    (b'{"messages": [{"role": "user", "content": "Hi"}], "context": {"top": "3"}}', "context.top"),
    (b'{"messages": [{"role": "user", "content": "Hi"}], "context": {"retrieval_mode": "vectors"}}', "EMBEDDING"),
]


@pytest.mark.parametrize(("sent", "says"), BAD_BODIES, ids=[says for _, says in BAD_BODIES])
@pytest.mark.parametrize("path", ["/chat", "/chat/stream", "/ai-chat-2024-05-29/chat"])
async def test_bad_input_is_a_400_in_the_shape_of_the_protocol(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str, sent: bytes, says: str
) -> None:
    async with http.post(built_in.url + path, data=sent) as response:
        error = (await response.json())["error"]
    assert (response.status, response.headers["X-Content-Type-Options"]) == (400, "nosniff")
    if "2024" in path:
        assert set(error) == {"code", "message"}
        assert error["code"] == "bad_request"
        error = error["message"]
    assert says in error
    assert "(invocation " in error


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_over_the_limit_is_a_413(
    built_in: RunningHost, http: aiohttp.ClientSession, *, declared: bool
) -> None:
    async def pieces() -> Any:
        for _ in range(20):
            yield b" " * 64 * 1024

    async with http.post(
        built_in.url + "/chat", data=BytesIO(b" " * 20 * 64 * 1024) if declared else pieces()
    ) as response:
        error = (await response.json())["error"]
    assert response.status == 413
    assert "1,048,576 bytes" in error


async def test_a_body_at_the_limit_is_read(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    whole = json.dumps(body()).encode().ljust(1024 * 1024)
    async with http.post(built_in.url + "/chat", data=BytesIO(whole)) as response:
        assert response.status == 200


async def test_a_question_of_the_longest_length_is_answered(built_in: RunningHost, http: aiohttp.ClientSession) -> None:
    longest = ('dental " * AND ( ' * 50_000)[: 4 * 8_000 + 3]
    for question, status in ((longest, 200), (longest + "x", 413)):
        async with http.post(built_in.url + "/chat", json=body(question)) as response:
            assert response.status == status


SHOWN = "/ai-chat/chat/stream"
"""Where the page of azure-search-openai-demo until 9 April 2026 asks: of a status it shows the number alone."""


async def shown_by_the_page(response: aiohttp.ClientResponse) -> str:
    """What that page shows of a stream that fails: the sentence of its last record."""
    assert (response.status, response.content_type) == (200, "application/json-lines")
    return json.loads((await response.text()).strip().split("\n")[-1])["error"]


@pytest.mark.parametrize(
    ("status", "says"), [(429, "Try again in 47 seconds"), (401, "(invocation "), (400, "(invocation ")]
)
async def test_the_demos_page_shows_the_sentence_of_a_fault(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, status: int, says: str
) -> None:
    openai.fail(status, headers={"Retry-After": "47"})
    async with http.post(app.url + SHOWN, json=body()) as response:
        assert says in await shown_by_the_page(response)


async def test_the_demos_page_shows_what_is_wrong_before_the_turn(
    built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.post(built_in.url + SHOWN, json=body("dental " * 10_000)) as response:
        assert "shorten it" in await shown_by_the_page(response)
    async with http.post(built_in.url + SHOWN, data=b"{}") as response:  # which no page sends
        assert response.status == 400


@pytest.mark.parametrize(
    ("path", "status"), [("/chat", 400), ("/chat/stream", 200), ("/ai-chat-2026-04/chat/stream", 400)]
)
async def test_a_refusal_has_the_status_with_which_its_client_shows_the_sentence(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str, status: int
) -> None:
    openai.fail(400, code="content_filter")
    async with http.post(app.url + path, json=body()) as response:
        last = (await response.text()).strip().split("\n")[-1]
    assert response.status == status
    assert "content filter" in json.loads(last)["error"].lower()


@pytest.mark.parametrize(
    ("status", "headers", "code", "expected"),
    [
        (429, {"Retry-After": "47"}, None, 429),
        (400, {}, "context_length_exceeded", 400),
        (401, {}, "invalid_api_key", 503),
        (404, {}, "model_not_found", 503),
    ],
)
@pytest.mark.parametrize("path", ["/chat", "/chat/stream", "/ai-chat-2026-04/chat/stream"])
async def test_a_services_fault_before_the_answer_keeps_its_status(
    app: RunningHost,
    openai: OpenAIStandIn,
    http: aiohttp.ClientSession,
    path: str,
    status: int,
    headers: dict[str, str],
    code: str | None,
    expected: int,
) -> None:
    openai.fail(status, code=code, headers=headers)
    async with http.post(app.url + path, json=body()) as response:
        error = (await response.json())["error"]
    assert response.status == expected
    assert response.headers.get("retry-after") == (headers.get("Retry-After") if expected < 500 else "5")
    assert "scripted" not in error


@pytest.mark.parametrize(
    ("path", "more"),
    [("/chat/stream", {}), ("/chat", {"stream": True}), ("/semantic-kernel/chat/stream", {})],
)
async def test_a_rate_limit_that_a_stream_cannot_wait_for_is_its_status(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession, path: str, more: dict[str, Any]
) -> None:
    """It could be waited for, by a response whose status waits as long."""
    openai.fail(429, headers={"Retry-After": "7"})
    async with http.post(app.url + path, json=body(**more)) as response:
        assert "7 seconds" in (await response.json())["error"]
    assert (response.status, response.headers["retry-after"]) == (429, "7")


async def test_a_fault_amid_the_stream_is_its_last_line(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    async with http.post(app.url + "/ai-chat-2024-05-29/chat/stream", json=body()) as response:
        lines = await read_lines(response)
    assert response.status == 200
    assert lines[1]["delta"] == {"content": "Half"}
    assert list(lines[-1]) == ["error"]
    assert lines[-1]["error"]["code"] == "unavailable"


async def test_half_an_answer_is_not_given_as_a_whole_one(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)
    async with http.post(app.url + "/chat", json=body()) as response:
        answer = await response.json()
    assert response.status == 503
    assert list(answer) == ["error"]


async def test_an_answer_over_the_deadline_is_a_504(data_dir: Any, http: aiohttp.ClientSession) -> None:
    short = {"CHAT_DEADLINE_SECONDS": "0.5"}
    async with OpenAIStandIn() as slow, hosted(data_dir, slow.settings | NO_VECTORS | short) as host:
        slow.hang()
        async with http.post(host.url + "/chat", json=body()) as response:
            assert response.status == 504


async def test_a_half_configured_service_is_named_at_start_in_health_and_to_callers(
    data_dir: Any, http: aiohttp.ClientSession
) -> None:
    async with hosted(data_dir, {"AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com"}) as host:
        assert "AZURE_OPENAI_CHAT_DEPLOYMENT is missing" in host.log()
        async with http.get(host.url + "/health") as response:
            health = await response.json()
        assert response.status == 503
        assert "AZURE_OPENAI_CHAT_DEPLOYMENT is missing" in health["error"]
        async with http.post(host.url + "/chat", json=body()) as response:
            answer = await response.json()
        assert response.status == 503
        assert "AZURE_OPENAI_CHAT_DEPLOYMENT is missing" in answer["error"]


async def test_health_says_what_is_built_in_and_what_is_reachable(
    built_in: RunningHost, app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with http.get(built_in.url + "/health") as response:
        alone = await response.json()
    assert (response.status, alone["status"]) == (200, "ok")
    assert alone["parts"]["model"]["kind"] == "embedded"
    assert "not a language model" in alone["parts"]["model"]["detail"]
    assert alone["parts"]["retrieval"]["passages"] == 3
    async with http.get(app.url + "/health") as response:
        served = await response.json()
    assert (response.status, served["status"]) == (200, "ok")
    assert served["parts"]["model"]["kind"] == "openai-compatible"
    assert openai.api_key not in json.dumps(served)


async def test_a_service_that_cannot_be_reached_is_a_503_and_unhealthy(
    data_dir: Any, http: aiohttp.ClientSession
) -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_CHAT_MODEL": "m"}
    async with hosted(data_dir, env) as host:
        async with http.get(host.url + "/health") as response:
            assert response.status == 503
        # No stream: its status waits two seconds, and that is about how long the app tries.
        async with http.post(host.url + "/chat", json=body()) as response:
            answer = await response.json()
    assert response.status == 503
    assert "OPENAI_BASE_URL" in answer["error"]


async def test_the_log_has_ids_and_outcomes_and_no_users_text_and_no_key(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    before = app.log()
    openai.reply("Zebrafish answer")
    async with http.post(app.url + "/chat/stream?note=Quagga", json=body("Xylophone question")) as response:
        await response.read()
    openai.fail(400, error={"message": "Okapi", "code": "x"})
    async with http.post(app.url + "/chat", json=body("Xylophone again")) as response:
        await response.read()
    await asyncio.to_thread(app.wait_for, r"(?s)turn ended: stop.*turn ended: bad_request", after=before)
    log = app.log()
    assert not [word for word in ("Zebrafish", "Quagga", "Xylophone", "Okapi", openai.api_key) if word in log]
