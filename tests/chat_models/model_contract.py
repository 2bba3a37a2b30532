"""What every chat model keeps, whatever is behind it. A subclass gives `model`, ready to answer `REQUEST`."""

import asyncio
import time
from contextlib import aclosing
from copy import replace
from dataclasses import dataclass

from shared.chat_models import ChatModel, ModelFinished, ModelRequest, ModelText
from shared.chat_types import Message, Passage, RequestContext, Role, ToolCall
from shared.events import CompletionStarted, FilterAnnotation, ReasoningDelta
from tests.stand_ins.openai_service import OpenAIStandIn

CONTEXT = RequestContext(invocation_id="test", deadline=float("inf"))
QUESTION = "What does the plan pay for glasses?"
SOURCE = Passage(
    id="vision-1",
    content="The plan pays up to 150 euros for glasses every two years. Parking costs 40 euros a month.",
    sourcepage="vision.pdf#page=2",
    sourcefile="vision.pdf",
)
REQUEST = ModelRequest(
    messages=(
        Message(Role.SYSTEM, "You answer questions."),
        Message(Role.USER, f"{QUESTION}\n\nSources:\n{SOURCE.sourcepage}: {SOURCE.content}"),
    ),
    question=QUESTION,
    sources=(SOURCE,),
)


@dataclass
class Answer:
    """A whole answer, put together from its events."""

    pieces: list[str]
    calls: list[ToolCall]
    started: list[CompletionStarted]
    finished: list[ModelFinished]
    last_is_finished: bool

    @property
    def text(self) -> str:
        return "".join(self.pieces)


async def answer(model: ChatModel, request: ModelRequest = REQUEST, context: RequestContext = CONTEXT) -> Answer:
    got = Answer([], [], [], [], last_is_finished=False)
    async with aclosing(model.stream(request, context)) as events:
        async for event in events:
            got.last_is_finished = isinstance(event, ModelFinished)
            match event:
                case CompletionStarted():
                    assert not got.pieces
                    got.started.append(event)
                case ModelText():
                    got.pieces.append(event.text)
                case FilterAnnotation() | ReasoningDelta():
                    pass  # says nothing of its own
                case ToolCall():
                    got.calls.append(event)
                case ModelFinished():
                    got.finished.append(event)
    return got


class ModelContract:
    other_model = OpenAIStandIn.other_model
    """Another model of the service."""
    repeats_itself = True
    """Whether it gives the same answer to the same request."""

    async def test_the_answer_begins_once_with_what_it_is_and_ends_once_with_why(self, model: ChatModel) -> None:
        got = await answer(model)
        assert got.last_is_finished
        assert [finished.reason for finished in got.finished] == ["stop"]
        (started,) = got.started
        assert started.id
        assert started.model
        assert abs(started.created - time.time()) < 10 * 365 * 86400

    async def test_the_text_comes_in_several_pieces_and_none_is_empty(self, model: ChatModel) -> None:
        got = await answer(model)
        assert len(got.pieces) > 1
        assert all(got.pieces)

    async def test_a_request_may_be_for_another_model_of_the_service(self, model: ChatModel) -> None:
        got = await answer(model, replace(REQUEST, model=self.other_model))
        assert got.text
        assert [finished.reason for finished in got.finished] == ["stop"]

    async def test_an_answer_that_is_closed_early_ends_cleanly_and_the_next_one_is_whole(
        self, model: ChatModel
    ) -> None:
        whole = await answer(model)
        events = model.stream(REQUEST, CONTEXT)
        while not isinstance(await anext(events), ModelText):
            pass  # before its text it says what it is, and maybe what a filter found
        await events.aclose()
        again = await answer(model)
        assert again.last_is_finished
        assert again.text == whole.text or not self.repeats_itself

    async def test_a_cancelled_answer_is_cancelled(self, model: ChatModel) -> None:
        started = asyncio.Event()

        async def read() -> None:
            async with aclosing(model.stream(REQUEST, CONTEXT)) as events:
                async for _ in events:
                    started.set()
                    await asyncio.Event().wait()

        reading = asyncio.create_task(read())
        await started.wait()
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()

    async def test_answers_at_the_same_time_do_not_mix(self, model: ChatModel) -> None:
        alone = (await answer(model)).text
        together = await asyncio.gather(*(answer(model) for _ in range(10)))
        assert all(got.text and got.last_is_finished for got in together)
        assert not self.repeats_itself or [got.text for got in together] == [alone] * 10

    async def test_it_says_what_it_is(self, model: ChatModel) -> None:
        health = await model.check()
        assert health.ok, health.detail
        assert health.kind
        assert health.detail
