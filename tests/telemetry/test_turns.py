"""The span of a turn: what its events tell, and how it ends when they do not."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path

import pytest
from opentelemetry import trace

from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import ChatRequest, ChatState, Message, Overrides, RequestContext, RetrievalMode, Role
from shared.core.recorder import record
from shared.core.source_images import SourceImages
from shared.core.turn import run_turn
from shared.documents.file_store import FileStore
from shared.errors import RateLimited, TooSlow
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Finished, TextDelta, Thought
from shared.history.sqlite_history import SqliteHistory
from shared.runtime.late_imports import Late
from tests.small_index import small_index
from tests.telemetry.spans import Spans

ANSWER = (CompletionStarted("id", 0, "gpt"), TextDelta("One"), TextDelta(" two."), Finished("stop"))


def asked(conversation: str | None = None) -> ChatRequest:
    return ChatRequest((Message(Role.USER, "Hello?"),), chat=ChatState(conversation_id=conversation))


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


@pytest.mark.parametrize(
    ("overrides", "degraded"),
    [
        (Overrides(), None),
        (Overrides(retrieval_mode=RetrievalMode.HYBRID), ("search",)),
        (Overrides(use_gpt4v=True), None),
        (Overrides(send_text_sources=False, send_image_sources=False), None),
    ],
    ids=["as asked", "no vectors", "no images", "no sources wanted"],
)
async def test_a_search_without_vectors_is_degraded_and_a_note_on_anything_else_is_not(
    spans: Spans, tmp_path: Path, overrides: Overrides, degraded: tuple[str, ...] | None
) -> None:
    request = replace(asked(), overrides=overrides)
    no_files = FileStore(tmp_path / "none")
    async with small_index(tmp_path) as retriever:
        events = run_turn(
            request,
            context(),
            ExtractiveModel(),
            retriever,
            SourceImages(Late(lambda: no_files), Late(lambda: no_files), refused=None),
        )
        async for _ in spans.tracing().turn(events, request, context(), "chat"):
            pass
    assert spans.last.get("switchboard.degraded") == degraded


async def test_a_turn_that_is_not_recorded_is_degraded(spans: Spans, tmp_path: Path) -> None:
    request = asked("2601ae54-8e38-4a69-b657-2627d9bdbe75")
    (tmp_path / "history.sqlite").write_text("This is no database.")
    events = record(said(*ANSWER), request, context(), SqliteHistory(tmp_path / "history.sqlite"))
    async for _ in spans.tracing().turn(events, request, context(), "chat"):
        pass
    assert spans.last["switchboard.degraded"] == ("history",)


async def test_a_team_is_degraded_by_an_agent_that_failed_and_by_one_that_searched_without_vectors(
    spans: Spans,
) -> None:
    failed = AgentMessage("Ada", 0, "Too slow.", error=TooSlow("Too slow."))
    searched = AgentMessage("Ben", 1, "Well.", thoughts=(Thought("Query", "q", degraded="search"),))
    await turn(spans, ANSWER[0], failed, searched, ANSWER[3])
    assert spans.last["switchboard.degraded"] == ("agents", "search")


async def test_an_answer_that_the_models_service_filtered_is_filtered(spans: Spans) -> None:
    await turn(spans, *ANSWER[:2], Finished("content_filter"))
    assert spans.last["switchboard.filtered"] is True


@pytest.mark.parametrize("name", ["Anna's chat", "", "0" * 36, "2601ae54-8e38-4a69-b657-2627d9bdbe75\n"])
async def test_a_conversation_that_has_no_name_of_ours_is_not_named(spans: Spans, name: str) -> None:
    async for _ in spans.tracing().turn(said(*ANSWER), asked(name), context(), "chat"):
        pass
    assert "gen_ai.conversation.id" not in spans.last
