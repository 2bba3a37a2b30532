"""The orchestration of each pattern, by Microsoft Agent Framework's builders. A workflow serves one request."""

from collections.abc import Callable, Sequence
from typing import Any

import agent_framework as af
from agent_framework_orchestrations import (
    ConcurrentBuilder,
    GroupChatBuilder,
    GroupChatState,
    HandoffBuilder,
    SequentialBuilder,
)

from shared.agents.definitions import Pattern

type Agent = af.Agent[Any]


def workflow_of(pattern: Pattern, agents: Sequence[Agent], is_over: Callable[[], bool]) -> af.Workflow:
    """The workflow of a team; `is_over` ends those that know no end of their own."""
    return _BUILDERS[pattern](agents, is_over)


def framework_names(pattern: Pattern, names: Sequence[str]) -> dict[str, str]:
    """What agents are called in the workflow, by their names: as none of the framework's own executors is.

    In a handoff it names the functions that hand over, and of other letters than a to z the framework leaves nothing
    there. So the names of a team that has such have their place in front.
    """
    if pattern is not Pattern.HANDOFF:
        return {name: f"agent {name}" for name in names}
    if all(name.isascii() for name in names):
        return {name: name for name in names}
    return {name: f"{place} {name}" for place, name in enumerate(names, 1)}


def _concurrent(agents: Sequence[Agent], _is_over: Callable[[], bool]) -> af.Workflow:
    async def nothing_more(_: list[af.AgentExecutorResponse]) -> None:
        """The messages are out already."""

    return ConcurrentBuilder(participants=agents).with_aggregator(nothing_more).build()


def _sequential(agents: Sequence[Agent], _is_over: Callable[[], bool]) -> af.Workflow:
    return SequentialBuilder(participants=agents).build()


def _group_chat(agents: Sequence[Agent], is_over: Callable[[], bool]) -> af.Workflow:
    def in_turns(state: GroupChatState) -> str:
        names = [*state.participants]
        return names[state.current_round % len(names)]

    return GroupChatBuilder(
        participants=agents, selection_func=in_turns, termination_condition=lambda _: is_over()
    ).build()


def _handoff(agents: Sequence[Agent], is_over: Callable[[], bool]) -> af.Workflow:
    return (
        HandoffBuilder(participants=agents, termination_condition=lambda _: is_over())
        .with_start_agent(agents[0])
        .build()
    )


_BUILDERS = {
    Pattern.CONCURRENT: _concurrent,
    Pattern.SEQUENTIAL: _sequential,
    Pattern.GROUP_CHAT: _group_chat,
    Pattern.HANDOFF: _handoff,
}
