"""Several endpoints: who is asked, who is asked next, and who has to rest. Three real servers fail by turns."""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from copy import replace

import pytest
from pydantic import SecretStr

from shared.chat_models import ModelEvent, ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.errors import ContentFiltered, RateLimited, TooSlow, Unavailable
from shared.events import CompletionStarted
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.openai_service.endpoint import Endpoint
from shared.outbound.openai_service.service import OpenAIService
from shared.retrieval.embedders.openai_compatible import OpenAIEmbedder
from tests.clock import Clock
from tests.stand_ins.openai_connected import QUESTION, ask, connection_to, context, error_of, model_of
from tests.stand_ins.openai_service import EMBEDDINGS, OpenAIStandIn

type Three = tuple[OpenAIStandIn, OpenAIStandIn, OpenAIStandIn]

MODEL = ServedModel("gpt", "OPENAI_CHAT_MODEL")
FAULTS: dict[str, Callable[[OpenAIStandIn], None]] = {
    "429": lambda service: service.fail(429, headers={"Retry-After": "30"}),
    "429 without a time": lambda service: service.fail(429),
    "used up": lambda service: service.fail(429, code="insufficient_quota"),
    "500": lambda service: service.fail(500),
    "its key": lambda service: service.fail(401),
    "no such model": lambda service: service.fail(404, code="model_not_found"),
    "closes": lambda service: service.hang_up(times=2),
    "an error in the stream": lambda service: service.reply({"error": {"message": "overloaded"}}),
    "cut off before its first word": lambda service: service.reply_raw(b": hello\n\n", cut=True),
    "an empty page": lambda service: service.reply_raw(b"<html></html>", content_type="text/html"),
}


@pytest.fixture
async def three() -> AsyncGenerator[Three]:
    async with OpenAIStandIn() as one, OpenAIStandIn() as two, OpenAIStandIn() as three:
        yield one, two, three


@pytest.fixture
async def model(three: Three) -> AsyncGenerator[OpenAIChatModel]:
    async with model_of(*map(connection_to, three)) as model:
        yield model


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ModelText))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_before_the_first_word_goes_on_to_the_next(
    three: Three, model: OpenAIChatModel, fault: Callable[[OpenAIStandIn], None]
) -> None:
    first, second, third = three
    fault(first)
    fault(second)
    third.reply("Here", " I am.")
    assert said(await ask(model)) == "Here I am."
    asked = [len(first.chats), len(second.chats)]
    third.reply("Again.")
    assert said(await ask(model)) == "Again."
    assert [len(first.chats), len(second.chats), len(third.chats)] == [*asked, 2]


async def test_who_hangs_is_left_before_the_next_is_asked(three: Three, model: OpenAIChatModel, clock: Clock) -> None:
    first, second, third = three
    first.hang()
    second.reply(asyncio.Event())  # its head comes, and nothing else
    third.reply("Here.")
    asking = asyncio.create_task(ask(model))
    await first.request_number(1)
    assert not second.chats
    clock.forward(10)
    await second.request_number(1)
    await first.chats[0].disconnected.wait()
    clock.forward(10)
    assert said(await asking) == "Here."
    await second.chats[0].disconnected.wait()
    assert [len(service.chats) for service in three] == [1, 1, 1]


