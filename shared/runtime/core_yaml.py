"""YAML by the rules of YAML 1.2: `NO`, `on` and `2026-01-01` are texts, and `010` is ten. Import it late.

Source: YAML 1.2.2, '10.3. Core Schema'.
"""

import re
from typing import Any

import yaml

from shared.chat_types import Json

_TAG = "tag:yaml.org,2002:"
_RULES = (
    ("null", r"(?:~|null|Null|NULL|)$"),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$"),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"),
)
_RESOLVERS = {first: [(_TAG + kind, re.compile(rule)) for kind, rule in _RULES] for first in ("", None)}
_TAGS = {_TAG + kind for kind, _ in _RULES}
_MERGE = "<<"


class CoreLoader(yaml.SafeLoader):
    """Loads the types of JSON."""

    yaml_implicit_resolvers: Any = _RESOLVERS

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401 (as PyYAML has it)
        """Make the value of a node."""
        if isinstance(node, yaml.ScalarNode) and node.tag in _TAGS:
            return _scalar(node)
        return super().construct_object(node, deep)  # pyright: ignore[reportUnknownMemberType] (no types)


class _FastLoader(yaml.CSafeLoader):
    """Parses twenty times as fast, and ends the process where values are nested too deeply."""

    yaml_implicit_resolvers: Any = _RESOLVERS


def parse(data: bytes) -> Json:
    """Parse a document of a stranger, in a process that it may end. Keys are texts, and aliases share their value.

    Raises:
        yaml.YAMLError, ValueError, RecursionError: it is none, or it is within itself.
    """
    root = yaml.compose(data, _FastLoader)
    return _value(root, {}) if root else None


def _value(node: yaml.Node, made: dict[yaml.Node, Json]) -> Json:
    if node in made:
        return made[node]
    if isinstance(node, yaml.SequenceNode):
        items: list[yaml.Node] = node.value
        made[node] = [_value(item, made) for item in items]
    elif isinstance(node, yaml.MappingNode):
        own, merged = dict[str, Json](), dict[str, Json]()
        entries: list[tuple[yaml.Node, yaml.Node]] = node.value
        for key, value in entries:
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError  # noqa: TRY004 (as for all that is no such document)
            found = _value(value, made)
            if key.value == _MERGE and not key.style:  # of YAML 1.1, and still in use
                for one in found if isinstance(found, list) else [found]:
                    merged = {**(one if isinstance(one, dict) else {}), **merged}
            else:
                own[str(key.value)] = found
        made[node] = {**merged, **own}
    else:
        made[node] = _scalar(node)
    return made[node]


def _scalar(node: yaml.Node) -> Json:
    text, kind = str(node.value), node.tag.removeprefix(_TAG)
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        case "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text
