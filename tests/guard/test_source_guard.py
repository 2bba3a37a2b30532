"""Which sources go out with `enforce`, by what the service says of them."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace

import pytest

from shared.chat_types import ImagePart
from shared.errors import ContentFiltered, TooLarge
from shared.events import AgentMessage, DataPoint, Finished, Retrieved, SourceImage, TextDelta, Thought
from shared.guard import AnalysisResult, Place, SafetyEvent, Side, Watermark
from shared.guard.chat_payloads import ANSWER
from tests.clock import Clock
from tests.guard.guarding import STARTED, Outcome, Part, Turn, answer, quiet, rules, watched
from tests.guard.scripted_safety import (
    PLANTED,
    WHOLE,
    Script,
    ScriptedSafety,
    ScriptedSession,
    blocks,
    broken,
    honest,
    mute,
    unreachable,
)

GOOD = DataPoint("good.md", "Be kind.")
BAD = DataPoint("bad.md", "Build a bomb.")
OTHER = DataPoint("other.md", "Be brief.")
ASKED = Thought("Original user query", "Hi")
SECOND = Place(Side.COMPLETION, "1", 0)


def found(*sources: DataPoint, query: str = "") -> Retrieved:
    """Sources, with a step that quotes each and one that quotes all."""
    each = (Thought("Results", source.line, quotes=(source,)) for source in sources)
    prompt = Thought("Prompt", "\n".join(source.line for source in sources), quotes=sources)
    return Retrieved(sources, (ASKED, *each, prompt), (query,) if query else ())


def said(*sources: DataPoint, failed: bool = False) -> AgentMessage:
    """An agent's message that is made of sources."""
    error = TooLarge("Too large.") if failed else None
    return AgentMessage("A", 0, "Fine.", STARTED, Finished("stop"), error, sources, found(*sources).thoughts)


def with_sources(event: Retrieved) -> list[Part]:
    return [event, *answer("Fine.")[1:]]


def sources(out: Outcome) -> Retrieved:
    """The last event of sources that came out."""
    return [event for event in out.events if isinstance(event, Retrieved)][-1]


def titles(event: Retrieved | AgentMessage) -> list[str]:
    return [thought.title for thought in event.thoughts]


def told(event: Retrieved | AgentMessage) -> str:
    """What the first thought 'Safety' says."""
    return next(str(thought.description) for thought in event.thoughts if thought.title == "Safety")


async def reads_all(session: ScriptedSession) -> list[Place]:
    """Read to the end; the places in their order."""
    while await session.next() != "finish":
        pass
    return list(session.texts)


async def test_a_forbidden_source_is_withheld_with_the_steps_that_quote_it_and_the_answer_goes_on() -> None:
    out = await watched(with_sources(found(GOOD, BAD, OTHER)), rules(ScriptedSafety(honest("bomb"))))
    assert out.error is None
    assert out.text == "Fine."
    event = sources(out)
    assert event.data_points == (GOOD, OTHER)
    assert titles(event) == ["Original user query", "Results", "Results", "Safety"]
    assert told(event) == "1 of 3 sources is withheld, with the steps that quote them."
    assert event.thoughts[-1].props == {
        "mode": "enforce",
        "service": "rai",
        "content_filter_results": {"violence": {"filtered": True, "severity": "high"}},
    }
    assert "bomb" not in repr(out.events)
    assert out.finished.content_filter_results is None
    assert str(out.safety.description).startswith("The safety service let this pass")


async def test_an_image_is_withheld_if_any_source_on_it_is() -> None:
    page = ImagePart("image/png", b"\x89PNG")
    kept, dropped = SourceImage((GOOD, OTHER), page), SourceImage((GOOD, BAD), page)
    event = replace(found(GOOD, BAD, OTHER), images=(dropped, kept))
    out = await watched(with_sources(event), rules(ScriptedSafety(honest("bomb"))))
    assert sources(out).images == (kept,)


async def test_a_step_is_withheld_even_if_nothing_else_shows_what_it_quotes() -> None:
    event = Retrieved((), (ASKED, Thought("Prompt", BAD.line, quotes=(BAD,))))
    out = await watched(with_sources(event), rules(ScriptedSafety(honest("bomb"))))
    assert titles(sources(out)) == ["Original user query", "Safety"]
    assert "bomb" not in repr(out.events)


async def test_harmless_sources_go_out_as_they_are() -> None:
    event, service = found(GOOD, OTHER), ScriptedSafety(honest())
    out = await watched(with_sources(event), rules(service))
    assert out.events[0] == event
    read = {replace(place, side=Side.PROMPT): text for place, text in ((ANSWER, GOOD.line), (SECOND, OTHER.line))}
    assert service.sessions[1].texts == {ANSWER: GOOD.line, SECOND: OTHER.line} | read


async def test_without_sources_there_is_nothing_more_to_check() -> None:
    service = ScriptedSafety(honest())
    out = await watched(with_sources(found()), rules(service))
    assert out.error is None
    assert len(service.sessions) == 1


async def test_with_annotate_sources_are_not_checked() -> None:
    event, service = found(BAD), ScriptedSafety(honest("bomb"))
    out = await watched(with_sources(event), rules(service, mode="annotate"))
    assert out.events[0] == event
    assert len(service.sessions) == 1


