"""The routes of `function_app.py` as data. A test checks that both have the same routes."""

from copy import replace
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, with_config

from shared.description.schemas import Kind
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
from shared.wire.ai_sdk import AI_SDK
from shared.wire.framing import SSE

type ErrorType = type[SwitchboardError]

OPEN_ERRORS: tuple[ErrorType, ...] = (NotFound, InternalError, NotConfigured)
"""Errors of a route that needs no sign-in and may lead nowhere."""
CALLER_ERRORS: tuple[ErrorType, ...] = (NotSignedIn, InternalError, Unavailable, NotConfigured)
"""Errors of every route at which callers sign in."""
BODY_ERRORS: tuple[ErrorType, ...] = (BadRequest, TooSlowBody, TooLarge, Overloaded)
"""Errors of every route that takes a body."""
CHAT_ERRORS = (*CALLER_ERRORS, *BODY_ERRORS, ContentFiltered, NotAllowed, RateLimited, TooSlow)
"""Errors that a chat route can answer with."""


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one route."""

    method: Literal["get", "head", "post", "put", "delete"]
    template: str
    """The route as in `function_app.py`; `{protocol}` stands for the name of each protocol."""
    operation: str
    """The operation's id. If the route pins a protocol, its name is appended."""
    summary: str
    """Short title, without a full stop."""
    description: str
    """Description in sentences."""
    _: KW_ONLY
    tag: str
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
class Parameter:
    """A part of the path, a parameter of the query, or a header."""

    place: Literal["path", "query", "header"]
    name: str
    description: str
    kind: Kind = str
    """The type of its value."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of one status that is not one of our errors."""

    description: str
    kind: Kind = None
    """The type of the body, or of each record of a stream; None: no body."""
    media_type: str = "application/json"
    streams: bool = False
    """Whether the body is a stream."""
    headers: tuple[Parameter, ...] = ()
    """Headers that it always has."""
    also: "Answer | None" = None
    """What those get instead who accept its media type."""


@dataclass(frozen=True, slots=True)
class PlainRoute(Route):
    """A route whose answers do not depend on a protocol."""

    answers: dict[int, Answer] = field(default_factory=dict[int, Answer])
    """Responses by status."""
    parameters: tuple[Parameter, ...] = ()
    _: KW_ONLY
    body: Kind = None
    """Type of the required JSON body; None: there is no body."""
    errors_of: str = AI_CHAT.name
    """Name of the protocol in whose shape it sends errors."""


def with_head(get: PlainRoute) -> tuple[PlainRoute, PlainRoute]:
    """A route with GET, and the same with HEAD, which sends the headers alone."""
    head = replace(
        get,
        method="head",
        operation=get.operation.replace("get_", "head_", 1),
        summary=f"{get.summary}: the headers alone",
        description="Sends the headers of GET without the body.",
        answers={status: Answer(get.answers[status].description) for status in (200, 304)},
        parameters=tuple(parameter for parameter in get.parameters if parameter.place == "path"),
        visible=False,
    )
    return get, head


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
    route = partial(
        ChatRoute, "post", errors=(*CHAT_ERRORS, KeyReused), visible=not streams, streams=streams, team=team
    )
    spoken = (speaks,) if speaks else ()
    return (
        route(template, operation, f"{summary} {bare}", description, tag="chat", speaks=spoken),
        route(f"{{protocol}}/{template}", operation, f"{summary} in {{title}}", description, tag=""),
    )


@with_config(extra="allow")
class Part(TypedDict):
    """A part of the app, with further facts such as counts."""

    kind: Annotated[str, Field(description="'embedded' or the service's name.")]
    ok: bool
    detail: Annotated[str, Field(description="What it is, or what is wrong and what to do.")]


class Health(TypedDict):
    """Whether the app can answer."""

    status: Literal["ok", "degraded", "unavailable"]
    parts: dict[str, Part]
    protocols: NotRequired[list[str]]
    error: NotRequired[Annotated[str, Field(description="What is wrong with the settings.")]]


class PlaygroundTeam(TypedDict):
    """The team of agents."""

    team: Annotated[dict[str, Any], Field(description="Its pattern, and max_rounds.")]
    agents: list[Annotated[dict[str, Any], Field(description="Name, instructions, tools, temperature and model.")]]
    patterns: Annotated[list[str], Field(description="What the override team_pattern can be.")]
    yaml: Annotated[str, Field(description="The team as AGENTS_FILE has it.")]


