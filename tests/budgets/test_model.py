"""Caps of model calls, and the count of their tokens, on the real client of a service that stands in for OpenAI's."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from copy import replace

import pytest

from shared.budgets import Clock, Limits
from shared.budgets.ledger import Ledger
from shared.budgets.model import CappedModel
from shared.chat_models import ModelText
from shared.chat_types import FileText, ImagePart, JsonForm, Message, RequestContext, Role, ToolDefinition
from shared.errors import RateLimited, TooLarge
from tests.stand_ins.openai_connected import QUESTION, connection_to, context, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

PROMPT = 8
"""Tokens of `QUESTION`'s prompt, as estimated."""


@pytest.fixture
async def service() -> AsyncGenerator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def model(service: OpenAIStandIn) -> AsyncGenerator[CappedModel]:
    async with model_of(connection_to(service), retries=0) as model:
        yield CappedModel(model, 500, 1_000)


def counted(limit: int = 10_000) -> tuple[RequestContext, Callable[[], int]]:
    """A context, and what is spent in it."""
    ledger = Ledger(Limits(tokens=limit), Limits(), Clock(lambda: 0.0, lambda: 0.0))
    return replace(context(), meter=ledger.admit("a")), lambda: ledger.all.tokens_on(ledger.today)


async def ask(model: CappedModel, asked: RequestContext, text: str = "What is covered?") -> str:
    request = replace(QUESTION, messages=(Message(Role.USER, text),))
    async with aclosing(model.stream(request, asked)) as events:
        return "".join([event.text async for event in events if isinstance(event, ModelText)])


@pytest.mark.parametrize(("asked", "sent"), [(None, 500), (100, 100), (4_000, 500)])
async def test_no_answer_may_be_longer_than_the_cap(
    service: OpenAIStandIn, model: CappedModel, asked: int | None, sent: int
) -> None:
    async with aclosing(model.stream(replace(QUESTION, max_tokens=asked), context())) as events:
        assert [event async for event in events]
    assert service.chats[0].body["max_tokens"] == sent


@pytest.mark.parametrize(
    "message",
    [
        Message(Role.USER, "x" * 4_000),
        Message(Role.SYSTEM, "é" * 2_000),
        Message(Role.USER, "?", files=(FileText("a.txt", "x" * 4_000),)),
        Message(Role.USER, "?", images=(ImagePart("image/png", b"x"),)),
    ],
    ids=lambda message: message.role.value,
)
async def test_a_prompt_that_is_too_long_is_refused_before_the_model_is_asked(
    service: OpenAIStandIn, model: CappedModel, message: Message
) -> None:
    asked, spent = counted()
    with pytest.raises(TooLarge, match=r"some 1,\d{3} tokens, and this app takes 1,000:"):
        model.stream(replace(QUESTION, messages=(message,)), asked)
    assert not service.chats
    assert spent() == 0


async def test_tools_and_the_schema_of_the_answer_count_as_parts_of_the_prompt(
    service: OpenAIStandIn, model: CappedModel
) -> None:
    tools = (ToolDefinition("look", "x" * 2_000, {}),)
    form = JsonForm("response_format", schema={"title": "x" * 2_000})
    asked, spent = counted()
    with pytest.raises(TooLarge, match=r"some 1,\d{3} tokens"):
        model.stream(replace(QUESTION, tools=tools, form=form), asked)
    service.reply("Fine.", usage=False)
    async with aclosing(model.stream(replace(QUESTION, tools=tools), asked)) as events:
        assert [event async for event in events]
    assert 500 < spent() - PROMPT < 600


async def test_a_prompt_that_just_fits_is_answered(service: OpenAIStandIn, model: CappedModel) -> None:
    service.reply("Fine.")
    assert await ask(model, context(), "x" * 4 * 996) == "Fine."


async def test_the_prompt_is_counted_at_once_and_in_the_end_what_the_service_counted(
    service: OpenAIStandIn, model: CappedModel
) -> None:
    asked, spent = counted()
    more = asyncio.Event()
    service.reply("One", more, " two.")
    async with aclosing(model.stream(QUESTION, asked)) as events:
        async for event in events:
            if isinstance(event, ModelText):
                assert spent() == PROMPT + 500
                more.set()
    assert spent() == 7 + 5  # as the stand-in says


async def test_a_service_that_does_not_count_is_estimated(service: OpenAIStandIn, model: CappedModel) -> None:
    asked, spent = counted()
    service.reply("four" * 25, usage=False)
    await ask(model, asked)
    assert spent() == PROMPT + 25


async def test_an_answer_that_is_given_up_is_estimated(service: OpenAIStandIn, model: CappedModel) -> None:
    asked, spent = counted()
    service.reply("four" * 25, asyncio.Event())
    async with aclosing(model.stream(QUESTION, asked)) as events:
        async for event in events:
            if isinstance(event, ModelText):
                break
    assert spent() == PROMPT + 25


async def test_a_call_that_is_cancelled_before_its_first_word_costs_its_prompt(
    service: OpenAIStandIn, model: CappedModel
) -> None:
    asked, spent = counted()
    service.hang()
    task = asyncio.create_task(ask(model, asked))
    await service.request_number(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert spent() == PROMPT


async def test_a_call_that_the_service_refuses_costs_nothing(service: OpenAIStandIn, model: CappedModel) -> None:
    asked, spent = counted()
    service.fail(429)
    with pytest.raises(RateLimited):
        await ask(model, asked)
    assert spent() == 0


async def test_a_call_for_which_no_tokens_are_left_is_not_made(service: OpenAIStandIn, model: CappedModel) -> None:
    asked, spent = counted(limit=10)
    await ask(model, asked)
    with pytest.raises(RateLimited, match="10 tokens a day"):
        await ask(model, asked)
    assert len(service.chats) == 1
    assert spent() == 12


async def test_without_limits_nothing_stands_between_the_model_and_its_caller(
    service: OpenAIStandIn, model: CappedModel
) -> None:
    service.reply("One")
    async with aclosing(model.stream(QUESTION, context())) as events:
        assert getattr(events, "__qualname__") == "OpenAIChatModel._streamed"  # noqa: B009 (typed as any generator)
