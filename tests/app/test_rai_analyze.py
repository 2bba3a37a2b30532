"""The companion function over HTTP: in front of the reference service, of a scripted one, and of Content Safety."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
import pytest_asyncio

from local.rai_service.__main__ import SAMPLE_POLICY
from local.rai_service.policy import load_policy
from local.rai_service.server import serving
from shared.chat_types import Json
from shared.guard import Place, Side, Watermark
from shared.guard.rai.wire import PolicyName
from shared.wire.rai_body import ANALYSIS_LINES
from shared.wire.request_body import BODY_LIMIT
from tests.app.conftest import hosted
from tests.app.test_described_answers import OPENAPI, problems, records
from tests.local.running_host import RunningHost
from tests.stand_ins.content_safety import ContentSafetyStandIn
from tests.stand_ins.rai_service import DONE, RaiStandIn, Session, cleared

pytestmark = pytest.mark.asyncio(loop_scope="session")

PLACE = Place(Side.PROMPT, "0", 0)
UNSAFE = "I want to make a big bomb."
EVENT: dict[str, Json] = {
    "sourceType": "PROMPT",
    "apiName": "Chatcompletion",
    "payload": '{ "model": "gpt-4o", "messages": [{"role": "user", "content": "Hello!"}] }',
}
END = {"completion": {"end_reason": "END_REASON_END_OF_STREAM", "error_description": ""}}


def all_received(session: Session) -> bool:
    return session.half_closed


ROUTES = pytest.mark.parametrize("path", ["/rai/analyze", "/rai/analyze/stream"])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def reference(data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app with the reference service; no turn is guarded."""
    async with (
        serving([load_policy(SAMPLE_POLICY)]) as port,
        hosted(data_dir, {"RAI_ENDPOINT": f"127.0.0.1:{port}"}) as host,
    ):
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rai() -> AsyncGenerator[RaiStandIn]:
    async with RaiStandIn() as service:
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scripted(data_dir: Path, rai: RaiStandIn) -> AsyncGenerator[RunningHost]:
    """The app with a service that the tests script."""
    async with hosted(data_dir, {"RAI_ENDPOINT": rai.endpoint}) as host:
        yield host


async def post(http: aiohttp.ClientSession, url: str, body: Any) -> tuple[int, dict[str, Any]]:
    async with http.post(url, json=body) as response:
        return response.status, await response.json()


async def analysed(http: aiohttp.ClientSession, host: RunningHost, body: Any) -> dict[str, Any]:
    """A whole analysis, which is as described."""
    status, answer = await post(http, host.url + "/rai/analyze", body)
    assert status == 200, answer
    assert not problems(described("/rai/analyze", 200), "application/json", answer)
    return answer


def described(path: str, status: int) -> dict[str, Any]:
    return OPENAPI["paths"][path]["post"]["responses"][str(status)]


def reached(answer: dict[str, Any]) -> dict[tuple[str, str, int], int]:
    """How far each text was cleared."""
    marks = [event["watermark"] for event in answer["events"] if "watermark" in event]
    return {(mark["sourceType"], mark["messageId"], mark["contentIndex"]): mark["offset"] for mark in marks}


async def test_a_harmless_text_is_not_blocked(reference: RunningHost, http: aiohttp.ClientSession) -> None:
    answer = await analysed(http, reference, {"text": "Grüße!"})
    assert answer["blocked"] is False
    assert reached(answer) == {("PROMPT", "0", 0): 8}
    assert answer["events"][-1] == END


async def test_a_harmful_text_is_blocked_with_what_was_found(
    reference: RunningHost, http: aiohttp.ClientSession
) -> None:
    answer = await analysed(http, reference, {"text": f"Grüße! {UNSAFE}", "sourceType": "COMPLETION"})
    assert answer["blocked"] is True
    results = [event["analysisResult"] for event in answer["events"] if "analysisResult" in event]
    [blocking] = [found for found in results if any(task["isBlocking"] for task in found["harmCategoryTaskResults"])]
    assert blocking["offset"]["sourceType"] == "COMPLETION"
    assert blocking["offset"]["startOffset"] >= len("Grüße! ".encode())
    [task] = [task for task in blocking["harmCategoryTaskResults"] if task["isBlocking"]]
    assert (task["kind"], task["harmCategoryTaskResult"]["harmCategory"]) == ("HARM_CATEGORY", "VIOLENCE")
    assert not any(offset > blocking["offset"]["startOffset"] for offset in reached(answer).values())


