"""The OpenAPI 3.1 document, built from the table of routes, the table of protocols and the errors."""

from collections.abc import Iterable, Iterator, Sequence

from shared.description.content_routes import CONTENT_ROUTES
from shared.description.demo_routes import DEMO_ROUTES
from shared.description.feedback_routes import FEEDBACK_ROUTES
from shared.description.history_routes import HISTORY_ROUTES
from shared.description.mcp_routes import MCP_ROUTES
from shared.description.openai_routes import OPENAI_ROUTES
from shared.description.rai_routes import RAI_ROUTES
from shared.description.routes import ABOUT_THE_APP, ROUTES, Answer, ChatRoute, ErrorType, Parameter, PlainRoute, Route
from shared.description.run_routes import PENDING, RUN_PARAMETERS, RUN_ROUTES
from shared.description.schemas import (
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
from shared.errors import NotSignedIn, Overloaded, RateLimited, SwitchboardError
from shared.runtime.host_file import ROUTE_PREFIX
from shared.runtime.version import VERSION
from shared.wire.framing import SSE
from shared.wire.multipart import FILE_PART
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS

JSON_TYPE = "application/json"
FORM_TYPE = "multipart/form-data"
TOKEN = "token"  # noqa: S105 (a name)
"""Name of the security scheme."""
ALL_ROUTES: tuple[ChatRoute | PlainRoute, ...] = (
    *(*ROUTES, *RUN_ROUTES, *CONTENT_ROUTES, *OPENAI_ROUTES),
    *(*MCP_ROUTES, *DEMO_ROUTES, *HISTORY_ROUTES, *FEEDBACK_ROUTES, *RAI_ROUTES),
)
"""Every route of the app, in the document's order."""


def build_openapi(*, auth_mode: str = "none") -> Schema:
    """Build the document. Its server is a relative URL, since the app does not know its public name.

    Args:
        auth_mode: `AUTH_MODE`, how callers sign in.
    """
    schemas = Schemas()
    paths: Schema = {}
    add_protocols(schemas, PROTOCOLS.values())
    for path, method, operation in _operations(schemas):
        paths.setdefault(path, {})[method] = operation
    codes = {"type": "string", "enum": [*dict.fromkeys(kind.code for kind in all_errors())]}
    document: Schema = {
        "openapi": "3.1.0",
        "info": {"title": "Switchboard", "version": VERSION, "description": _introduction()},
        "servers": [{"url": f"/{ROUTE_PREFIX}"}],
        "tags": [*_tags()],
        "paths": paths,
        "components": {"schemas": schemas.named | {"ErrorCode": codes}},
    }
    if auth_mode != "none":
        _require_sign_in(document, _API_KEY if auth_mode == "api-key" else _TOKEN)
    return document


_TOKEN = {"bearerFormat": "JWT", "description": "An access token of Microsoft Entra ID for this app."}
_API_KEY = {"description": "An API key of this app."}


def _require_sign_in(document: Schema, credential: Schema) -> None:
    """Require a credential for every operation except those with the tag `ABOUT_THE_APP`."""
    document["components"]["securitySchemes"] = {TOKEN: {"type": "http", "scheme": "bearer", **credential}}
    document["security"] = [{TOKEN: []}]
    for methods in document["paths"].values():
        for operation in methods.values():
            if operation["tags"] == [ABOUT_THE_APP]:
                operation["security"] = []


def all_errors(root: ErrorType = SwitchboardError) -> Iterator[ErrorType]:
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


def _meaning(kind: ErrorType) -> str:
    """The first line of the error's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0]


def _tags() -> Iterator[Schema]:
    yield {"name": "chat", "description": "Questions, in the protocol of the body."}
    for protocol in PROTOCOLS.values():
        names = f" Its other name in routes: {', '.join(protocol.aliases)}." if protocol.aliases else ""
        yield {"name": protocol.name, "description": f"{protocol.title}.{names}"}
    yield {"name": "mcp", "description": "Tools for agents, in the Model Context Protocol."}
    yield {"name": "history", "description": "The caller's chats."}
    yield {"name": "feedback", "description": "What callers say of answers."}
    yield {"name": "safety", "description": "Safety analysis of texts and payloads of other apps."}
    yield {"name": "documents", "description": "The documents that answers cite."}
    yield {"name": ABOUT_THE_APP, "description": "The app itself."}


def _operations(schemas: Schemas) -> Iterator[tuple[str, str, Schema]]:
    """Path, method and operation of every route. A pinned chat route has one for each protocol."""
    for route in ALL_ROUTES:
        path = "/" + route.template.replace("{*", "{")
        match route:
            case PlainRoute():
                yield path, route.method, _plain_operation(route, schemas)
            case ChatRoute() if route.pinned:
                for name, protocol in PROTOCOLS.items():
                    yield path.replace("{protocol}", name), route.method, _chat_operation(route, [protocol], schemas)
            case ChatRoute():
                names = route.speaks or tuple(PROTOCOLS)
                yield path, route.method, _chat_operation(route, [PROTOCOLS[name] for name in names], schemas)


def _plain_operation(route: PlainRoute, schemas: Schemas) -> Schema:
    errors = _error_responses(route.errors, [] if route.method == "head" else [PROTOCOLS[route.errors_of]])
    answers = {str(status): _plain_answer(answer, schemas) for status, answer in route.answers.items()}
    more: Schema = {"parameters": _parameters(route.parameters, schemas)} if route.parameters else {}
    if route.body:
        more["requestBody"] = {"required": True, "content": {JSON_TYPE: {"schema": schemas.of(route.body)}}}
    return _about(route, route.operation, route.tag, route.summary) | more | {"responses": errors | answers}


def _plain_answer(answer: Answer, schemas: Schemas) -> Schema:
    response: Schema = {"description": answer.description}
    if answer.kind is not None:
        bodies = [answer, *([answer.also] if answer.also else [])]
        response["content"] = {body.media_type: _body(body, schemas) for body in bodies}
    if answer.headers:
        response["headers"] = {
            header.name: {"description": header.description, "required": True, "schema": schemas.of(header.kind)}
            for header in answer.headers
        }
    return response


def _body(answer: Answer, schemas: Schemas) -> Schema:
    schema = schemas.of(answer.kind)
    return _stream(answer.media_type, schema) if answer.streams else {"schema": schema}


def _parameters(parameters: Iterable[Parameter], schemas: Schemas) -> list[Schema]:
    return [
        {
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.place == "path",
            "description": parameter.description,
            "schema": schemas.of(parameter.kind),
        }
        for parameter in parameters
    ]


def _chat_operation(route: ChatRoute, protocols: Sequence[Protocol], schemas: Schemas) -> Schema:
    pinned = protocols[0] if route.pinned else None
    about = _about(
        route,
        f"{route.operation}_{pinned.name.replace('-', '_')}" if pinned else route.operation,
        pinned.name if pinned else route.tag,
        route.summary.format(title=pinned.title) if pinned else route.summary,
    )
    body: Schema = {JSON_TYPE: {"schema": any_of(ref(f"{prefix_of(protocol)}Request") for protocol in protocols)}}
    for protocol in protocols:
        if protocol.takes_files:
            body[FORM_TYPE] = _form(protocol)
    errors = dict.fromkeys((*route.errors, *(kind for protocol in protocols for kind in protocol.shape.errors)))
    answer: Schema = {"description": "The answer.", "content": _chat_content(route, protocols)}
    answers: Schema = {"200": answer}
    if not route.streams and any(protocol.answer for protocol in protocols):
        about["parameters"] = _parameters(RUN_PARAMETERS, schemas)
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


def _chat_content(route: ChatRoute, protocols: Sequence[Protocol]) -> Schema:
    content: Schema = {}
    team = "Team" if route.team else ""
    whole = [protocol for protocol in protocols if protocol.answer and not route.streams]
    if whole:
        content[JSON_TYPE] = {"schema": any_of(ref(f"{prefix_of(protocol)}{team}Answer") for protocol in whole)}
    on_demand = not route.team
    streaming = [
        protocol for protocol in protocols if protocol not in whole or (on_demand and protocol.shape.streams_on_demand)
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


def _about(route: Route, operation: str, tag: str, summary: str) -> Schema:
    about: Schema = {"operationId": operation, "tags": [tag], "summary": summary, "description": route.description}
    return about if route.visible else about | {"x-ms-visibility": "internal"}


def _error_responses(kinds: Iterable[ErrorType], protocols: Iterable[Protocol]) -> Schema:
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
        if issubclass(kind, RateLimited | Overloaded):
            required = kind is RateLimited  # other errors share the status of Overloaded
            whole_seconds = {"type": "integer", "minimum": 1}
            seconds = {"description": "Seconds to wait.", "required": required, "schema": whole_seconds}
            response["headers"] = {"Retry-After": seconds}
        if issubclass(kind, NotSignedIn):
            how = {"description": "How to sign in (RFC 6750).", "required": True, "schema": STRING}
            response["headers"] = {"WWW-Authenticate": how}
    return responses
