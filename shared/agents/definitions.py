"""Reads the team, its agents and their tool servers from a YAML file (DESIGN, 'Multi-agent').

All faults of the file are reported at once: each is one sentence with the line and the accepted values.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from unicodedata import normalize

from pydantic import Field, StringConstraints, ValidationError, field_validator

from shared.agents.definition_file import DefinitionFile, KeyPath, message
from shared.chat_types import Json
from shared.errors import NotConfigured
from shared.tools.definitions import Definition, fits, function_name
from shared.tools.table import TOOLS

if TYPE_CHECKING:
    from shared.tools.servers import Api, ToolServer


class Pattern(StrEnum):
    """Order in which the agents of a team answer."""

    CONCURRENT = "concurrent"
    """All agents answer the user at the same time."""
    SEQUENTIAL = "sequential"
    """Agents answer one after the other; each sees the messages of those before it."""
    GROUP_CHAT = "group_chat"
    """Agents take turns until one ends the chat or `max_rounds` is reached."""
    HANDOFF = "handoff"
    """One agent answers, and can hand the conversation over to another."""


class Team(Definition):
    """How the agents work together."""

    pattern: Pattern
    """Order in which the agents answer, and which messages each of them sees."""
    max_rounds: int = Field(default=6, ge=1, le=50)
    """Maximum number of messages in a group chat or a handoff; 1 to 50."""


class AgentDefinition(Definition):
    """One agent."""

    name: str = Field(pattern=r"^[^\W_]([\w -]*[\w-])?$", max_length=50)
    """Author of its messages, and its name for other agents."""
    instructions: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
    """System prompt of the agent: its task, and how it should answer."""
    tools: tuple[str, ...] = ()
    """The tools that the agent can use: `search`, `crm.look`, or `crm.*` for all that the file allows of a server."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """0 to 2; None: the model's default."""
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    """Model or deployment of the configured service; None: the same as for chat without agents."""


class Agents(Definition):
    """A team with its agents."""

    team: Team = Team(pattern=Pattern.SEQUENTIAL)
    """How they work together."""
    agents: tuple[AgentDefinition, ...]
    """1 to 50, in the file's order; their names differ."""

    @property
    def servers(self) -> "tuple[ToolServer | Api, ...]":
        """What has tools outside the app that the agents can have: MCP servers, then APIs."""
        return ()

    @field_validator("agents")
    @classmethod
    def _check_count(cls, agents: tuple[AgentDefinition, ...]) -> tuple[AgentDefinition, ...]:
        # A limit in `Field` would not count agents that have faults themselves.
        if not 1 <= len(agents) <= 50:
            raise ValueError
        return agents

    def for_chat(self, name: str | None) -> AgentDefinition | None:
        """Return the agent with the name that `CHAT_AGENT` gives, which answers single chat; None without a name.

        Raises:
            NotConfigured: no agent has the name.
        """
        if name is None:
            return None
        for agent in self.agents:
            if agent.name == name:
                return agent
        names = ", ".join(agent.name for agent in self.agents)
        raise NotConfigured(f"CHAT_AGENT names no agent of the team: set it to one of {names}, or unset it.")


@cache
def _with_servers() -> type[Agents]:
    """Make the model of a file that names tool servers. Most name none, and need not wait for it."""
    from shared.tools.servers import Api, ToolServer

    class AgentsWithServers(Agents):
        tool_servers: tuple[ToolServer, ...] = ()
        apis: tuple[Api, ...] = ()

        @property
        def servers(self) -> tuple[ToolServer | Api, ...]:
            return (*self.tool_servers, *self.apis)

    return AgentsWithServers


_ACCEPTED, _ACCEPTED_OF_SERVERS = (
    dict(line.split(": ", 1) for line in keys.splitlines())
    for keys in Path(__file__).with_name("accepted.txt").read_text(encoding="utf-8").split("\n\n")
)
"""Accepted values of each key, as the end of a sentence; and of what is below `tool_servers` and `apis`."""
_TOOLS_OF_AGENT = "a list of tools, each one of:"
_MOST_NAMED = 20
"""Maximum number of tools that an error message names."""


def load_agents(path: Path) -> Agents:
    """Read a team and its agents from a file.

    Raises:
        NotConfigured: the file cannot be read or has faults. The message has one sentence per fault; callers of the app
            can read it, so it names the file without its folder.
    """
    file = DefinitionFile(path)
    content = file.read()
    faults = [*file.faults, *_similar_names(content, file.lines), *_tool_faults(content, file.lines)]
    try:
        kind = _with_servers() if {"tool_servers", "apis"} & content.keys() else Agents
        agents = kind.model_validate(content)
    except ValidationError as invalid:
        faults += [_fault(error["type"], error["loc"], file.lines) for error in invalid.errors()]
        agents = None
    if faults or agents is None:
        raise NotConfigured(message(path, sorted(set(faults))))
    return agents