@pytest.mark.parametrize(
    ("source", "api", "payload", "places"),
    [
        (
            "PROMPT",
            "Chatcompletion",
            {
                "messages": [
                    {"role": "developer", "content": "One"},
                    {"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "Two…"}]},
                ]
            },
            {("0", 0): 3, ("1", 1): 6},
        ),
        (
            "COMPLETION",
            "Chatcompletion",
            {"choices": [{"index": 0, "message": {"content": "a"}}, {"index": 1, "message": {"content": "bc"}}]},
            {("0", 0): 1, ("1", 0): 2},
        ),
        ("PROMPT", "Completion", {"prompt": ["One", "Two"]}, {("0", 0): 6}),
        ("COMPLETION", "Completion", {"choices": [{"index": 3, "text": "Three"}]}, {("3", 0): 5}),
        ("PROMPT", "Imagegeneration", {"prompt": "A cat"}, {("0", 0): 5}),
        (
            "PROMPT",
            "Realtime",
            {
                "type": "conversation.item.create",
                "item": {"id": "item_01", "type": "message", "content": [{"type": "input_text", "text": "Hey"}]},
            },
            {("item_01", 0): 3},
        ),
        (
            "COMPLETION",
            "Realtime",
            {
                "type": "response.output_text.delta",
                "response_id": "res_01",
                "item_id": "item_02",
                "content_index": 1,
                "delta": "Hello",
            },
            {("6res_017item_02", 1): 5},
        ),
    ],
)
async def test_every_api_has_the_ids_of_the_document(
    reference: RunningHost,
    http: aiohttp.ClientSession,
    source: str,
    api: str,
    payload: Json,
    places: dict[tuple[str, int], int],
) -> None:
    for sent in (payload, json.dumps(payload)):
        answer = await analysed(http, reference, {"sourceType": source, "apiName": api, "payload": sent})
        assert reached(answer) == {(source, *place): offset for place, offset in places.items()}


async def test_a_list_is_one_session_with_its_payloads_unmodified(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession
) -> None:
    before = len(rai.sessions)
    chunk: Json = {"choices": [{"index": 0, "delta": {"content": "Grüße"}}]}
    answer = EVENT | {"sourceType": "COMPLETION", "payload": chunk}
    for body in ([EVENT, answer, answer], {"events": [EVENT, answer, answer]}):
        assert reached(await analysed(http, scripted, body)) == {("PROMPT", "0", 0): 6, ("COMPLETION", "0", 0): 14}
    for session in rai.sessions[before:]:
        compact = '{"choices":[{"index":0,"delta":{"content":"Grüße"}}]}'
        assert [buffer.payload for buffer in session.buffers] == [EVENT["payload"], compact, compact]
        assert session.commits == [Side.PROMPT, Side.COMPLETION]
        assert session.policy == PolicyName("default")
        assert session.half_closed
    assert len(rai.sessions) == before + 2


async def test_the_events_of_a_stream_are_lines_that_come_as_the_service_says_them(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession
) -> None:
    gate = asyncio.Event()
    rai.script(Watermark(PLACE, 3), gate, Watermark(PLACE, 6), DONE)
    async with http.post(scripted.url + "/rai/analyze/stream", json=EVENT) as response:
        assert (response.status, response.content_type) == (200, "application/json-lines")
        first = json.loads(await response.content.readline())
        assert first == {
            "watermark": {"sourceType": "PROMPT", "messageId": "0", "contentIndex": 0, "offset": 3}
        }  # before the service said any more
        gate.set()
        rest = [json.loads(line) async for line in response.content]
    assert rest == [{"watermark": first["watermark"] | {"offset": 6}}, END]


async def test_a_stream_and_a_whole_answer_say_the_same(reference: RunningHost, http: aiohttp.ClientSession) -> None:
    async with http.post(reference.url + "/rai/analyze/stream", json={"text": UNSAFE}) as response:
        stream = await response.read()
    lines = records(ANALYSIS_LINES, stream)
    assert lines == (await analysed(http, reference, {"text": UNSAFE}))["events"]
    told = described("/rai/analyze/stream", 200)
    for line in (*lines, json.loads(ANALYSIS_LINES.keep_alive)):
        assert not problems(told, response.content_type, line, "x-itemSchema")


async def test_a_fault_inside_a_stream_is_its_last_line(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession
) -> None:
    rai.script(all_received, Watermark(PLACE, 3), grpc.StatusCode.UNAVAILABLE)
    async with http.post(scripted.url + "/rai/analyze/stream", json=EVENT) as response:
        assert response.status == 200
        *events, last = records(ANALYSIS_LINES, await response.read())
    assert [*events[0]] == ["watermark"]
    assert "safety service" in last["error"]
    assert "invocation" in last["error"]
    assert "secret" not in last["error"]
    assert not problems(described("/rai/analyze/stream", 200), response.content_type, last, "x-itemSchema")


@ROUTES
@pytest.mark.parametrize(
    ("step", "status"),
    [
        (grpc.StatusCode.UNAVAILABLE, 503),
        (grpc.StatusCode.PERMISSION_DENIED, 503),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, 429),
        (grpc.StatusCode.INVALID_ARGUMENT, 400),
        (b"\xff\xff", 503),
    ],
)
async def test_a_fault_before_the_first_event_keeps_its_status(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession, path: str, step: Any, status: int
) -> None:
    rai.script(all_received, step)
    async with http.post(scripted.url + path, json=EVENT) as response:
        error = await response.json()
    assert (response.status, response.content_type) == (status, "application/json")
    assert not problems(described(path, status), "application/json", error)
    assert ("Retry-After" in response.headers) == (status in {429, 503})


