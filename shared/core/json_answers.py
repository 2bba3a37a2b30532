"""Answers that a small model writes as JSON: the names of its sources, each one that was found, then its text.

Small models forget to cite, and invent names. A service holds the model to the JSON's schema, and here the text is
taken out of it as it comes.
"""

from collections.abc import Iterable

import msgspec

from shared.chat_types import ChatRequest, Json, JsonForm, Passage
from shared.citations import citations_in
from shared.core.callers_tools import brings_tools
from shared.errors import Unavailable

_LONGEST = 64 * 1024
"""Characters of an answer: each piece has all of it read anew."""
_CONTROLS = dict.fromkeys(range(32), " ")


class _Answer(msgspec.Struct):
    sources: list[str] = []
    answer: str = ""
    questions: list[str] = []


def can_be_json(request: ChatRequest) -> bool:
    """Whether nothing in a request asks for another form of answer."""
    return not (request.form or request.begun or brings_tools(request) or request.overrides.prompt_template)


def json_form(found: Iterable[Passage], *, want_followups: bool) -> JsonForm:
    """Make the form of an answer from what was found."""
    names: list[Json] = list(dict.fromkeys(passage.sourcepage for passage in found))
    text: dict[str, Json] = {"type": "string"}
    properties: dict[str, Json] = {
        "sources": {"type": "array", "items": {**text, "enum": names}, "maxItems": 3},
        "answer": text,
    }
    if want_followups:
        properties["questions"] = {"type": "array", "items": text, "maxItems": 3}
    required = list[Json](properties)
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return JsonForm("", "answer", {**schema, "additionalProperties": False})


class JsonAnswer:
    """Takes the text of an answer out of its JSON, however pieces cut it. Text that is no JSON stays as it is."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        """Follow-up questions, once the answer has ended."""
        self._said = self._shown = ""

    def feed(self, text: str) -> str:
        """Add the next piece; return what can be shown now.

        Raises:
            Unavailable: It is JSON of another form, or too long.
        """
        self._said += text
        if len(self._said) > _LONGEST:
            raise Unavailable("The model did not come to an end. Try again.")
        text = self._read().answer if self._said.lstrip().startswith("{") else self._said.lstrip()
        shown, self._shown = text[len(self._shown) :], text
        return shown

    def flush(self) -> str:
        """End the answer; return the citations that its text lacks."""
        if not (self._said.lstrip().startswith("{") and self._shown):
            return ""
        read, cited = self._read(), {place[1] for place in citations_in(self._shown)}
        self.questions = read.questions
        lacking = "".join(f"[{name}]" for name in dict.fromkeys(read.sources) if name not in cited)
        return f"{'\n\n' if '\n' in self._shown else ' '}{lacking}" if lacking else ""

    def _read(self) -> _Answer:
        from pydantic_core import from_json

        try:
            said = from_json(self._said.translate(_CONTROLS), allow_partial="trailing-strings")
            return msgspec.convert(said, _Answer)
        except (ValueError, msgspec.ValidationError):
            raise Unavailable("The model did not answer with the JSON that it was asked for. Try again.") from None
