"""The routes of `function_app.py` as data. A test checks that both have the same routes."""

from dataclasses import dataclass, field
from typing import Literal

from shared.description.schemas import BOOLEAN, STRING, Schema, constant, described, list_of, record, ref
from shared.errors import (
    BadRequest,
    ContentFiltered,
    InternalError,
    KeyReused,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotSignedIn,
    Overloaded,
    RateLimited,
    SwitchboardError,
    TooLarge,
    TooSlow,
    TooSlowBody,
    Unavailable,
)
from shared.wire.ai_chat import AI_CHAT

type ErrorType = type[SwitchboardError]

CHAT_ERRORS: tuple[ErrorType, ...] = (
    BadRequest,
    ContentFiltered,
    NotSignedIn,
    NotAllowed,
    TooSlowBody,
    TooLarge,
    RateLimited,
    InternalError,
    Unavailable,
    NotConfigured,
    Overloaded,
    TooSlow,
)
"""Errors that a chat route can answer with."""


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one route."""

    template: str
    """The route as in `function_app.py`; `{protocol}` stands for the name of each protocol."""
    method: Literal["get", "head", "post", "put", "delete"]
    operation: str
    """The operation's id. If the route pins a protocol, its name is appended."""
    tag: str
    summary: str
    """Short title, without a full stop."""
    description: str
    """Description in sentences."""
    errors: tuple[ErrorType, ...]
    """Errors that it can answer with."""
    visible: bool = True
    """Whether workflow designers (Logic Apps, Power Automate) should offer it."""

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
    """Whether the team of agents answers. Then it streams only if `streams` is set."""
    speaks: tuple[str, ...] = ()
    """Names of the protocols that it speaks, if it pins none; empty: all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of one status that is not one of our errors."""

    description: str
    media_type: str | None = "application/json"
    """None: no body."""
    schema: Schema = field(default_factory=dict[str, object])
    streams: bool = False
    """Whether the answer is a stream; then `schema` is that of each record."""
    headers: Schema = field(default_factory=dict[str, object])
    """Header objects by name."""


@dataclass(frozen=True, slots=True)
class PlainRoute(Route):
    """A route whose answers do not depend on a protocol."""

    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])
    """Responses by status."""
    parameters: tuple[Schema, ...] = ()
    """OpenAPI parameter objects."""
    body: Schema | None = None
    """Schema of the required JSON body; None: there is no body."""
    errors_of: str = AI_CHAT.name
    """Name of the protocol in whose shape it sends errors."""


_BY_BODY = "in the protocol that the body speaks"


def _chat(
    template: str, operation: str, summary: str, description: str, speaks: str | None = None, bare: str = _BY_BODY
) -> tuple[ChatRoute, ...]:
    """A chat route, and the same route with a pinned protocol.

    Args:
        template: The route without a protocol.
        operation: The operation's id.
        summary: The beginning of the summary; the protocol is appended.
        description: The description.
        speaks: The only protocol of the route without a pinned one; None: the body shows the protocol.
        bare: The end of the summary of the route without a pinned protocol.
    """
    streams, team = operation.endswith("_stream"), operation.startswith("multi_agent")
    errors = (*CHAT_ERRORS, KeyReused) if team and not streams else CHAT_ERRORS
    return (
        ChatRoute(
            template,
            "post",
            operation,
            "chat",
            f"{summary} {bare}",
            description,
            errors,
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
            errors,
            visible=not streams,
            streams=streams,
            team=team,
        ),
    )


_PART = record(
    {
        "kind": described(STRING, "'embedded' or the service's name."),
        "ok": BOOLEAN,
        "detail": described(STRING, "What it is, or what is wrong and what to do."),
    },
    description="A part of the app, with further facts such as counts.",
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
_PLAYGROUND_TEAM = record(
    {
        "team": {"type": "object", "description": "Its pattern, and max_rounds."},
        "agents": list_of({"type": "object", "description": "Name, instructions, tools, temperature and model."}),
        "patterns": described(list_of(STRING), "What the override team_pattern can be."),
        "yaml": described(STRING, "The team as AGENTS_FILE has it."),
    }
)
OWN_SCHEMAS: dict[str, Schema] = {"Part": _PART, "Health": _HEALTH, "PlaygroundTeam": _PLAYGROUND_TEAM}
"""Schemas of the routes without a protocol, by name."""

_CHAT_ID: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The chat's id, which the client made.",
    "schema": STRING,
}
_INTERNAL: tuple[ErrorType, ...] = (InternalError,)
ABOUT_THE_APP = "service"
"""Tag of the routes that need no sign-in."""


