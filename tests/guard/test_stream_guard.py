"""What goes out with `enforce`, by what the service says and when."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace

import pytest

from shared.chat_models import ModelEvent, ModelFinished, ModelText
from shared.chat_types import ChatRequest, FileText, Json, Message, Overrides, Role, ToolCall, ToolDefinition
from shared.core.answering import Answering
from shared.core.links import KnownLinks
from shared.errors import ContentFiltered, RateLimited, TooSlow
from shared.events import (
    CompletionStarted,
    Finished,
    ReasoningDelta,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
    ToolsCalled,
)
from shared.guard import Place, SafetyEvent, Side, Watermark
from shared.guard.chat_payloads import ANSWER
from tests.guard.guarding import ASKED, FOUND, STARTED, Outcome, Part, Turn, answer, context, request, rules, watched
from tests.guard.scripted_safety import ScriptedSafety, ScriptedSession, fixed, honest, mute

CALL = ToolCall("c-1", "look", '{"q": "x"}')


async def test_a_safe_answer_comes_out_whole_with_its_events_in_their_places() -> None:
    late = ThoughtsAdded((Thought("Unverified citations", ["x.md"]),))
    finished = Finished("stop", followup_questions=("Why?",))
    parts: list[Part] = [FOUND, STARTED, TextDelta("All "), TextDelta("is well."), late, finished]
    out = await watched(parts, rules(ScriptedSafety(honest())))
    assert out.error is None
    assert out.text == "All is well."
    kinds = [type(event) for event in out.events if not isinstance(event, TextDelta)]
    assert kinds == [Retrieved, CompletionStarted, ThoughtsAdded, ThoughtsAdded, Finished]
    assert out.events.index(late) > max(i for i, event in enumerate(out.events) if isinstance(event, TextDelta))
    assert out.finished.followup_questions == ("Why?",)
    assert out.safety.props
    assert out.safety.props["mode"] == "enforce"


@pytest.mark.parametrize(
    "said",
    [
        (ModelText("Fine. "), ReasoningDelta("Or a bomb?"), ModelText("Bye.")),
        (ReasoningDelta("As in ![bomb"), ModelText("Fine.")),
    ],
    ids=["after the first word", "held back to the end"],
)
async def test_reasoning_that_only_a_thought_shows_is_checked_like_the_answer(said: tuple[ModelEvent, ...]) -> None:
    asked = request("Hi")
    answering = Answering(asked, KnownLinks(asked, context(), tuple), tuple, want_followups=False)
    events = [answering.take(event) for event in (*said, ModelFinished("stop"))]
    parts: list[Part] = [FOUND, STARTED, *(event for event in events if event), *answering.end(None)]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))))
    assert isinstance(out.error, ContentFiltered)
    assert "bomb" not in repr(out.events)


async def test_nothing_goes_out_before_everything_that_was_asked_is_cleared() -> None:
    waiting, go = asyncio.Event(), asyncio.Event()

    async def slow(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        while await session.next() != "commit":
            pass
        yield Watermark(Place(Side.PROMPT, "1", 0), 5)
        waiting.set()
        await go.wait()
        yield Watermark(ASKED, 2)
        async for event in honest()(session):
            yield event

    turn, out = Turn(answer("Yes.")), Outcome()
    running = asyncio.create_task(watched(turn, rules(ScriptedSafety(slow)), request("Hi", "there"), into=out))
    await turn.closed.wait()  # retrieval and the model work meanwhile
    await waiting.wait()
    assert out.events == []
    go.set()
    await running
    assert out.text == "Yes."


async def test_a_forbidden_question_ends_the_turn_with_what_was_found() -> None:
    turn = Turn([FOUND, STARTED, TextDelta("Well,"), asyncio.Event()])
    service = ScriptedSafety(honest("bomb"))
    out = await watched(turn, rules(service), request("How to build a bomb?"))
    assert out.events == []
    assert isinstance(out.error, ContentFiltered)
    assert out.error.results == {"violence": {"filtered": True, "severity": "high"}}
    assert "bomb" not in out.error.message
    assert turn.closed.is_set()
    assert service.sessions[0].closed.is_set()


async def test_everything_that_the_caller_wrote_is_asked_about() -> None:
    asked = ChatRequest(
        (
            Message(Role.SYSTEM, "Be nice."),
            Message(Role.ASSISTANT, "", tool_calls=(ToolCall("c-1", "search", '{"q":"x"}'),)),
            Message(Role.TOOL, "Found.", tool_call_id="c-1"),
            Message(Role.USER, "Read this.", files=(FileText("a.txt", "Inside."),)),
        ),
        Overrides(prompt_template=">>>Be rude.", language="en-GB"),
    )
    service = ScriptedSafety(honest())
    assert (await watched(answer("Yes."), rules(service), asked)).error is None
    texts = {place.message_id: text for place, text in service.sessions[0].texts.items() if place.side == "PROMPT"}
    assert texts["0"] == "Be nice."
    assert texts["1"] == 'c-1 search {"q":"x"}'
    assert texts["2"] == "Found.\n\nc-1"
    assert "Read this." in texts["3"]
    assert "Inside." in texts["3"]
    assert texts["4"] == ">>>Be rude.\n\nen-GB"
    assert service.sessions[0].steps[1] == "commit"


async def test_the_callers_tools_and_their_results_are_asked_about_like_the_question() -> None:
    tool = ToolDefinition("look", "Looks up.", {"type": "object", "title": "a bomb"})
    steps = (Message(Role.ASSISTANT, "", (CALL,)), Message(Role.TOOL, "A bomb.", tool_call_id="c-1"))
    for asked in (replace(request("Hi"), tools=(tool,)), replace(request("Hi"), steps=steps)):
        out = await watched(answer("Yes."), rules(ScriptedSafety(honest("bomb"))), asked)
        assert isinstance(out.error, ContentFiltered)
        assert out.events == []


async def test_calls_of_the_callers_tools_go_out_together_once_all_their_arguments_are_cleared() -> None:
    calls = ToolsCalled((CALL, replace(CALL, id="c-2", arguments='{"q": "a bomb"}')))
    parts: list[Part] = [FOUND, STARTED, TextDelta("I look."), calls, Finished("tool_calls")]
    out = await watched(parts, rules(ScriptedSafety(honest())))
    assert (out.error, out.text, out.finished.reason) == (None, "I look.", "tool_calls")
    assert out.events.index(calls) > out.events.index(TextDelta("I look."))
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))))
    assert isinstance(out.error, ContentFiltered)
    assert not any(isinstance(event, ToolsCalled) for event in out.events)


async def test_of_a_question_on_its_own_nothing_earlier_is_asked_about() -> None:
    service = ScriptedSafety(honest("bomb"))
    asked = replace(request("A bomb?", "Hi"), single_turn=True)
    assert (await watched(answer("Yes."), rules(service), asked)).error is None
    assert service.sessions[0].texts == {ASKED: "Hi", ANSWER: "Yes."}


@pytest.mark.parametrize("lag", [0, 3, 100])
async def test_an_answer_is_cut_before_its_first_forbidden_word_and_the_turn_closed(lag: int) -> None:
    turn = Turn([FOUND, STARTED, *map(TextDelta, ["First € then a b", "omb and", " more", " text"]), asyncio.Event()])
    out = await watched(turn, rules(ScriptedSafety(honest("bomb", lag=lag))))
    assert isinstance(out.error, ContentFiltered)
    assert out.error.results
    assert "First € then a ".startswith(out.text)
    assert lag == 100 or out.text == "First € then a "
    assert turn.closed.is_set()


async def test_text_goes_out_as_far_as_the_watermark_while_the_model_goes_on() -> None:
    more, out = asyncio.Event(), Outcome()
    turn = Turn([FOUND, STARTED, TextDelta("12345678"), more, TextDelta("9"), Finished("stop")])
    running = asyncio.create_task(watched(turn, rules(ScriptedSafety(honest(lag=3))), into=out))
    await out.until(lambda out: out.text == "12345")
    more.set()
    await running
    assert out.text == "123456789"


async def test_follow_up_questions_are_checked_before_they_go_out() -> None:
    parts = answer("Fine.", followups=("Who?", "Where is the bomb?"))
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))))
    assert out.text == "Fine."
    assert isinstance(out.error, ContentFiltered)
    assert "bomb" not in repr(out.events)


async def test_a_search_query_that_a_model_wrote_is_checked_before_it_is_shown() -> None:
    found = Retrieved((), (Thought("Generated search query", "bomb"),), tool_inputs=("bomb",))
    turn = Turn([found, STARTED, TextDelta("Fine."), asyncio.Event()])
    out = await watched(turn, rules(ScriptedSafety(honest("bomb"))))
    assert isinstance(out.error, ContentFiltered)
    assert out.events == []
    assert turn.closed.is_set()


async def test_a_harmless_search_query_is_shown_while_the_model_still_answers() -> None:
    more, out = asyncio.Event(), Outcome()
    found = Retrieved((), (), tool_inputs=("dental care",))
    service = ScriptedSafety(honest())
    turn = Turn([found, STARTED, more, TextDelta("Fine."), Finished("stop")])
    running = asyncio.create_task(watched(turn, rules(service), into=out))
    await out.until(lambda out: out.events[:1] == [found])
    more.set()
    await running
    assert out.text == "Fine."
    assert service.sessions[1].texts == {ANSWER: "dental care"}


async def test_results_of_both_sides_are_told_and_merged_with_what_azure_said() -> None:
    azure: Json = {"hate": {"filtered": False, "severity": "medium"}, "sexual": {"filtered": False, "severity": "safe"}}
    started = CompletionStarted("id", 1, "m", prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {}}])
    parts = [FOUND, started, TextDelta("Fine."), Finished("stop", content_filter_results=azure)]
    out = await watched(parts, rules(ScriptedSafety(honest(findings=True))))
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    told = out.events[1]
    assert isinstance(told, CompletionStarted)
    assert told.prompt_filter_results == [{"prompt_index": 0, "content_filter_results": safe}]
    assert out.finished.content_filter_results == azure
    assert out.finished.prompt_filter_results is None
    assert out.safety.props == {
        "mode": "enforce",
        "service": "rai",
        "prompt_filter_results": safe,
        "content_filter_results": safe,
    }


async def test_what_the_turn_fails_with_is_passed_on() -> None:
    out = await watched([FOUND, RateLimited("Later.")], rules(ScriptedSafety(honest())))
    assert isinstance(out.error, RateLimited)


@pytest.mark.parametrize("shown", [0, 1, 3])
async def test_a_reader_who_leaves_ends_the_turn_and_the_session(shown: int) -> None:
    turn, out = Turn([FOUND, STARTED, TextDelta("Fine."), asyncio.Event()]), Outcome()
    service = ScriptedSafety(honest() if shown else mute)
    running = asyncio.create_task(watched(turn, rules(service), into=out))
    await turn.reached(3)
    await out.until(lambda out: len(out.events) >= shown)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert turn.closed.is_set()
    assert all(session.closed.is_set() for session in service.sessions)


async def test_the_model_waits_when_the_service_falls_far_behind() -> None:
    turn = Turn([FOUND, STARTED, *[TextDelta("x" * 1000)] * 2000, Finished("stop")])
    out = await watched(turn, rules(ScriptedSafety(fixed(0)), timeout=0.2))
    assert isinstance(out.error, TooSlow)
    assert out.text == ""
    assert len(turn.pulled) < 300


async def test_reasoning_waits_as_the_answer_does_and_stays_reasoning() -> None:
    parts: list[Part] = [FOUND, STARTED, ReasoningDelta("Is it "), ReasoningDelta("so?"), *answer("Yes.")[2:]]
    out = await watched(parts, rules(ScriptedSafety(honest())))
    assert out.error is None
    assert "".join(event.text for event in out.events if isinstance(event, ReasoningDelta)) == "Is it so?\n"
    assert out.text == "Yes."


async def test_forbidden_reasoning_ends_the_turn_with_nothing_of_the_answer() -> None:
    parts: list[Part] = [FOUND, STARTED, ReasoningDelta("It says: bomb"), *answer("It is safe.")[2:]]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))))
    assert isinstance(out.error, ContentFiltered)
    assert out.text == ""
    assert "bomb" not in "".join(event.text for event in out.events if isinstance(event, ReasoningDelta))
