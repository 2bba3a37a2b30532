"""What the companion forwards, and what it makes of what the service says."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from shared.chat_types import RequestContext
from shared.errors import BadRequest, TooSlow, Unavailable
from shared.guard import AnalysisResult, Api, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.companion import analyse
from tests.guard.scripted_safety import WHOLE, Script, ScriptedSafety, ScriptedSession, blocks

HARMLESS = Finding("HARM_CATEGORY", "SEXUAL", detected=False, severity=0, risk_level="LOW", blocking=False)
PLACE = Place(Side.PROMPT, "0", 0)
PROMPT = Buffer(Side.PROMPT, Api.CHAT_COMPLETION, '{"messages": [{"role": "user", "content": "Hello"}]}')
ANSWER = Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, '{"choices": []}')


def context() -> RequestContext:
    return RequestContext("id", asyncio.get_running_loop().time() + 60)


def script(*events: SafetyEvent | Exception | None) -> Script:
    """Says this once all was sent; None is silence."""

    async def say(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        while await session.next() != "finish":
            pass
        for event in events:
            if event is None:
                await asyncio.Event().wait()
            elif isinstance(event, Exception):
                raise event
            else:
                yield event

    return say


async def analysed(safety: ScriptedSafety, *buffers: Buffer, silence: float = 10) -> list[SafetyEvent]:
    return [event async for event in analyse(buffers, safety, context(), silence)]


async def test_a_source_is_committed_when_the_other_begins_and_at_the_end() -> None:
    safety = ScriptedSafety(script(WHOLE))
    await analysed(safety, PROMPT, PROMPT, ANSWER, ANSWER, PROMPT)
    [session] = safety.sessions
    assert session.steps == [
        *(PROMPT, PROMPT, "commit"),
        *(ANSWER, ANSWER, "commit"),
        *(PROMPT, "commit"),
        "finish",
    ]
    assert session.closed.is_set()


async def test_a_service_with_a_million_results_fills_no_memory() -> None:
    many = AnalysisResult(PLACE, 0, 1, (HARMLESS,) * 1_000)
    safety = ScriptedSafety(script(*[many] * 1_000, WHOLE))
    with pytest.raises(Unavailable, match="too many results"):
        await analysed(safety, PROMPT)
    assert safety.sessions[0].closed.is_set()


async def test_events_come_as_the_service_says_them() -> None:
    events = (Watermark(PLACE, 3), blocks(PLACE, 3, 5), Completion("STOPPED", "why"))
    assert await analysed(ScriptedSafety(script(*events)), PROMPT) == [*events]


async def test_events_come_while_more_is_sent() -> None:
    async def say_at_once(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        yield Watermark(PLACE, 1)
        while await session.next() != "finish":
            pass
        yield WHOLE

    assert await analysed(ScriptedSafety(say_at_once), PROMPT) == [Watermark(PLACE, 1), WHOLE]


@pytest.mark.parametrize(
    "events", [(), (Watermark(PLACE, 5),), (Completion("END_REASON_END_OF_STREAM", "fault"),), (Completion("OTHER"),)]
)
async def test_a_service_that_stops_early_has_not_said_that_all_is_harmless(events: tuple[SafetyEvent, ...]) -> None:
    with pytest.raises(Unavailable, match="did not analyse everything"):
        await analysed(ScriptedSafety(script(*events)), PROMPT)


async def test_what_is_blocked_stays_blocked_when_the_service_stops_early() -> None:
    assert await analysed(ScriptedSafety(script(blocks(PLACE, 0, 5))), PROMPT) == [blocks(PLACE, 0, 5)]


async def test_a_silent_service_is_too_slow() -> None:
    safety = ScriptedSafety(script(Watermark(PLACE, 1), None))
    with pytest.raises(TooSlow):
        await analysed(safety, PROMPT, silence=0.01)
    assert safety.sessions[0].closed.is_set()


async def test_a_fault_of_the_session_comes_through() -> None:
    with pytest.raises(BadRequest, match="ours"):
        await analysed(ScriptedSafety(script(BadRequest("ours"))), PROMPT)


class Refusing(ScriptedSession):
    """A session that takes nothing: it raises, or keeps whoever sends waiting."""

    refusal: Exception | None = None

    async def send(self, buffer: Buffer) -> None:
        await super().send(buffer)
        if self.refusal:
            raise self.refusal
        await asyncio.Event().wait()


class RefusingSafety(ScriptedSafety):
    def __init__(self, refusal: Exception | None, script: Script) -> None:
        super().__init__(script)
        self.refusal = refusal

    @asynccontextmanager
    async def session(self, context: RequestContext) -> AsyncGenerator[ScriptedSession]:
        async with super().session(context) as session:
            refusing = Refusing(session.script)
            refusing.refusal = self.refusal
            yield refusing


async def test_a_payload_that_is_refused_is_told_though_the_service_says_nothing() -> None:
    with pytest.raises(BadRequest, match="ours"):
        await analysed(RefusingSafety(BadRequest("ours"), script(None)), PROMPT)


async def test_leaving_does_not_wait_for_a_service_that_takes_nothing() -> None:
    async def say(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        await session.next()
        yield Watermark(PLACE, 1)

    events = analyse([PROMPT], RefusingSafety(None, say), context(), 10)
    assert await anext(events) == Watermark(PLACE, 1)
    await events.aclose()


async def test_what_came_before_a_fault_comes_before_its_error() -> None:
    async def say(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        await session.next()
        yield Watermark(PLACE, 3)
        await asyncio.sleep(0)
        yield blocks(PLACE, 3, 5)
        raise Unavailable("It is over.")

    events = analyse([PROMPT], RefusingSafety(Unavailable("It is over."), say), context(), 10)
    assert [await anext(events), await anext(events)] == [Watermark(PLACE, 3), blocks(PLACE, 3, 5)]
    with pytest.raises(Unavailable, match="It is over"):
        await anext(events)


async def test_leaving_ends_the_session() -> None:
    safety = ScriptedSafety(script(Watermark(PLACE, 1), None))
    events = analyse([PROMPT], safety, context(), 10)
    assert await anext(events) == Watermark(PLACE, 1)
    await events.aclose()
    assert safety.sessions[0].closed.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}
