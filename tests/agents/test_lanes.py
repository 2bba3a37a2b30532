"""What a request that asks for it is told of the agents while they work."""

from collections import defaultdict

import pytest

from shared.agents.definitions import Pattern
from shared.agents.turns import agents_turn
from shared.chat_types import Json
from shared.events import AgentMessage, AgentWork, ChatEvent, Usage
from tests.agents.teams import Office, agent, agents, asked, context

WATCHED = asked(show_progress=True)


def works(events: list[ChatEvent]) -> dict[str, list[AgentWork]]:
    """What each agent did, in order."""
    by_agent = defaultdict[str, list[AgentWork]](list)
    for event in events:
        if isinstance(event, AgentWork):
            by_agent[event.agent].append(event)
    return dict(by_agent)


def states(events: list[ChatEvent]) -> dict[str, str]:
    return {name: " ".join(work.state for work in done) for name, done in works(events).items()}


@pytest.mark.parametrize("pattern", [Pattern.CONCURRENT, Pattern.SEQUENTIAL])
async def test_each_agent_waits_works_and_is_done(office: Office, pattern: Pattern) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("search", {"query": "dental care"})
        office.service.reply("80 % [plan.pdf#page=3].")
    with office.service.to("Be Ben."):
        office.service.reply("I agree.")
    events = await office.events(agents(pattern, agent("Ada", ("search",)), "Ben"), WATCHED)
    assert states(events) == {
        "Ada": "waiting thinking searching thinking writing done",
        "Ben": "waiting thinking writing done",
    }
    ada = works(events)["Ada"]
    assert [work.query for work in ada if work.state == "searching"] == ["dental care"]
    assert ada[-1].usage == Usage(14, 10)
    assert ada[-1].milliseconds
    assert ada[-1].error is None


async def test_agents_of_a_group_chat_work_once_for_each_message(office: Office) -> None:
    for name, *said in (("Be Ada.", "One.", "Three. [[DONE]]"), ("Be Ben.", "Two.")):
        with office.service.to(name):
            for text in said:
                office.service.reply(text)
    events = await office.events(agents(Pattern.GROUP_CHAT, "Ada", "Ben"), WATCHED)
    once = "thinking writing done"
    assert states(events) == {"Ada": f"waiting {once} {once}", "Ben": f"waiting {once}"}


async def test_who_is_not_needed_in_a_handoff_stays_waiting(office: Office) -> None:
    office.service.call_tool("handoff_to_Cleo", {})
    office.service.reply("80 %.")
    events = await office.events(agents(Pattern.HANDOFF, "Ada", "Ben", "Cleo"), WATCHED)
    assert states(events) == {
        "Ada": "waiting thinking handed_over",
        "Ben": "waiting",
        "Cleo": "waiting thinking writing done",
    }
    assert works(events)["Ada"][-1].to == "Cleo"
    assert works(events)["Ada"][-1].usage == Usage(7, 5)


async def test_an_agent_that_fails_says_with_which_error(office: Office) -> None:
    with office.service.to("Be Ada."):
        office.service.fail(400)
    with office.service.to("Be Ben."):
        office.service.reply("80 %.")
    events = await office.events(agents(Pattern.CONCURRENT, "Ada", "Ben"), WATCHED)
    (message,) = [event for event in events if isinstance(event, AgentMessage) and event.error]
    assert message.error
    assert states(events)["Ada"] == "waiting thinking failed"
    assert works(events)["Ada"][-1].error == message.error.code


async def test_an_agent_waits_for_a_free_model_call(office: Office) -> None:
    events = await office.events(agents(Pattern.CONCURRENT, "Ada", "Ben"), WATCHED, concurrent_calls=1)
    assert sorted(states(events).values()) == [
        "waiting thinking writing done",
        "waiting waiting thinking writing done",
    ]


async def test_the_agent_of_single_chat_is_told_of_too(office: Office) -> None:
    office.service.call_tool("search", {"query": "dental care"})
    office.service.reply("80 %.")
    ada = agent("Ada", ("search",))
    turn = agents_turn(WATCHED, context(), ada, office.parts(agents(Pattern.CONCURRENT, ada)))
    events = [event async for event in turn]
    assert states(events) == {"Ada": "thinking searching thinking writing done"}
    assert works(events)["Ada"][-1].usage == Usage(14, 10)


async def test_nobody_is_told_without_being_asked(office: Office) -> None:
    events = await office.events(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert not [event for event in events if isinstance(event, AgentWork)]


@pytest.mark.parametrize("pattern", Pattern)
async def test_a_request_can_choose_the_pattern(office: Office, pattern: Pattern) -> None:
    messages = await office.messages(
        agents(Pattern.CONCURRENT, "Ada", "Ben", max_rounds=3), asked(team_pattern=pattern.value)
    )
    last: Json = office.service.chats[-1].body["messages"]
    saw_others = any(f"{name}: " in str(last) for name in ("Ada", "Ben"))
    assert len(messages) == {"group_chat": 3, "handoff": 1}.get(pattern, 2)
    assert saw_others is (pattern in (Pattern.SEQUENTIAL, Pattern.GROUP_CHAT))
