"""The table of routes: what `function_app.py` offers, as data. A test holds the two together."""

from dataclasses import dataclass, field
from typing import Literal

from shared.description.schemas import BOOLEAN, STRING, Schema, constant, described, list_of, record, ref
from shared.errors import (
    BadRequest,
    ContentFiltered,
    InternalError,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotSignedIn,
    RateLimited,
    SwitchboardError,
    TooLarge,
    TooSlow,
    Unavailable,
)

type ErrorType = type[SwitchboardError]

CHAT_ERRORS: tuple[ErrorType, ...] = (
    BadRequest,
    ContentFiltered,
    NotSignedIn,
    NotAllowed,
    TooLarge,
    RateLimited,
    InternalError,
    Unavailable,
    NotConfigured,
    TooSlow,
)
"""What a question can fail with."""


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one route."""

    template: str
    """As in `function_app.py`; `{protocol}` stands for the name of each protocol."""
    method: Literal["get", "head", "post", "put", "delete"]
    operation: str
    """The operation's id; with the protocol's name behind it where the route pins one."""
    tag: str
    summary: str
    """For people, without a full stop."""
    description: str
    """More for people, in sentences."""
    errors: tuple[ErrorType, ...]
    """What it can fail with."""
    visible: bool = True
    """Whether a designer of workflows should offer it."""

    @property
    def pinned(self) -> bool:
        """Whether the route names the protocol."""
        return self.template.startswith("{protocol}/")


@dataclass(frozen=True, slots=True)
class ChatRoute(Route):
    """A route that takes a question and speaks a protocol."""

    streams: bool = False
    """Whether it always streams."""
    team: bool = False
    """Whether the team of agents answers; then it streams only if it always does."""
    speaks: tuple[str, ...] = ()
    """The protocols it speaks unless pinned; none named: all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes with one status that is no error of ours."""

    description: str
    media_type: str | None = "application/json"
    """None: no body."""
    schema: Schema = field(default_factory=dict[str, object])
    streams: bool = False
    """Whether the schema is that of each record of a stream."""


@dataclass(frozen=True, slots=True)
class PlainRoute(Route):
    """A route whose answers do not depend on a protocol."""

    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])
    """By status."""
    parameters: tuple[Schema, ...] = ()
    """OpenAPI parameter objects."""
    body: Schema | None = None
    """What has to be sent, in JSON; None: nothing."""


_BODY_TELLS = "in the protocol that the body speaks"


def _chat(
    template: str, operation: str, summary: str, description: str, speaks: str | None = None, bare: str = _BODY_TELLS
) -> tuple[ChatRoute, ...]:
    """A chat route, what it speaks if the body does not tell, and the same with the protocol pinned."""
    streams, team = operation.endswith("_stream"), operation.startswith("multi_agent")
    return (
        ChatRoute(
            template,
            "post",
            operation,
            "chat",
            f"{summary} {bare}",
            description,
            CHAT_ERRORS,
            visible=not streams,
            streams=streams,
            team=team,
            speaks=(speaks,) if speaks else (),
        ),
        ChatRoute(
            f"{{protocol}}/{template}",
            "post",
            operation,
            "",
            f"{summary} in {{title}}",
            description,
            CHAT_ERRORS,
            visible=not streams,
            streams=streams,
            team=team,
        ),
    )


_PART = record(
    {
        "kind": described(STRING, "'embedded' or the service's name."),
        "ok": BOOLEAN,
        "detail": described(STRING, "What it is, or what is wrong with it and what to do."),
    },
    description="A part of the app, with counts and names worth showing.",
) | {"additionalProperties": True}
_HEALTH = record(
    {
        "status": {"type": "string", "enum": ["ok", "degraded", "unavailable"]},
        "parts": {"type": "object", "additionalProperties": ref("Part")},
    },
    {
        "protocols": list_of(STRING),
        "error": described(STRING, "What is wrong with the settings."),
    },
)
OWN_SCHEMAS: dict[str, Schema] = {"Part": _PART, "Health": _HEALTH}
"""Schemas of the routes that speak no protocol, by name."""

_PATH: Schema = {
    "name": "path",
    "in": "path",
    "required": True,
    "description": "The document's path as answers cite it, with or without '#page=…'.",
    "schema": STRING,
}
_RANGE: Schema = {
    "name": "Range",
    "in": "header",
    "required": False,
    "description": "The bytes to send, such as 'bytes=0-1023'.",
    "schema": STRING,
}
_FAULTS: tuple[ErrorType, ...] = (InternalError,)
ABOUT_THE_APP = "service"
"""The tag of what is told to those who are not signed in, too."""
_CONTENT_ERRORS: tuple[ErrorType, ...] = (
    NotSignedIn,
    NotAllowed,
    NotFound,
    RateLimited,
    InternalError,
    Unavailable,
    NotConfigured,
    TooSlow,
)


def _document(path: str, operation: str, version: str, key: str, value: str) -> PlainRoute:
    answer = Answer("The description.", schema=record({key: constant(value)}))
    return PlainRoute(
        path,
        "get",
        operation,
        ABOUT_THE_APP,
        f"This description in {version}",
        "What the app offers, for tools.",
        _FAULTS,
        visible=False,
        answers={200: answer},
    )


ROUTES: tuple[ChatRoute | PlainRoute, ...] = (
    *_chat("chat", "chat", "Answer a conversation", "Answers the last message of a conversation, with citations."),
    *_chat(
        "chat/stream",
        "chat_stream",
        "Stream an answer to a conversation",
        "The answer comes in records as it is made. A failure after the first record is told by a last one.",
    ),
    *_chat(
        "ask",
        "ask",
        "Answer a single question",
        "Answers the last message; the earlier ones do not count.",
        "ai-chat-2024-01-28",
        "in the RAG chat protocol",
    ),
    *_chat(
        "multi-agent-chat/batch",
        "multi_agent_chat",
        "Let a team of agents answer",
        "All that the agents say, in one array. One that fails has a message that says why; the others still answer.",
        "semantic-kernel",
        "in Semantic Kernel's shape",
    ),
    *_chat(
        "multi-agent-chat/stream",
        "multi_agent_chat_stream",
        "Stream the answers of a team of agents",
        "What an agent says comes whole, as soon as it is there.",
        "semantic-kernel",
        "in Semantic Kernel's shape",
    ),
    PlainRoute(
        "content/{*path}",
        "get",
        "get_content",
        "documents",
        "Get a source document",
        "Sends a document that an answer cites, whole or in part.",
        _CONTENT_ERRORS,
        answers={
            200: Answer("The document.", "*/*", {"type": "string", "format": "binary"}),
            206: Answer("The part that was asked for.", "*/*", {"type": "string", "format": "binary"}),
            304: Answer("The caller has it already, as If-None-Match or If-Modified-Since say.", None),
            416: Answer("The document has no such part; Content-Range says how many bytes it has.", None),
        },
        parameters=(_PATH, _RANGE),
    ),
    PlainRoute(
        "content/{*path}",
        "head",
        "head_content",
        "documents",
        "Look for a source document",
        "What GET would send, without its body.",
        (),
        visible=False,
        answers={
            200: Answer("There is such a document.", None),
            304: Answer("The caller has it already.", None),
            401: Answer("Nobody is signed in.", None),
            403: Answer("Who is signed in may see no document.", None),
            404: Answer("There is none.", None),
            429: Answer("A service has had enough for now.", None),
            500: Answer("A fault of ours.", None),
            503: Answer("A setting is missing or wrong, or a service cannot be used.", None),
            504: Answer("A service did not answer in time.", None),
        },
        parameters=(_PATH,),
    ),
    PlainRoute(
        "health",
        "get",
        "get_health",
        ABOUT_THE_APP,
        "Get the health of the app",
        "Whether the app can answer, and which part cannot.",
        _FAULTS,
        answers={
            200: Answer("Every part that answers need can be used.", schema=ref("Health")),
            503: Answer("A part cannot be used, or a setting is missing or wrong.", schema=ref("Health")),
        },
    ),
    _document("openapi.json", "get_openapi", "OpenAPI 3.1", "openapi", "3.1.0"),
    _document("swagger.json", "get_swagger", "Swagger 2.0", "swagger", "2.0"),
)
"""Every route but those of the chat history and the companion, in the order of the documents."""
