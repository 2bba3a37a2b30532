"""The recorder with a real store: what it adds to the events, and what it never does to them."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import msgspec
import pytest

from shared.chat_types import Caller, ChatRequest, ChatState, Message, RequestContext, Role, ToolCall
from shared.core.fold import fold
from shared.core.recorded_chat import QUESTION_SECONDS, SHOWN_SECONDS
from shared.core.recorder import record
from shared.core.running_turn import RunningTurn
from shared.errors import ContentFiltered, RateLimited, Stopped, TooSlow
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
from shared.history import UNTITLED, Conversation, Mode, owner_of
from shared.history.sqlite_history import SqliteHistory
from tests.clock import Clock

ANNA, BEN = Caller("anna"), Caller("ben")
ANSWER: tuple[ChatEvent, ...] = (
    Retrieved((), ()),
    CompletionStarted("c", 1, "m"),
    TextDelta("One"),
    TextDelta(" two."),
    Finished("stop", ended=1),
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
        assert len(kept) == (2 if isinstance(event, Finished) else 1)
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
        AgentMessage("Second", 1, "Two", finished=Finished("length", ended=1)),
        AgentMessage("First", 0, "One", finished=Finished("stop", ended=1)),
        Finished("stop", ended=1),
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
    calling = (*ANSWER[:2], ToolsCalled((call,)), Finished("tool_calls", ended=1))
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


def conversation(said: str, chat: str, *, told: bool | None = None) -> ChatRequest:
    """A request for a conversation of questions in capitals and answers in small letters."""
    messages = tuple(Message(Role.USER if one.isupper() else Role.ASSISTANT, one) for one in said)
    return ChatRequest(messages, chat=ChatState(conversation_id=chat, regenerates=told))


async def record_to(history: SqliteHistory, request: ChatRequest, answer: str) -> None:
    events = (*ANSWER[:2], TextDelta(answer), ANSWER[-1])
    assert [event async for event in record(events_of(*events), request, context(), history)] == [*events]


@pytest.mark.parametrize(
    ("kept", "told", "sent", "left"),
    [
        ("Aa", None, "A", "Az"),
        ("AaBb", None, "AaB", "AaBz"),
        ("AaBb", None, "AxB", "AaBz"),  # the page shows a link where the answer cites
        ("AaBb", True, "AaB", "AaBz"),
        ("AaBbCc", True, "AaB", "AaBz"),
        ("AaBb", True, "B", "AaBz"),  # the page sends the newest message alone
        ("AaBb", True, "AaX", "AaBbXz"),
        ("AaBbCc", None, "A", "AaBbCcAz"),  # another question alone, as a program asks it
        ("Aa", None, "AaA", "AaAz"),
        ("AaAa", None, "AaA", "AaAz"),
        ("Aa", False, "A", "AaAz"),
        ("", None, "A", "Az"),
        ("", True, "A", "Az"),
    ],
)
async def test_a_question_that_is_asked_again_takes_the_place_of_itself_and_of_what_came_after_it(
    history: SqliteHistory, kept: str, told: bool | None, sent: str, left: str
) -> None:
    chat = await started(history)
    for place, answer in enumerate(kept):
        if answer.islower():
            await record_to(history, conversation(kept[:place], chat), answer)
    await record_to(history, conversation(sent, chat, told=told), "z")
    assert "".join(one.content for one in await history.messages(owner_of(ANNA), chat)) == left


async def test_a_question_that_is_asked_again_goes_on_with_its_tools_and_leaves_no_result_of_before(
    history: SqliteHistory,
) -> None:
    chat, call = await started(history), ToolCall("c1", "look_up", "{}")
    calling = (*ANSWER[:2], ToolsCalled((call,)), Finished("tool_calls", ended=1))
    steps = (Message(Role.ASSISTANT, "", (call,)), Message(Role.TOOL, "Found.", tool_call_id="c1"))
    for events, since in ((calling, ()), (ANSWER, steps), (calling, ()), (ANSWER, steps)):
        request = replace(asked(chat), steps=since)
        assert [event async for event in record(events_of(*events), request, context(), history)] == [*events]
    assert [content for content, _ in await kept_of(history, chat, 4)] == ["Why?", "", "Found.", "One two."]
    await record_to(history, asked(chat), "At once.")
    assert [content for content, _ in await kept_of(history, chat, 2)] == ["Why?", "At once."]


class Counted(SqliteHistory):
    """A store that counts its writes."""

    writes = 0

    async def write(self, *values: Any, **named: Any) -> Conversation:
        self.writes += 1
        return await super().write(*values, **named)


async def test_the_old_answer_stays_until_there_is_something_of_the_new_one(tmp_path: Path, clock: Clock) -> None:
    history, begins, never = Counted(tmp_path / "history.sqlite"), asyncio.Event(), asyncio.Event()
    chat = await started(history)
    await record_to(history, asked(chat), "One two.")

    async def events() -> AsyncGenerator[ChatEvent]:
        yield ANSWER[0]
        await begins.wait()
        yield ANSWER[2]
        await never.wait()

    history.writes = 0
    turn = RunningTurn(record(events(), replace(asked(chat), stream=True), context(), history), context())
    batches = turn.batches(None)
    assert await anext(batches) == [ANSWER[0]]
    clock.forward(SHOWN_SECONDS)
    assert await kept_of(history, chat, 2) == [("Why?", None), ("One two.", None)]
    begins.set()
    assert await anext(batches) == [ANSWER[2]]
    clock.forward(SHOWN_SECONDS)
    async with asyncio.timeout(30):
        while await kept_of(history, chat, 2) != [("Why?", None), ("One", "stopped")]:  # in the background
            pass
    assert history.writes == 1
    turn.cancel()


async def test_a_question_that_is_refused_when_it_is_asked_again_leaves_no_trace(history: SqliteHistory) -> None:
    chat = await started(history)
    await record_to(history, asked(chat), "One two.")
    turn = RunningTurn(record(events_of(ContentFiltered()), asked(chat), context(), history), context())
    with pytest.raises(ContentFiltered):
        await fold(turn.events())
    assert await history.messages(owner_of(ANNA), chat) == []


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
        while len(kept := await history.messages(owner_of(ANNA), chat)) != count:  # noqa: ASYNC110 (in the background)
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

    for is_stopped, kept in ((False, 1), (True, 2)):
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
    first = asyncio.ensure_future(anext(events))
    while not first.done():  # the first words wait for the store, but not for long
        clock.forward(QUESTION_SECONDS / 10)
        await asyncio.sleep(0)
    seen = [await first, *[await anext(events) for _ in ANSWER[1:-1]]]
    clock.forward(bounded.deadline - 0.1 - asyncio.get_running_loop().time())
    seen += [event async for event in events]
    other.execute("ROLLBACK")
    other.close()
    assert isinstance(seen[-1], Finished)
    told = seen[-2]
    assert isinstance(told, ThoughtsAdded)
    assert "may not have been recorded" in str(told.thoughts[0].description)


async def test_the_question_is_kept_before_anything_is_asked(history: SqliteHistory) -> None:
    chat = await started(history)

    async def events() -> AsyncGenerator[ChatEvent]:
        assert await kept_of(history, chat, 1) == [("Why?", None)]
        for event in ANSWER:
            yield event

    assert [event async for event in record(events(), asked(chat), context(), history)] == [*ANSWER]


async def halting(go_on: asyncio.Event) -> AsyncGenerator[ChatEvent]:
    """The answer, which stops after its first word until it may go on."""
    for event in ANSWER[:3]:
        yield event
    await go_on.wait()
    for event in ANSWER[3:]:
        yield event


async def test_what_was_shown_is_kept_every_few_seconds_and_replaced_by_the_whole_answer(
    history: SqliteHistory, clock: Clock
) -> None:
    chat, go_on = await started(history), asyncio.Event()

    turn = RunningTurn(record(halting(go_on), replace(asked(chat), stream=True), context(), history), context())
    batches = turn.batches(None)
    assert await anext(batches) == [*ANSWER[:3]]
    clock.forward(SHOWN_SECONDS)
    assert await kept_of(history, chat, 2) == [("Why?", None), ("One", "stopped")]
    partial = (await history.messages(owner_of(ANNA), chat))[1]
    clock.forward(SHOWN_SECONDS)  # nothing new: it is not written again
    go_on.set()
    assert [event async for batch in batches for event in batch] == [*ANSWER[3:]]
    whole = (await history.messages(owner_of(ANNA), chat))[1]
    assert await kept_of(history, chat, 2) == [("Why?", None), ("One two.", None)]
    assert whole.id == partial.id


class Held(SqliteHistory):
    """A store that does one of its writes only when it may."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(path)
        self.may, self._left = asyncio.Event(), number
        self.begun, self.done = asyncio.Event(), asyncio.Event()

    async def write(self, *values: Any, **named: Any) -> Conversation:
        self._left -= 1
        if self._left:
            return await super().write(*values, **named)
        self.begun.set()
        await self.may.wait()
        try:
            return await super().write(*values, **named)
        finally:
            self.done.set()