async def test_a_service_that_falls_silent_is_a_504(data_dir: Path, http: aiohttp.ClientSession) -> None:
    async with RaiStandIn() as silent:
        settings = {"RAI_ENDPOINT": silent.endpoint, "RAI_TIMEOUT_SECONDS": "0.5"}  # for this one alone
        async with hosted(data_dir, settings) as host:
            for path in ("/rai/analyze", "/rai/analyze/stream"):
                silent.script(all_received, asyncio.Event())
                status, error = await post(http, host.url + path, EVENT)
                assert status == 504
                assert not problems(described(path, status), "application/json", error)


async def test_a_service_that_stops_in_the_middle_has_not_said_that_a_text_is_harmless(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession
) -> None:
    rai.script(cleared())
    status, error = await post(http, scripted.url + "/rai/analyze", EVENT)
    assert (status, error["code"], [*error]) == (503, "unavailable", ["error", "code"])
    assert "did not analyse everything" in error["error"] or "ended the analysis early" in error["error"]


async def test_a_caller_who_does_not_wait_ends_the_session(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession
) -> None:
    number = len(rai.sessions) + 1
    rai.script(Watermark(PLACE, 3), asyncio.Event())
    asking = asyncio.create_task(post(http, scripted.url + "/rai/analyze", EVENT))
    session = await rai.session_number(number)
    asking.cancel()
    await over(session)


async def test_a_caller_who_leaves_a_stream_ends_the_session(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession
) -> None:
    number = len(rai.sessions) + 1
    rai.script(Watermark(PLACE, 3), asyncio.Event())
    async with http.post(scripted.url + "/rai/analyze/stream", json=EVENT) as response:
        await response.content.readline()
        session = await rai.session_number(number)
        response.close()
    await over(session)


async def over(session: Session) -> None:
    """Wait until the service sees that its client has left."""
    async with asyncio.timeout(60):
        await session.ended.wait()
    assert session.left


@ROUTES
async def test_without_a_service_the_settings_to_set_are_named(
    built_in: RunningHost, http: aiohttp.ClientSession, path: str
) -> None:
    status, error = await post(http, built_in.url + path, EVENT)
    assert status == 503
    for setting in ("RAI_ENDPOINT", "RAI_MODE", "CONTENT_SAFETY_ENDPOINT"):
        assert setting in error["error"]
    assert not problems(described(path, 503), "application/json", error)


