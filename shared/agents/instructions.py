"""System prompts of agents: their own instructions, and what their tools, the team and the request add to them."""

from collections.abc import Sequence

from shared.agents.definitions import AgentDefinition, Agents
from shared.chat_types import ChatRequest
from shared.core.prompts import PROMPTS, answer_instructions, today
from shared.tools import Tool

DONE = "[[DONE]]"
"""Marker with which an agent of a group chat ends its message when the group is done."""


def team_instructions(
    agent: AgentDefinition, tools: Sequence[Tool], agents: Agents, request: ChatRequest, *, attached: bool
) -> str:
    """The system prompt of an agent in its team."""
    parts = [_own(agent, tools)]
    if len(agents.agents) > 1:
        names = ", ".join(one.name for one in agents.agents)
        in_team = PROMPTS[agents.team.pattern].format(others=PROMPTS["others"], done=DONE)
        parts.append(PROMPTS["team"].format(agent=agent.name, names=names, in_team=in_team))
    if request.overrides.language:
        parts.append(PROMPTS["language"].format(language=request.overrides.language))
    if attached:
        parts.append(PROMPTS["files"])
    parts.append(today())
    return "\n\n".join(parts)


def single_instructions(agent: AgentDefinition, tools: Sequence[Tool], request: ChatRequest, *, attached: bool) -> str:
    """The system prompt of an agent that answers single chat."""
    instructions = answer_instructions(request, _own(agent, tools), attached=attached)
    return f"{instructions}\n\n{PROMPTS['json']}" if request.form else instructions


def _own(agent: AgentDefinition, tools: Sequence[Tool]) -> str:
    of_servers = PROMPTS["results"] if any(tool.server for tool in tools) else ""
    return "\n\n".join(filter(None, [agent.instructions, *(tool.instructions for tool in tools), of_servers]))
