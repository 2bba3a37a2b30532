"""Takes what a model thinks out of its text, where its server leaves it there between `<think>` and `</think>`.

Ollama, vLLM and llama.cpp name it apart where they know the model's template, and leave it where they do not. Only a
text that begins with the mark has any: later in an answer it may be a word about such marks.
"""

_OPENING, _CLOSING = "<think>", "</think>"
_LONGEST_GAP = 32
"""Characters of white space that may come before the mark."""


class ThinkingMarks:
    """Splits the pieces of a text, however they cut the marks."""

    def __init__(self) -> None:
        self.is_over = False
        """Whether all that follows is the answer, so that there is nothing more to split."""
        self._held: str = ""
        self._is_in = False
        self._is_after = False

    def feed(self, piece: str) -> tuple[str, str]:
        """Add a piece; return what is thought and what is answered in what is decided now."""
        text = self._held + piece
        self._held = ""
        if self._is_after:
            return "", self._answer(text)
        if not self._is_in:
            begun = text.lstrip()
            if not begun.startswith(_OPENING):
                if len(text) - len(begun) <= _LONGEST_GAP and _OPENING.startswith(begun):
                    self._held = text
                    return "", ""
                self.is_over = True
                return "", text
            self._is_in, text = True, begun.removeprefix(_OPENING)
        thought, mark, rest = text.partition(_CLOSING)
        if mark:
            self._is_after = True
            return thought, self._answer(rest)
        cut = max((size for size in range(1, len(_CLOSING)) if text.endswith(_CLOSING[:size])), default=0)
        self._held = text[len(text) - cut :]
        return text[: len(text) - cut], ""

    def flush(self) -> tuple[str, str]:
        """End the text; return what was held back."""
        held, self._held = self._held, ""
        return (held, "") if self._is_in else ("", held)

    def _answer(self, text: str) -> str:
        """Leave out the white space between the mark and the answer."""
        answer = text.lstrip()
        self.is_over = bool(answer)
        return answer
