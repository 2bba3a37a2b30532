"""Reads the team and its agents from a YAML file (DESIGN, 'Multi-agent').

All faults of the file are reported at once: each is one sentence with the line and the accepted values. Values are
read as text and converted to the type of their field, so that a name such as `yes` or `2024` needs no quotes. Tags and
aliases are refused, so that the file cannot create objects or expand to a huge structure.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from unicodedata import normalize

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from shared.chat_types import Json
from shared.errors import NotConfigured
from shared.tools.table import TOOLS

if TYPE_CHECKING:
    import yaml

_MOST_BYTES = 100_000
"""Maximum size of the file, in bytes."""
_MOST_FAULTS = 10
"""Maximum number of faults in one error message."""


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


class _Definition(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Team(_Definition):
    """How the agents work together."""

    pattern: Pattern
    """Order in which the agents answer, and which messages each of them sees."""
    max_rounds: int = Field(default=6, ge=1, le=50)
    """Maximum number of messages in a group chat or a handoff; 1 to 50."""


def _known_tool(name: str) -> str:
    if name not in TOOLS:
        raise ValueError
    return name


class AgentDefinition(_Definition):
    """One agent."""

    name: str = Field(pattern=r"^[^\W_]([\w -]*[\w-])?$", max_length=50)
    """Author of its messages, and its name for other agents."""
    instructions: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
    """System prompt of the agent: its task, and how it should answer."""
    tools: tuple[Annotated[str, AfterValidator(_known_tool)], ...] = ()
    """Names of the tools that the agent can use."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """0 to 2; None: the model's default."""
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    """Model or deployment of the configured service; None: the same as for chat without agents."""


class Agents(_Definition):
    """A team with its agents."""

    team: Team
    """How they work together."""
    agents: tuple[AgentDefinition, ...]
    """1 to 50, in the file's order; their names differ."""

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


_ACCEPTED = {
    "team": "a mapping with `pattern` and, if you like, `max_rounds`",
    "pattern": "concurrent, sequential, group_chat or handoff",
    "max_rounds": "a whole number from 1 to 50",
    "agents": "a list of 1 to 50 mappings, each with a `name` and `instructions`",
    "name": "1 to 50 letters, digits, spaces, `_` and `-`, beginning with a letter or digit and not ending in a space",
    "instructions": "a text of 1 to 20,000 characters",
    "tools": f"a list of tools, each one of: {', '.join(TOOLS)}",
    "temperature": "a number from 0 to 2",
    "model": "the name of a model, in 1 to 200 characters",
}
"""Accepted values of each key, as the end of a sentence."""

type _Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


def load_agents(path: Path) -> Agents:
    """Read a team and its agents from a file.

    Raises:
        NotConfigured: the file cannot be read or has faults. The message has one sentence per fault; callers of the app
            can read it, so it names the file without its folder.
    """
    file = _DefinitionFile(path)
    content = file.read()
    faults = [*file.faults, *_similar_names(content, file.lines)]
    try:
        agents = Agents.model_validate(content)
    except ValidationError as invalid:
        faults += [_fault(error["type"], error["loc"], file.lines) for error in invalid.errors()]
        agents = None
    if faults or agents is None:
        raise NotConfigured(_message(path, sorted(set(faults))))
    return agents


