"""What local models write in place of an answer: calls of tools, the same words without end, and thoughts.

A model whose template and server do not agree writes `{"name": …, "arguments": {…}}`, often in a block of code or
between `<tool_call>` tags. Where the service was asked for the arguments of a tool as JSON, they are the whole text.

What a model thinks stands between `<think>` and `</think>` where its server leaves it in the text: Ollama, vLLM and
llama.cpp name it apart where they know the model's template. A template may also put the first mark into the prompt, so
that the text has only the second one: of a stream that is known from the answer before.
"""

import re
from collections.abc import Sequence
from uuid import uuid4

import msgspec

from shared.chat_types import ToolCall, ToolDefinition

_CALL = re.compile(
    r"(?:<tool_call>|```(?:json|tool_call)?)?\s*+(?:\{(?P<double>\{.*\})\}|(?P<plain>\{.*\}))\s*+(?:</tool_call>|```)?",
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
        found = _CALL.fullmatch(held.strip())  # a model that is held to JSON may write white space without end
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


_OPENING, _CLOSING = "<think>", "</think>"
_LONGEST_GAP = 32
"""Characters of white space that may come before the mark."""


class ThinkingMarks:
    """Splits the pieces of a text, however they cut the marks.

    Args:
        is_in: Whether the text begins within the thoughts, as that of the same model did before.
        is_held: Whether nobody reads the text before its end, so that an end of thoughts is looked for in all of it.
    """

    def __init__(self, *, is_in: bool = False, is_held: bool = False) -> None:
        self.is_over = False
        """Whether all that follows is the answer, so that there is nothing more to split."""
        self.begins_in = is_in
        """Whether the model's texts begin within its thoughts, as far as this one tells."""
        self._held: str = ""
        self._is_in = is_in or is_held
        self._is_quiet = is_held
        self._has_begun = self._has_mark = self._is_after = False
        self._thought: list[str] = []

    def feed(self, piece: str) -> tuple[str, str]:
        """Add a piece; return what is thought and what is answered in what is decided now."""
        text = self._held + piece
        self._held = ""
        if self._is_after:
            return "", self._answer(text)
        if not self._has_begun:
            begun = text.lstrip()
            self._has_mark = begun.startswith(_OPENING)
            if not self._has_mark and len(text) - len(begun) <= _LONGEST_GAP and _OPENING.startswith(begun):
                self._held = text
                return "", ""
            if not (self._has_mark or self._is_in):
                self.is_over = True
                return "", text
            self._has_begun = self._is_in = True
            self._is_quiet = self._is_quiet and not self._has_mark
            text = begun.removeprefix(_OPENING)
        thought, mark, rest = text.partition(_CLOSING)
        if mark:
            self._is_after, self.begins_in = True, not self._has_mark
            return "".join([*self._thought, thought]) if self._is_quiet else thought, self._answer(rest)
        cut = max((size for size in range(1, len(_CLOSING)) if text.endswith(_CLOSING[:size])), default=0)
        self._held = text[len(text) - cut :]
        self._thought.append(text[: len(text) - cut])
        return "" if self._is_quiet else self._thought[-1], ""

    def flush(self) -> tuple[str, str]:
        """End the text; return what was held back. A text without the mark that was expected is the answer."""
        held, self._held = self._held, ""
        if self._has_begun and not (self._has_mark or self._is_after):
            self.begins_in = False
            return "", "".join(self._thought) + held
        return (held, "") if self._has_mark else ("", held)

    def _answer(self, text: str) -> str:
        """Leave out the white space between the mark and the answer."""
        answer = text.lstrip()
        self.is_over = bool(answer)
        return answer
