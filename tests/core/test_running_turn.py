"""A turn under way: batches, the first words, the deadline, leaving, and what is said when it fails."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from shared.chat_types import RequestContext
from shared.core.fold import fold
from shared.core.running_turn import RunningTurn
from shared.errors import InternalError, RateLimited, SwitchboardError, TooSlow
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Failed, Finished, Retrieved, TextDelta

RETRIEVED, STARTED, FINISHED = Retrieved((), ()), CompletionStarted("c", 1, "m"), Finished("stop", ended=1)


def context(seconds: float = 60) -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + seconds)


async def events_of(*events: ChatEvent | Exception | asyncio.Event) -> AsyncGenerator[ChatEvent]:
    """Yield events, raise exceptions, and wait where there is something to wait for."""
    for event in events:
        if isinstance(event, Exception):
            raise event
        if isinstance(event, asyncio.Event):
            await event.wait()
        else:
            yield event


async def test_events_that_come_together_leave_together() -> None:
    gate = asyncio.Event()
    turn = RunningTurn(events_of(RETRIEVED, TextDelta("a"), TextDelta("b"), gate, TextDelta("c"), FINISHED), context())
    batches = turn.batches(heartbeat=None)
    assert await anext(batches) == [RETRIEVED, TextDelta("a"), TextDelta("b")]
    gate.set()
    assert await anext(batches) == [TextDelta("c"), FINISHED]
    assert [batch async for batch in batches] == []


async def test_silence_is_a_heartbeat_and_then_the_stream_goes_on() -> None:
    gate = asyncio.Event()
    turn = RunningTurn(events_of(TextDelta("a"), gate, FINISHED), context())
    await turn.settled(60)
    batches = turn.batches(heartbeat=0.01)
    assert await anext(batches) == [TextDelta("a")]
    assert await anext(batches) == []
    gate.set()
    assert [event async for batch in batches for event in batch] == [FINISHED]


async def test_a_turn_has_settled_with_its_first_words() -> None:
    never = asyncio.Event()
    turn = RunningTurn(events_of(RETRIEVED, TextDelta("a"), never), context())
    assert await turn.settled(60) is None
    turn.cancel()


async def test_a_slow_turn_is_not_waited_for_longer_than_said() -> None:
    turn = RunningTurn(events_of(RETRIEVED, asyncio.Event()), context())
    assert await turn.settled(0.01) is None
    turn.cancel()


async def test_a_failure_before_the_first_words_is_handed_over() -> None:
    error = RateLimited("Too many.", retry_after=3)
    failure = await RunningTurn(events_of(RETRIEVED, error), context()).settled(60)
    assert failure == Failed(error, "id-1")


async def test_agents_that_failed_are_no_first_words_so_the_failure_of_all_is_handed_over() -> None:
    error = RateLimited("Too many.", retry_after=3)
    failed = AgentMessage("Critic", 0, "Too many.", error=error)
    assert await RunningTurn(events_of(STARTED, failed, error), context()).settled(60) == Failed(error, "id-1")


async def test_the_first_agent_that_is_done_has_the_first_words() -> None:
    error = RateLimited("Too many.", retry_after=3)
    turn = RunningTurn(events_of(STARTED, AgentMessage("Critic", 0, "Well."), error), context())
    assert await turn.settled(60) is None
    turn.cancel()


async def test_a_failure_after_the_first_words_is_the_last_event() -> None:
    error = RateLimited("Too many.", retry_after=3)
    turn = RunningTurn(events_of(TextDelta("a"), error), context())
    assert await turn.settled(60) is None
    assert [event async for event in turn.events()] == [TextDelta("a"), Failed(error, "id-1")]


async def test_a_turn_over_its_deadline_says_so() -> None:
    turn = RunningTurn(events_of(TextDelta("a"), asyncio.Event()), context(seconds=0.01))
    first, last = [event async for event in turn.events()]
    assert first == TextDelta("a")
    assert isinstance(last, Failed)
    assert isinstance(last.error, TooSlow)


async def test_a_caller_who_leaves_closes_the_events() -> None:
    closed, started = asyncio.Event(), asyncio.Event()

    async def events() -> AsyncGenerator[ChatEvent]:
        try:
            started.set()
            yield RETRIEVED
            await asyncio.Event().wait()
        finally:
            closed.set()

    turn = RunningTurn(events(), context())
    await started.wait()
    turn.cancel()
    async with asyncio.timeout(10):
        await closed.wait()
        assert [event async for event in turn.events()] == [RETRIEVED]


async def test_a_reader_who_is_slow_holds_the_turn_back() -> None:
    made = 0

    async def events() -> AsyncGenerator[ChatEvent]:
        nonlocal made
        for _ in range(5_000):
            made += 1
            yield TextDelta("a")
        yield FINISHED

    turn = RunningTurn(events(), context())
    await turn.settled(60)
    for _ in range(10):
        await asyncio.sleep(0)
    assert made < 2_000
    assert len([event async for event in turn.events()]) == 5_001


async def test_a_fault_of_ours_tells_nobody_what_was_in_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        events = [event async for event in RunningTurn(events_of(ValueError("sk-secret")), context()).events()]
    assert [type(event.error) for event in events if isinstance(event, Failed)] == [InternalError]
    assert "sk-secret" not in repr(events) + caplog.text
    assert "ValueError" in caplog.text
    assert "id-1" in caplog.text


async def test_the_end_of_a_turn_is_logged_with_its_outcome(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await fold(RunningTurn(events_of(RETRIEVED, STARTED, TextDelta("user text"), FINISHED), context()).events())
    assert "invocation id-1: turn ended: stop" in caplog.text
    assert "user text" not in caplog.text


@pytest.mark.parametrize("events", [(), (RETRIEVED,), (TextDelta("a"),)])
async def test_a_turn_that_just_stops_is_no_answer(events: tuple[ChatEvent, ...]) -> None:
    with pytest.raises(SwitchboardError):
        await fold(events_of(*events))