@ROUTES
@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, '{"text": "'),
        (b"[]", 400, "empty"),
        (b'"text"', 400, "no object"),
        (b"{", 400, "not JSON"),
        (b'{"text": ""}', 400, "text: is missing or empty"),
        (b'{"text": "a", "sourceType": "X"}', 400, "'PROMPT' or 'COMPLETION'"),
        (b'[{"text": "a"}, {"sourceType": "PROMPT", "apiName": "Chat", "payload": {}}]', 400, "Imagegeneration"),
        (b'{"text": "' + b"a" * BODY_LIMIT + b'"}', 413, "bytes"),
    ],
)
async def test_a_body_that_cannot_be_is_refused_with_what_is_accepted(
    reference: RunningHost, http: aiohttp.ClientSession, path: str, body: bytes, status: int, says: str
) -> None:
    async with http.post(reference.url + path, data=io.BytesIO(body)) as response:
        error = await response.json()
    assert response.status == status
    assert says in error["error"]
    assert not problems(described(path, status), "application/json", error)


async def test_a_payload_that_is_not_of_its_api_is_refused(reference: RunningHost, http: aiohttp.ClientSession) -> None:
    status, error = await post(http, reference.url + "/rai/analyze", EVENT | {"payload": '{"messages": 5}'})
    assert status == 400
    assert "check the payload" in error["error"]


@ROUTES
async def test_a_payload_that_is_no_json_is_refused_before_the_service_is_asked(
    scripted: RunningHost, rai: RaiStandIn, http: aiohttp.ClientSession, path: str
) -> None:
    before = len(rai.sessions)
    status, error = await post(http, scripted.url + path, [EVENT, EVENT | {"payload": "no JSON"}])
    assert status == 400
    assert error["error"].startswith(
        "Event 2 of the list: payload: should be a JSON object, or a string that holds one."
    )
    assert len(rai.sessions) == before


async def test_health_names_the_service_and_that_turns_are_not_checked(
    reference: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.get(reference.url + "/health") as response:
        part = (await response.json())["parts"]["safety"]
    assert (part["kind"], part["mode"]) == ("reference stand-in", "off")


async def test_content_safety_does_the_same(data_dir: Path, http: aiohttp.ClientSession) -> None:
    async with ContentSafetyStandIn() as service, hosted(data_dir, service.settings) as host:
        service.finds("bomb", "Violence", 5)
        harmless = await analysed(http, host, [EVENT, {"text": "Good. Grüße", "sourceType": "COMPLETION"}])
        assert (harmless["blocked"], harmless["events"][-1]) == (False, END)
        assert reached(harmless) == {("PROMPT", "0", 0): 6, ("COMPLETION", "0", 0): 13}
        assert (await analysed(http, host, {"text": UNSAFE}))["blocked"] is True
        service.fail(401)
        status, error = await post(http, host.url + "/rai/analyze", EVENT)
        assert status == 503
        assert "CONTENT_SAFETY_API_KEY" in error["error"]
        status, error = await post(http, host.url + "/rai/analyze", EVENT | {"payload": '{"messages": 5}'})
        assert (status, "messages should be a list" in error["error"]) == (400, True)
        assert service.key not in host.log()
        assert "bomb" not in host.log()


async def test_what_is_analysed_is_not_logged(reference: RunningHost, http: aiohttp.ClientSession) -> None:
    before = reference.log()
    await analysed(http, reference, {"text": "A word of a caller: zyzzyva"})
    await post(http, reference.url + "/rai/analyze", EVENT | {"payload": "zyzzyva"})
    await asyncio.to_thread(reference.wait_for, "(?s)(rai_analyze POST.*){2}", after=before)
    assert "zyzzyva" not in reference.log()


async def test_many_at_once_do_not_mix(reference: RunningHost, http: aiohttp.ClientSession) -> None:
    texts = [f"{number} {UNSAFE if number % 3 == 0 else 'fine'}" for number in range(20)]
    answers = await asyncio.gather(*(analysed(http, reference, {"text": text}) for text in texts))
    assert [answer["blocked"] for answer in answers] == [UNSAFE in text for text in texts]
