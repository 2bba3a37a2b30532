"""Azure AI Content Safety as a safety service, against a local server that follows its reference."""

import asyncio
import json
from pathlib import Path

import pytest

from shared.errors import BadRequest, NotConfigured, TooLarge
from shared.guard import (
    Api,
    Buffer,
    Completion,
    Place,
    SafetyEvent,
    SafetySession,
    Side,
    Watermark,
)
from shared.guard.content_safety.service import ContentSafety
from shared.guard.content_safety.session import AT_ONCE, MOST_TEXTS
from shared.parts import open_safety
from shared.settings import Settings
from tests.guard.content_safety.analysing import ANSWER, analysed, context
from tests.guard.safety_contract import SafetyContract, blocks, prompt, watermarks
from tests.guard.safety_contract import chunk as delta
from tests.stand_ins.content_safety import ContentSafetyStandIn

DONE = Completion("END_REASON_END_OF_STREAM")


async def upto(session: SafetySession, watermark: int) -> list[SafetyEvent]:
    """The events until the answer's watermark is there."""
    found: list[SafetyEvent] = []
    async for event in session.events():
        found.append(event)
        if event == Watermark(ANSWER, watermark):
            return found
    raise AssertionError(found)


class TestContract(SafetyContract):
    unsafe = "knife"

    @pytest.fixture
    async def service(self, safety: ContentSafety) -> ContentSafety:
        return safety


async def test_each_message_of_a_safe_prompt_is_cleared_to_its_end(safety: ContentSafety) -> None:
    events = await analysed(safety, prompt("Grüße!", "What is paid?"))
    assert watermarks(events, Place(Side.PROMPT, "0", 0)) == [8]
    assert watermarks(events, Place(Side.PROMPT, "1", 0)) == [13]
    assert events[-1] == DONE
    assert not blocks(events)


async def test_a_result_tells_the_severity_of_every_category_and_its_range_in_bytes(safety: ContentSafety) -> None:
    events = await analysed(safety, prompt("Grüße, a knife and rude"))
    [result] = blocks(events)
    assert (result.place, result.start, result.end) == (Place(Side.PROMPT, "0", 0), 0, 25)
    told = {found.category: (found.severity, found.risk_level, found.detected, found.blocking)
            for found in result.findings}  # fmt: skip
    assert told == {
        "HATE": (3, "LOW", True, False),
        "SELF_HARM": (0, "SAFE", False, False),
        "SEXUAL": (0, "SAFE", False, False),
        "VIOLENCE": (5, "MEDIUM", True, True),
    }
    assert {(found.kind, found.result) for found in result.findings} == {("HARM_CATEGORY", "OK")}
    assert events[1:] == [DONE], "a blocked text gets no watermark"