async def test_a_partial_answer_that_is_written_late_replaces_no_whole_one(tmp_path: Path, clock: Clock) -> None:
    history, go_on = Held(tmp_path / "history.sqlite", 2), asyncio.Event()
    chat = await started(history)
    turn = RunningTurn(record(halting(go_on), replace(asked(chat), stream=True), context(), history), context())
    batches = turn.batches(None)
    assert await anext(batches) == [*ANSWER[:3]]
    clock.forward(SHOWN_SECONDS)
    await history.begun.wait()
    go_on.set()
    assert ANSWER[3] in await anext(batches)
    history.may.set()
    async for _ in batches:
        pass
    await history.done.wait()
    assert await kept_of(history, chat, 2) == [("Why?", None), ("One two.", None)]


async def test_a_question_that_is_written_slowly_holds_up_no_answer_and_is_kept_in_the_end(
    tmp_path: Path, clock: Clock
) -> None:
    history, go_on = Held(tmp_path / "history.sqlite", 1), asyncio.Event()
    chat = await started(history)
    turn = RunningTurn(record(halting(go_on), asked(chat), context(), history), context())
    batches = turn.batches(None)
    await history.begun.wait()
    clock.forward(QUESTION_SECONDS)
    async with asyncio.timeout(20):
        assert await anext(batches) == [*ANSWER[:3]]
    history.may.set()
    go_on.set()
    assert [event async for batch in batches for event in batch] == [*ANSWER[3:]]  # and no thought
    assert await kept_of(history, chat, 2) == [("Why?", None), ("One two.", None)]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_refused_question_leaves_no_trace(history: SqliteHistory, *, streams: bool) -> None:
    chat = await history.create(owner_of(ANNA), Mode.STANDARD, UNTITLED)
    request = replace(asked(chat.id), stream=streams)
    said = ANSWER[:2] if streams else ANSWER[:4]  # without a stream nobody was shown the text
    turn = RunningTurn(record(events_of(*said, ContentFiltered()), request, context(), history), context())
    with pytest.raises(ContentFiltered):
        await fold(turn.events())
    (left,) = await history.conversations(owner_of(ANNA))
    assert replace(left, last_updated=chat.last_updated) == chat
    assert await history.messages(owner_of(ANNA), chat.id) == []


async def test_of_a_team_only_agents_whose_turn_it_is_are_kept_before_the_end(
    history: SqliteHistory, clock: Clock
) -> None:
    chat, more = await started(history), asyncio.Event()
    agents = [AgentMessage(name, place, name, finished=Finished("stop", ended=1)) for place, name in enumerate("ABC")]

    async def events() -> AsyncGenerator[ChatEvent]:
        yield agents[0]
        yield agents[2]
        await more.wait()
        yield agents[1]
        yield Finished("stop", ended=1)

    turn = RunningTurn(record(events(), replace(asked(chat), stream=True), context(), history), context())
    batches = turn.batches(None)
    assert await anext(batches) == [agents[0], agents[2]]
    clock.forward(SHOWN_SECONDS)
    assert await kept_of(history, chat, 2) == [("Why?", None), ("A", None)]
    more.set()
    async for _ in batches:
        pass
    assert await kept_of(history, chat, 4) == [("Why?", None), ("A", None), ("B", None), ("C", None)]


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
