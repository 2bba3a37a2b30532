"""Teams with a slow model: each agent leaves time for those after it, so that the one with the answer speaks."""

import asyncio
import re
from typing import Literal

import pytest

from shared.agents.definitions import Pattern
from shared.errors import TooSlow
from shared.events import AgentMessage, ChatEvent
from tests.agents.teams import QUESTION, SECONDS, Office, agent, agents
from tests.clock import Clock
from tests.stand_ins.openai_service import Step

WORDS = 400
"""Words of each message: at 20 a second, three agents would take a minute for them, twice the time that they have."""


class Delay(asyncio.Event):
    """Time that the stand-in waits between two pieces, of which no real time passes."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__()
        self._clock = clock
        self._seconds = seconds

    async def wait(self) -> Literal[True]:
        for _ in range(10):  # the client reads the piece before
            await asyncio.sleep(0)
        self._clock.forward(self._seconds)
        return True


@pytest.fixture
async def clock() -> Clock:
    clock = Clock()
    clock.stop()
    return clock


def slow(office: Office, clock: Clock, *names: str, words: int = WORDS) -> None:
    """Let agents write at 20 words a second."""
    for name in names:
        steps: list[Step] = [f"{name}'s first word."]
        for number in range(words):
            steps += [Delay(clock, 0.05), f" word{number}"]
        with office.service.to(f"Be {name}."):
            office.service.reply(*steps)


@pytest.mark.parametrize("pattern", [Pattern.SEQUENTIAL, Pattern.GROUP_CHAT])
async def test_every_agent_of_a_slow_team_speaks_and_the_last_one_longest(
    office: Office, clock: Clock, pattern: Pattern
) -> None:
    slow(office, clock, "Ada", "Ben", "Cleo")
    messages = (await office.messages(agents(pattern, "Ada", "Ben", "Cleo")))[:3]
    assert [message.agent for message in messages] == ["Ada", "Ben", "Cleo"]
    assert [message.error for message in messages] == [None] * 3
    ada, ben, cleo = (len(message.text.split()) for message in messages)
    assert min(ada, cleo) > ben
    for name in ("Ben", "Cleo"):
        assert re.search(r"write at most \d+ words", str(office.chats(name)[0].body["messages"]))
    assert "Ada's first word." in str(office.prompts("Cleo")[0])
    assert "Ben's first word." in str(office.prompts("Cleo")[0])


async def test_who_is_cut_off_is_told_and_ends_without_half_a_citation(office: Office, clock: Clock) -> None:
    slow(office, clock, "Ada")
    with office.service.to("Be Ben."):
        office.service.reply("I am Ben, see [plan.pd", Delay(clock, SECONDS), "f#page=3].")
    ada, ben = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    for message in (ada, ben):
        assert message.finished is not None
        assert message.finished.reason == "length"
        assert "AGENTS_DEADLINE_SECONDS" in str(message.thoughts)
    said, _, notice = ben.text.partition("\n\n")
    assert said.strip() == "I am Ben, see"
    assert "The answer ends here" in notice


async def test_time_that_an_agent_does_not_need_is_the_next_ones(office: Office, clock: Clock) -> None:
    slow(office, clock, "Ada", words=2)
    slow(office, clock, "Ben")
    ada, ben = await office.messages(agents(Pattern.SEQUENTIAL, "Ada", "Ben"))
    assert ada.finished is not None
    assert ada.finished.reason == "stop"
    assert ben.finished is not None
    assert ben.finished.reason == "stop"
    assert len(ben.text) > WORDS * len(" word")
    assert "Time is short" not in str(office.chats("Ben")[0].body["messages"])


async def test_what_a_late_agent_found_is_there_for_those_after_it(office: Office, clock: Clock) -> None:
    with office.service.to("Be Ada."):
        office.service.call_tool("search", {"query": QUESTION})
        office.service.hang()
    with office.service.to("Be Ben."):
        office.service.reply("80 % [plan.pdf#page=3].")
    team = agents(Pattern.SEQUENTIAL, agent("Ada", tools=("search",)), "Ben")
    turn = asyncio.create_task(office.messages(team))
    await office.service.request_number(2)
    clock.forward(SECONDS / 2)
    ada, ben = await turn
    assert isinstance(ada.error, TooSlow)
    assert ben.text == "80 % [plan.pdf#page=3]."
    assert "The Standard plan pays 80 % of dental care." in str(office.prompts("Ben")[0])
    assert [point.sourcepage for point in ben.data_points] == ["plan.pdf#page=3"]


async def test_agents_who_answer_at_the_same_time_share_nothing(office: Office, clock: Clock) -> None:
    seen: list[ChatEvent] = []

    async def see(event: ChatEvent) -> None:
        seen.append(event)

    slow(office, clock, "Ada", "Ben", words=100)
    messages = await office.messages(agents(Pattern.CONCURRENT, "Ada", "Ben"), seen=see)
    assert {message.finished.reason for message in messages if message.finished} == {"stop"}
    assert sum(isinstance(event, AgentMessage) for event in seen) == 2
