"""Takes what a model thinks out of its text, where its server leaves it there between `<think>` and `</think>`.

Ollama, vLLM and llama.cpp name it apart where they know the model's template, and leave it where they do not. Only a
text that begins with the mark has any: later in an answer it may be a word about such marks. A template may also put
the first mark into the prompt, so that the text has only the second one: of a stream that is known from the answer
before.
"""

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