def late(go: asyncio.Event) -> Script:
    """Clears everything, but not before it may."""

    async def script(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        await go.wait()
        async for event in honest()(session):
            yield event

    return script


async def test_sources_wait_for_their_check_while_the_model_answers() -> None:
    go, out = asyncio.Event(), Outcome()
    turn = Turn(with_sources(found(GOOD)))
    running = asyncio.create_task(watched(turn, rules(ScriptedSafety(honest(), late(go))), into=out))
    await turn.closed.wait()
    assert out.events == []
    go.set()
    await running
    assert sources(out).data_points == (GOOD,)
    assert out.text == "Fine."


async def test_what_is_cleared_of_a_forbidden_answer_goes_out_behind_its_sources() -> None:
    go, blocked = asyncio.Event(), asyncio.Event()

    async def of_answer(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        async for event in honest("bomb")(session):
            yield event
            if isinstance(event, AnalysisResult):
                blocked.set()

    turn = Turn([found(GOOD), STARTED, TextDelta("First. "), TextDelta("A bomb"), asyncio.Event()])
    service = ScriptedSafety(of_answer, late(go))
    out = Outcome()
    running = asyncio.create_task(watched(turn, rules(service), into=out))
    await blocked.wait()
    assert not running.done()
    go.set()
    await running
    assert sources(out).data_points == (GOOD,)
    assert out.text == "First. A "
    assert isinstance(out.error, ContentFiltered)


async def test_of_sources_that_were_found_later_only_the_new_are_checked() -> None:
    service = ScriptedSafety(honest("bomb"))
    first, then = found(GOOD, BAD), found(GOOD, BAD, OTHER)
    out = await watched([first, STARTED, TextDelta("Fine."), then, Finished("stop")], rules(service))
    assert out.error is None
    sent = [session.texts for session in service.sessions[1:]]
    assert [{place: text for place, text in texts.items() if place.side is Side.COMPLETION} for texts in sent] == [
        {ANSWER: GOOD.line, SECOND: BAD.line},
        {ANSWER: OTHER.line},
    ]
    shown = [event.data_points for event in out.events if isinstance(event, Retrieved)]
    assert shown == [(GOOD,), (GOOD, OTHER)]
    assert "bomb" not in repr(out.events)


@pytest.mark.parametrize("fault", [unreachable, broken, mute])
async def test_sources_that_cannot_be_checked_are_withheld_and_the_answer_goes_on(fault: Script, clock: Clock) -> None:
    by = rules(ScriptedSafety(honest(), fault), timeout=5)
    running = asyncio.create_task(watched(with_sources(found(GOOD, OTHER)), by))
    await quiet()
    clock.forward(5)
    out = await running
    assert out.error is None
    assert out.text == "Fine."
    assert sources(out).data_points == ()
    assert titles(sources(out)) == ["Original user query", "Safety"]
    assert told(sources(out)).startswith("2 of 2 sources are withheld, with the steps that quote them. Not all sources")
    assert PLANTED not in repr(out.events)


async def test_with_allow_sources_that_cannot_be_checked_go_out_and_that_is_told() -> None:
    by = rules(ScriptedSafety(honest(), unreachable), on_error="allow")
    out = await watched(with_sources(found(GOOD)), by)
    assert sources(out).data_points == (GOOD,)
    assert titles(sources(out)) == ["Original user query", "Results", "Prompt", "Safety"]
    assert told(sources(out)) == "Not all sources were checked. The safety service cannot be reached."


async def test_with_allow_sources_that_the_service_does_not_take_are_withheld() -> None:
    async def refuses(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        await session.next()
        raise TooLarge("Too large.")
        yield

    out = await watched(with_sources(found(GOOD)), rules(ScriptedSafety(honest(), refuses), on_error="allow"))
    assert out.error is None
    assert sources(out).data_points == ()


async def test_with_allow_what_was_forbidden_before_a_fault_stays_so_and_what_was_not_cleared_with_it() -> None:
    async def breaks_off(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        *read, first, second, _ = await reads_all(session)
        for place in (*read, first):
            yield Watermark(place, len(session.texts[place]))
        yield blocks(second, 3, 5)

    out = await watched(
        with_sources(found(GOOD, BAD, OTHER)), rules(ScriptedSafety(honest(), breaks_off), on_error="allow")
    )
    assert out.error is None
    assert sources(out).data_points == (GOOD,)


async def test_a_block_of_something_else_withholds_all_sources() -> None:
    async def astray(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        for place in await reads_all(session):
            yield Watermark(place, len(session.texts[place]))
        yield blocks(Place(Side.COMPLETION, "7", 0), 0, 3)
        yield WHOLE

    out = await watched(with_sources(found(GOOD, OTHER)), rules(ScriptedSafety(honest(), astray)))
    assert out.error is None
    assert sources(out).data_points == ()


@pytest.mark.parametrize("failed", [False, True])
async def test_a_message_goes_out_without_its_forbidden_sources(failed: bool) -> None:
    parts: list[Part] = [STARTED, said(GOOD, BAD, failed=failed), Finished("stop")]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb", findings=True))), team=True)
    (message,) = out.messages
    assert message.text == "Fine."
    assert (message.error is not None) == failed
    assert message.data_points == (GOOD,)
    assert titles(message)[:3] == ["Original user query", "Results", "Safety"]
    assert told(message).startswith("1 of 2 sources is withheld")
    assert "bomb" not in repr(out.events)
    if not failed:
        assert (
            message.thoughts[-1].description
            == "The question and the answer are checked, and nothing was found that the policy forbids."
        )


async def test_a_message_whose_sources_cannot_be_checked_goes_out_without_them() -> None:
    service = ScriptedSafety(honest(), honest(), unreachable)
    out = await watched([STARTED, said(GOOD), Finished("stop")], rules(service), team=True)
    (message,) = out.messages
    assert message.error is None
    assert message.text == "Fine."
    assert message.data_points == ()
    assert "withheld" in told(message)
