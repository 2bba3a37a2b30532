"""What a service that errs, lies or falls silent means."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from shared.errors import ContentFiltered, TooLarge, TooSlow, Unavailable
from shared.events import Finished, Retrieved, TextDelta
from shared.guard import Buffer, Completion, Place, SafetyEvent, Side, Watermark
from shared.guard.chat_payloads import ANSWER, MORE
from shared.guard.check import LONGEST_WAITING
from tests.clock import Clock
from tests.guard.guarding import ASKED, FOUND, STARTED, Outcome, Part, Turn, answer, quiet, rules, watched
from tests.guard.scripted_safety import (
    PLANTED,
    WHOLE,
    Script,
    ScriptedSafety,
    ScriptedSession,
    blocks,
    broken,
    cleared,
    completes_at_once,
    completes_with_an_error,
    ended,
    fixed,
    harmless,
    honest,
    mute,
    unreachable,
)

MISSING = Place(Side.COMPLETION, "7", 3)

NEVER_CLEARED: dict[str, tuple[list[SafetyEvent], type[Exception]]] = {
    "silence": ([], TooSlow),
    "a watermark beyond what was sent": ([Watermark(ANSWER, 1_000)], Unavailable),
    "a watermark that went back": ([Watermark(ANSWER, 2), Watermark(ANSWER, 0), Watermark(ANSWER, -9)], TooSlow),
    "the watermark of another text": ([Watermark(MISSING, 4), Watermark(MORE, 4)], TooSlow),
    "the watermark of the question, again": ([Watermark(ASKED, 2)], TooSlow),
    "an end in good order that cleared nothing": ([WHOLE], Unavailable),
    "an end with an error": ([Watermark(ANSWER, 2), Completion("END_REASON_ERROR", "Kaboom")], Unavailable),
    "a whole end with an error": ([Completion(WHOLE.end_reason, "Kaboom")], Unavailable),
    "a block of another text": ([Watermark(ANSWER, 2), blocks(MISSING, 0, 4)], ContentFiltered),
    "a block of the question, late": ([blocks(ASKED, 0, 2)], ContentFiltered),
    "a block that begins before the text": ([blocks(ANSWER, -5, 2)], ContentFiltered),
    "a block beyond the text": ([blocks(ANSWER, 500, 900)], ContentFiltered),
    "a block with a wild range": ([blocks(ANSWER, 3, 1)], ContentFiltered),
}


@pytest.mark.parametrize("name", NEVER_CLEARED)
async def test_nothing_uncleared_goes_out_whatever_the_service_says(name: str, clock: Clock) -> None:
    says, error = NEVER_CLEARED[name]
    service = ScriptedSafety(fixed(1, *says))
    running = asyncio.create_task(watched(answer("Four", " more"), rules(service, timeout=5)))
    await quiet()
    clock.forward(5)
    out = await running
    assert isinstance(out.error, error)
    assert "Four".startswith(out.text)
    assert len(out.text) <= 2
    assert "Kaboom" not in str(out.error)
    assert service.sessions[0].closed.is_set()


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (ended, Unavailable),
        (unreachable, Unavailable),
        (broken, Unavailable),
        (mute, TooSlow),
        (completes_at_once, Unavailable),
    ],
)
async def test_a_fault_of_the_service_blocks_the_answer(
    script: Script, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    turn = Turn([FOUND, STARTED, TextDelta("Four"), Finished("stop")])
    out = await watched(turn, rules(ScriptedSafety(script), timeout=0.2 if error is TooSlow else 60))
    assert isinstance(out.error, error)
    assert out.text == ""
    assert turn.closed.is_set()
    assert PLANTED not in caplog.text + out.error.message


async def test_an_answer_that_was_cleared_does_not_end_well_if_the_check_does_not() -> None:
    out = await watched(answer("Four"), rules(ScriptedSafety(completes_with_an_error)))
    assert isinstance(out.error, Unavailable)
    assert not any(isinstance(event, Finished) for event in out.events)


async def test_text_that_comes_after_the_service_has_ended_does_not_go_out() -> None:
    over = asyncio.Event()

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        try:
            async for event in completes_at_once(session):
                yield event
        finally:
            over.set()

    turn = Turn([FOUND, STARTED, over, TextDelta("Four"), Finished("stop")])
    async with asyncio.timeout(10):
        out = await watched(turn, rules(ScriptedSafety(script)))
    assert isinstance(out.error, Unavailable)
    assert out.text == ""


async def test_silence_after_the_question_is_found_while_the_model_works() -> None:
    turn = Turn([FOUND, STARTED, TextDelta("Four"), asyncio.Event()])
    out = await watched(turn, rules(ScriptedSafety(mute), timeout=0.1))
    assert isinstance(out.error, TooSlow)
    assert out.events == []


class DoesNotTakeIt(ScriptedSession):
    """Takes no payload."""

    async def send(self, buffer: Buffer) -> None:
        del buffer
        raise TooLarge("Too large.")


class Gone(ScriptedSession):
    """Has broken off."""

    async def send(self, buffer: Buffer) -> None:
        await super().send(buffer)
        raise Unavailable("Gone.")


@pytest.mark.parametrize("on_error", ["block", "allow"])
async def test_a_text_that_the_service_does_not_take_is_refused_whatever_the_setting(on_error: str) -> None:
    service = ScriptedSafety(mute, kind=DoesNotTakeIt)
    out = await watched(answer("Four"), rules(service, on_error=on_error, timeout=60))
    assert isinstance(out.error, TooLarge)
    assert out.events == []


async def test_what_a_broken_session_still_says_is_heard(clock: Clock) -> None:
    clock.stop()

    async def last_words(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        await session.next()
        for _ in range(5):  # whoever is told that sending failed has heard it by now
            await asyncio.sleep(0)
        yield blocks(ASKED, 0, 2)
        raise Unavailable("Gone.")

    service = ScriptedSafety(last_words, kind=Gone)
    out = await watched(answer("Four"), rules(service, on_error="allow"))
    assert isinstance(out.error, ContentFiltered)


@pytest.mark.parametrize("script", [ended, unreachable, broken, mute])
async def test_with_allow_a_fault_lets_the_rest_pass_and_is_told(script: Script) -> None:
    service = ScriptedSafety(script)
    parts = [Retrieved((), (), tool_inputs=("Q",)), *answer("Four", " more", followups=("Why?",))[1:]]
    out = await watched(parts, rules(service, on_error="allow", timeout=0.2))
    assert out.error is None
    assert out.text == "Four more"
    assert out.finished.followup_questions == ("Why?",)
    assert str(out.safety.description).startswith("Not everything was checked.")


async def test_with_allow_a_block_that_was_seen_stays_a_block() -> None:
    says: list[SafetyEvent] = [Watermark(ANSWER, 2), blocks(ANSWER, 2, 4), Watermark(ANSWER, 9_999)]
    out = await watched(answer("Four", " more"), rules(ScriptedSafety(fixed(1, *says)), on_error="allow"))
    assert isinstance(out.error, ContentFiltered)
    assert "Fo".startswith(out.text)


class TakesOnePiece(ScriptedSession):
    """Takes the first piece of an answer, and no more."""

    async def send(self, buffer: Buffer) -> None:
        if ANSWER in self.texts:
            await asyncio.Event().wait()
        await super().send(buffer)


async def test_what_still_waits_to_be_sent_cannot_have_been_cleared() -> None:
    taken = asyncio.Event()
    turn = Turn([FOUND, STARTED, TextDelta("Fo"), taken, TextDelta("ur"), Finished("stop")])

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        while await session.next() != "commit":
            pass
        for event in cleared(session.texts):
            yield event
        await session.next()
        taken.set()
        await turn.reached(5)
        yield Watermark(ANSWER, 4)

    out = await watched(turn, rules(ScriptedSafety(script, kind=TakesOnePiece)))
    assert isinstance(out.error, Unavailable)
    assert out.text == ""


async def test_an_answer_that_comes_in_one_large_piece_is_checked() -> None:
    text = "x" * (LONGEST_WAITING + 1)
    out = await watched(answer(text), rules(ScriptedSafety(honest())))
    assert out.error is None
    assert out.text == text


async def test_a_check_is_given_up_before_the_deadline() -> None:
    out = await watched(answer("Four"), rules(ScriptedSafety(mute), timeout=60), seconds=0.4)
    assert isinstance(out.error, TooSlow)


def patient(text: str, heard: asyncio.Event) -> Script:
    """A service that waits for more than this text of an answer; says when it has it."""

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        async for event in honest(lag=9)(session):
            yield event
            if session.texts.get(ANSWER) == text:
                heard.set()

    return script


async def test_a_model_that_is_slow_to_the_deadline_is_no_fault_of_the_service(clock: Clock) -> None:
    heard, out = asyncio.Event(), Outcome()
    parts: list[Part] = [FOUND, STARTED, TextDelta("Four"), asyncio.Event()]
    by = rules(ScriptedSafety(patient("Four", heard)), on_error="allow")
    running = asyncio.create_task(watched(parts, by, seconds=30, into=out))
    await heard.wait()
    clock.forward(29.5)
    await quiet()  # whoever gives up has let the text out
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert out.text == ""


async def test_a_model_that_takes_its_time_is_no_fault_of_a_service_that_waits_for_more_text(clock: Clock) -> None:
    heard, more = asyncio.Event(), asyncio.Event()
    turn = Turn([FOUND, STARTED, TextDelta("Fo"), more, TextDelta("ur"), Finished("stop")])
    running = asyncio.create_task(watched(turn, rules(ScriptedSafety(patient("Fo", heard)), timeout=5)))
    await heard.wait()
    clock.forward(10)
    more.set()
    out = await running
    assert out.error is None
    assert out.text == "Four"


def noisy(script: Script) -> Script:
    """Sends every event twice, and between them older offsets and news of texts that it was never sent."""

    async def doubled(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        async for event in script(session):
            yield event
            if isinstance(event, Watermark):
                yield Watermark(event.place, event.offset // 2)
                yield Watermark(MISSING, 1_000)
                yield harmless(MISSING, 1_000, "SEXUAL")
            if not isinstance(event, Completion):
                yield event

    return doubled


async def test_a_service_that_repeats_itself_and_talks_of_other_texts_changes_nothing() -> None:
    said = answer("All is ", "well, ", "all of it.")
    outcome = await watched(said, rules(ScriptedSafety(noisy(honest(findings=True)))))
    assert outcome.error is None
    assert outcome.text == "All is well, all of it."
    assert outcome.finished.content_filter_results == {"hate": {"filtered": False, "severity": "safe"}}


async def test_nor_does_it_let_out_what_is_forbidden() -> None:
    outcome = await watched(answer("All is ", "evil", " here."), rules(ScriptedSafety(noisy(honest("evil")))))
    assert isinstance(outcome.error, ContentFiltered)
    assert "All is ".startswith(outcome.text)
