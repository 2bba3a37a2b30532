"""What the recorder keeps of turns that fail, are left or stopped, or whose store is slow."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest

from shared.core.fold import fold
from shared.core.recorded_chat import QUESTION_SECONDS, SHOWN_SECONDS
from shared.core.recorder import record
from shared.core.running_turn import RunningTurn
from shared.errors import ContentFiltered, RateLimited, Stopped
from shared.events import (
    AgentMessage,
    ChatEvent,
    Finished,
    ThoughtsAdded,
)
from shared.history import UNTITLED, Conversation, Mode, owner_of
from shared.history.sqlite_history import SqliteHistory
from tests.clock import Clock
from tests.core.recording import ANNA, ANSWER, asked, context, events_of, kept_of, started


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
