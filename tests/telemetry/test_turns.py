"""The span of a turn: what its events tell, and how it ends when they do not."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from opentelemetry import trace

from shared.chat_types import ChatRequest, Message, RequestContext, Role
from shared.errors import RateLimited
from shared.events import ChatEvent, CompletionStarted, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded
from tests.telemetry.spans import Spans

ANSWER = (CompletionStarted("id", 0, "gpt"), TextDelta("One"), TextDelta(" two."), Finished("stop"))


def asked(conversation: str | None = None) -> ChatRequest:
    return ChatRequest((Message(Role.USER, "Hello?"),), conversation_id=conversation)


def context(seconds: float = 30) -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + seconds)


async def said(*events: ChatEvent, error: Exception | None = None) -> AsyncGenerator[ChatEvent]:
    for event in events:
        await asyncio.sleep(0)
        yield event
    if error:
        raise error


async def turn(
    spans: Spans, *events: ChatEvent, error: Exception | None = None, seconds: float = 30
) -> list[ChatEvent]:
    events_of = spans.tracing().turn(said(*events, error=error), asked(), context(seconds), "chat")
    return [event async for event in events_of]


async def test_events_pass_as_they_are_and_nothing_is_current_afterwards(spans: Spans) -> None:
    assert await turn(spans, *ANSWER) == list(ANSWER)
    assert not trace.get_current_span().get_span_context().is_valid
    assert len(spans.ended) == 1


async def test_what_a_turn_does_belongs_to_it_in_tasks_too(spans: Spans) -> None:
    async def work() -> AsyncGenerator[ChatEvent]:
        await asyncio.create_task(search())
        yield Finished("stop")

    async def search() -> None:
        spans.tracer.start_span("search").end()

    async for _ in spans.tracing().turn(work(), asked(), context(), "chat"):
        pass
    search_span, turn_span = spans.ended
    assert search_span.parent == turn_span.context


async def test_turns_at_the_same_time_keep_apart(spans: Spans) -> None:
    await asyncio.gather(*(turn(spans, *ANSWER) for _ in range(5)))
    assert len({span.context.trace_id for span in spans.ended if span.context}) == 5
    assert not any(span.parent for span in spans.ended)


async def test_who_closes_a_turn_early_has_cancelled_it(spans: Spans) -> None:
    events = spans.tracing().turn(said(*ANSWER), asked(), context(), "chat")
    await anext(events)
    await asyncio.create_task(close(events))
    assert spans.last["switchboard.outcome"] == "cancelled"
    assert spans.ended[0].status.is_unset


async def close(events: AsyncGenerator[ChatEvent]) -> None:
    await events.aclose()


async def test_who_closes_a_turn_after_its_end_has_not(spans: Spans) -> None:
    events = spans.tracing().turn(said(*ANSWER), asked(), context(), "chat")
    while not isinstance(await anext(events), Finished):
        pass
    await events.aclose()
    assert spans.last["switchboard.outcome"] == "stop"
    assert "switchboard.cancelled" not in spans.last


async def test_what_is_stopped_at_its_deadline_is_a_timeout(spans: Spans) -> None:
    events = spans.tracing().turn(said(*ANSWER), asked(), context(seconds=0), "chat")
    await anext(events)
    await events.aclose()
    assert spans.last["error.type"] == spans.last["switchboard.outcome"] == "timeout"
    assert not spans.ended[0].status.is_unset


@pytest.mark.parametrize(
    ("error", "kind"), [(RateLimited("Wolpertinger"), "rate_limited"), (KeyError("Wolpertinger"), "KeyError")]
)
async def test_an_error_is_told_by_its_kind_and_nothing_of_its_message(
    spans: Spans, error: Exception, kind: str
) -> None:
    with pytest.raises(type(error)):
        await turn(spans, *ANSWER[:2], error=error)
    assert spans.last["error.type"] == kind
    assert "Wolpertinger" not in spans.ended[0].to_json()


async def test_what_a_turn_did_without_is_named(spans: Spans) -> None:
    searched = Thought("Generated search query", "q", {"note": "Searched by text only."})
    lost = ThoughtsAdded((Thought("History", "This turn was not recorded."),))
    await turn(spans, Retrieved((), (searched,)), *ANSWER[:3], lost, ANSWER[3])
    assert spans.last["switchboard.degraded"] == ("history", "search")


async def test_an_answer_that_the_models_service_filtered_is_filtered(spans: Spans) -> None:
    await turn(spans, *ANSWER[:2], Finished("content_filter"))
    assert spans.last["switchboard.filtered"] is True


@pytest.mark.parametrize("name", ["Anna's chat", "", "0" * 36, "2601ae54-8e38-4a69-b657-2627d9bdbe75\n"])
async def test_a_conversation_that_has_no_name_of_ours_is_not_named(spans: Spans, name: str) -> None:
    async for _ in spans.tracing().turn(said(*ANSWER), asked(name), context(), "chat"):
        pass
    assert "gen_ai.conversation.id" not in spans.last
