"""The OpenAPI 3.1 document, built from the table of routes, the table of protocols and the errors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import replace
from inspect import cleandoc
from typing import Annotated, Any

import msgspec
from pydantic import Field

from shared.chat_types import Json
from shared.errors import (
    InternalError,
    NotConfigured,
    NotSignedIn,
    RateLimited,
    SwitchboardError,
    TooSlow,
    Unavailable,
)
from shared.runs.begin import MAX_KEY_LENGTH
from shared.runtime.host_file import ROUTE_PREFIX
from shared.runtime.version import VERSION
from shared.triggers.door import TableRoute
from shared.web.receiving import MOST_WAIT_SECONDS
from shared.wire.ai_chat import AI_CHAT
from shared.wire.framing import SSE
from shared.wire.multipart import FILE_PART
from shared.wire.protocol import Protocol
from shared.wire.table import NAMES, PROTOCOLS
from tools.description import described
from tools.description.handlers import PENDING, description_of
from tools.description.own_routes import OWN_ROUTES, RECORD, WHOLE
from tools.description.protocols import SHAPES
from tools.description.schemas import (
    STRING,
    Schema,
    Schemas,
    add_protocols,
    any_of,
    constant,
    error_schema,
    prefix_of,
    record,
    ref,
)

JSON_TYPE = "application/json"
FORM_TYPE = "multipart/form-data"
TOKEN = "token"  # noqa: S105 (a name)
"""Name of the security scheme."""
_TOKEN: Schema = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "JWT",
    "description": "An access token of Microsoft Entra ID for this app.",
}
ABOUT_THE_APP = "service"
"""Tag of the routes that need no sign-in."""
CALLER_ERRORS: tuple[described.ErrorType, ...] = (NotSignedIn, InternalError, Unavailable, NotConfigured)
"""Errors of every route at which callers sign in."""


RUN_PARAMETERS = (
    described.Parameter(
        "header",
        "Prefer",
        "'respond-async': answer with 202, and with the answer's address in Location, unless it is there (RFC 7240). "
        f"'respond-async, wait=10': only if it takes longer than 10 seconds, of at most {MOST_WAIT_SECONDS}.",
    ),
    described.Parameter(
        "header",
        "Idempotency-Key",
        "Of an answer that outlives its request: the same key and request again get the same answer. "
        f"Up to {MAX_KEY_LENGTH} printable characters, such as a UUID.",
    ),
)
"""Headers of a request that may be answered later."""


_TEXT: Json = {"text": "Is this text harmless?"}
EXAMPLES: Mapping[str, Json] = {
    "decide_approval": {"approved": True},
    "start_chat": {"title": "Dental care"},
    "update_chat": {"messages": [{"id": "m1", "role": "user", "content": "What does dental care cost?"}]},
    "give_feedback": {"answer_id": "the answer_id of an answer", "rating": "up"},
    "keep_demo_chat": {"id": "00000000-0000-8000-8000-000000000000", "answers": [["Hello", {"output_text": "Hi"}]]},
    "demo_delete_uploaded": {"filename": "plan.pdf"},
    "take_activity": {"type": "message", "id": "1", "channelId": "msteams", "text": "What does dental care cost?"},
    "post_activity": {"type": "message", "from": {"id": "a-user"}, "text": "What does dental care cost?"},
    "mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "analyze_safety": _TEXT,
    "analyze_safety_stream": _TEXT,
}
"""A body that can be sent as it stands, by the operation's id; a protocol has one of its own."""


class Operation(msgspec.Struct, frozen=True):
    """One method of one route, and what it says of itself."""

    method: str
    """The method, in capitals."""
    path: str
    """The path as in the table; `{protocol}` stands for the name of each protocol."""
    id: str
    """The operation's id. If the path names a protocol, its name is appended."""
    protocol: Protocol | None
    """The protocol of the route, if the path names none; None: the body selects it, or the route speaks none."""
    about: described.Description
    """What it says of itself, with the errors that the door adds and a tag."""

    @property
    def is_pinned(self) -> bool:
        """Whether the path names the protocol."""
        return self.path.startswith("{protocol}/")


