"""With `annotate` everything goes out as it comes, and the end says what was found."""

import asyncio

import pytest

from shared.errors import RateLimited
from shared.events import AgentMessage, Finished, TextDelta
from shared.guard import Buffer
from tests.guard.guarding import FOUND, STARTED, Outcome, Turn, answer, request, rules, watched
from tests.guard.scripted_safety import (
    Script,
    ScriptedSafety,
    ScriptedSession,
    broken,
    ended,
    honest,
    mute,
    unreachable,
)


async def test_text_goes_out_before_anything_is_known_of_it() -> None:
    more, out = asyncio.Event(), Outcome()
    turn = Turn([FOUND, STARTED, TextDelta("Four"), more, TextDelta(" more"), Finished("stop")])
    by = rules(ScriptedSafety(mute), mode="annotate", timeout=0.1)
    running = asyncio.create_task(watched(turn, by, into=out))
    await out.until(lambda out: out.text == "Four")
    more.set()
    await running
    assert out.text == "Four more"


async def test_what_was_found_is_told_at_the_end_and_nothing_is_held_back() -> None:
    parts = answer("To the bomb", " and on", followups=("Why?",))
    service = ScriptedSafety(honest("bomb"))
    out = await watched(parts, rules(service, mode="annotate"), request("What bomb?"))
    found = {"violence": {"filtered": False, "severity": "high"}}
    assert out.error is None
    assert out.text == "To the bomb and on"
    assert out.finished.content_filter_results == found
    assert out.finished.prompt_filter_results == [{"prompt_index": 0, "content_filter_results": found}]
    assert "forbids" in str(out.safety.description)
    assert "bomb" not in repr(out.safety)


@pytest.mark.parametrize("script", [ended, unreachable, broken, mute])
@pytest.mark.parametrize("on_error", ["block", "allow"])
async def test_a_fault_becomes_a_thought_and_never_a_failure(script: Script, on_error: str) -> None:
    by = rules(ScriptedSafety(script), mode="annotate", on_error=on_error, timeout=0.1)
    out = await watched(answer("Four"), by)
    assert out.error is None
    assert out.text == "Four"
    assert str(out.safety.description).startswith("Not everything was checked.")


async def test_the_end_does_not_wait_past_the_deadline() -> None:
    out = await watched(answer("Four"), rules(ScriptedSafety(mute), mode="annotate", timeout=60), seconds=0.4)
    assert out.error is None
    assert out.text == "Four"


async def test_what_the_turn_fails_with_is_passed_on() -> None:
    out = await watched([FOUND, RateLimited("Later.")], rules(ScriptedSafety(honest()), mode="annotate"))
    assert out.events == [FOUND]
    assert isinstance(out.error, RateLimited)


class Deaf(ScriptedSession):
    """Takes nothing."""

    async def send(self, buffer: Buffer) -> None:
        del buffer
        await asyncio.Event().wait()


async def test_a_service_that_takes_nothing_does_not_fill_the_memory() -> None:
    by = rules(ScriptedSafety(mute, kind=Deaf), mode="annotate", timeout=60)
    turn = Turn([FOUND, STARTED, *[TextDelta("x" * 100_000)] * 12, Finished("stop")])
    async with asyncio.timeout(10):
        out = await watched(turn, by)
    assert len(out.text) == 1_200_000
    assert str(out.safety.description).startswith("Not everything was checked.")


async def test_each_message_of_a_team_tells_what_was_found_in_the_question() -> None:
    message = AgentMessage("A", 0, "Fine.", STARTED, Finished("stop"))
    by = rules(ScriptedSafety(honest("bomb")), mode="annotate")
    out = await watched([STARTED, message, Finished("stop")], by, request("What bomb?"), team=True)
    assert out.error is None
    assert out.messages[0].text == "Fine."
    safety = out.messages[0].thoughts[-1]
    assert "forbids: nothing is held back" in str(safety.description)
    assert safety.props
    assert safety.props["prompt_filter_results"] == {"violence": {"filtered": False, "severity": "high"}}
