"""Follow-up questions out of the model's text, however its chunks split their markers.

The prompt asks for `<<question>>` after the answer. What goes over a line, is longer than 400 characters, has angle
brackets inside, or begins with a space and is no question, is no marker but text, such as code that shifts bits.
"""

import re

_MARKER = re.compile(r"(?<!\s)\s*<<([^<>\s][^<>\n]{0,399}|[^<>\n]{1,390}\?\s{0,9})>>")
_UNDECIDED = re.compile(r"(?<!\s)\s*(?:<(?:<[^<>\n]{0,400}>?)?)?\Z")
"""An end of the text so far that may yet turn out to be a marker, or the white space before one."""


class FollowupParser:
    """Splits a stream of text into what the user reads and the questions in markers.

    The white space before a marker and after the last one goes with it. Only `_UNDECIDED` text is held back.
    """

    def __init__(self) -> None:
        self.questions: list[str] = []
        """Those found so far, each once."""
        self._held = ""

    def feed(self, text: str) -> str:
        """Take the next piece; return what can be shown now."""
        held = self._held + text
        shown = ""
        while marker := _MARKER.search(held):
            shown += held[: marker.start()]
            held = held[marker.end() :]
            if (question := marker[1].strip()) and question not in self.questions:
                self.questions.append(question)
        undecided = _UNDECIDED.search(held)
        cut = undecided.start() if undecided else len(held)
        self._held = held[cut:]
        return shown + held[:cut]

    def flush(self) -> str:
        """The text is over: return what was held back and is text after all."""
        held, self._held = self._held, ""
        _, opened, question = held.partition("<<")
        cut_off = bool(opened) and not question[:1].isspace()
        is_gap = bool(self.questions) and not held.strip()
        return "" if cut_off or is_gap else held
