"""MCP, the Model Context Protocol, over HTTP: reads a JSON-RPC message and makes the reply to it. Sans-I/O.

Clients of the revision 2026-07-28 state their version in each request; those of earlier ones begin with `initialize`
and need no more than that here: both are answered without a session, each message by one JSON document.

Source: Model Context Protocol, revision 2026-07-28, 'Streamable HTTP', 'Versioning and Compatibility', 'Tools',
'Caching'; and 2025-11-25, 'Lifecycle', 'Transports'.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shared.chat_types import Decision, Json
from shared.errors import SwitchboardError, error_text
from shared.runtime.version import VERSION
from shared.settings import Settings
from shared.tools.mcp_messages import HEADER_MISMATCH, LEGACY, META, MODERN, UNSUPPORTED_VERSION, read_header_value
from shared.wire.consent import MOST_DECISIONS
from shared.wire.mcp_tools import INSTRUCTIONS, TOOLS, Tool
from shared.wire.protocol import Record

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

EXAMPLE = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}'
"""Example of a message, for error messages."""
NO_OBJECT = "body"
"""Key under which a body that is no object, such as a batch, is given to `receive`, which refuses it."""

_VERSION, _CAPABILITIES, _SERVER = f"{META}protocolVersion", f"{META}clientCapabilities", f"{META}serverInfo"
_VERSION_HEADER, _METHOD_HEADER, _NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
_FRESH_MILLISECONDS = 300_000
"""How long a client may keep what never changes while this version of the app runs: the tools and what it is."""
_LONGEST_TOKEN = 200
"""Characters of a token for progress, which each notification repeats."""
_LARGEST_ID = 2**53 - 1
"""Largest number that every JSON library keeps as it is."""
_SERVER_INFO: Record = {"name": "switchboard", "title": "Switchboard", "version": VERSION}
_CAPABILITIES_HERE: Record = {"tools": {}}


@dataclass(frozen=True, slots=True)
class Reply:
    """The HTTP response to a message."""

    status: int
    """HTTP status."""
    document: Record | None = None
    """The JSON body; None: there is none."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to call a tool. Who calls it makes the reply of its result."""

    id: int | str
    """Id of the request."""
    tool: Tool
    """The tool."""
    arguments: Mapping[str, Json]
    """The arguments as they were sent."""
    modern: bool
    """Whether the request is of the revision `MODERN`."""
    progress: int | str | None = None
    """Token for notifications of progress, which are sent before the reply; None: the client wants none."""
    can_ask: bool = False
    """Whether the client can ask its user for consent."""
    decisions: tuple[Decision, ...] = ()
    """What its user has answered."""

    def reply(self, result: Record) -> Reply:
        """Make the reply that carries the tool's result."""
        return _reply(self.id, result, modern=self.modern)

    def notification(self, number: int, message: str) -> Record:
        """Make a notification of progress.

        Args:
            number: How far it is; it grows with each.
            message: The same for people.
        """
        params: Record = {"progressToken": self.progress, "progress": number, "message": message}
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


