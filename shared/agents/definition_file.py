"""Reads a YAML file into plain values with their lines.

Values are read as text and converted to the type of their field, so that a name such as `yes` or `2024` needs no
quotes. Tags and aliases are refused, so that the file cannot create objects or expand to a huge structure.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shared.chat_types import Json
from shared.errors import NotConfigured

if TYPE_CHECKING:
    import yaml

_MOST_BYTES = 100_000
"""Maximum size of the file, in bytes."""
_MOST_FAULTS = 10
"""Maximum number of faults in one error message."""

type KeyPath = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class DefinitionFile:
    """Reads a YAML file into plain values, and records the line of each value."""

    def __init__(self, path: Path, setting: str = "AGENTS_FILE", holds: str = "`team` and `agents`") -> None:
        self._path, self._setting, self._holds = path, setting, holds
        self._seen: set[int] = set()
        self.lines: dict[KeyPath, int] = {(): 1}
        """Line of each value; lines count from 1."""
        self.faults: list[tuple[int, str]] = []
        """Line and sentence of each part that is valid YAML but not accepted."""

    def read(self) -> dict[str, Json]:
        """Return the file's content, with all scalars as text.

        Raises:
            NotConfigured: the file cannot be read, or is not a YAML mapping.
        """
        import yaml

        from shared.runtime.core_yaml import CoreLoader

        text = self._text()
        try:
            root = yaml.compose(text, Loader=CoreLoader)
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
            raise NotConfigured(f"{self._path.name} is empty: it should hold {self._holds}.")
        if not isinstance(content, dict):
            raise self._broken(root.start_mark.line, f"the file should be a mapping with {self._holds}")
        return content

    def _text(self) -> str:
        try:
            with self._path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError as exc:
            raise NotConfigured(f"{self._path.name}: there is no such file; {self._setting} should name one.") from exc
        except OSError as exc:
            raise NotConfigured(
                f"{self._path.name} cannot be read; {self._setting} should name a file that the app may read."
            ) from exc
        if len(data) > _MOST_BYTES:
            raise NotConfigured(f"{self._path.name} is too large: at most {_MOST_BYTES:,} bytes are accepted.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            raise self._broken(data.count(b"\n", 0, exc.start), "this is not UTF-8; save the file as UTF-8") from exc

    def _broken(self, line: int, what: str) -> NotConfigured:
        return NotConfigured(message(self._path, [(line + 1, what)]))

    def _value(self, node: "yaml.Node", place: KeyPath) -> Json:
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

    def _entries(self, mapping: "yaml.MappingNode", place: KeyPath) -> Iterator[tuple[str, Json]]:
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


def message(path: Path, faults: Sequence[tuple[int, str]]) -> str:
    """Make one message of the faults of a file."""
    sentences = [f"{path.name}, line {line}: {what}." for line, what in faults[:_MOST_FAULTS]]
    if more := len(faults) - len(sentences):
        sentences.append(f"{path.name} has {more} more {'fault' if more == 1 else 'faults'}.")
    return " ".join(sentences)
