"""What every safety service keeps, whatever is behind it. A subclass gives `service` and `unsafe`: words it blocks."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from shared.chat_types import RequestContext
from shared.guard import (
    AnalysisResult,
    Api,
    Buffer,
    Completion,
    Place,
    SafetyEvent,
    SafetyService,
    Side,
    Watermark,
)

CONTEXT = RequestContext(invocation_id="test", deadline=math.inf)
ANSWER = Place(Side.COMPLETION, "0", 0)
SAFE = "Die Brille kostet 150 €. 眼鏡の費用です。 It is paid every two years 👩‍👩‍👧‍👦 for all"


def prompt(*contents: str) -> Buffer:
    """A chat request whose messages say this."""
    messages = [{"role": "user", "content": content} for content in contents]
    return Buffer(Side.PROMPT, Api.CHAT_COMPLETION, json.dumps({"model": "gpt-4o", "messages": messages}))


def said(number: int) -> Place:
    """Where the prompt's message of that number is."""
    return Place(Side.PROMPT, str(number), 0)


def chunk(text: str) -> Buffer:
    """The next piece of a chat's answer."""
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": None}]
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": choices}
    return Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, json.dumps(body))


def watermarks(events: Sequence[SafetyEvent], place: Place) -> list[int]:
    """How far a text was cleared, in order."""
    return [event.offset for event in events if isinstance(event, Watermark) and event.place == place]


def blocks(events: Sequence[SafetyEvent]) -> list[AnalysisResult]:
    """What must not be shown."""
    return [event for event in events if isinstance(event, AnalysisResult) and event.blocking]


async def analyze(service: SafetyService, *buffers: Buffer) -> list[SafetyEvent]:
    """A whole session: each source is committed when it is complete."""
    async with service.session(CONTEXT) as session:
        for buffer, following in zip(buffers, [*buffers[1:], None], strict=True):
            await session.send(buffer)
            if following is None or following.side is not buffer.side:
                await session.commit()
        await session.finish()
        return [event async for event in session.events()]


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


async def next_watermark(events: AsyncGenerator[SafetyEvent], place: Place, offset: int) -> None:
    """Wait until a text is cleared up to there."""
    async with asyncio.timeout(10):
        async for event in events:
            if event == Watermark(place, offset):
                return
    pytest.fail("the stream ended before that")


