"""Calls that need a person's consent: asked for, decided, run once or never, whatever happens between."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.events import CompletionStarted, Finished, Retrieved, ToolEnded, ToolStarted
from tests.runs.acting import Crm, Desk, crm, desk, no, opened, text_of, tool_texts, yes
from tests.stand_ins.openai_service import OpenAIStandIn


@pytest.fixture
async def service() -> AsyncGenerator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def server() -> AsyncGenerator[Crm]:
    async with crm() as server:
        yield server


@pytest.fixture
async def clerk(tmp_path: Path, server: Crm, service: OpenAIStandIn) -> AsyncGenerator[Desk]:
    async with desk(tmp_path, server, service) as clerk:
        yield clerk


async def test_a_call_that_a_person_agrees_to_runs_once_and_the_turn_goes_on(
    clerk: Desk, server: Crm, service: OpenAIStandIn
) -> None:
    service.call_tool("crm_look", {"number": 7})
    service.call_tool("crm_drop", {"name": "x"})
    run_id, events = await clerk.ask("Drop x.")
    (call,) = opened(events)
    assert [type(event) for event in events[:4]] == [Retrieved, CompletionStarted, ToolStarted, ToolEnded]
    assert (call.server, call.tool, call.arguments, call.agent) == ("crm", "drop", '{"name":"x"}', "Clerk")
    assert (server.looked, server.dropped) == ([7], [])
    service.reply("Done: ", "x is dropped.")
    events = await clerk.decide(yes(call))
    ended = next(event for event in events if isinstance(event, ToolEnded))
    assert (ended.approval_id, ended.status, ended.text) == (call.approval_id, "done", '{"result":"x is dropped"}')
    assert text_of(events) == "Done: x is dropped."
    assert isinstance(events[-1], Finished)
    assert (server.looked, server.dropped) == ([7], ["x"])
    assert len(service.chats) == 3
    assert tool_texts(service)[-1] == '<result>\n{"result":"x is dropped"}\n</result>'
    assert not [event for event in await clerk.read(run_id) if isinstance(event, Finished)][:-1]


async def test_nobody_is_asked_for_a_call_that_could_not_run(clerk: Desk, server: Crm, service: OpenAIStandIn) -> None:
    service.call_tool("crm_drop", {"name": "x" * 51})
    service.reply("I cannot.")
    _, events = await clerk.ask("Drop x.")
    assert text_of(events) == "I cannot."
    assert server.dropped == []
    assert "arguments.name should have characters, at most 50." in tool_texts(service)[-1]


async def test_a_call_that_a_person_refuses_never_runs(clerk: Desk, server: Crm, service: OpenAIStandIn) -> None:
    service.call_tool("crm_drop", {"name": "x"})
    _, events = await clerk.ask("Drop x.")
    service.reply("I did not.")
    events = await clerk.decide(no(opened(events)[0], "too early"))
    ended = next(event for event in events if isinstance(event, ToolEnded))
    assert (ended.status, server.dropped) == ("denied", [])
    assert "too early" in tool_texts(service)[-1]
    assert text_of(events) == "I did not."