async def test_a_refused_connection_and_a_rate_limit_leave_the_third(three: Three) -> None:
    _, second, third = three
    second.fail(429)
    third.reply("Here.")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = replace(connection_to(second), base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        async with model_of(nobody, connection_to(second), connection_to(third)) as model:
            assert said(await ask(model)) == "Here."


async def test_after_the_first_word_nobody_else_is_asked(three: Three, model: OpenAIChatModel) -> None:
    first, *others = three
    breaks_off(first)
    events: list[ModelEvent] = []
    with pytest.raises(Unavailable, match="cut off"):
        async with aclosing(model.stream(QUESTION, context())) as stream:
            events.extend([event async for event in stream])
    assert not any(service.chats for service in others)


HALF = b'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n'


def breaks_off(service: OpenAIStandIn) -> None:
    service.reply_raw(HALF, cut=True)


async def test_who_breaks_off_rests_and_longer_each_time(three: Three, model: OpenAIChatModel, clock: Clock) -> None:
    first, second, _ = three
    for rest in (10, 20):
        clock.stop()
        breaks_off(first)
        await error_of(model, Unavailable)
        asked = len(first.chats)
        clock.forward(rest - 0.5)
        second.reply("Here.")
        assert said(await ask(model)) == "Here."
        assert len(first.chats) == asked
        clock.forward(1)


@pytest.mark.parametrize(("seconds", "passing"), [(100, 31), (20, 21), (5, 6)])
async def test_who_hangs_after_its_first_words_rests_also_if_the_deadline_ends_the_answer(
    three: Three, model: OpenAIChatModel, clock: Clock, seconds: float, passing: float
) -> None:
    first, second, _ = three
    first.reply("Hel", asyncio.Event())
    stream = model.stream(QUESTION, context(seconds))
    assert said([await anext(stream), await anext(stream)]) == "Hel"
    late = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    clock.forward(passing)
    with pytest.raises(TooSlow):
        await late
    second.reply("Here.")
    assert said(await ask(model)) == "Here."
    assert len(first.chats) == 1


@pytest.mark.parametrize(("silent", "rests"), [(11, True), (1, False)])
async def test_who_is_left_rests_only_after_a_long_silence(
    three: Three, model: OpenAIChatModel, clock: Clock, *, silent: float, rests: bool
) -> None:
    first, second, _ = three
    first.reply("Hel", asyncio.Event())
    stream = model.stream(QUESTION, context())
    assert said([await anext(stream), await anext(stream)]) == "Hel"
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    clock.forward(silent)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    (second if rests else first).reply("Here.")
    assert said(await ask(model)) == "Here."


async def test_an_answer_of_which_nobody_has_seen_anything_comes_whole_from_the_next(
    three: Three, model: OpenAIChatModel
) -> None:
    first, second, third = three
    breaks_off(first)
    breaks_off(second)
    third.reply("Here", " I am.")
    events = [event async for event in model.stream(QUESTION, replace(context(), is_whole=True))]
    assert said(events) == "Here I am."
    assert [type(event) for event in events].count(CompletionStarted) == 1
    assert [len(service.chats) for service in three] == [1, 1, 1]
    for service in three:
        breaks_off(service)
    with pytest.raises(Unavailable):
        _ = [event async for event in model.stream(QUESTION, replace(context(), is_whole=True))]
    assert [len(service.chats) for service in three] == [2, 2, 2]


async def test_what_the_filter_ends_is_asked_of_nobody_else_and_nobody_rests(
    three: Three, model: OpenAIChatModel
) -> None:
    first, *others = three
    goes_on = asyncio.Event()
    first.reply("Hel", goes_on, {"error": {"code": "content_filter", "message": "x"}})
    stream = model.stream(QUESTION, context())
    assert said([await anext(stream), await anext(stream)]) == "Hel"
    goes_on.set()
    with pytest.raises(ContentFiltered):
        await anext(stream)
    first.reply("Here.")
    assert said(await ask(model)) == "Here."
    assert not any(service.chats for service in others)


async def test_a_whole_answer_that_hangs_leaves_the_next_its_time(
    three: Three,
    model: OpenAIChatModel,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second, _ = three
    first.reply("Hel", asyncio.Event())
    second.reply("Here.")
    begun = asyncio.Event()
    caplog.set_level(logging.INFO, "switchboard.openai")

    def read(record: logging.LogRecord) -> None:
        if "answers" in record.msg:
            begun.set()

    monkeypatch.setattr(caplog.handler, "emit", read)
    stream = model.stream(QUESTION, replace(context(21), is_whole=True))

    async def whole() -> str:
        return said([event async for event in stream])

    asking = asyncio.create_task(whole())
    await begun.wait()
    clock.forward(7.5)
    assert await asking == "Here."
    await first.chats[0].disconnected.wait()


async def test_what_is_wrong_with_the_question_is_asked_once(three: Three, model: OpenAIChatModel) -> None:
    three[0].fail(400, code="content_filter")
    await error_of(model, ContentFiltered)
    assert [len(service.chats) for service in three] == [1, 0, 0]


async def test_who_refuses_rests_as_long_as_it_asks_for(three: Three, model: OpenAIChatModel, clock: Clock) -> None:
    first, second, _ = three
    first.fail(429, headers={"Retry-After": "60"})
    for _ in range(3):
        await ask(model)
    assert [len(service.chats) for service in three] == [1, 3, 0]
    clock.forward(61)
    await ask(model)
    assert [len(service.chats) for service in three] == [2, 3, 0]
    second.fail(429)
    await ask(model)
    assert [len(service.chats) for service in three] == [3, 3, 0]


async def test_if_all_refuse_the_shortest_time_is_told_and_nobody_asked_before_it(
    three: Three, model: OpenAIChatModel, clock: Clock
) -> None:
    clock.stop()
    for service, seconds in zip(three, ("60", "50", "70"), strict=True):
        service.fail(429, headers={"Retry-After": seconds})
    assert (await error_of(model, RateLimited)).retry_after == 50
    clock.forward(20.5)
    assert (await error_of(model, RateLimited)).retry_after == 30
    assert [len(service.chats) for service in three] == [1, 1, 1]
    clock.forward(30)
    await ask(model)
    assert [len(service.chats) for service in three] == [1, 2, 1]


async def test_if_all_fail_they_are_asked_again(three: Three, model: OpenAIChatModel) -> None:
    for service in three:
        service.fail(503, headers={"Retry-After": "0.01"})
    three[0].reply("At last.")
    assert said(await ask(model)) == "At last."


async def test_each_gets_its_own_key(three: Three) -> None:
    connections = [replace(connection_to(service), api_key=SecretStr(f"key-{n}")) for n, service in enumerate(three)]
    async with model_of(*connections, retries=0) as model:
        await error_of(model, Unavailable)
    assert [service.chats[0].headers["Authorization"] for service in three] == [f"Bearer key-{n}" for n in range(3)]


async def test_vectors_come_from_the_next_too(three: Three) -> None:
    service = OpenAIService(*map(connection_to, three))
    three[0].fail(500, on=EMBEDDINGS)
    three[1].reply_raw(b'{"data": [', content_type="application/json", cut=True, on=EMBEDDINGS)
    embedder = OpenAIEmbedder(service, ServedModel(three[0].embedding_model, "OPENAI_EMBEDDING_MODEL"))
    assert len(await embedder.embed(["word"])) == 1
    assert [len(one.requests) for one in three] == [1, 1, 1]
    await embedder.aclose()


async def test_health_and_log_name_who_answers_and_no_key(
    three: Three, model: OpenAIChatModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first, second, third = three
    first.fail(500, on="/models")
    first.fail(500)
    await ask(model)
    health = await model.check()
    assert health.ok
    hosts = [service.endpoint.removeprefix("http://") for service in three]
    assert health.facts["answers"] == dict(zip(hosts, (0, 1, 0), strict=True))
    assert f"{hosts[1]}, {hosts[2]}. {hosts[0]}: " in health.detail
    assert f"{hosts[0]}: BROKEN" in caplog.text
    assert f"{hosts[1]} answers, invocation invocation-1" in caplog.text
    assert not any(service.api_key in caplog.text + str(health) for service in (first, second, third))


async def test_health_is_bad_only_if_no_endpoint_is_well(three: Three) -> None:
    wrong = [replace(connection_to(service), api_key=SecretStr("wrong")) for service in three]
    async with model_of(*wrong[:2], connection_to(three[2])) as model:
        health = await model.check()
        assert health.ok
        assert health.detail.count("OPENAI_API_KEY") == 2
    async with model_of(*wrong) as model:
        assert not (await model.check()).ok


def weighted(*weights: int) -> OpenAIService:
    base = OpenAIConnection("openai-compatible", "", None, "OPENAI_BASE_URL", "OPENAI_API_KEY", MODEL)
    return OpenAIService(
        *(replace(base, base_url=f"http://127.0.0.1:{n}/v1", weight=weight) for n, weight in enumerate(weights, 1))
    )


async def asked_for(service: OpenAIService, chat: str) -> int:
    async def attempt(endpoint: Endpoint, _: float) -> int:
        return service.endpoints.index(endpoint)

    return await service.ask(attempt, MODEL, deadline=asyncio.get_running_loop().time() + 30, chat=chat)


async def test_chats_are_spread_by_weight_and_stay() -> None:
    service = weighted(3, 0, 1)
    chats = [f"chat {number}" for number in range(400)]
    first = [await asked_for(service, chat) for chat in chats]
    assert first == [await asked_for(weighted(3, 0, 1), chat) for chat in chats]
    shares = Counter(first)
    assert shares[1] == 0
    assert 2.4 < shares[0] / shares[2] < 3.6
    assert {await asked_for(weighted(0, 0, 0), chat) for chat in chats[:50]} == {0}
    await service.aclose()


async def test_a_chat_goes_back_when_its_endpoint_is_well_again(clock: Clock) -> None:
    service = weighted(1, 1, 0)
    chat = next(chat for chat in map(str, range(100)) if service.endpoints[1].distance(chat) < 0.1)
    assert await asked_for(service, chat) == 1
    others = [other for other in map(str, range(100)) if await asked_for(service, other) == 0]

    async def attempt(endpoint: Endpoint, _: float) -> int:
        if endpoint is service.endpoints[1]:
            raise TimeoutError
        return service.endpoints.index(endpoint)

    assert await service.ask(attempt, MODEL, deadline=asyncio.get_running_loop().time() + 30, chat=chat) == 0
    assert await asked_for(service, chat) == 0
    assert [await asked_for(service, other) for other in others] == [0] * len(others)
    clock.forward(11)
    assert await asked_for(service, chat) == 1
    await service.aclose()


async def test_one_request_tries_who_has_failed_and_the_rest_grows(clock: Clock) -> None:
    clock.stop()
    service, gate, started, tried = weighted(0, 0), asyncio.Event(), asyncio.Event(), list[int]()

    async def attempt(endpoint: Endpoint, _: float) -> int:
        number = service.endpoints.index(endpoint)
        tried.append(number)
        if number == 0:
            started.set()
            await gate.wait()
            raise TimeoutError
        return number

    async def one() -> None:
        await service.ask(attempt, MODEL, deadline=asyncio.get_running_loop().time() + 100)

    gate.set()
    await one()
    for rest in (10, 20):
        clock.forward(rest - 0.5)
        tried.clear()
        await one()
        assert tried == [1]
        clock.forward(1)
        gate.clear()
        started.clear()
        tried.clear()
        trying = asyncio.create_task(one())
        await started.wait()
        await one()
        assert tried == [0, 1]
        gate.set()
        await trying
    await service.aclose()


async def test_who_thinks_long_is_waited_for_next_time(clock: Clock) -> None:
    clock.stop()
    service, patience, thinks = weighted(0, 0), list[float](), [9, 20, 1, 1]
    loop = asyncio.get_running_loop()

    async def attempt(_: Endpoint, until: float) -> None:
        patience.append(until - loop.time())
        clock.forward(thinks[len(patience) - 1])

    for _ in thinks:
        await service.ask(attempt, MODEL, deadline=loop.time() + 600)
    assert patience == pytest.approx([10, 27, 60, 54])  # pyright: ignore[reportUnknownMemberType]
    await service.aclose()


async def test_the_deadline_counts_for_all_together(three: Three, model: OpenAIChatModel, clock: Clock) -> None:
    for service in three:
        service.hang()
    asking = asyncio.create_task(error_of(model, TooSlow, seconds=24))
    for service in three:
        await service.request_number(1)
        clock.forward(8)
    await asking
    for service in three:
        await service.chats[0].disconnected.wait()
