"""The parts of the app in their spans: they do what they did, and their faults are noted."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from shared.chat_models import ModelEvent, ModelFinished, ModelRequest, ModelText, Room
from shared.chat_types import PartHealth, RequestContext, ToolCall
from shared.errors import Unavailable
from shared.events import CompletionStarted, Usage
from shared.guard import Buffer, Completion, SafetyEvent, SafetySession
from shared.telemetry.operation import Peer
from tests.telemetry.spans import Spans

OPENAI = Peer("openai", "gpt", "https://models.example/v1")
RAI = Peer("", "rai")
HEALTH = PartHealth("scripted", ok=True, detail="")


def context() -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + 30)


class Model:
    """A model that says what it is given."""

    takes_images = True
    takes_tools = True

    async def room(self) -> Room:
        return Room(1_500)

    def __init__(self, *events: ModelEvent) -> None:
        self.events = events
        self.closed = False

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        del request, context
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True

    async def check(self) -> PartHealth:
        return HEALTH


async def test_a_model_says_what_it_said_and_its_call_is_noted(spans: Spans) -> None:
    call = ToolCall("1", "search", "{}")
    model = Model(call, ModelFinished("tool_calls", Usage(3, 4)))
    traced = spans.tracing(OPENAI).model(model)
    request = ModelRequest((), "", temperature=0.5, seed=7, model="gpt-large")
    assert [event async for event in traced.stream(request, context())] == list(model.events)
    assert spans.ended[0].name == "chat gpt-large"
    assert spans.last["gen_ai.request.model"] == "gpt-large"
    assert spans.last["gen_ai.request.temperature"] == 0.5
    assert spans.last["gen_ai.request.seed"] == 7
    assert spans.last["server.address"] == "models.example"
    assert spans.last["server.port"] == 443
    assert "gen_ai.response.time_to_first_chunk" in spans.last
    assert traced.takes_images
    assert await traced.check() == HEALTH


async def test_of_several_endpoints_the_span_names_the_one_that_answered(spans: Spans) -> None:
    model = Model(CompletionStarted("1", 0, "gpt", address="http://other.example:8080/v1"), ModelFinished("stop"))
    async for _ in spans.tracing(OPENAI).model(model).stream(ModelRequest((), ""), context()):
        pass
    assert (spans.last["server.address"], spans.last["server.port"]) == ("other.example", 8080)
    assert spans.last["switchboard.endpoint"] == "other.example"


async def test_closing_a_traced_answer_early_closes_the_models(spans: Spans) -> None:
    model = Model(ModelText("One"), ModelText(" two"))
    async with aclosing(spans.tracing(OPENAI).model(model).stream(ModelRequest((), ""), context())) as events:
        await anext(events)
    assert model.closed
    assert spans.last["switchboard.cancelled"] is True


class Embedder:
    model = "vec"
    part_size = None

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        if self._error:
            raise self._error
        return [[float(len(text))] for text in texts]

    async def aclose(self) -> None:
        return


async def test_vectors_are_noted_by_their_number_and_texts_never(spans: Spans) -> None:
    tracing = spans.tracing(OPENAI, content=True)
    assert await tracing.embedder(Embedder(), OPENAI).embed(["Wolpertinger", "b"]) == [[12.0], [1.0]]
    (span,) = spans.ended
    assert span.name == "embeddings vec"
    assert spans.last["switchboard.texts"] == 2
    assert "Wolpertinger" not in span.to_json()


async def test_an_embedders_fault_is_noted_and_raised(spans: Spans) -> None:
    with pytest.raises(Unavailable):
        await spans.tracing(OPENAI).embedder(Embedder(Unavailable("Wolpertinger")), OPENAI).embed(["a"])
    assert spans.last["error.type"] == "unavailable"


class Safety:
    """A service whose session fails at a step, or ends well."""

    def __init__(self, fails_in: str = "") -> None:
        self._fails_in = fails_in

    @asynccontextmanager
    async def session(self, context: RequestContext) -> AsyncGenerator[SafetySession]:
        del context
        self._step("session")
        yield self

    def _step(self, name: str) -> None:
        if name == self._fails_in:
            raise Unavailable("Wolpertinger")

    async def send(self, buffer: Buffer) -> None:
        del buffer
        self._step("send")

    async def commit(self) -> None:
        self._step("commit")

    async def finish(self) -> None:
        self._step("finish")

    async def events(self) -> AsyncGenerator[SafetyEvent]:
        self._step("events")
        yield Completion("END_REASON_END_OF_STREAM")

    async def check(self) -> PartHealth:
        return HEALTH


async def use(session: SafetySession) -> None:
    await session.commit()
    await session.finish()
    async with aclosing(session.events()) as events:
        async for _ in events:
            pass


async def test_the_health_of_a_traced_safety_service_is_its_own(spans: Spans) -> None:
    assert await spans.tracing().safety(Safety(), RAI).check() == HEALTH


@pytest.mark.parametrize("step", ["session", "commit", "finish", "events"])
async def test_a_sessions_fault_is_noted_even_if_who_uses_it_says_nothing(spans: Spans, step: str) -> None:
    traced = spans.tracing().safety(Safety(step), RAI)
    try:
        async with traced.session(context()) as session:
            with pytest.raises(Unavailable):
                await use(session)
    except Unavailable:
        assert step == "session"
    assert spans.last["error.type"] == "unavailable"
    assert "Wolpertinger" not in spans.ended[0].to_json()


async def test_a_session_that_is_left_after_its_end_is_not_cancelled(spans: Spans) -> None:
    async def leave() -> None:
        async with spans.tracing().safety(Safety(), RAI).session(context()) as session:
            await use(session)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await leave()
    assert spans.last["switchboard.outcome"] == "ok"
    assert "switchboard.cancelled" not in spans.last


async def test_the_companions_sessions_go_on_with_their_callers_trace(spans: Spans) -> None:
    asked = RequestContext("id", context().deadline, trace_parent=f"00-{'ab' * 16}-{'cd' * 8}-01")
    async with spans.tracing().safety(Safety(), RAI).session(asked) as session:
        await use(session)
    (span,) = spans.ended
    assert span.parent
    assert span.parent.trace_id == int("ab" * 16, 16)


@pytest.mark.parametrize("content", [False, True])
async def test_a_call_of_a_tool_is_a_span_and_what_was_said_is_in_it_only_if_wanted(
    content: bool, spans: Spans
) -> None:
    with spans.tracing(content=content).call("crm.drop", "call_1", '{"name":"x"}') as tell:
        tell("failed", "no such order")
    assert spans.ended[-1].name == "execute_tool crm.drop"
    assert dict(spans.last) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "crm.drop",
        "gen_ai.tool.call.id": "call_1",
        "switchboard.outcome": "failed",
        "error.type": "failed",
        **(
            {"gen_ai.tool.call.arguments": '{"name":"x"}', "gen_ai.tool.call.result": "no such order"}
            if content
            else {}
        ),
    }