def operations_of(table: Iterable[TableRoute[Any]]) -> Iterator[Operation]:
    """Yield each method of each route, in the order of the table."""
    for route in table:
        for method in route.methods.split():
            as_get = "GET" if method == "HEAD" else method
            about = OWN_ROUTES.get((as_get, route.path)) or description_of(route.handler)
            errors = (*(() if route.is_open else CALLER_ERRORS), *((RateLimited,) if route.counted else ()))
            tag = about.tag or (ABOUT_THE_APP if route.is_open else route.protocol or "")
            about = replace(about, tag=tag, errors=(*errors, *about.errors))
            made = Operation(
                method,
                route.path,
                about.operation or route.handler.__name__,
                NAMES[route.protocol] if route.protocol else None,
                about,
            )
            yield _head(made) if method == "HEAD" else made


_RANGES = (206, 416)
"""Statuses that only GET has."""


def _head(get: Operation) -> Operation:
    """A look at the headers of what GET sends."""
    title, _ = _texts(get.about)
    about = replace(
        get.about,
        text=f"{title}: the headers alone.\n\nSends the headers of GET without the body.",
        answers={
            status: described.Answer(one.description)
            for status, one in get.about.answers.items()
            if status not in _RANGES
        },
        parameters=tuple(parameter for parameter in get.about.parameters if parameter.place == "path"),
        visible=False,
    )
    return replace(get, id=f"head_{get.id.removeprefix('get_')}", about=about)


def _texts(about: described.Description) -> tuple[str, str]:
    """Return the title and the description of a route."""
    title, _, description = cleandoc(about.text).partition("\n")
    return title.removesuffix("."), " ".join(description.split())


def build_openapi(table: Iterable[TableRoute[Any]]) -> Schema:
    """Build the document of an app at which callers sign in with Microsoft Entra ID."""
    schemas = Schemas()
    paths: Schema = {}
    add_protocols(schemas, PROTOCOLS.values())
    for path, method, operation in _operations(table, schemas):
        is_open: Schema = {"security": []} if operation["tags"] == [ABOUT_THE_APP] else {}
        paths.setdefault(path, {})[method] = operation | is_open
    codes = {"type": "string", "enum": [*dict.fromkeys(kind.code for kind in all_errors())]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Switchboard", "version": VERSION, "description": _introduction()},
        "servers": [{"url": f"/{ROUTE_PREFIX}"}],
        "tags": [*_tags()],
        "paths": paths,
        "components": {
            "schemas": schemas.named | {"ErrorCode": codes},
            "securitySchemes": {TOKEN: _TOKEN},
        },
        "security": [{TOKEN: []}],
    }


def all_errors(root: described.ErrorType = SwitchboardError) -> Iterator[described.ErrorType]:
    """Every class of error, base classes first."""
    for kind in root.__subclasses__():
        yield kind
        yield from all_errors(kind)


def _introduction() -> str:
    errors = "".join(f"| {kind.status} | `{kind.code}` | {_meaning(kind)} |\n" for kind in all_errors())
    return (
        "A chat backend that answers every front end in its own protocol.\n\n"
        "A route with the name of a protocol speaks it; other routes find it out from the body. Each error has a "
        "status and a code:\n\n"
        f"| status | code | meaning |\n|---|---|---|\n{errors}"
    )


