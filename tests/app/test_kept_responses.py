"""OpenAI's Responses that are kept, as its own Python package reads, continues, stops and deletes them."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import openai as sdk
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, PASSAGES, hosted
from tests.app.openai_sdk import MODEL, client_of, extra
from tests.app.test_openai_responses import WEATHER
from tests.local.running_host import RunningHost
from tests.small_index import write_index
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

TEXT = "80 % [plan.pdf#page=3]."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    folder = tmp_path_factory.mktemp("responses")
    await write_index(folder, PASSAGES)
    async with hosted(folder, openai.settings | NO_VECTORS) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="session")
async def kept(host: RunningHost) -> AsyncGenerator[sdk.AsyncOpenAI]:
    async with client_of(host) as client:
        yield client


def said(openai: OpenAIStandIn) -> list[str]:
    """The conversation in the last prompt, of whose last message only what comes after the sources and the day."""
    messages: Any = openai.chats[-1].body["messages"]
    *earlier, last = [message["content"] for message in messages if message["role"] != "system"]
    question = last.partition("\n\nToday is ")[2].split("\n\n")[1]
    return [*(text.partition("\n")[0] for text in earlier), question]


def next_turn(openai: OpenAIStandIn, text: str) -> None:
    """Script a follow-up question, which is rewritten to a search first."""
    openai.call_tool("search_sources", {"search_queries": ["implants"]})
    openai.reply(text)


async def test_a_conversation_goes_on_from_a_response_and_from_items_of_responses(
    kept: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply(TEXT)
    first = await kept.responses.create(model=MODEL, input="What is paid?")
    assert (extra(first, "store"), first.output_text) == (True, TEXT)
    next_turn(openai, "After two years.")
    second = await kept.responses.create(model=MODEL, input="And implants?", previous_response_id=first.id)
    assert said(openai) == ["What is paid?", TEXT, "And implants?"]
    assert second.previous_response_id == first.id
    next_turn(openai, "Yes.")
    await kept.responses.create(model=MODEL, input="Sure?", previous_response_id=second.id)
    assert said(openai) == ["What is paid?", TEXT, "And implants?", "After two years.", "Sure?"]
    next_turn(openai, "Again.")  # as AI SDK sends the second turn
    items: Any = [
        {"role": "user", "content": "What is paid?"},
        {"type": "item_reference", "id": first.output[0].id},
        {"role": "user", "content": "And glasses?"},
    ]
    await kept.responses.create(model=MODEL, input=items)
    assert said(openai) == ["What is paid?", TEXT, "And glasses?"]


async def test_the_result_of_a_tool_is_enough_to_go_on_from_the_response_that_called_it(
    kept: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.call_tool("get_weather", {"city": "Oslo"})
    called = await kept.responses.create(model=MODEL, input="What is paid?", tools=[WEATHER])
    (call,) = called.output
    result: Any = {"type": "function_call_output", "call_id": extra(call, "call_id"), "output": "Snow."}
    referred: Any = [{"role": "user", "content": "What is paid?"}, {"type": "item_reference", "id": call.id}, result]
    for asked in ({"input": [result], "previous_response_id": called.id}, {"input": referred}):
        openai.reply("Snow.")
        create: Any = kept.responses.create
        answer = await create(model=MODEL, tools=[WEATHER], **asked)
        assert answer.output_text == "Snow."
        messages: Any = openai.chats[-1].body["messages"]
        assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]


async def test_a_response_is_read_streamed_from_any_event_on_and_deleted(
    kept: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply(*TEXT)
    events = [event async for event in await kept.responses.create(model=MODEL, input="What is paid?", stream=True)]
    assert events[0].type == "response.created"
    response_id = events[0].response.id
    whole = await kept.responses.retrieve(response_id)
    assert (whole.status, whole.output_text) == ("completed", TEXT)
    again = [event async for event in await kept.responses.retrieve(response_id, stream=True)]
    assert again == events
    rest = [event async for event in await kept.responses.retrieve(response_id, stream=True, starting_after=7)]
    assert rest == events[8:]
    await kept.responses.delete(response_id)
    for call in (kept.responses.retrieve(response_id), kept.responses.delete(response_id)):
        with pytest.raises(sdk.NotFoundError, match=f"Response with id '{response_id}' not found"):
            await call
    with pytest.raises(sdk.BadRequestError, match=f"Previous response with id '{response_id}' not found"):
        await kept.responses.create(model=MODEL, input="And implants?", previous_response_id=response_id)


async def test_a_response_is_made_in_the_background_followed_and_cancelled(
    kept: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    go_on = asyncio.Event()
    openai.reply("80 % ", go_on, "is paid.")
    later = await kept.responses.create(model=MODEL, input="What is paid?", background=True)
    assert (later.status, later.background, later.output) == ("queued", True, [])
    go_on.set()
    events = [event async for event in await kept.responses.retrieve(later.id, stream=True)]
    assert events[-1].type == "response.completed"
    whole = await kept.responses.retrieve(later.id)
    assert (whole.status, whole.output_text) == ("completed", "80 % is paid.")
    openai.reply("80 % ", asyncio.Event())
    stream = await kept.responses.create(model=MODEL, input="What is paid?", background=True, stream=True)
    first = await anext(stream)
    assert first.type == "response.created"
    await stream.close()
    cancelled = await kept.responses.cancel(first.response.id)
    assert cancelled.status == "cancelled"
    assert (await kept.responses.retrieve(first.response.id)).status == "cancelled"


async def test_what_is_not_stored_or_not_in_the_background_is_told(
    kept: sdk.AsyncOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply(TEXT)
    unstored = await kept.responses.create(model=MODEL, input="What is paid?", store=False)
    assert extra(unstored, "store") is False
    with pytest.raises(sdk.NotFoundError):
        await kept.responses.retrieve(unstored.id)
    items: Any = [{"type": "item_reference", "id": unstored.output[0].id}, {"role": "user", "content": "And?"}]
    with pytest.raises(sdk.NotFoundError, match="Items are not persisted"):
        await kept.responses.create(model=MODEL, input=items)
    with pytest.raises(sdk.BadRequestError, match="background: needs 'store'"):
        await kept.responses.create(model=MODEL, input="What?", background=True, store=False)
    openai.reply(TEXT)
    stored = await kept.responses.create(model=MODEL, input="What is paid?")
    with pytest.raises(sdk.BadRequestError, match="Cannot cancel a synchronous response"):
        await kept.responses.cancel(stored.id)


async def test_where_no_chats_are_kept_nothing_is_stored_unless_asked_for(
    openai: OpenAIStandIn, tmp_path: Path
) -> None:
    await write_index(tmp_path, PASSAGES)
    off = {"HISTORY_BACKEND": "off", "BATCH_BACKEND": "off"}
    async with hosted(tmp_path, openai.settings | NO_VECTORS | off) as host, client_of(host) as client:
        openai.reply(TEXT)
        response = await client.responses.create(model=MODEL, input="What is paid?")
        assert extra(response, "store") is False
        with pytest.raises(sdk.BadRequestError, match="previous_response_id"):
            await client.responses.create(model=MODEL, input="And?", previous_response_id=response.id)
        with pytest.raises(sdk.BadRequestError, match="background"):
            await client.responses.create(model=MODEL, input="And?", background=True)
