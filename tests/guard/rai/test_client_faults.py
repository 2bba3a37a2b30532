"""Faults of the RAI service: statuses, garbage, streams that end early, and services that say or take nothing."""

import asyncio
import logging
from contextlib import aclosing

import grpc
import pytest

from shared.errors import NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.guard import SafetyEvent, Side, Watermark
from shared.guard.rai.client import RaiService
from shared.guard.rai.session import REASONS
from tests.clock import Clock
from tests.guard.rai.sessions import SILENCE, collect, error_of, has_text, say_nothing, send_until_it_fails, within
from tests.guard.safety_contract import CONTEXT, chunk, prompt, said
from tests.stand_ins.rai_service import DETAILS, DONE, RaiStandIn, cleared


async def test_a_service_that_is_not_there_is_not_waited_for_forever() -> None:
    service = RaiService("127.0.0.1:9", "default", 0.2)
    with pytest.raises(Unavailable, match=r"cannot be reached.*check RAI_ENDPOINT"):
        async with service.session(CONTEXT):
            pytest.fail("there is no service")
    await service.aclose()
    service = RaiService("127.0.0.1:9", "default", 60)
    with pytest.raises(TooSlow):
        async with service.session(within(0.05)):
            pytest.fail("there is no time")
    await service.aclose()


def test_every_status_of_grpc_has_its_error() -> None:
    assert set(REASONS) == set(grpc.StatusCode)
    assert type(error_of(grpc.StatusCode.RESOURCE_EXHAUSTED)) is RateLimited
    assert type(error_of(grpc.StatusCode.DEADLINE_EXCEEDED)) is TooSlow
    assert type(error_of(grpc.StatusCode.NOT_FOUND)) is NotConfigured
    assert "identity has the role" in error_of(grpc.StatusCode.PERMISSION_DENIED).message


@pytest.mark.parametrize("status", [status for status in grpc.StatusCode if status is not grpc.StatusCode.OK])
async def test_a_status_becomes_its_error_after_what_came_before_and_its_details_go_nowhere(
    rai: RaiStandIn, service: RaiService, status: grpc.StatusCode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    rai.script(has_text, Watermark(said(0), 1), Watermark(said(0), 2), status)
    seen: list[SafetyEvent] = []
    async with service.session(CONTEXT) as session:
        await session.send(prompt("Hello"))
        with pytest.raises(SwitchboardError) as raised:
            await collect(session, seen)
        with pytest.raises(type(raised.value)):
            await session.commit()
    assert seen == [Watermark(said(0), 1), Watermark(said(0), 2)]
    expected = error_of(status)
    assert (type(raised.value), raised.value.message) == (type(expected), expected.message)
    assert raised.value.__cause__ is None
    assert status.name in caplog.text
    assert DETAILS not in f"{raised.value!r} {caplog.text}"
    assert "Hello" not in caplog.text


async def test_a_refusal_keeps_its_status_whenever_it_comes(rai: RaiStandIn, service: RaiService) -> None:
    for _ in range(200):
        rai.script(grpc.StatusCode.NOT_FOUND)
    refusals = await asyncio.gather(*(say_nothing(service) for _ in range(200)), return_exceptions=True)
    assert {type(refusal) for refusal in refusals} == {NotConfigured}


async def test_what_came_before_a_status_is_not_lost_when_sending_fails(rai: RaiStandIn, service: RaiService) -> None:
    rai.script(has_text, *(Watermark(said(0), offset) for offset in range(1, 6)), grpc.StatusCode.ABORTED)
    async with service.session(CONTEXT) as session:
        await session.send(prompt("Hello"))
        await (await rai.session_number(1)).ended.wait()
        with pytest.raises(Unavailable):
            await send_until_it_fails(session)
        seen: list[SafetyEvent] = []
        with pytest.raises(Unavailable):
            await collect(session, seen)
    assert seen == [Watermark(said(0), offset) for offset in range(1, 6)]


@pytest.mark.parametrize("garbage", [b"", b"garbage", b"\xff" * 100, b"\x12\x00"])
async def test_garbage_is_a_fault_after_what_came_before(rai: RaiStandIn, service: RaiService, garbage: bytes) -> None:
    rai.script(has_text, Watermark(said(0), 1), garbage, Watermark(said(0), 5), SILENCE())
    async with service.session(CONTEXT) as session, aclosing(session.events()) as events:
        await session.send(prompt("Hello"))
        assert await anext(events) == Watermark(said(0), 1)
        with pytest.raises(Unavailable, match="no result of an analysis"):
            await anext(events)


async def test_a_stream_that_ends_early_ends_the_events_and_takes_nothing_more(
    rai: RaiStandIn, service: RaiService
) -> None:
    rai.script(cleared(Side.PROMPT))
    async with service.session(CONTEXT) as session:
        await session.send(prompt("Hello"))
        await session.commit()
        assert await collect(session) == [Watermark(said(0), 5)]
        with pytest.raises(Unavailable, match="ended the analysis early"):
            await session.send(chunk("more"))


async def test_nothing_is_read_behind_the_completion(rai: RaiStandIn, service: RaiService) -> None:
    # Not before the client has sent everything: a service that has ended takes no policy.
    rai.script(lambda session: session.half_closed, DONE, Watermark(said(0), 5), grpc.StatusCode.INTERNAL)
    assert await say_nothing(service) == [DONE]


async def test_the_requests_deadline_ends_a_silent_session(rai: RaiStandIn, service: RaiService) -> None:
    rai.script(SILENCE())
    with pytest.raises(TooSlow):
        await say_nothing(service, within(0.2))


async def test_a_service_that_takes_nothing_is_too_slow_and_ends_the_other_wait(
    rai: RaiStandIn, service: RaiService, clock: Clock
) -> None:
    rai.deaf = True
    rai.script(SILENCE())
    async with service.session(CONTEXT) as session:
        reading = asyncio.create_task(collect(session))
        sending = asyncio.create_task(send_until_it_fails(session))
        while not sending.done():  # each payload has its own ten seconds, from when it is sent
            clock.forward(10)
            await asyncio.sleep(0)
        with pytest.raises(TooSlow):
            await sending
        with pytest.raises(TooSlow):
            await reading
