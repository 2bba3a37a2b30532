"""The chat model and time: retries, deadlines, and what ends in the middle."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import replace

import pytest

from shared.chat_models import ModelEvent, ModelFinished, ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.errors import RateLimited, TooSlow, Unavailable
from shared.events import CompletionStarted
from tests.clock import Clock
from tests.stand_ins.openai_connected import QUESTION, ask, connection_to, context, error_of, model_of
from tests.stand_ins.openai_service import OpenAIStandIn


async def begun(events: AsyncGenerator[ModelEvent]) -> asyncio.Task[ModelEvent]:
    """The wait for the next event, which has begun."""

    async def following() -> ModelEvent:
        return await anext(events)

    waiting = asyncio.create_task(following())
    await asyncio.sleep(0)
    return waiting


@pytest.mark.parametrize("cut", [True, False])
async def test_an_answer_that_is_cut_off_is_an_error_after_its_text(
    service: OpenAIStandIn, model: OpenAIChatModel, cut: bool
) -> None:
    service.reply_raw(b'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n', cut=cut)
    events: list[ModelEvent] = []
    with pytest.raises(Unavailable, match="cut off"):
        async with aclosing(model.stream(QUESTION, context())) as stream:
            events.extend([event async for event in stream])
    assert len(service.chats) == 1


async def test_a_connection_cut_after_the_finish_reason_does_not_matter(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.reply_raw(b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n', cut=True)
    assert await ask(model) == [ModelText("Hi"), ModelFinished("stop")]


async def test_a_short_rate_limit_is_waited_for(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, headers={"Retry-After": "1"})
    asking = asyncio.ensure_future(ask(model))
    await service.request_number(1)
    # Who comes back before the service is ready for it gets another answer.
    asyncio.get_running_loop().call_later(0.5, service.reply, "Hi")
    assert (await asking)[0] == ModelText("Hi")
    assert len(service.chats) == 2


async def test_azures_milliseconds_are_waited_for(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, headers={"retry-after-ms": "20", "Retry-After": "60"})
    service.reply("Hi")
    assert (await ask(model))[0] == ModelText("Hi")


async def test_a_rate_limit_that_stays_is_passed_on_with_its_wait(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(429, headers={"Retry-After": "0.2"}, times=3)
    assert (await error_of(model, RateLimited)).retry_after == 1
    assert len(service.chats) == 3


async def test_a_long_rate_limit_is_passed_on_at_once(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, headers={"Retry-After": "41.5"})
    assert (await error_of(model, RateLimited)).retry_after == 42
    assert len(service.chats) == 1


async def test_a_rate_limit_that_outlasts_the_deadline_is_passed_on_at_once(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(429, headers={"Retry-After": "15"})
    assert (await error_of(model, RateLimited, seconds=10)).retry_after == 15
    assert len(service.chats) == 1


async def test_a_rate_limit_that_outlasts_the_status_of_a_stream_is_passed_on_at_once(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.fail(429, headers={"Retry-After": "19"})
    assert (await error_of(model, RateLimited, status_in=18)).retry_after == 19
    assert len(service.chats) == 1


@pytest.mark.parametrize("status_in", [20.0, -0.1])
async def test_a_rate_limit_is_waited_for_before_the_status_of_a_stream_is_due_and_after_it_is_sent(
    service: OpenAIStandIn, model: OpenAIChatModel, status_in: float
) -> None:
    service.fail(429, headers={"Retry-After": "0.1"})
    service.reply("Hi")
    assert (await ask(model, status_in=status_in))[0] == ModelText("Hi")


async def test_a_used_up_quota_is_not_tried_again(service: OpenAIStandIn, model: OpenAIChatModel) -> None:
    service.fail(429, code="insufficient_quota")
    assert "quota" in (await error_of(model, RateLimited)).message
    assert len(service.chats) == 1


@pytest.mark.parametrize("status", [409, 500, 502, 503])
async def test_a_fault_that_passes_is_tried_again(service: OpenAIStandIn, model: OpenAIChatModel, status: int) -> None:
    service.fail(status, headers={"Retry-After": "0.01"}, times=2)
    service.reply("Hi")
    assert (await ask(model))[0] == ModelText("Hi")
    assert len(service.chats) == 3


async def test_a_connection_that_is_closed_without_an_answer_is_tried_again(
    service: OpenAIStandIn, model: OpenAIChatModel
) -> None:
    service.hang_up()
    service.reply("Hi")
    assert (await ask(model))[0] == ModelText("Hi")


async def test_a_service_that_only_hangs_up_is_unavailable(service: OpenAIStandIn) -> None:
    service.hang_up(times=4)
    async with model_of(connection_to(service), retries=1) as model:
        assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message


async def test_nobody_listening_is_unavailable_and_names_the_address_setting(service: OpenAIStandIn) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        async with model_of(replace(connection_to(service), base_url=nobody), retries=1) as model:
            assert "OPENAI_BASE_URL" in (await error_of(model, Unavailable)).message


async def test_a_hanging_service_is_left_at_the_deadline(
    service: OpenAIStandIn, model: OpenAIChatModel, clock: Clock
) -> None:
    service.hang()
    asking = asyncio.create_task(error_of(model, TooSlow, seconds=30))
    hanging = await service.request_number(1)
    clock.forward(30)
    await asking
    await hanging.disconnected.wait()
    assert len(service.chats) == 1


async def test_a_deadline_in_the_middle_of_an_answer_ends_it(service: OpenAIStandIn, clock: Clock) -> None:
    service.reply("Hel", asyncio.Event())
    async with model_of(connection_to(service), between=600) as model:
        events = model.stream(QUESTION, context(30))
        assert isinstance(await anext(events), CompletionStarted)
        assert await anext(events) == ModelText("Hel")
        waiting = await begun(events)
        clock.forward(30)
        with pytest.raises(TooSlow):
            await waiting
    await service.chats[0].disconnected.wait()


@pytest.mark.parametrize("said", [(), ("Hel",)])
async def test_silence_is_too_slow_at_the_deadline_and_sooner_between_the_pieces(
    service: OpenAIStandIn, clock: Clock, said: tuple[str, ...]
) -> None:
    service.reply(*said, asyncio.Event())
    async with model_of(connection_to(service), between=5) as model:
        events = model.stream(QUESTION, context(1_000))
        assert isinstance(await anext(events), CompletionStarted)
        for text in said:
            assert await anext(events) == ModelText(text)
        waiting = await begun(events)
        clock.forward(5 if said else 999)
        if not said:
            assert not waiting.done()  # a model may take as long as the answer may
            clock.forward(1)
        with pytest.raises(TooSlow, match="CHAT_SOURCE_TOKENS"):
            await waiting
    assert len(service.chats) == 1


async def test_thinking_before_the_first_text_may_take_longer(service: OpenAIStandIn, clock: Clock) -> None:
    gate = asyncio.Event()
    service.reply({"choices": [], "prompt_filter_results": []}, gate, "Hi")
    async with (
        model_of(connection_to(service), between=5) as model,
        aclosing(model.stream(QUESTION, context())) as events,
    ):
        assert isinstance(await anext(events), CompletionStarted)
        waiting = await begun(events)
        clock.forward(10)
        gate.set()
        assert await waiting == ModelText("Hi")
        await events.aclose()
