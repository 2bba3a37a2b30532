"""What small models write in place of an answer: a call of an offered tool as text, and the same words without end.

A model whose template and server do not agree writes `{"name": …, "arguments": {…}}`, often in a block of code or
between `<tool_call>` tags. Where the service was asked for the arguments of a tool as JSON, they are the whole text.
"""

import re
from collections.abc import Sequence
from uuid import uuid4

import msgspec

from shared.chat_types import ToolCall, ToolDefinition

_CALL = re.compile(
    r"\s*(?:<tool_call>|```(?:json|tool_call)?)?\s*(?:\{(?P<double>\{.*\})\}|(?P<plain>\{.*\}))\s*(?:</tool_call>|```)?\s*",
    re.DOTALL,
)
_BEGIN = re.compile(r"\s{0,32}(\Z|\{|<(\Z|t)|`(\Z|`))")
"""How such a text begins, and every beginning of that."""


_REPEATED_CHARACTERS = 800
_REPEATED = re.compile(r"(?s)(?=.{0,200}\w{2,}\W+\w{2,})(.{8,130}?)\1{5,}(.{0,130})")
"""Words that are repeated six times or more; a line of signs, such as that of a table, is none."""


class _Written(msgspec.Struct):
    name: str
    arguments: dict[str, object] | None = None
    parameters: dict[str, object] | None = None


class WrittenCalls:
    """Holds a text back as long as it may be a call.

    Args:
        tools: The tools that were offered.
        is_arguments: Whether the whole text is to be the arguments of the only tool.
    """

    def __init__(self, tools: Sequence[ToolDefinition], *, is_arguments: bool = False) -> None:
        self._names = {tool.name for tool in tools}
        self._arguments_of = tools[0].name if is_arguments else None
        self._held = ""
        self._is_text = not tools

    def feed(self, piece: str) -> str:
        """Add a piece of the text; return what can be shown."""
        if self._is_text:
            return piece
        self._held += piece
        if self._arguments_of or _BEGIN.match(self._held):
            return ""
        self._is_text = True
        return self._held

    def end(self) -> ToolCall | str:
        """End the text; return the call that it is, or what was held back of it."""
        held, self._held = ("" if self._is_text else self._held), ""
        found = _CALL.fullmatch(held)
        if found is None:
            return held
        value = found["double"] or found["plain"]
        try:
            if self._arguments_of:
                return _call(self._arguments_of, msgspec.json.decode(value, type=dict[str, object]))
            written = msgspec.json.decode(value, type=_Written)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return held
        arguments = written.arguments or written.parameters or {}
        return _call(written.name, arguments) if written.name in self._names else held


class Repeats:
    """Sees when a text repeats itself and nothing else, as small models do without end."""

    def __init__(self) -> None:
        self._tail = ""
        self._unread = 0

    def feed(self, piece: str) -> bool:
        """Add a piece of the text; return whether its end is the same words again and again."""
        self._tail = (self._tail + piece)[-_REPEATED_CHARACTERS:]
        self._unread += len(piece)
        if self._unread < _REPEATED_CHARACTERS // 4:
            return False
        self._unread = 0
        return len(self._tail) == _REPEATED_CHARACTERS and bool(_REPEATED.fullmatch(self._tail))


def _call(name: str, arguments: dict[str, object]) -> ToolCall:
    return ToolCall(f"call_{uuid4().hex[:24]}", name, msgspec.json.encode(arguments).decode())
