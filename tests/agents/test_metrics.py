"""The framework's metrics: a process that answers for days must not keep any of a turn that is over."""

import gc

from opentelemetry.metrics import Meter

from shared.agents.definitions import Pattern
from tests.agents.teams import Office, agent, agents

TEAM = agents(Pattern.HANDOFF, agent("Ada", ("search",)), agent("Ben", ("search",)))


def meters() -> int:
    gc.collect()
    return sum(issubclass(type(each), Meter) for each in gc.get_objects())


async def test_turns_leave_no_meters_behind(office: Office) -> None:
    await office.messages(TEAM)
    before = meters()
    await office.messages(TEAM)
    assert meters() <= before
