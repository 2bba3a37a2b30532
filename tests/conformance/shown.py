"""What a chat client shows of an answer, and the rules that several clients share."""

from dataclasses import dataclass

from tests.conformance.backend import Backend, Reply
from tests.conformance.reading import Breaks, Json, are_texts, at, is_text, parse
from tests.conformance.rules import Rule

STATE: Json = {"conversation": "conformance"}
"""A session state, as a client sends it back."""
NO_MESSAGES: Json = {"messages": [], "context": {}}
"""A request that no backend can answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An answer as the client shows it."""

    text: Json
    """The answer's text."""
    role: Json = None
    """Who says it."""
    context: Json = None
    """Data points, thoughts and follow-up questions."""
    state: Json = None
    """What the client will send with the next question."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was turned down."""

    status: int
    """HTTP's."""
    error: Json
    """What the client shows of it."""


def messages(backend: Backend) -> Json:
    """The question, as every client sends it."""
    return [{"role": "user", "content": backend.question}]


def asked_again(backend: Backend) -> Json:
    """A chat of clients that send a refused question again with the next one, which has no answer between them."""
    return [{"role": "user", "content": backend.refused_question()}, {"role": "user", "content": backend.question}]


def refused(reply: Reply) -> Refused:
    """The error of a reply that is one, in the documents' shape."""
    return Refused(reply.status, at(reply.json(), "error"))


def accepted(reply: Reply) -> Reply:
    """The reply, which breaks the client unless it is a success."""
    if not reply.ok:
        raise Breaks(reply.shown())
    return reply


FUNCTION: dict[str, Json] = {
    "name": "look_up",
    "description": "Looks up a word.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
"""A tool that the client answers itself."""


@dataclass(frozen=True, slots=True)
class Called:
    """What came of a request whose tool has to be called."""

    refused: Refused | None
    """The error, if it was turned down."""
    calls: list[tuple[Json, Json, Json]]
    """The id, the name and the arguments of each call."""
    ended: bool = True
    """Whether the answer says that it ended for them."""


def _is_called(seen: Called) -> bool:
    if seen.refused:
        return 400 <= seen.refused.status < 500 and is_text(at(seen.refused.error, "message"))
    named = all(is_text(call_id) and name == FUNCTION["name"] for call_id, name, _ in seen.calls)
    return bool(seen.calls) and named and seen.ended and all(_is_object(made) for *_, made in seen.calls)


def _is_object(arguments: Json) -> bool:
    return isinstance(arguments, str) and isinstance(parse(arguments, "the arguments"), dict)


CALLED = Rule[Called](
    "called",
    "A tool that has to be called is called, with an object as its arguments, or refused in words: of a text in its"
    " place OpenAI's Agents SDK and LangChain make an answer for which nothing was done.",
    _is_called,
)


def _are_data_points(value: Json) -> bool:
    if not isinstance(value, dict):
        return are_texts(value)
    return are_texts(value.get("text")) and all(isinstance(points, list) for points in value.values() if points)


def _are_thoughts(value: Json) -> bool:
    return isinstance(value, list) and all(
        is_text(at(thought, "title")) and isinstance(at(thought, "props"), dict | None) for thought in value
    )


def _cites(shown: Shown) -> bool:
    """Whether a citation, if there is any, names a data point."""
    points = at(shown.context, "data_points", "text") or at(shown.context, "data_points")
    cited = [piece.split("]")[0] for piece in str(shown.text).split("[")[1:]]
    names = [point for point in points if isinstance(point, str)] if isinstance(points, list) else []
    return not (cited and names) or any(name and point.startswith(name) for name in cited for point in names)


TEXT = Rule[Shown]("text", "The answer has a text.", lambda shown: is_text(shown.text))
ROLE = Rule[Shown]("role", "The assistant says it: its role is 'assistant'.", lambda shown: shown.role == "assistant")
DATA_POINTS = Rule[Shown](
    "data points",
    "context.data_points is a list of texts, or an object of lists with texts in 'text'.",
    lambda shown: _are_data_points(at(shown.context, "data_points")),
)
THOUGHTS = Rule[Shown](
    "thoughts",
    "context.thoughts is a list; each has a title, and props that are an object or null.",
    lambda shown: _are_thoughts(at(shown.context, "thoughts")),
)
FOLLOWUPS = Rule[Shown](
    "follow-ups",
    "context.followup_questions is a list of texts, or null.",
    lambda shown: at(shown.context, "followup_questions") is None or are_texts(at(shown.context, "followup_questions")),
)
CITATIONS = Rule[Shown]("citations", "What is cited in square brackets is how a data point begins.", _cites)
STATE_BACK = Rule[Shown](
    "state", "A session state that was sent comes back for the next turn.", lambda shown: shown.state is not None
)
STATUS = Rule[Refused](
    "status", "A request without messages has a status of 400 or more.", lambda seen: seen.status >= 400
)
ERROR_TEXT = Rule[Refused]("error", "The error is a text, which is shown as it is.", lambda seen: is_text(seen.error))
