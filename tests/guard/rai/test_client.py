"""The client of the RAI service: what it sends, what sessions share, and what health says."""

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from shared.errors import BadRequest, NotConfigured, TooLarge, Unavailable
from shared.guard import Api, Buffer, Completion, Place, SafetyEvent, Side, Watermark
from shared.guard.rai.client import RaiService
from shared.guard.rai.wire import Commit, PolicyName
from shared.parts import open_safety
from shared.settings import Settings
from tests.guard.rai.sessions import SILENCE, OneConnection, collect, error_of, has_text, say_nothing
from tests.guard.safety_contract import CONTEXT, chunk, prompt
from tests.stand_ins.rai_service import DONE, RaiStandIn, Session, Step, cleared

POLICY = {"name": "strict", "taskSettings": [{"settingId": "a", "settingEnabled": True, "kind": "harmCategory"}]}


async def test_the_policy_goes_first_and_payloads_go_as_they_are(rai: RaiStandIn, service: RaiService) -> None:
    payloads = ['{ "messages":\t[] }', '{"choices": [{"delta": {"content": "é\\u00e9 👍🏽"}}]}']
    async with service.session(CONTEXT) as session:
        await session.send(Buffer(Side.PROMPT, Api.CHAT_COMPLETION, payloads[0]))
        await session.commit()
        await session.send(Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, payloads[1]))
        await session.commit()
        await session.finish()
        await collect(session)
    assert rai.sessions[0].messages == [
        PolicyName("default"),
        Buffer(Side.PROMPT, Api.CHAT_COMPLETION, payloads[0]),
        Commit(),
        Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, payloads[1]),
        Commit(),
    ]
    assert rai.sessions[0].half_closed
    assert "authorization" not in rai.sessions[0].metadata


def test_a_policy_in_a_file_is_refused_as_long_as_nobody_knows_how_the_service_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(POLICY))
    settings = Settings.read({"RAI_ENDPOINT": "127.0.0.1:50051", "RAI_POLICY": str(file)})
    with pytest.raises(NotConfigured, match=r"RAI_POLICY .* rai\.proto is in place .* name a policy"):
        open_safety(settings)


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://",
        "https://example.com/path",
        "https://user@example.com",
        "https://example.com:99999",
        "ftp://a:1",
        "a",
    ],
)
def test_an_address_that_is_none_is_named(endpoint: str) -> None:
    with pytest.raises(NotConfigured, match="RAI_ENDPOINT"):
        RaiService(endpoint, "default", 10)


async def test_the_settings_name_the_service(rai: RaiStandIn) -> None:
    service = open_safety(Settings.read({**rai.settings, "RAI_POLICY": "mine", "RAI_TOKEN": "token"}))
    assert isinstance(service, RaiService)
    async with service.session(CONTEXT) as session:
        await session.finish()
        assert await collect(session) == [DONE]
    await service.aclose()
    assert rai.sessions[0].metadata["authorization"] == "Bearer token"
    assert rai.sessions[0].policy == PolicyName("mine")
    assert open_safety(Settings.read({})) is None


async def test_sessions_share_a_connection(rai: RaiStandIn, service: RaiService) -> None:
    async with service.session(CONTEXT) as one, service.session(CONTEXT) as two:
        for session in (one, two):
            await session.finish()
            assert await collect(session) == [DONE]
    assert rai.sessions[0].peer == rai.sessions[1].peer


@pytest.mark.parametrize("streams", [1, 10, 100])
async def test_no_limit_of_streams_keeps_a_session_waiting(streams: int) -> None:
    async with RaiStandIn(streams=streams) as rai, AsyncExitStack() as stack:
        service = RaiService(rai.endpoint, "default", 10)
        stack.push_async_callback(service.aclose)
        for number in range(1, 121):
            session = await stack.enter_async_context(service.session(CONTEXT))
            await session.send(prompt("Hello"))
            await (await rai.session_number(number)).until(has_text)
        used = Counter(session.peer for session in rai.sessions)
        assert sum(used.values()) == 120
        assert max(used.values()) == streams


async def test_a_service_that_takes_no_more_connections_is_full() -> None:
    """A door in front of it lets one connection in, which takes one stream."""
    async with RaiStandIn(streams=1) as rai, OneConnection(rai.port) as door:
        service = RaiService(f"127.0.0.1:{door.port}", "default", 0.5)
        async with service.session(CONTEXT) as session:
            await session.send(prompt("Hello"))
            with pytest.raises(Unavailable, match="is full"):
                await say_nothing(service)
            await session.finish()
            assert (await collect(session))[-1] == DONE
        assert await say_nothing(service) == [DONE]
        await service.aclose()


async def test_a_service_that_is_back_is_found_again(rai: RaiStandIn, service: RaiService) -> None:
    async with service.session(CONTEXT) as session:
        await rai.stop()
        with pytest.raises(Unavailable):
            await collect(session)
    opening = asyncio.create_task(say_nothing(service))
    async with RaiStandIn(port=rai.port) as back:
        assert await opening == [DONE]
        assert len(back.sessions) == 1


async def test_what_cannot_be_sent_is_refused_and_the_session_goes_on(rai: RaiStandIn, service: RaiService) -> None:
    async with service.session(CONTEXT) as session:
        with pytest.raises(TooLarge, match=r"4\.0 MB of at most 4 MB"):
            await session.send(prompt("x" * 4 * 1024 * 1024))
        with pytest.raises(BadRequest, match="half of a character"):
            await session.send(Buffer(Side.PROMPT, Api.CHAT_COMPLETION, '"\ud83d"'))
        largest = prompt("x" * (4 * 1024 * 1024 - 200))
        await session.send(largest)
        await session.finish()
        assert (await collect(session))[-1] == DONE
    assert rai.sessions[0].buffers == [largest]