def as_yaml(agents: Agents) -> str:
    """Write a team as a file that `load_agents` reads."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts of several lines as blocks, as people do."""

    def text(dumper: yaml.SafeDumper, value: str) -> "yaml.ScalarNode":
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)  # pyright: ignore[reportUnknownMemberType] (no types)

    Dumper.add_representer(str, text)
    values = agents.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return yaml.dump(values, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


class _DefinitionFile:
    """Reads a YAML file into plain values, and records the line of each value."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[int] = set()
        self.lines: dict[_Place, int] = {(): 1}
        """Line of each value; lines count from 1."""
        self.faults: list[tuple[int, str]] = []
        """Line and sentence of each part that is valid YAML but not accepted."""

    def read(self) -> dict[str, Json]:
        """Return the file's content, with all scalars as text.

        Raises:
            NotConfigured: the file cannot be read, or is not a YAML mapping.
        """
        import yaml

        text = self._text()
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            content = self._value(root, ()) if root else None
        except yaml.reader.ReaderError as exc:
            raise self._broken(text.count("\n", 0, exc.position), "a character that YAML does not allow") from exc
        except yaml.MarkedYAMLError as exc:
            mark = exc.problem_mark or exc.context_mark
            what = "this is not YAML; look at the indentation, colons, dashes and quotes here and above"
            raise self._broken(mark.line if mark else 0, what) from exc
        except RecursionError as exc:
            raise NotConfigured(f"{self._path.name}: the values are nested too deeply.") from exc
        if root is None:
            raise NotConfigured(f"{self._path.name} is empty: it should hold `team` and `agents`.")
        if not isinstance(content, dict):
            raise self._broken(root.start_mark.line, "the file should be a mapping with `team` and `agents`")
        return content

    def _text(self) -> str:
        try:
            with self._path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError as exc:
            raise NotConfigured(f"{self._path.name}: there is no such file; AGENTS_FILE should name one.") from exc
        except OSError as exc:
            raise NotConfigured(
                f"{self._path.name} cannot be read; AGENTS_FILE should name a file that the app may read."
            ) from exc
        if len(data) > _MOST_BYTES:
            raise NotConfigured(f"{self._path.name} is too large: at most {_MOST_BYTES:,} bytes are accepted.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            raise self._broken(data.count(b"\n", 0, exc.start), "this is not UTF-8; save the file as UTF-8") from exc

    def _broken(self, line: int, what: str) -> NotConfigured:
        return NotConfigured(_message(self._path, [(line + 1, what)]))

    def _value(self, node: "yaml.Node", place: _Place) -> Json:
        import yaml

        self.lines.setdefault(place, node.start_mark.line + 1)
        if id(node) in self._seen:
            self._refuse(node, "an alias (`*name`) is not followed; write the value out")
            return str(node.value) if isinstance(node, yaml.ScalarNode) else None
        self._seen.add(id(node))
        if node.tag.removeprefix("tag:yaml.org,2002:") not in _PLAIN_TAGS:
            self._refuse(node, "a tag (`!name`) is not accepted; write the value out")
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*place, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return dict(self._entries(node, place))
        return None if node.tag.endswith(":null") else str(node.value)

    def _entries(self, mapping: "yaml.MappingNode", place: _Place) -> Iterator[tuple[str, Json]]:
        import yaml

        keys: set[str] = set()
        for key, value in mapping.value:
            if not isinstance(key, yaml.ScalarNode) or not key.value.isprintable():
                self._refuse(key, "a key should be a word")
            elif key.value in keys:
                self._refuse(key, f"`{key.value[:40]}` is there twice; keep one")
            else:
                keys.add(key.value)
                self.lines[*place, key.value] = key.start_mark.line + 1
                yield key.value, self._value(value, (*place, key.value))

    def _refuse(self, node: "yaml.Node", what: str) -> None:
        self.faults.append((node.start_mark.line + 1, what))


_PLAIN_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "seq", "map", "merge", "value"})
"""Tags that YAML gives to values without a tag of their own."""


def _fault(kind: str, place: _Place, lines: dict[_Place, int]) -> tuple[int, str]:
    """Make the line and the sentence for an error that pydantic reports."""
    key = next(part for part in reversed(place) if isinstance(part, str))
    if kind == "missing":
        return lines[place[:-1]], f"`{key}` is missing; it should be {_ACCEPTED[key]}"
    if kind == "extra_forbidden":
        accepted = {"team": Team, "agents": AgentDefinition}[str(place[0])] if len(place) > 1 else Agents
        return lines[place], f"`{key[:40]}` is no key here; accepted are {', '.join(accepted.model_fields)}"
    return lines[place], f"`{key}` should be {_ACCEPTED[key]}"


def _similar_names(content: dict[str, Json], lines: dict[_Place, int]) -> Iterator[tuple[int, str]]:
    """Find agents with the same or almost the same name, which models or readers could confuse."""
    agents = content.get("agents")
    seen: set[str] = set()
    for index, agent in enumerate(agents if isinstance(agents, list) else []):
        name = agent.get("name") if isinstance(agent, dict) else None
        if not isinstance(name, str):
            continue
        letters = re.sub(r"[ _-]", "_", normalize("NFKC", name).casefold())
        if letters in seen:
            what = "`name` is an earlier agent's or too much like it; names should differ in letters or digits"
            yield lines["agents", index, "name"], what
        seen.add(letters)


def _message(path: Path, faults: Sequence[tuple[int, str]]) -> str:
    sentences = [f"{path.name}, line {line}: {what}." for line, what in faults[:_MOST_FAULTS]]
    if more := len(faults) - len(sentences):
        sentences.append(f"{path.name} has {more} more {'fault' if more == 1 else 'faults'}.")
    return " ".join(sentences)
