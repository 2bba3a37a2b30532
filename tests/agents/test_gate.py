"""Calls of tools that a person has agreed to: what becomes of one that the caller's budget has no room for."""

import time
from collections.abc import Mapping
from copy import replace
from pathlib import Path

import pytest

from shared.agents.gate import CallServices, Gate, Paused
from shared.chat_models import ToolDefinition
from shared.chat_types import Json, ToolCall
from shared.errors import RateLimited
from shared.events import ToolEnded, ToolStarted
from shared.runs.folder_objects import FolderObjects
from shared.runs.kept_tools import KeptTools, change_call, tools_of
from shared.runs.records import State
from shared.tools import Tool, ToolContext, ToolResult

RUN = "0" * 32
DROP = ToolCall("c1", "crm_drop", '{"name":"x"}')


class Budget:
    """A meter with room for so many calls."""

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def reserve(self, tokens: int) -> None:
        raise NotImplementedError

    def correct(self, difference: int) -> None:
        raise NotImplementedError

    def count_call(self) -> None:
        if not self._calls:
            raise RateLimited("You have made too many requests.")
        self._calls -= 1


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

    async def turn(calls: int) -> tuple[ToolResult, list[str]]:
        services = CallServices(heard, KeptTools(store, RUN, state), meter=Budget(calls))
        gate = Gate("Ada", {"crm_drop": tool}, services)
        gate.next_round()
        await gate.enter([DROP])
        return await gate.run("c1", tool, {"name": "x"}, lambda: drop({"name": "x"})), gate.outcomes

    with pytest.raises(Paused):
        await turn(1)
    async for name in store.names(tools_of(RUN)):
        await change_call(store, name, lambda call: replace(call, state="claimed", decided_by="owner"))
    refused = await turn(0)
    assert refused[0].text.endswith("The call did not run.")
    assert refused[1] == ["crm.drop was not run: a limit is reached."]
    assert await turn(1) == refused, "a person was told that it has not run"
    assert not dropped