def _meaning(kind: described.ErrorType) -> str:
    """The first line of the error's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0]


def _tags() -> Iterator[Schema]:
    yield {"name": "chat", "description": "Questions, in the protocol of the body."}
    for protocol in PROTOCOLS.values():
        names = f" Its other name in routes: {', '.join(protocol.aliases)}." if protocol.aliases else ""
        yield {"name": protocol.name, "description": f"{SHAPES[protocol.name].title}.{names}"}
    yield {"name": "mcp", "description": "Tools for agents, in the Model Context Protocol."}
    yield {"name": "history", "description": "The caller's chats."}
    yield {"name": "feedback", "description": "What callers say of answers."}
    yield {"name": "safety", "description": "Safety analysis of texts and payloads of other apps."}
    yield {"name": "documents", "description": "The documents that answers cite."}
    yield {"name": ABOUT_THE_APP, "description": "The app itself."}


def _operations(table: Iterable[TableRoute[Any]], schemas: Schemas) -> Iterator[tuple[str, str, Schema]]:
    """Path, method and operation of every route. A pinned chat route has one for each protocol."""
    for one in operations_of(table):
        path, method, question = "/" + one.path.replace("{*", "{"), one.method.lower(), one.about.question
        if question is None:
            yield path, method, _plain_operation(one, schemas)
        elif one.is_pinned:
            for name, protocol in PROTOCOLS.items():
                yield path.replace("{protocol}", name), method, _chat_operation(one, question, [protocol], schemas)
        else:
            protocols = [one.protocol] if one.protocol else [*PROTOCOLS.values()]
            yield path, method, _chat_operation(one, question, protocols, schemas)


def _plain_operation(one: Operation, schemas: Schemas) -> Schema:
    about, protocol = one.about, one.protocol or AI_CHAT
    errors = _error_responses(about.errors, [] if one.method == "HEAD" else [protocol])
    answers = {str(status): _plain_answer(answer, schemas, protocol) for status, answer in about.answers.items()}
    more: Schema = {"parameters": _parameters(about.parameters, schemas)} if about.parameters else {}
    if about.body:
        content = {JSON_TYPE: {"schema": schemas.of(about.body), "example": EXAMPLES[one.id]}}
        more["requestBody"] = {"required": True, "content": content}
    title, _ = _texts(about)
    return _about(about, one.id, about.tag, title) | more | {"responses": errors | answers}


def _plain_answer(answer: described.Answer, schemas: Schemas, protocol: Protocol = AI_CHAT) -> Schema:
    response: Schema = {"description": answer.description}
    if answer.kind is not None:
        bodies = [answer, *([answer.also] if answer.also else [])]
        response["content"] = {body.media_type: _body(body, schemas, protocol) for body in bodies}
    if answer.headers:
        response["headers"] = {
            header.name: {"description": header.description, "required": True, "schema": schemas.of(header.kind)}
            for header in answer.headers
        }
    return response


def _body(answer: described.Answer, schemas: Schemas, protocol: Protocol) -> Schema:
    shape, kind = SHAPES[protocol.name], answer.kind
    schema = schemas.of(shape.answer if kind is WHOLE else shape.record if kind is RECORD else kind)
    return _stream(answer.media_type, schema) if answer.streams else {"schema": schema}


def _parameters(parameters: Iterable[described.Parameter], schemas: Schemas) -> list[Schema]:
    return [
        {
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.place == "path",
            "description": parameter.description,
            "schema": schemas.of(_one_of(parameter.values) if parameter.values else parameter.kind),
        }
        for parameter in parameters
    ]


def _one_of(values: tuple[str, ...]) -> described.Kind:
    """Return the type of one of these strings."""
    return Annotated[str, Field(json_schema_extra={"enum": [*values]})]


def _chat_operation(
    one: Operation, question: described.Question, protocols: Sequence[Protocol], schemas: Schemas
) -> Schema:
    (title, _), operation, tag = _texts(one.about), one.id, one.about.tag
    if one.is_pinned:
        tag = protocols[0].name
        operation, title = f"{operation}_{tag.replace('-', '_')}", f"{title} in {SHAPES[tag].title}"
    about = _about(one.about, operation, tag, f"{title} {'' if one.is_pinned else question.bare}".rstrip())
    schema = any_of(ref(f"{prefix_of(protocol)}Request") for protocol in protocols)
    body: Schema = {JSON_TYPE: {"schema": schema, "example": protocols[0].example}}
    for protocol in protocols:
        if protocol.takes_files:
            body[FORM_TYPE] = _form(protocol)
    errors = dict.fromkeys(
        (*one.about.errors, *(kind for protocol in protocols for kind in SHAPES[protocol.name].errors))
    )
    answer: Schema = {"description": "The answer.", "content": _chat_content(question, protocols)}
    if not question.streams and JSON_TYPE not in answer["content"]:
        about["x-ms-visibility"] = "internal"  # these protocols always stream, which no designer can read
    answers: Schema = {"200": answer}
    is_run = not question.streams and any(protocol.answer for protocol in protocols)
    if parameters := (*one.about.parameters, *(RUN_PARAMETERS if is_run else ())):
        about["parameters"] = _parameters(parameters, schemas)
    if is_run:
        answers["202"] = _plain_answer(PENDING, schemas)
    return about | {
        "requestBody": {"required": True, "content": body},
        "responses": answers | _error_responses(errors, protocols),
    }


def _form(protocol: Protocol) -> Schema:
    """The media type object of a request with files."""
    file: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
    body = record({"json": ref(f"{prefix_of(protocol)}Request")}, description="The request, and its files.")
    return {
        "schema": body | {"patternProperties": {f"^{FILE_PART.pattern}$": file}, "additionalProperties": False},
        "encoding": {"json": {"contentType": JSON_TYPE}},
    }


def _chat_content(question: described.Question, protocols: Sequence[Protocol]) -> Schema:
    content: Schema = {}
    team = "Team" if question.team else ""
    whole = [protocol for protocol in protocols if protocol.answer and not question.streams]
    if whole:
        content[JSON_TYPE] = {"schema": any_of(ref(f"{prefix_of(protocol)}{team}Answer") for protocol in whole)}
    on_demand = not question.team
    streaming = [
        protocol
        for protocol in protocols
        if protocol not in whole or (on_demand and SHAPES[protocol.name].streams_on_demand)
    ]
    for media_type in dict.fromkeys(protocol.framing.content_type for protocol in streaming):
        spoken = [protocol for protocol in streaming if protocol.framing.content_type == media_type]
        item = any_of(ref(f"{prefix_of(protocol)}{team}Record") for protocol in spoken)
        content[media_type] = _stream(media_type, item, has_end=any(protocol.framing.end for protocol in spoken))
    return content


def _stream(media_type: str, item: Schema, *, has_end: bool = False) -> Schema:
    """The media type object of a stream, whose last event may be `[DONE]`.

    `x-itemSchema` stands for `itemSchema`, which is new in OpenAPI 3.2.
    """
    if media_type == SSE.content_type:
        data: Schema = {"type": "string", "contentMediaType": JSON_TYPE, "contentSchema": item}
        end = [constant("[DONE]")] if has_end else []
        schema = record({"data": any_of([data, *end])}, description="An event.")
    else:
        schema = STRING | {"description": "Lines of JSON; x-itemSchema is the schema of each."}
    return {"schema": schema, "x-itemSchema": item}


def _about(about: described.Description, operation: str, tag: str, title: str) -> Schema:
    _, description = _texts(about)
    made: Schema = {"operationId": operation, "tags": [tag], "summary": title, "description": description}
    return made if about.visible else made | {"x-ms-visibility": "internal"}


def _error_responses(kinds: Iterable[described.ErrorType], protocols: Iterable[Protocol]) -> Schema:
    """One response per status, with the meaning of each error code, in the shape of these protocols."""
    protocols = tuple(protocols)
    content: Schema = {}
    if documents := [protocol for protocol in protocols if not protocol.plain_errors]:
        content[JSON_TYPE] = {"schema": any_of(map(error_schema, documents))}
    if len(documents) < len(protocols):
        content["text/plain"] = {"schema": STRING}
    responses: Schema = {}
    for kind in dict.fromkeys(kinds):
        meaning = f"`{kind.code}`: {_meaning(kind)}"
        response = responses.setdefault(
            str(kind.status), {"description": ""} | ({"content": content} if content else {})
        )
        response["description"] = f"{response['description']} {meaning}".strip()
        if issubclass(kind, RateLimited | Unavailable | TooSlow):
            whole_seconds = {"type": "integer", "minimum": 1, "maximum": 60}
            seconds = {"description": "Seconds to wait, if they are few.", "required": False, "schema": whole_seconds}
            response["headers"] = {"Retry-After": seconds}
        if issubclass(kind, NotSignedIn):
            how = {"description": "How to sign in (RFC 6750).", "required": True, "schema": STRING}
            response["headers"] = {"WWW-Authenticate": how}
    return responses