class SafetyContract:
    unsafe: str

    async def test_a_safe_prompt_is_cleared_to_the_end_of_each_message(self, service: SafetyService) -> None:
        events = await analyze(service, prompt("Hello", SAFE))
        assert not blocks(events)
        assert watermarks(events, said(0))[-1] == len(b"Hello")
        assert watermarks(events, said(1))[-1] == len(SAFE.encode())
        assert isinstance(events[-1], Completion)
        assert events[-1].whole

    async def test_what_is_unsafe_in_a_prompt_is_reported_with_its_range_in_bytes(self, service: SafetyService) -> None:
        before = "Größe 😀 "
        text = f"{before}{self.unsafe} und mehr"
        events = await analyze(service, prompt("Hello", text))
        [found, *_] = blocks(events)
        at = len(before.encode())
        assert found.place == said(1)
        assert found.start <= at < at + len(self.unsafe.encode()) <= found.end <= len(text.encode())
        for end in (found.start, found.end):
            text.encode()[:end].decode()
        [finding, *_] = [finding for finding in found.findings if finding.blocking]
        assert finding.detected
        assert finding.kind == "HARM_CATEGORY"
        assert finding.category == finding.category.upper() != ""
        assert 0 < finding.severity <= 7
        assert finding.risk_level in {"LOW", "MEDIUM", "HIGH"}
        assert all(offset <= found.start for offset in watermarks(events, said(1)))

    async def test_what_its_events_say_fits_together(self, service: SafetyService) -> None:
        """Numbers that are other ones show here: unknown fields raise, and exchanged ones contradict each other."""
        text = f"{SAFE} {self.unsafe}"
        events = [*await analyze(service, prompt(text)), *await analyze(service, chunk(text))]
        assert {event.place for event in blocks(events)} == {said(0), ANSWER}
        for finding in (finding for event in events if isinstance(event, AnalysisResult) for finding in event.findings):
            assert finding.kind == finding.kind.upper() != ""
            assert finding.detected or not finding.blocking
            assert finding.severity > 1 or finding.risk_level not in {"MEDIUM", "HIGH"}
            assert finding.detected or finding.severity < 2

    @pytest.mark.parametrize("size", [1, 3, 1000])
    async def test_a_safe_answer_in_chunks_is_cleared_to_its_end(self, service: SafetyService, size: int) -> None:
        events = await analyze(service, prompt("Hello"), *map(chunk, pieces(SAFE, size)))
        assert not blocks(events)
        assert watermarks(events, ANSWER)[-1] == len(SAFE.encode())
        assert isinstance(events[-1], Completion)
        assert events[-1].whole

    @pytest.mark.parametrize("size", [1, 4, 1000])
    async def test_what_is_unsafe_is_found_across_chunks(self, service: SafetyService, size: int) -> None:
        before = "Alles gut 👍🏽. "
        events = await analyze(service, prompt("Hello"), *map(chunk, pieces(f"{before}{self.unsafe} etc.", size)))
        [found, *_] = blocks(events)
        assert found.place == ANSWER
        assert found.start <= len(before.encode()) < found.end
        assert all(offset <= found.start for offset in watermarks(events, ANSWER))

    async def test_watermarks_only_rise_and_never_pass_what_was_sent(self, service: SafetyService) -> None:
        sent = 0
        async with service.session(CONTEXT) as session:

            async def send() -> None:
                nonlocal sent
                for piece in pieces(SAFE * 5, 7):
                    sent += len(piece.encode())
                    await session.send(chunk(piece))
                await session.commit()
                await session.finish()

            sending, last = asyncio.create_task(send()), 0
            async for event in session.events():
                if isinstance(event, Watermark):
                    assert last < event.offset <= sent
                    last = event.offset
            await sending
        assert last == sent == len(SAFE.encode()) * 5

    async def test_a_commit_clears_what_waited_for_more(self, service: SafetyService) -> None:
        async with service.session(CONTEXT) as session, aclosing(session.events()) as events:
            await session.send(prompt("no end of a sentence"))
            await session.commit()
            await next_watermark(events, said(0), len("no end of a sentence"))
            await session.send(chunk("nor here"))
            await session.commit()
            await next_watermark(events, ANSWER, len("nor here"))
            await session.finish()
            assert isinstance([event async for event in events][-1], Completion)

    async def test_the_end_clears_what_was_not_committed(self, service: SafetyService) -> None:
        async with service.session(CONTEXT) as session:
            await session.send(chunk("no end of a sentence"))
            await session.finish()
            events = [event async for event in session.events()]
        assert watermarks(events, ANSWER)[-1] == len("no end of a sentence")

    async def test_a_session_in_which_nothing_was_said_ends_well(self, service: SafetyService) -> None:
        async with service.session(CONTEXT) as session:
            await session.finish()
            [end] = [event async for event in session.events()]
        assert isinstance(end, Completion)
        assert end.whole

    async def test_sessions_at_once_do_not_mix(self, service: SafetyService) -> None:
        texts = [("x" * number + " ") + (self.unsafe if number % 3 == 0 else "fine") for number in range(1, 13)]
        sessions = await asyncio.gather(*(analyze(service, prompt(text)) for text in texts))
        for text, events in zip(texts, sessions, strict=True):
            assert bool(blocks(events)) == (self.unsafe in text)
            assert all(event.end <= len(text.encode()) for event in blocks(events))
            if not blocks(events):
                assert watermarks(events, said(0))[-1] == len(text)

    async def test_leaving_early_leaves_the_service_usable(self, service: SafetyService) -> None:
        async with service.session(CONTEXT) as session:
            await session.send(prompt(SAFE))
        async with service.session(CONTEXT) as session:
            await session.send(prompt(SAFE))
            await session.commit()
            await session.finish()
            async with aclosing(session.events()) as events:
                await anext(events)
        with pytest.raises(LookupError):
            await self._fail_in_a_session(service)
        assert watermarks(await analyze(service, prompt("Hello")), said(0))[-1] == len("Hello")

    async def _fail_in_a_session(self, service: SafetyService) -> None:
        async with service.session(CONTEXT) as session:
            await session.send(prompt(SAFE))
            raise LookupError

    async def test_a_service_that_works_says_so(self, service: SafetyService) -> None:
        health = await service.check()
        assert health.ok
        assert health.detail