class _Refusal(Exception):
    """A request that is not served: the JSON-RPC error's code, what is wrong and what to do, and more for programs."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.error: Record = {"code": code, "message": message}
        if data:
            self.error["data"] = data
        self.code = code


class _Request(NamedTuple):
    """A request or a notification."""

    method: str
    params: Mapping[str, Json]
    id: int | str | None
    """None: it is a notification."""


def receive(headers: Mapping[str, str], message: Mapping[str, Json]) -> Reply | Call:
    """Read a message; make the reply, unless a tool is called.

    Args:
        headers: The HTTP headers; their names are found in lower case.
        message: The body.
    """
    try:
        request = _request(message)
        if request.id is None:
            return Reply(202)
        modern = _is_modern(headers, request)
    except _Refusal as refusal:
        return Reply(400, _error(_id(message), refusal.error))
    try:
        if request.method == "tools/call":
            arguments = _object(request.params, "arguments")
            meta = _object(request.params, "_meta")
            token = _id(meta, "progressToken")
            if "text/event-stream" not in headers.get("accept", "") or len(str(token)) > _LONGEST_TOKEN:
                token = None
            can_ask = modern and "form" in _object(_object(meta, _CAPABILITIES), "elicitation")
            decided = _decisions(_object(request.params, "inputResponses")) if modern else ()
            return Call(request.id, _tool(request.params.get("name")), arguments, modern, token, can_ask, decided)
        return _reply(request.id, _result(request, modern=modern), modern=modern)
    except _Refusal as refusal:
        status = 200 if not modern else 404 if refusal.code == METHOD_NOT_FOUND else 400
        return Reply(status, _error(request.id, refusal.error))


def error_record(error: SwitchboardError, invocation_id: str, request_id: int | str | None = None) -> Record:
    """Make the body of a response whose HTTP status says that the request was not served.

    JSON-RPC has codes for three of them; the others have their status as the code.
    """
    code = {400: PARSE_ERROR, 413: INVALID_REQUEST, 500: INTERNAL_ERROR}.get(error.status, error.status)
    data: Record = {"code": error.code}
    return _error(request_id, {"code": code, "message": error_text(error, invocation_id), "data": data})


def sign_in_record(resource: str, settings: Settings) -> Record:
    """Make the metadata of a protected resource: where users get tokens for it, and for which permission.

    Args:
        resource: The URL of `POST /mcp`.
        settings: The settings, with a tenant and an app registration.

    Source: RFC 9728, 2; Microsoft identity platform, 'Scopes and permissions', 'The .default scope'.
    """
    issuer = f"{settings.auth_authority.rstrip('/')}/{(settings.auth_tenant_id or '').lower()}/v2.0"
    scope = f"{(settings.auth_client_id or '').lower()}/.default"
    return {
        "resource": resource,
        "resource_name": "Switchboard",
        "authorization_servers": [issuer],
        "scopes_supported": [scope],
        "bearer_methods_supported": ["header"],
    }


def _request(message: Mapping[str, Json]) -> _Request:
    """Check that a message is a request or a notification."""
    if message.get("jsonrpc") != "2.0" or not isinstance(method := message.get("method"), str):
        raise _Refusal(
            INVALID_REQUEST,
            f"This is not one request or notification of JSON-RPC 2.0: send one, such as {EXAMPLE}, and no batch.",
        )
    id_ = _id(message)
    if id_ is None and "id" in message:
        raise _Refusal(INVALID_REQUEST, "id: should be a text, or a whole number of at most 53 bits.")
    return _Request(method, _object(message, "params"), id_)


def _id(message: Mapping[str, Json], key: str = "id") -> int | str | None:
    """The id of a message, or what else identifies something; None if it has none that is valid."""
    match message.get(key):
        case bool():
            return None
        case int(number) if abs(number) <= _LARGEST_ID:
            return number
        case str(text):
            return text
        case _:
            return None


def _object(holder: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """The object under a key; empty if there is none."""
    value = holder.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Refusal(INVALID_PARAMS, f"{key}: should be an object.")
    return value


def _decisions(answers: Mapping[str, Json]) -> tuple[Decision, ...]:
    """What a user has answered to the questions of `consent_result`, whose names are the ids of approvals."""
    if len(answers) > MOST_DECISIONS:
        raise _Refusal(INVALID_PARAMS, f"inputResponses: should have at most {MOST_DECISIONS} answers.")
    found: list[Decision] = []
    for approval_id, answer in answers.items():
        match answer:
            case {"action": "accept", "content": {"approve": True}}:
                found.append(Decision(True, approval_id))
            case _:
                found.append(Decision(False, approval_id))
    return tuple(found)


def _is_modern(headers: Mapping[str, str], request: _Request) -> bool:
    """Tell the era of a request, and check what one of 2026-07-28 has to state, in its headers and in `_meta`."""
    meta = _object(request.params, "_meta")
    in_header, in_body = headers.get(_VERSION_HEADER), meta.get(_VERSION)
    if in_body is None and (in_header is None or in_header in LEGACY):
        return False
    if in_body is not None and in_body != in_header:
        raise _mismatch("MCP-Protocol-Version", f"params._meta['{_VERSION}']")
    if in_header != MODERN:
        supported: Json = [MODERN, *LEGACY]
        data: Record = {"supported": supported, "requested": in_header}
        raise _Refusal(UNSUPPORTED_VERSION, f"Supported versions of MCP: {', '.join([MODERN, *LEGACY])}.", data)
    if in_body is None or not isinstance(meta.get(_CAPABILITIES), dict):
        missing = _VERSION if in_body is None else _CAPABILITIES
        raise _Refusal(INVALID_PARAMS, f"params._meta['{missing}']: is missing.")
    if headers.get(_METHOD_HEADER) != request.method:
        raise _mismatch("Mcp-Method", "method")
    name = request.params.get("name")
    if (
        request.method == "tools/call"
        and isinstance(name, str)
        and read_header_value(headers.get(_NAME_HEADER)) != name
    ):
        raise _mismatch("Mcp-Name", "params.name")
    return True


def _mismatch(header: str, key: str) -> _Refusal:
    return _Refusal(HEADER_MISMATCH, f"The header {header} is missing, or differs from {key}.")


def _result(request: _Request, *, modern: bool) -> Record:
    """The result of a request that calls no tool."""
    match request.method:
        case "tools/list":
            tools: Json = [tool.definition for tool in TOOLS.values()]
            return {"tools": tools, **_cached(modern=modern)}
        case "server/discover" if modern:
            return {
                "supportedVersions": [MODERN],
                "capabilities": _CAPABILITIES_HERE,
                "instructions": INSTRUCTIONS,
                **_cached(modern=True),
            }
        case "initialize" if not modern:
            asked = request.params.get("protocolVersion")
            if not isinstance(asked, str):
                raise _Refusal(INVALID_PARAMS, f"params.protocolVersion: should be a version, such as {LEGACY[0]}.")
            return {
                "protocolVersion": asked if asked in LEGACY else LEGACY[0],
                "capabilities": _CAPABILITIES_HERE,
                "serverInfo": _SERVER_INFO,
                "instructions": INSTRUCTIONS,
            }
        case "ping" if not modern:
            return {}
        case _:
            raise _Refusal(METHOD_NOT_FOUND, "There is no such method here: this server has tools only.")


def _tool(name: Json) -> Tool:
    if isinstance(name, str) and name in TOOLS:
        return TOOLS[name]
    raise _Refusal(INVALID_PARAMS, f"params.name: there is no such tool. There are: {', '.join(TOOLS)}.")


def _cached(*, modern: bool) -> Record:
    return {"ttlMs": _FRESH_MILLISECONDS, "cacheScope": "private"} if modern else {}


def _reply(id_: int | str, result: Record, *, modern: bool) -> Reply:
    kind = result.get("resultType", "complete")
    more: Record = {"resultType": kind, "_meta": {_SERVER: _SERVER_INFO}} if modern else {}
    return Reply(200, {"jsonrpc": "2.0", "id": id_, "result": result | more})


def _error(id_: int | str | None, error: Record) -> Record:
    """An error response. Where the request's id is not known it is null (JSON-RPC 2.0, 5).

    The schema of MCP would have it left out, but the clients of its Python package show nothing of such an error.
    """
    return {"jsonrpc": "2.0", "id": id_, "error": error}
