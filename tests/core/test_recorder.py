"""The recorder with a real store: what it adds to the events of a whole turn, and what it never does to them."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shared.chat_types import Caller, Message, Role, ToolCall
from shared.core.fold import fold
from shared.core.recorded_chat import SHOWN_SECONDS
from shared.core.recorder import record
from shared.core.running_turn import RunningTurn
from shared.errors import ContentFiltered, TooSlow
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    Finished,
    ToolsCalled,
)
from shared.history import Conversation, owner_of
from shared.history.sqlite_history import SqliteHistory
from tests.clock import Clock
from tests.core.recording import ANNA, ANSWER, BEN, asked, context, conversation, events_of, kept_of, record_to, started


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