async def test_leaving_early_ends_the_call_and_leaves_nothing_behind(rai: RaiStandIn, service: RaiService) -> None:
    await say_nothing(service)
    await rai.sessions[0].ended.wait()
    before = len(asyncio.all_tasks())
    for number in range(2, 7):
        rai.script(SILENCE())
        async with service.session(CONTEXT) as session:
            await session.send(prompt("Hello"))
            left = await rai.session_number(number)
            await left.until(has_text)
        await left.ended.wait()
        assert left.left
    async with asyncio.timeout(10):
        while len(asyncio.all_tasks()) > before:  # noqa: ASYNC110 (they are tasks of gRPC, which tell nobody)
            await asyncio.sleep(0)


async def test_who_is_cancelled_while_waiting_is_cancelled_and_the_call_ends(
    rai: RaiStandIn, service: RaiService
) -> None:
    rai.script(SILENCE())
    waiting = asyncio.create_task(say_nothing(service))
    session = await rai.session_number(1)
    await session.until(lambda session: session.half_closed)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await session.ended.wait()
    assert session.left


async def test_a_session_that_ended_well_was_not_left(rai: RaiStandIn, service: RaiService) -> None:
    assert await say_nothing(service) == [DONE]
    await rai.sessions[0].ended.wait()
    assert not rai.sessions[0].left


async def test_sessions_answer_at_once_each_its_own(service: RaiService) -> None:
    async def analyze(number: int) -> list[SafetyEvent]:
        async with service.session(CONTEXT) as session:
            for _ in range(number):
                await session.send(chunk("x"))
                await asyncio.sleep(0)
            await session.finish()
            return await collect(session)

    answers = await asyncio.gather(*map(analyze, range(1, 21)))
    for number, events in enumerate(answers, start=1):
        assert [event.offset for event in events if isinstance(event, Watermark)] == list(range(1, number + 1))


async def test_messages_sent_at_once_all_arrive(rai: RaiStandIn, service: RaiService) -> None:
    async with service.session(CONTEXT) as session:
        await asyncio.gather(*(session.send(chunk(f"{number} ")) for number in range(50)))
        await session.finish()
        await collect(session)
    [text] = rai.sessions[0].texts.values()
    assert sorted(map(int, text.split())) == list(range(50))


async def test_health_is_asked_for_once_in_a_while_with_a_greeting_on_both_sides(
    rai: RaiStandIn, service: RaiService
) -> None:
    one, two = await asyncio.gather(service.check(), service.check())
    assert one is two
    assert one.ok
    assert one.kind == "rai"
    assert one.facts == {"host": rai.endpoint, "policy": "default"}
    assert rai.endpoint in one.detail
    assert list(rai.sessions[0].texts.values()) == ["Hello", "Hello"]
    assert len(rai.sessions) == 1


async def test_health_tells_a_stand_in() -> None:
    async with RaiStandIn(metadata=(("x-rai-service", "reference stand-in"),)) as rai:
        service = RaiService(rai.endpoint, "default", 10)
        health = await service.check()
        await service.aclose()
    assert health.kind == "reference stand-in"
    assert "not a safety product" in health.detail


@pytest.mark.parametrize(
    ("status", "ok"),
    [
        (grpc.StatusCode.NOT_FOUND, False),
        (grpc.StatusCode.UNAUTHENTICATED, False),
        (grpc.StatusCode.UNIMPLEMENTED, False),
        (grpc.StatusCode.INVALID_ARGUMENT, False),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, True),
    ],
)
async def test_health_says_what_to_check(
    rai: RaiStandIn, service: RaiService, status: grpc.StatusCode, *, ok: bool
) -> None:
    rai.script(status)
    health = await service.check()
    assert health.ok == ok
    assert ok or health.detail == error_of(status).message


def sent_all(session: Session) -> bool:
    return session.half_closed


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ((), "the stream ended without a completion"),
        ((cleared(),), "the stream ended without a completion"),
        ((cleared(), Completion("")), "A completion has no end reason."),
        ((cleared(), Completion("EndOfStream")), "it ended with EndOfStream"),
        ((cleared(), Completion("the words of a user")), "it ended with a reason that is none"),
        (
            (cleared(), Completion("END_REASON_END_OF_STREAM", "secret")),
            "it ended with END_REASON_END_OF_STREAM and an error description",
        ),
        ((sent_all, DONE), "it ended without clearing PROMPT 0/0: 0 of 5 bytes; COMPLETION 0/0: 0 of 5 bytes"),
        (
            (cleared(Side.PROMPT), sent_all, Watermark(Place(Side.COMPLETION, "1", 0), 5), DONE),
            "it ended without clearing COMPLETION 0/0: 0 of 5 bytes",
        ),
        ((has_text, Watermark(Place(Side.PROMPT, "0", 0), 9), SILENCE()), "cleared more than it was sent"),
    ],
)
async def test_health_knows_a_service_whose_turns_fail_and_the_log_says_why(
    rai: RaiStandIn, service: RaiService, steps: tuple[Step, ...], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    rai.script(*steps)
    health = await service.check()
    assert not health.ok
    assert why in caplog.text
    assert "secret" not in caplog.text
    assert "words of a user" not in caplog.text


async def test_a_service_of_another_kind_is_told() -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    service = RaiService(f"localhost:{port}", "default", 10)
    health = await service.check()
    await service.aclose()
    await server.stop(None)
    assert not health.ok
    assert "is not the RAI service" in health.detail
