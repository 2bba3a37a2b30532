"""Policies: what to look for, and what blocks. Read from a YAML file such as `samples/rai-policy.yaml`."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from local.rai_service.patterns import MalformedPattern, Pattern, PatternSet, compile_pattern, compile_words
from shared.guard import Side
from shared.runtime.core_yaml import CoreLoader

HARM_CATEGORY = "HARM_CATEGORY"
_MOST_BYTES = 1_000_000


class MalformedPolicy(ValueError):
    """A policy file that is not valid; one line for each fault says where it is, and what is accepted."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to look for."""

    kind: str
    """`HARM_CATEGORY`, or the name of a detection without severities, such as `JAILBREAK`."""
    category: str
    """Category of harm, such as `HATE`; empty for other kinds."""
    blocks_from: Mapping[Side, int | None]
    """Lowest severity that blocks, by side; None if none does. A side that is missing is not searched."""
    known: bool = True
    """Whether the service has a model for it; else it answers `NoModel`."""

    @property
    def name(self) -> str:
        """The category, or else the kind."""
        return self.category or self.kind


@dataclass(frozen=True, slots=True)
class Policy:
    """The tasks of a session, and the words that they look for."""

    name: str
    """Name by which a client asks for it."""
    lag_bytes: int
    """Bytes by which watermarks stay behind the part of a text that was read, until the text is complete."""
    tasks: Mapping[str, Task]
    """The tasks by name."""
    patterns: PatternSet
    """All words and patterns."""
    meanings: Sequence[tuple[str, int]]
    """By pattern: the name of its task, and the severity, 0 for a task without severities."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Words(_Model):
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


class _Rule(_Words):
    severity: int = Field(ge=1, le=7)


class _BlockFrom(_Model):
    prompt: int | None = Field(ge=1, le=7)
    completion: int | None = Field(ge=1, le=7)


class _HarmCategory(_Model):
    block_from: _BlockFrom
    rules: tuple[_Rule, ...] = Field(min_length=1)


class _Detection(_Words):
    block_prompt: bool
    block_completion: bool


def _no_harm_category(name: str) -> str:
    if name in get_args(_HarmName):
        raise PydanticCustomError("harm_category", "this is a harm category; it has its own key, harm_categories")
    return name


type _DetectionName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z_]{0,60}$"), AfterValidator(_no_harm_category)
]
_HarmName = Literal["hate", "self_harm", "sexual", "violence"]


class _File(_Model):
    name: str = Field(min_length=1, max_length=100)
    lag_bytes: int = Field(default=0, ge=0, le=100_000)
    harm_categories: dict[_HarmName, _HarmCategory] = {}
    detections: dict[_DetectionName, _Detection] = {}
    without_model: tuple[_DetectionName, ...] = ()


def load_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        MalformedPolicy: it cannot be read or is not valid; names the file and the key.
    """
    try:
        file = _File.model_validate(_read_yaml(path))
        return _policy(file)
    except ValidationError as invalid:
        faults = [f"{path}: {_key(error['loc'])}: {error['msg']}." for error in invalid.errors()]
        raise MalformedPolicy("\n".join(faults)) from None
    except MalformedPattern as malformed:
        raise MalformedPolicy(f"{path}: {malformed}.") from None


def _policy(file: _File) -> Policy:
    tasks: dict[str, Task] = {}
    found: list[tuple[Pattern, str, int]] = []
    for key, harm in file.harm_categories.items():
        thresholds = {Side.PROMPT: harm.block_from.prompt, Side.COMPLETION: harm.block_from.completion}
        name = key.upper()
        tasks[name] = Task(HARM_CATEGORY, name, thresholds)
        for index, rule in enumerate(harm.rules):
            path = f"harm_categories.{key}.rules.{index}"
            found += [(pattern, name, rule.severity) for pattern in _compiled(rule, path)]
    for key, detection in file.detections.items():
        blocks = {Side.PROMPT: detection.block_prompt, Side.COMPLETION: detection.block_completion}
        name = key.upper()
        tasks[name] = Task(name, "", {side: 0 if does else None for side, does in blocks.items()})
        found += [(pattern, name, 0) for pattern in _compiled(detection, f"detections.{key}")]
    for key in file.without_model:
        tasks[key.upper()] = Task(key.upper(), "", dict.fromkeys(Side), known=False)
    return Policy(
        name=file.name,
        lag_bytes=file.lag_bytes,
        tasks=tasks,
        patterns=PatternSet([pattern for pattern, _, _ in found]),
        meanings=[(name, severity) for _, name, severity in found],
    )


def _compiled(rule: _Words, path: str) -> Iterator[Pattern]:
    if not rule.words and not rule.patterns:
        raise MalformedPattern(f"{path} should have words or patterns")
    kinds: tuple[tuple[str, tuple[str, ...], Callable[[str], Pattern]], ...] = (
        ("words", rule.words, compile_words),
        ("patterns", rule.patterns, compile_pattern),
    )
    for key, texts, compile_text in kinds:
        for index, text in enumerate(texts):
            try:
                yield compile_text(text)
            except MalformedPattern as malformed:
                raise MalformedPattern(f"{path}.{key}.{index}: {malformed}") from None


def _read_yaml(path: Path) -> object:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as exc:
        raise MalformedPolicy(f"{path} cannot be read: {exc.strerror}.") from exc
    if len(text) > _MOST_BYTES:
        raise MalformedPolicy(f"{path} is too large: at most {_MOST_BYTES:,} bytes are accepted.")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506, it is a safe one
    except yaml.MarkedYAMLError as exc:
        line = f", line {exc.problem_mark.line + 1}" if exc.problem_mark else ""
        raise MalformedPolicy(f"{path}{line}: {exc.problem}.") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise MalformedPolicy(f"{path} is not YAML in UTF-8.") from None


class _Loader(CoreLoader):
    """YAML loader that refuses a key that is there twice; PyYAML would silently drop the rules of the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _key(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place if part != "[key]") or "the file"