def _fault(kind: str, place: KeyPath, lines: dict[KeyPath, int]) -> tuple[int, str]:
    """Make the line and the sentence for an error that pydantic reports."""
    place = tuple(part for part in place if part != "[key]")
    key = next(part for part in reversed(place) if isinstance(part, str))
    if kind == "missing":
        return _line(place[:-1], lines), f"`{key}` is missing; it should be {_accepted(place)}"
    if kind == "extra_forbidden":
        return _line(place, lines), f"`{key[:40]}` is no key here; accepted are {', '.join(_keys(place))}"
    return _line(place, lines), f"`{key[:40]}` should be {_accepted(place)}"


def _line(place: KeyPath, lines: dict[KeyPath, int]) -> int:
    """Line of a value, or of the value around it: `key` may stand beside `auth` in place of below it."""
    while place not in lines:
        place = place[:-1]
    return lines[place]


def _accepted(place: KeyPath) -> str:
    match place:
        case ("agents", _, "tools", *_):
            return f"{_TOOLS_OF_AGENT} {', '.join(TOOLS)}"
        case (_, _, "tools" | "operations", _):
            return "a mapping such as `{approval: never}`, or `{}`"
        case _:
            of = _ACCEPTED_OF_SERVERS if place[0] in ("tool_servers", "apis") else _ACCEPTED
            return next(of[part] for part in reversed(place) if part in of)


def _keys(place: KeyPath) -> Iterable[str]:
    """The keys that are accepted in the place of an unknown key."""
    from shared.tools.servers import AllowedTool, Api, Auth, ToolServer

    match place[:-1]:
        case ("team",):
            return Team.model_fields
        case ("agents", _):
            return AgentDefinition.model_fields
        case ("tool_servers", _):
            return ToolServer.model_fields
        case ("apis", _):
            return Api.model_fields
        case (_, _, "auth"):
            return Auth.model_fields
        case (_, _, "tools" | "operations", _):
            return AllowedTool.model_fields
        case _:
            return _with_servers().model_fields


def _similar_names(content: dict[str, Json], lines: dict[KeyPath, int]) -> Iterator[tuple[int, str]]:
    """Find agents with the same or almost the same name, which models or readers could confuse."""
    seen: set[str] = set()
    for index, agent in _mappings(content, "agents"):
        name = agent.get("name")
        if not isinstance(name, str):
            continue
        letters = re.sub(r"[ _-]", "_", normalize("NFKC", name).casefold())
        if letters in seen:
            what = "`name` is an earlier agent's or too much like it; names should differ in letters or digits"
            yield lines["agents", index, "name"], what
        seen.add(letters)


def _tool_faults(content: dict[str, Json], lines: dict[KeyPath, int]) -> Iterator[tuple[int, str]]:
    """Find servers and tools that could be taken for others, and patterns of agents that name no tool."""
    functions, names, known = {*TOOLS}, set[str](), [*TOOLS]
    for key, allowed in (("tool_servers", "tools"), ("apis", "operations")):
        for index, server in _mappings(content, key):
            name, tools = str(server.get("name")), server.get(allowed)
            if name.casefold() in names:
                yield lines[key, index, "name"], "`name` is an earlier server's; names should differ"
            names.add(name.casefold())
            known.append(f"{name}.*")
            for tool in tools if isinstance(tools, dict) else ():
                known.append(f"{name}.{tool}")
                if (function := function_name(known[-1])) in functions:
                    what = f"models would see two tools as `{function}`; give one of the servers another name"
                    yield lines[key, index, allowed, tool], what
                functions.add(function)
    offered = ", ".join(known[:_MOST_NAMED])
    for index, agent in _mappings(content, "agents"):
        tools = agent.get("tools")
        for place, pattern in enumerate(tools if isinstance(tools, list) else ()):
            if isinstance(pattern, str) and not any(fits(pattern, title) for title in known):
                yield lines["agents", index, "tools", place], f"`tools` should be {_TOOLS_OF_AGENT} {offered}"


def _mappings(content: dict[str, Json], key: str) -> Iterator[tuple[int, dict[str, Json]]]:
    """The mappings in the list under a key, each with its index."""
    value = content.get(key)
    listed = value if isinstance(value, list) else []
    return ((index, one) for index, one in enumerate(listed) if isinstance(one, dict))
