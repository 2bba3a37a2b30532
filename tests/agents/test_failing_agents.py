"""What goes wrong with an agent is its own message, in words; the others still answer."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import replace

import pytest

from shared.agents.definitions import Agents, Pattern
from shared.agents.turns import agents_turn
from shared.chat_types import Json, PartHealth, RequestContext
from shared.errors import (
    ContentFiltered,
    InternalError,
    RateLimited,
    SwitchboardError,
    TooSlow,
    Unavailable,
    is_error_text,
)
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Finished
from shared.retrieval import SearchQuery, SearchResult
from tests.agents.teams import QUESTION, SECONDS, Office, agent, agents, asked, context, texts
from tests.clock import Clock


def answering(office: Office, *names: str) -> None:
    for name in names:
        with office.service.to(f"Be {name}."):
            office.service.reply(f"I am {name}.")


def hanging(office: Office, *names: str) -> None:
    for name in names:
        with office.service.to(f"Be {name}."):
            office.service.hang()


async def failing(turn: AsyncGenerator[ChatEvent]) -> tuple[list[ChatEvent], SwitchboardError]:
    """The events of a turn, and what it fails with."""
    events: list[ChatEvent] = []
    try:
        async for event in turn:
            events.append(event)  # noqa: PERF401 (a comprehension would lose them with the error)
    except SwitchboardError as error:
        return events, error
    raise AssertionError("the turn did not fail")


async def test_a_failure_is_the_agents_message_and_the_others_answer(office: Office) -> None:
    answering(office, "Ada", "Cleo")
    with office.service.to("Be Ben."):
        office.service.fail(429, headers={"Retry-After": "7"})
    messages = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben", "Cleo"))
    ada, ben, cleo = messages
    assert (ada.error, cleo.error) == (None, None)
    assert isinstance(ben.error, RateLimited)
    assert ben.text.startswith(ben.error.message)
    assert is_error_text(ben.text)  # so that it is no part of the conversation when a client sends it back
    assert (ben.finished, ben.data_points) == (None, ())
    assert office.prompts("Cleo") == [[f"user: {QUESTION}", "user: Ada: I am Ada."]]


async def until_late(office: Office, clock: Clock, team: Agents) -> list[AgentMessage]:
    """A turn of which Ada has said something, and Ben is asked, when its time is over."""

    async def seen(event: ChatEvent) -> None:
        if isinstance(event, AgentMessage) and event.agent == "Ada":
            await office.service.request_number(2)
            clock.forward(SECONDS)

    return await office.messages(team, seen=seen)


async def test_a_late_agent_says_so_and_what_is_finished_is_not_lost(office: Office, clock: Clock) -> None:
    answering(office, "Ada")
    hanging(office, "Ben")
    messages = await until_late(office, clock, agents(Pattern.CONCURRENT, "Ada", "Ben"))
    assert texts(messages) == [
        ("Ada", "I am Ada."),
        ("Ben", "Ben took too long to answer. Ask for less, or try again. (invocation id-1)"),
    ]
    assert isinstance(messages[1].error, TooSlow)
    await office.chats("Ben")[0].disconnected.wait()


async def test_agents_that_did_not_get_their_turn_in_time_say_so(office: Office, clock: Clock) -> None:
    answering(office, "Ada")
    hanging(office, "Ben")
    messages = await until_late(office, clock, agents(Pattern.SEQUENTIAL, "Ada", "Ben", "Cleo"))
    assert [message.error is None for message in messages] == [True, False, False]
    assert messages[2].text == "Cleo had no time left to answer. Ask for less, or try again. (invocation id-1)"
    assert len(office.service.chats) == 2


async def test_an_agent_that_waits_for_the_others_calls_until_it_is_late_says_so(office: Office, clock: Clock) -> None:
    hanging(office, "Ada")
    team = agents(Pattern.CONCURRENT, "Ada", "Ben")
    turn = asyncio.create_task(failing(agents_turn(asked(), context(), None, office.parts(team, concurrent_calls=1))))
    await office.service.request_number(1)
    clock.forward(SECONDS)
    events, error = await turn
    assert isinstance(error, TooSlow)
    said = {message.agent: message.text for message in events if isinstance(message, AgentMessage)}
    assert said["Ben"] == "Ben had to wait too long for the others' model calls to end. Try again. (invocation id-1)"


@pytest.mark.parametrize("pattern", [Pattern.GROUP_CHAT, Pattern.HANDOFF])
async def test_a_discussion_ends_with_who_is_late(office: Office, clock: Clock, pattern: Pattern) -> None:
    if pattern is Pattern.HANDOFF:
        call: Json = {"index": 0, "id": "1", "function": {"name": "handoff_to_Ben", "arguments": "{}"}}
        office.service.reply("I am Ada.", office.service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    else:
        answering(office, "Ada")
    hanging(office, "Ben")
    messages = await until_late(office, clock, agents(pattern, "Ada", "Ben"))
    assert [(message.agent, message.error is None) for message in messages] == [("Ada", True), ("Ben", False)]


async def test_an_agent_that_says_nothing_has_an_error_in_words(office: Office) -> None:
    office.service.reply(" \n")
    answering(office, "Ben")
    messages = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert messages[0].text == "Ada answered nothing. Try again, or ask in other words. (invocation id-1)"
    assert isinstance(messages[0].error, Unavailable)


async def test_an_agent_whose_answer_the_content_filter_took_says_so(office: Office) -> None:
    office.service.reply(finish_reason="content_filter")
    answering(office, "Ben")
    messages = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert isinstance(messages[0].error, ContentFiltered)


async def test_a_very_long_answer_passes_whole_and_is_heard_whole(office: Office) -> None:
    long = "".join(f"Words {number} without end. " for number in range(4_500))  # one that repeats itself is ended
    office.service.reply(long)
    answering(office, "Ben")
    ada, _ = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert ada.text == long.strip()
    assert office.prompts("Ben")[0][1] == f"user: Ada: {long.strip()}"


@pytest.mark.parametrize("pattern", Pattern)
async def test_when_all_fail_their_messages_come_and_then_the_error_of_the_first(
    office: Office, pattern: Pattern
) -> None:
    office.service.fail(429)
    office.service.fail(503)
    team = agents(pattern, "Ada", "Ben")
    events, error = await failing(agents_turn(asked(), context(), None, office.parts(team, concurrent_calls=1)))
    assert isinstance(error, RateLimited)
    assert [type(event) for event in events][:2] == [CompletionStarted, AgentMessage]
    assert not any(isinstance(event, Finished) for event in events)


async def test_who_leaves_stops_all_model_calls(office: Office) -> None:
    hanging(office, "Ada", "Ben", "Cleo")
    turn = agents_turn(asked(), context(), None, office.parts(agents(Pattern.CONCURRENT, "Ada", "Ben", "Cleo")))
    async with aclosing(turn) as events:
        await anext(events)
        waiting = asyncio.ensure_future(anext(events))
        await office.service.request_number(3)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    for chat in office.service.chats:
        await chat.disconnected.wait()


async def test_who_leaves_between_two_messages_stops_the_rest(office: Office) -> None:
    answering(office, "Ada")
    hanging(office, "Ben")
    turn = agents_turn(asked(), context(), None, office.parts(agents(Pattern.CONCURRENT, "Ada", "Ben")))
    async with aclosing(turn) as events:
        await anext(events)
        await anext(events)
        await office.service.request_number(2)
    await office.chats("Ben")[0].disconnected.wait()


class BrokenRetriever:
    """A retriever with a fault that nobody foresaw."""

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        raise ZeroDivisionError(query.text, context)

    async def check(self) -> PartHealth:
        return PartHealth("test", ok=True, detail="")


@pytest.mark.parametrize("pattern", [Pattern.CONCURRENT, Pattern.SEQUENTIAL, Pattern.GROUP_CHAT])
async def test_a_fault_of_ours_is_told_in_words_and_nothing_that_was_said_is_logged(
    office: Office, caplog: pytest.LogCaptureFixture, pattern: Pattern
) -> None:
    caplog.set_level(logging.DEBUG)
    said = "xyzzy"
    with office.service.to("Be Ada."):
        office.service.call_tool("search", {"query": said})
    with office.service.to("Be Ben."):
        office.service.reply(f"I say {said}.")
    broken = replace(office, retriever=BrokenRetriever())
    messages = await broken.messages(agents(pattern, agent("Ada", ("search",)), "Ben", max_rounds=2), asked(said))
    assert {message.agent: type(message.error) for message in messages} == {"Ada": InternalError, "Ben": type(None)}
    lines = [record.getMessage() for record in caplog.records if not record.name.startswith("openai")]
    assert any("ZeroDivisionError" in line for line in lines)
    assert not [line for line in lines if said in line]
