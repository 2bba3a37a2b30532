"""The recorder with a real store: what it adds to the events, and what it never does to them."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path
from uuid import uuid4

import apsw
import msgspec
import pytest

from shared.chat_types import Caller, ChatRequest, ChatState, Message, RequestContext, Role, ToolCall
from shared.core.fold import fold
from shared.core.recorder import record
from shared.core.running_turn import RunningTurn
from shared.errors import RateLimited, Stopped, TooSlow
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    Finished,
    Retrieved,
    TextDelta,
    ThoughtsAdded,
    ToolsCalled,
)
from shared.history import Mode, owner_of
from shared.history.sqlite_history import SqliteHistory
from tests.clock import Clock

ANNA, BEN = Caller("anna"), Caller("ben")
ANSWER: tuple[ChatEvent, ...] = (
    Retrieved((), ()),
    CompletionStarted("c", 1, "m"),
    TextDelta("One"),
    TextDelta(" two."),
    Finished("stop"),
)


@pytest.fixture
def history(tmp_path: Path) -> SqliteHistory:
    return SqliteHistory(tmp_path / "history.sqlite")


def asked(chat: str | None) -> ChatRequest:
    return ChatRequest((Message(Role.USER, "Why?"),), chat=ChatState(conversation_id=chat))


def context(caller: Caller = ANNA, seconds: float = 60) -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + seconds, caller)


async def events_of(*events: ChatEvent | Exception) -> AsyncGenerator[ChatEvent]:
    for event in events:
        if isinstance(event, Exception):
            raise event
        yield event


async def started(history: SqliteHistory) -> str:
    return (await history.create(owner_of(ANNA), Mode.STANDARD, "t")).id


async def test_events_pass_as_they_are_and_the_turn_is_kept_before_the_last(history: SqliteHistory) -> None:
    chat = await started(history)
    seen: list[ChatEvent] = []
    async for event in record(events_of(*ANSWER), asked(chat), context(), history):
        kept = await history.messages(owner_of(ANNA), chat)
        assert bool(kept) == isinstance(event, Finished)
        seen.append(event)
    assert tuple(seen) == ANSWER
    kept = await history.messages(owner_of(ANNA), chat)
    assert [(message.role, message.content) for message in kept] == [
        (Role.USER, "Why?"),
        (Role.ASSISTANT, "One two."),
    ]


async def test_each_agents_message_is_kept_with_its_name_in_the_order_of_the_answer(history: SqliteHistory) -> None:
    chat = await started(history)
    team = (
        CompletionStarted("team-1", 1, "m"),
        AgentMessage("Late", 2, "Too slow.", error=TooSlow("Too slow.")),
        AgentMessage("Second", 1, "Two", finished=Finished("length")),
        AgentMessage("First", 0, "One", finished=Finished("stop")),
        Finished("stop"),
    )
    seen = [event async for event in record(events_of(*team), asked(chat), context(), history)]
    assert tuple(seen) == team
    question, *said = await history.messages(owner_of(ANNA), chat)
    assert (question.role, question.content, question.agent_name) == (Role.USER, "Why?", None)
    assert {message.role for message in said} == {Role.ASSISTANT}
    assert [(one.agent_name, one.agent_identifier, one.content, one.finish_reason) for one in said] == [
        ("First", "First", "One", None),
        ("Second", "Second", "Two", "length"),
        ("Late", "Late", "Too slow.", "timeout"),
    ]


async def test_calls_are_kept_with_the_answer_and_then_their_results_in_place_of_the_question(
    history: SqliteHistory,
) -> None:
    chat, call = await started(history), ToolCall("c1", "look_up", '{"q": "x"}')
    calling = (*ANSWER[:2], ToolsCalled((call,)), Finished("tool_calls"))
    results = tuple(Message(Role.TOOL, text, tool_call_id=one) for one, text in (("c0", "Old."), ("c1", "New.")))
    made = [Message(Role.ASSISTANT, "", (replace(call, id=one),)) for one in ("c0", "c1")]
    steps = (made[0], results[0], made[1], results[1])
    for _ in range(2):  # a result that is sent again is in the chat once
        for events, since in ((calling, ()), (ANSWER, steps)):
            request = replace(asked(chat), steps=since)
            assert [event async for event in record(events_of(*events), request, context(), history)] == [*events]
    kept = await history.messages(owner_of(ANNA), chat)
    assert [(one.role, one.content, one.finish_reason, one.tool_call_id) for one in kept][:2] == [
        (Role.USER, "Why?", None, None),
        (Role.ASSISTANT, "", None, None),
    ]
    assert [(one.role, one.content) for one in kept if one.tool_call_id] == [(Role.TOOL, "New.")]
    assert msgspec.json.decode(kept[1].tool_call) == [
        {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "x"}'}}
    ]


@pytest.mark.parametrize("caller", [BEN, Caller()])
async def test_anothers_conversation_is_neither_written_to_nor_spoken_of(
    history: SqliteHistory, caller: Caller
) -> None:
    chat = await started(history)
    seen = [event async for event in record(events_of(*ANSWER), asked(chat), context(caller), history)]
    assert tuple(seen) == ANSWER
    assert list(await history.messages(owner_of(ANNA), chat)) == []


async def kept_of(history: SqliteHistory, chat: str, count: int) -> list[tuple[str, str | None]]:
    """The messages of a chat and how they ended, once there are so many: they are written in the background."""
    async with asyncio.timeout(30):
        while len(kept := await history.messages(owner_of(ANNA), chat)) < count:  # noqa: ASYNC110 (in the background)
            await asyncio.sleep(0.01)
    return [(message.content, message.finish_reason) for message in kept]


@pytest.mark.parametrize(
    ("streams", "said", "kept"),
    [
        (True, ANSWER[:4], ("One two.", "rate_limited")),
        (True, ANSWER[:2], ("Wait. (invocation id-1)", "rate_limited")),
        (False, ANSWER[:4], ("Wait. (invocation id-1)", "rate_limited")),  # nobody was shown the text
    ],
)
async def test_of_a_turn_that_fails_what_was_shown_is_kept_or_what_went_wrong(
    history: SqliteHistory, streams: bool, said: tuple[ChatEvent, ...], kept: tuple[str, str]
) -> None:
    chat = await started(history)
    for _ in range(2 if kept[0].startswith("Wait") else 1):  # a client that tries again by itself leaves one failure
        request = replace(asked(chat), stream=streams)
        turn = RunningTurn(record(events_of(*said, RateLimited("Wait.")), request, context(), history), context())
        with pytest.raises(RateLimited):
            await fold(turn.events())
        assert await kept_of(history, chat, 2) == [("Why?", None), kept]


async def test_of_a_turn_that_is_left_what_was_shown_is_kept_as_stopped(history: SqliteHistory) -> None:
    for shown, kept in ((ANSWER[:3], [("Why?", None), ("One", "stopped")]), (ANSWER[:2], [("Why?", None)])):
        chat, never = await started(history), asyncio.Event()

        async def events(
            shown: tuple[ChatEvent, ...] = shown, never: asyncio.Event = never
        ) -> AsyncGenerator[ChatEvent]:
            for event in shown:
                yield event
            await never.wait()

        turn = RunningTurn(record(events(), replace(asked(chat), stream=True), context(), history), context())
        batches = turn.batches(None)
        assert await anext(batches) == [*shown]
        turn.cancel()
        assert await kept_of(history, chat, len(kept)) == kept


async def test_a_run_is_recorded_as_stopped_only_if_it_was_and_not_if_it_goes_on_elsewhere(
    history: SqliteHistory,
) -> None:
    chat, never = await started(history), asyncio.Event()

    async def events() -> AsyncGenerator[ChatEvent]:
        for event in ANSWER[:3]:
            yield event
        await never.wait()

    for is_stopped, kept in ((False, 0), (True, 2)):
        of_run = replace(context(), run_id="0" * 32)
        turn = RunningTurn(record(events(), asked(chat), of_run, history), of_run)
        assert await anext(turn.batches(None)) == [*ANSWER[:3]]
        if is_stopped:
            turn.stop(Stopped())
        else:
            turn.cancel()
        async for _ in turn.batches(None):
            pass
        assert await kept_of(history, chat, kept) == [("Why?", None), ("One", "stopped")][:kept]


async def test_a_store_that_is_busy_is_given_up_in_time_for_the_answer(
    history: SqliteHistory, tmp_path: Path, clock: Clock
) -> None:
    chat = await started(history)
    other = apsw.Connection(str(tmp_path / "history.sqlite"))
    other.execute("BEGIN EXCLUSIVE")
    clock.stop()
    bounded = context(seconds=4)
    turn = RunningTurn(record(events_of(*ANSWER), asked(chat), bounded, history), bounded)
    events = turn.events()
    seen = [await anext(events) for _ in ANSWER[:-1]]
    clock.forward(3.9)
    seen += [event async for event in events]
    other.execute("ROLLBACK")
    other.close()
    assert isinstance(seen[-1], Finished)
    told = seen[-2]
    assert isinstance(told, ThoughtsAdded)
    assert "may not have been recorded" in str(told.thoughts[0].description)


async def test_whoever_stops_listening_closes_the_turn(history: SqliteHistory) -> None:
    closed = asyncio.Event()

    async def events() -> AsyncGenerator[ChatEvent]:
        try:
            for event in ANSWER:
                yield event
        finally:
            closed.set()

    recording = record(events(), asked(str(uuid4())), context(), history)
    await anext(recording)
    await recording.aclose()
    assert closed.is_set()
