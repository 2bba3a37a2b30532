"""What a request that asks for it is told of the guard's work: how much waits, and what was found; never a text."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace

from shared.chat_types import ChatRequest
from shared.errors import ContentFiltered
from shared.events import (
    AgentMessage,
    AgentWork,
    DataPoint,
    Finished,
    GuardState,
    Progress,
    Retrieved,
    StepEnded,
    TextDelta,
    Thought,
)
from shared.guard import SafetyEvent, Watermark
from shared.guard.chat_payloads import ANSWER
from tests.guard.guarding import ASKED, FOUND, STARTED, Outcome, Part, Turn, answer, request, rules, watched
from tests.guard.scripted_safety import WHOLE, ScriptedSafety, ScriptedSession, blocks, honest, mute

HIGH = {"violence": {"filtered": True, "severity": "high"}}


def asking(*contents: str) -> ChatRequest:
    asked = request(*contents)
    return replace(asked, overrides=replace(asked.overrides, show_progress=True))


def states(out: Outcome) -> list[GuardState]:
    return [one.news for one in out.events if isinstance(one, Progress) and isinstance(one.news, GuardState)]


async def test_it_counts_the_characters_that_wait_and_those_that_went_out() -> None:
    go, text = asyncio.Event(), "Grüße 🦷 an alle"

    async def slow(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        while await session.next() != "commit":
            pass
        yield Watermark(ASKED, 2)
        await session.next()
        yield Watermark(ANSWER, len("Grüße ".encode()))
        await go.wait()
        while await session.next() != "finish":
            pass
        yield Watermark(ANSWER, len(text.encode()))
        yield WHOLE

    out = Outcome()
    running = asyncio.create_task(watched(answer(text), rules(ScriptedSafety(slow)), asking(), into=out))
    await out.until(lambda seen: bool(states(seen)) and states(seen)[-1].released == 6)
    waits = states(out)[-1]
    assert (waits.question, waits.held, waits.answer_refused) == ("cleared", 9, False)
    assert waits.held_milliseconds > 0
    go.set()
    await running
    last = states(out)[-1]
    assert (last.held, last.released, last.held_milliseconds) == (0, len(text), 0)
    assert isinstance(out.events[-1], Finished)


async def test_the_question_is_waiting_first_and_nothing_but_news_goes_out_meanwhile() -> None:
    out = Outcome()
    parts: list[Part] = [Progress(StepEnded("search", 1)), *answer("Yes.")]
    running = asyncio.create_task(watched(parts, rules(ScriptedSafety(mute)), asking(), into=out))
    await out.until(lambda seen: bool(states(seen)) and states(seen)[-1].held == 4)
    assert {type(event) for event in out.events} == {Progress}
    assert Progress(StepEnded("search", 1)) in out.events
    assert {state.question for state in states(out)} == {"waiting"}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_refused_question_is_told_with_what_was_found() -> None:
    turn = Turn([FOUND, STARTED, TextDelta("Well,"), asyncio.Event()])
    out = await watched(turn, rules(ScriptedSafety(honest("bomb"))), asking("How to build a bomb?"))
    assert isinstance(out.error, ContentFiltered)
    last = states(out)[-1]
    assert (last.question, last.prompt_filter_results, last.released) == ("refused", HIGH, 0)


async def test_an_answer_that_is_stopped_is_told_with_what_was_found_and_how_much_is_withheld() -> None:
    out = await watched(answer("First a ", "bomb", " is made"), rules(ScriptedSafety(honest("bomb"))), asking())
    assert isinstance(out.error, ContentFiltered)
    last = states(out)[-1]
    assert (last.answer_refused, last.content_filter_results) == (True, HIGH)
    assert last.released == len(out.text)
    assert last.held > 0


async def test_with_annotate_nothing_is_held_and_what_is_found_is_told() -> None:
    out = await watched(answer("A bomb."), rules(ScriptedSafety(honest("bomb")), mode="annotate"), asking("Hi"))
    last = states(out)[-1]
    assert (last.mode, last.answer_refused, last.held) == ("annotate", True, 0)
    assert last.content_filter_results == {"violence": {"filtered": False, "severity": "high"}}
    assert isinstance(out.events[-1], Finished)


async def test_a_source_that_is_withheld_is_counted() -> None:
    bad = DataPoint("b.md", "bomb")
    found = Retrieved((*FOUND.data_points, bad), (Thought("Results", "x", quotes=(bad,)),))
    out = await watched([found, *answer("Yes.")[1:]], rules(ScriptedSafety(honest("bomb"))), asking())
    assert states(out)[-1].sources_withheld == 1
    assert states(out)[-1].content_filter_results == HIGH


async def test_a_teams_messages_are_held_and_withheld_one_by_one() -> None:
    bad = AgentMessage("A", 0, "A bomb.", STARTED, Finished("stop"))
    good = AgentMessage("B", 1, "Fine.", STARTED, Finished("stop"))
    searching = Progress(AgentWork("A", "searching", query="how to build a bomb"))
    parts: list[Part] = [STARTED, searching, bad, good, Finished("stop")]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))), asking(), team=True)
    last = states(out)[-1]
    assert (last.messages_withheld, last.released, last.held) == (1, len("Fine."), 0)
    assert Progress(AgentWork("A", "searching")) in out.events, "the words of its query are not cleared"


async def test_with_annotate_an_agents_query_is_told() -> None:
    searching = Progress(AgentWork("A", "searching", query="how to build a bomb"))
    message = AgentMessage("A", 0, "Fine.", STARTED, Finished("stop"))
    parts: list[Part] = [STARTED, searching, message, Finished("stop")]
    out = await watched(parts, rules(ScriptedSafety(honest()), mode="annotate"), asking(), team=True)
    assert searching in out.events


async def test_no_word_of_a_text_that_is_held_is_in_the_news() -> None:
    async def never(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        while await session.next() != "finish":
            pass
        yield blocks(ANSWER, 0, 9)

    out = await watched(answer("Zebrafish", followups=("Zebrafish?",)), rules(ScriptedSafety(never)), asking())
    assert "Zebrafish" not in str(out.events)


async def test_nobody_is_told_without_being_asked() -> None:
    out = await watched([Progress(StepEnded("search", 1)), *answer("Yes.")], rules(ScriptedSafety(honest())))
    assert not [event for event in out.events if isinstance(event, Progress)]