class PlaygroundBegin(TypedDict):
    """What there is to ask about."""

    topics: list[Annotated[str, Field(description="A heading, a title, or a question that a document answers.")]]
    documents: Annotated[
        int | None,
        Field(description="How many documents the index has; null: not known, or not for this caller."),
    ]
    model: Annotated[str | None, Field(description="The model that answers; null: the documents are quoted.")]


ABOUT_THE_APP = "service"
"""Tag of the routes that need no sign-in."""
_CHAT_ID = Parameter("path", "id", "The chat's id, which the client made.")
_get = partial(PlainRoute, "get")
_open = partial(_get, tag=ABOUT_THE_APP, errors=(InternalError,))


def _document(path: str, operation: str, version: str, kind: Kind) -> PlainRoute:
    """One of the two descriptions of the app."""
    answers = {200: Answer("The description.", kind)}
    summary = f"This description in {version}"
    return _open(path, operation, summary, "What the app offers, for tools.", answers, visible=False)


def _page(
    template: str, operation: str, summary: str, description: str, media_type: str, *parameters: Parameter
) -> tuple[PlainRoute, ...]:
    """A page or a file, and a look at its headers."""
    known = Answer("The caller has this version already, by If-None-Match.")
    answers = {200: Answer("The text.", str, media_type), 304: known}
    get = _open(template, operation, summary, description, answers, parameters, errors=OPEN_ERRORS, visible=False)
    return with_head(get)


def _resume(template: str, operation: str) -> PlainRoute:
    return _get(
        template,
        operation,
        "Resume the answer of a chat",
        "The answer that the chat's last question gets, from its beginning, if its request was 'resumable'.",
        {
            200: Answer("The answer.", AI_SDK.shape.record, SSE.content_type, streams=True),
            204: Answer("No answer is being made."),
        },
        (_CHAT_ID,),
        tag="ai-sdk",
        errors=(*CALLER_ERRORS, RateLimited),
        visible=False,
        errors_of="ai-sdk",
    )


@with_config(extra="allow")
class OpenapiDocument(TypedDict):
    """A document in OpenAPI 3.1."""

    openapi: Literal["3.1.0"]


@with_config(extra="allow")
class SwaggerDocument(TypedDict):
    """A document in Swagger 2.0."""

    swagger: Literal["2.0"]


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
        "post",
        "ag-ui",
        "ag_ui",
        "Stream an answer to a conversation to an AG-UI client",
        "The same as `/ag-ui/chat`, at the URL that a client is given for its agent.",
        tag="ag-ui",
        errors=(*CHAT_ERRORS, KeyReused),
        visible=False,
        streams=True,
        speaks=("ag-ui",),
    ),
    _resume("ai-sdk/chat/{id}/stream", "resume_ai_sdk"),
    _resume("ai-sdk/multi-agent-chat/stream/{id}/stream", "resume_ai_sdk_team"),
    _open(
        "health",
        "get_health",
        "Get the health of the app",
        "Whether the app can answer, and which part cannot.",
        {
            200: Answer("Every part that answers need can be used.", Health),
            503: Answer("A part cannot be used, or a setting is missing or wrong.", Health),
        },
    ),
    _get(
        "playground/team",
        "get_playground_team",
        "Get the team of agents as it is defined",
        "For the playground: the agents with their instructions, the pattern, and the same as YAML.",
        {200: Answer("The team.", PlaygroundTeam)},
        tag="chat",
        errors=(*CALLER_ERRORS, NotFound, RateLimited),
        visible=False,
    ),
    _get(
        "playground/begin",
        "get_playground_begin",
        "Get what there is to ask about",
        "For the playground's first screen: topics of documents that the caller may see, and which model answers.",
        {200: Answer("The topics.", PlaygroundBegin)},
        tag="chat",
        errors=(*CALLER_ERRORS, NotFound, NotAllowed, RateLimited, TooSlow),
        visible=False,
    ),
    _document("openapi.json", "get_openapi", "OpenAPI 3.1", OpenapiDocument),
    _document("swagger.json", "get_swagger", "Swagger 2.0", SwaggerDocument),
    *_page("docs", "get_api_page", "Show this description", "A page to read it, and to try what it says.", "text/html"),
    *_page(
        "playground/{digest}/{*path}",
        "get_playground_file",
        "Get a file of the playground",
        "Browsers may keep it for ever: it is at another address when any file has changed.",
        "*/*",
        Parameter("path", "digest", "The digest of all files, as the page has it."),
        Parameter("path", "path", "The file's path."),
    ),
)
"""The chat routes, and those about the app, in the documents' order. The others are in modules of their own."""