async def test_a_streamed_answer_is_analysed_sentence_by_sentence(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    async with safety.session(context()) as session:
        for piece in ("The fir", "st one. The se", "cond"):
            await session.send(delta(piece))
        assert watermarks(await upto(session, 15), ANSWER) == [15]
        assert service.texts == ["The first one. "]


async def test_the_last_sentence_is_analysed_once_it_is_committed(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    async with safety.session(context()) as session:
        await session.send(delta("The first one. The second"))
        await session.commit()
        assert watermarks(await upto(session, 25), ANSWER) == [15, 25]
        assert set(service.texts) == {"The first one. ", "The first one. The second"}


async def test_a_prompt_is_analysed_as_a_whole_once_it_is_committed(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    await analysed(safety, prompt("The first one. The second"))
    assert service.texts == ["The first one. The second"]


async def test_a_sentence_is_analysed_with_the_ones_before_it(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    service.finds("jump. Now", "SelfHarm", 6)
    events = await analysed(safety, delta("You can jump. "), delta("Now. "))
    assert set(service.texts) == {"You can jump. ", "You can jump. Now. "}
    assert watermarks(events, ANSWER) == [14]
    assert [(result.start, result.end) for result in blocks(events)] == [(14, 19)]


async def test_watermarks_stay_in_order_however_late_a_result_is(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    gate = service.holds("First")
    async with safety.session(context()) as session:
        await session.send(delta("First. "))
        await session.send(delta("x" * 600 + ". "))
        await session.send(delta("y" * 600 + ". "))
        await service.wait_for(3)
        collected = asyncio.create_task(upto(session, 1211))
        gate.set()
        assert watermarks(await collected, ANSWER) == [7, 609, 1211]


async def test_what_comes_after_a_blocked_sentence_is_never_cleared(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    gate = service.holds("knife")
    async with safety.session(context()) as session:
        await session.send(delta("Take the knife. "))
        await session.send(delta("z" * 600 + ". "))
        await session.send(delta("Fine. "))
        await session.finish()
        await service.wait_for(3)
        gate.set()
        events = [event async for event in session.events()]
    assert not watermarks(events, ANSWER)
    assert [(result.start, result.end) for result in blocks(events)] == [(0, 16)]


async def test_only_so_many_chunks_are_analysed_at_once(safety: ContentSafety, service: ContentSafetyStandIn) -> None:
    gate = service.holds(".")
    async with safety.session(context()) as session:
        for number in range(AT_ONCE * 3):
            await session.send(delta(f"Sentence {number}. "))
        await service.wait_for(AT_ONCE)
        gate.set()
        await session.finish()
        events = [event async for event in session.events()]
    assert service.most_at_once == AT_ONCE
    assert len(service.texts) < AT_ONCE * 3, "sentences that had to wait are analysed together"
    assert watermarks(events, ANSWER)[-1] == sum(len(f"Sentence {number}. ") for number in range(AT_ONCE * 3))


async def test_a_long_text_is_analysed_in_pieces_that_the_service_takes(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    text = "A sentence of some length, with ünicode. " * 1_000
    events = await analysed(safety, prompt(text))
    assert watermarks(events, Place(Side.PROMPT, "0", 0))[-1] == len(text.encode())
    assert max(map(len, service.texts)) <= 10_000
    assert len(service.texts) == 5


async def test_white_space_is_safe_without_asking(safety: ContentSafety, service: ContentSafetyStandIn) -> None:
    events = await analysed(safety, delta("\n\n"))
    assert events == [Watermark(ANSWER, 2), DONE]
    assert service.texts == []


async def test_a_conversation_with_more_texts_than_are_checked_at_once_is_refused_before_the_service_is_asked(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    with pytest.raises(TooLarge, match="2,000 texts"):
        await analysed(safety, prompt(*["a"] * (MOST_TEXTS + 1)))
    assert not service.texts


async def test_what_is_sent_after_a_commit_is_another_text(safety: ContentSafety) -> None:
    async with safety.session(context()) as session:
        await session.send(prompt("Hello"))
        await session.commit()
        await session.send(prompt("Other"))
        await session.finish()
        events = [event async for event in session.events()]
    assert watermarks(events, Place(Side.PROMPT, "0", 0)) == [5, 5]
    assert events[-1] == DONE


async def test_results_of_two_texts_of_a_place_do_not_mix(safety: ContentSafety, service: ContentSafetyStandIn) -> None:
    gate = service.holds("Hello")
    async with safety.session(context()) as session:
        await session.send(prompt("Hello"))
        await session.commit()
        await session.send(prompt("Another"))
        await session.finish()
        await service.wait_for(1)
        await analysed(safety, prompt("Of another session"))
        gate.set()
        events = [event async for event in session.events()]
    assert watermarks(events, Place(Side.PROMPT, "0", 0)) == [5, 7]


async def test_a_commit_is_of_the_source_that_was_sent_last(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    async with safety.session(context()) as session:
        await session.send(prompt("A prompt"))
        await session.send(delta("No end"))
        await session.commit()
        await upto(session, 6)
        assert service.texts == ["No end"]


async def test_a_session_with_nothing_in_it_is_done_at_once(safety: ContentSafety) -> None:
    assert await analysed(safety) == [DONE]


async def test_a_payload_that_cannot_be_read_is_refused(safety: ContentSafety) -> None:
    async with safety.session(context()) as session:
        with pytest.raises(BadRequest, match="JSON"):
            await session.send(Buffer(Side.PROMPT, Api.CHAT_COMPLETION, "{"))


async def test_leaving_a_session_ends_its_requests(safety: ContentSafety, service: ContentSafetyStandIn) -> None:
    service.holds("Wait")
    async with safety.session(context()) as session:
        await session.send(prompt("Wait"))
        await session.commit()
        await service.wait_for(1)
    async with asyncio.timeout(10):
        await service.left.wait()
    assert not [task for task in asyncio.all_tasks() if "_analyse" in repr(task)]


async def test_sessions_at_the_same_time_do_not_mix(safety: ContentSafety) -> None:
    texts = [f"Number {number}." + " A knife." * (number % 3 == 0) for number in range(12)]
    found = await asyncio.gather(*(analysed(safety, prompt(text)) for text in texts))
    for text, events in zip(texts, found, strict=True):
        assert bool(blocks(events)) == ("knife" in text)
        assert watermarks(events, Place(Side.PROMPT, "0", 0)) == ([] if "knife" in text else [len(text)])


def test_a_policy_that_there_is_not_is_named(service: ContentSafetyStandIn) -> None:
    with pytest.raises(NotConfigured, match="RAI_POLICY"):
        open_safety(Settings.read(service.settings | {"RAI_POLICY": "strict"}))


async def test_a_policy_says_what_blocks(service: ContentSafetyStandIn, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    task = {
        "settingEnabled": True,
        "kind": "harmCategory",
        "appliedFor": [{"source": "prompt"}],
        "harmCategoryTaskSetting": {"harmCategory": "hate"},
        "blockingCriteria": {"enabled": True, "kind": "severity", "allowedSeverity": 2},
    }
    file.write_text(json.dumps({"taskSettings": [task]}))
    safety = open_safety(Settings.read(service.settings | {"RAI_POLICY": str(file)}))
    assert isinstance(safety, ContentSafety)
    assert blocks(await analysed(safety, prompt("rude")))
    assert not blocks(await analysed(safety, delta("rude")))
    assert not blocks(await analysed(safety, prompt("knife")))
    await safety.aclose()
