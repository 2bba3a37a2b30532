import tracemalloc
from copy import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import Unavailable
from shared.guard import AnalysisResult, Finding, Place, Side, Watermark
from shared.guard.chat_payloads import ANSWER, MORE
from shared.guard.clearance import Clearance
from tests.guard.scripted_safety import blocks, harmless

SIZE = 50


@st.composite
def events(draw: st.DrawFn) -> list[Watermark | AnalysisResult]:
    places = st.sampled_from([ANSWER, MORE, Place(Side.PROMPT, "0", 0)])
    marks = st.builds(Watermark, places, st.integers(-10, SIZE))
    results = st.builds(blocks, places, st.integers(-10, SIZE + 10), st.integers(-10, SIZE + 10))
    return draw(st.lists(marks | marks | marks | results | st.builds(harmless, places, st.just(SIZE)), max_size=15))


@given(events())
def test_what_may_be_shown_ends_at_the_highest_watermark_and_before_the_first_block(
    said: list[Watermark | AnalysisResult],
) -> None:
    clearance = Clearance()
    for place in (ANSWER, MORE):
        clearance.expect(place, "x" * SIZE)
        clearance.send(place, "x" * SIZE)
    blocked: list[AnalysisResult] = []
    highest = 0
    for event in said:
        clearance.take_in(event)
        if isinstance(event, AnalysisResult) and event.blocking:
            blocked.append(event)
        if isinstance(event, Watermark) and event.place == ANSWER:
            highest = max(highest, event.offset)
        shown = clearance.shown(ANSWER)
        assert 0 <= shown <= highest
        assert all(shown <= max(0, block.start) for block in blocked if block.place == ANSWER)
        if any(block.place.side is Side.PROMPT for block in blocked):  # none was sent
            assert shown == 0
        elif not [block for block in blocked if block.place == ANSWER]:
            assert shown == highest
    assert bool(clearance.blocking) == bool(blocked)


def test_a_watermark_beyond_what_was_sent_makes_no_sense() -> None:
    clearance = Clearance()
    clearance.expect(ANSWER, "é€ and more")
    clearance.send(ANSWER, "é€")
    clearance.take_in(Watermark(ANSWER, 5))
    assert clearance.shown(ANSWER) == 5
    assert not clearance.is_clear(ANSWER)
    with pytest.raises(Unavailable):
        clearance.take_in(Watermark(ANSWER, 6))


def test_the_worst_finding_of_a_category_is_kept_and_what_nothing_looked_at_is_none() -> None:
    def result(severity: int, *, result: str = "OK") -> AnalysisResult:
        finding = Finding("HARM_CATEGORY", "HATE", severity > 0, severity, "", blocking=False, result=result)
        return AnalysisResult(ANSWER, 0, 1, (finding,))

    clearance = Clearance()
    clearance.send(ANSWER, "x")
    for said in (result(1), result(4), result(2), result(7, result="NoModel")):
        clearance.take_in(said)
    assert [finding.severity for finding in clearance.findings(Side.COMPLETION).values()] == [4]
    assert not clearance.findings(Side.PROMPT)


def test_a_text_that_was_never_there_is_not_clear() -> None:
    assert not Clearance().is_clear(ANSWER)


def _told(result: str, side: Side = Side.COMPLETION, kind: str = "PROTECTED_MATERIAL") -> AnalysisResult:
    finding = Finding(kind, "", detected=False, severity=0, risk_level="", blocking=False, result=result)
    return AnalysisResult(Place(side, "0", 0), 0, 2, (finding,))


@pytest.mark.parametrize("blind", [False, True])
def test_a_text_that_no_model_looked_at_is_shown_only_to_who_accepts_it(*, blind: bool) -> None:
    clearance = Clearance(blind=blind)
    clearance.expect(ANSWER, "Hi")
    clearance.send(ANSWER, "Hi")
    clearance.take_in(_told("NoModel"))
    clearance.take_in(Watermark(ANSWER, 2))
    assert clearance.shown(ANSWER) == (2 if blind else 0)
    assert clearance.coverage.blind == {Side.COMPLETION}
    assert clearance.coverage.missing == {"protected_material"}
    clearance.take_in(_told("OK", Side.PROMPT))  # of a text that was never sent
    clearance.take_in(_told("OK"))
    assert clearance.shown(ANSWER) == 2
    assert not clearance.coverage.blind
    assert clearance.coverage.missing == {"protected_material"}


def test_a_watermark_alone_does_not_say_what_was_looked_for() -> None:
    clearance, prompt = Clearance(), Place(Side.PROMPT, "0", 0)
    for place, text in ((prompt, "Hello"), (ANSWER, "Hi"), (MORE, " \n")):  # white space is not looked at
        clearance.expect(place, text)
        clearance.send(place, text)
        clearance.take_in(Watermark(place, len(text)))
    assert clearance.whole
    for told in (_told("OK", Side.PROMPT), _told("NoModel")):
        clearance.take_in(told)
        assert clearance.unexplained
    clearance.take_in(_told("OK"))
    assert not clearance.unexplained


def test_endless_results_of_the_same_tasks_take_no_memory() -> None:
    clearance, many = Clearance(), replace(_told("OK"), findings=_told("OK").findings * 1_000)
    clearance.send(ANSWER, "Hi")
    clearance.take_in(many)
    tracemalloc.start()
    try:
        for _ in range(100):
            clearance.take_in(many)
            clearance.take_in(Watermark(Place(Side.COMPLETION, "7", 0), 1))
        assert tracemalloc.get_traced_memory()[0] < 10_000
    finally:
        tracemalloc.stop()


def test_a_service_with_results_of_endless_tasks_is_stopped() -> None:
    clearance = Clearance()
    clearance.send(ANSWER, "Hi")
    for number in range(1000):
        clearance.take_in(_told("NoModel", kind=f"task {number} <b>"))
    assert clearance.coverage.missing == {"another"}
    for number in range(200):
        clearance.take_in(_told("OK", kind=f"task {number}"))
    with pytest.raises(Unavailable, match="too many tasks"):
        clearance.take_in(_told("OK", kind="task 200"))
