"""Calls of tools that a person has agreed to: what becomes of one that the caller's budget has no room for."""

import time
from collections.abc import Mapping
from copy import replace
from pathlib import Path

import pytest

from shared.agents.gate import CallServices, Gate, Paused
from shared.budgets import Limits
from shared.budgets.ledger import Ledger
from shared.chat_models import ToolDefinition
from shared.chat_types import Json, TokenMeter, ToolCall
from shared.events import ToolEnded, ToolStarted
from shared.runs.claim import change
from shared.runs.folder_objects import FolderObjects
from shared.runs.kept_tools import KeptTools, tools_of
from shared.runs.records import State
from shared.tools import Tool, ToolContext, ToolResult
from shared.tools.calls import KeptCall

RUN = "0" * 32
DROP = ToolCall("c1", "crm_drop", '{"name":"x"}')


def used_up() -> TokenMeter:
    """A caller's meter with room for no call any more."""
    meter = Ledger(Limits(requests=1), Limits()).meter("Ada")
    meter.count_call()
    return meter


async def heard(_: ToolStarted | ToolEnded) -> None:
    pass


async def test_a_call_that_a_used_up_budget_has_refused_does_not_run_when_the_turn_runs_again(tmp_path: Path) -> None:
    store, dropped = FolderObjects(tmp_path), list[Mapping[str, Json]]()

    async def drop(arguments: Mapping[str, Json], _: ToolContext | None = None) -> ToolResult:
        dropped.append(arguments)
        return ToolResult("done")

    definition = ToolDefinition("crm_drop", "Drop it.", {"type": "object", "properties": {"name": {"type": "string"}}})
    tool = Tool(definition, drop, server="crm", name="drop", needs_consent=True, is_repeatable=False, digest="d")
    state = State("owner", time.time(), time.time())

    async def turn(meter: TokenMeter | None = None) -> tuple[ToolResult, list[str]]:
        services = CallServices(heard, KeptTools(store, RUN, state), meter=meter)
        gate = Gate("Ada", {"crm_drop": tool}, services)
        gate.next_round()
        await gate.enter([DROP])
        return await gate.run("c1", tool, {"name": "x"}, lambda: drop({"name": "x"})), gate.outcomes

    with pytest.raises(Paused):
        await turn()
    async for name in store.names(tools_of(RUN)):
        await change(store, name, KeptCall, lambda call: replace(call, state="claimed", decided_by="owner"))
    refused = await turn(used_up())
    assert refused[0].text.endswith("The call did not run.")
    assert refused[1] == ["crm.drop was not run: a limit is reached."]
    assert await turn() == refused, "a person was told that it has not run"
    assert not dropped