def _document(path: str, operation: str, version: str, key: str, value: str) -> PlainRoute:
    answer = Answer("The description.", schema=record({key: constant(value)}))
    return PlainRoute(
        path,
        "get",
        operation,
        ABOUT_THE_APP,
        f"This description in {version}",
        "What the app offers, for tools.",
        _INTERNAL,
        visible=False,
        answers={200: answer},
    )


def _nothing_to_resume(template: str, operation: str) -> PlainRoute:
    return PlainRoute(
        template,
        "get",
        operation,
        "ai-sdk",
        "Look for an answer to resume",
        "There never is one: an answer stops when its caller leaves.",
        (NotSignedIn, InternalError, Unavailable, NotConfigured),
        visible=False,
        answers={204: Answer("There is none.", None)},
        parameters=(_CHAT_ID,),
        errors_of="ai-sdk",
    )


ROUTES: tuple[ChatRoute | PlainRoute, ...] = (
    *_chat("chat", "chat", "Answer a conversation", "Answers the last message of a conversation, with citations."),
    *_chat(
        "chat/stream",
        "chat_stream",
        "Stream an answer to a conversation",
        "The answer comes in records while it is made. A failure after the first record is sent as the last record.",
    ),
    *_chat(
        "ask",
        "ask",
        "Answer a single question",
        "Answers the last message and ignores earlier ones.",
        "ai-chat-2024-01-28",
        "in the RAG chat protocol",
    ),
    *_chat(
        "multi-agent-chat/batch",
        "multi_agent_chat",
        "Let a team of agents answer",
        "The messages of all agents, in one array. A failed agent sends the reason; the others still answer.",
        "semantic-kernel",
        "in Semantic Kernel's shape",
    ),
    *_chat(
        "multi-agent-chat/stream",
        "multi_agent_chat_stream",
        "Stream the answers of a team of agents",
        "Each agent's message is sent as a whole, as soon as it is complete.",
        "semantic-kernel",
        "in Semantic Kernel's shape",
    ),
    ChatRoute(
        "ag-ui",
        "post",
        "ag_ui",
        "ag-ui",
        "Stream an answer to a conversation to an AG-UI client",
        "The same as `/ag-ui/chat`, at the URL that a client is given for its agent.",
        CHAT_ERRORS,
        visible=False,
        streams=True,
        speaks=("ag-ui",),
    ),
    _nothing_to_resume("ai-sdk/chat/{id}/stream", "resume_ai_sdk"),
    _nothing_to_resume("ai-sdk/multi-agent-chat/stream/{id}/stream", "resume_ai_sdk_team"),
    PlainRoute(
        "health",
        "get",
        "get_health",
        ABOUT_THE_APP,
        "Get the health of the app",
        "Whether the app can answer, and which part cannot.",
        _INTERNAL,
        answers={
            200: Answer("Every part that answers need can be used.", schema=ref("Health")),
            503: Answer("A part cannot be used, or a setting is missing or wrong.", schema=ref("Health")),
        },
    ),
    PlainRoute(
        "playground/team",
        "get",
        "get_playground_team",
        "chat",
        "Get the team of agents as it is defined",
        "For the playground: the agents with their instructions, the pattern, and the same as YAML.",
        (NotSignedIn, NotFound, RateLimited, InternalError, Unavailable, NotConfigured),
        visible=False,
        answers={200: Answer("The team.", schema=ref("PlaygroundTeam"))},
    ),
    _document("openapi.json", "get_openapi", "OpenAPI 3.1", "openapi", "3.1.0"),
    _document("swagger.json", "get_swagger", "Swagger 2.0", "swagger", "2.0"),
)
"""The chat routes, and those about the app, in the documents' order. The others are in modules of their own."""
