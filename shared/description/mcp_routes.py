"""The routes at which MCP clients look, as data."""

from shared.description.routes import ABOUT_THE_APP, Answer, PlainRoute
from shared.description.schemas import INTEGER, STRING, Schema, any_of, constant, described, list_of, record, ref
from shared.errors import InternalError, NotConfigured, NotFound

_OBJECT: Schema = {"type": "object", "additionalProperties": True}
_ID: Schema = any_of([STRING, INTEGER])
_MESSAGE = record(
    {"jsonrpc": constant("2.0"), "method": described(STRING, "Such as 'initialize', 'tools/list', 'tools/call'.")},
    {"id": described(_ID, "Absent: a notification."), "params": _OBJECT},
    "A request or a notification of MCP, the Model Context Protocol, as JSON-RPC.",
)
_RESULT = record({"jsonrpc": constant("2.0"), "id": _ID, "result": _OBJECT}, description="The result of a request.")
_ERROR = record(
    {
        "jsonrpc": constant("2.0"),
        "id": any_of([STRING, INTEGER, {"type": "null"}]),
        "error": record(
            {"code": INTEGER, "message": described(STRING, "What the caller can do.")},
            {"data": _OBJECT},
        ),
    },
    description="Why a request has no result.",
)
_METADATA = record(
    {
        "resource": described(STRING, "The URL of the MCP server."),
        "resource_name": STRING,
        "authorization_servers": list_of(STRING),
        "scopes_supported": list_of(STRING),
        "bearer_methods_supported": list_of(STRING),
    },
    description="Where users get tokens for the MCP server (RFC 9728).",
)
MCP_SCHEMAS: dict[str, Schema] = {
    "McpMessage": _MESSAGE,
    "McpResult": _RESULT,
    "McpError": _ERROR,
    "McpSignIn": _METADATA,
}
"""Schemas of these routes, by name."""
_ERRORS = {
    400: "The message cannot be read, or does not keep the protocol.",
    401: "The caller is not signed in.",
    403: "The caller, or the origin of the web page, may not do this.",
    404: "There is no such method (revision 2026-07-28).",
    408: "The body arrives too slowly.",
    413: "The body is too large.",
    429: "The caller has reached a limit.",
    500: "An internal error.",
    503: "A setting is missing or wrong, or the app has no memory for the body now.",
}

MCP_ROUTES: tuple[PlainRoute, ...] = (
    PlainRoute(
        "mcp",
        "post",
        "mcp",
        "mcp",
        "Send a message of the Model Context Protocol",
        "Tools for agents: search the documents, read one, ask a question. A tool that fails is a result with isError.",
        (),
        visible=False,
        answers={
            200: Answer("The response.", schema=any_of([ref("McpResult"), ref("McpError")])),
            202: Answer("A notification was taken.", None),
            **{status: Answer(meaning, schema=ref("McpError")) for status, meaning in _ERRORS.items()},
        },
        body=ref("McpMessage"),
    ),
    PlainRoute(
        "mcp/oauth-protected-resource",
        "get",
        "get_mcp_sign_in",
        ABOUT_THE_APP,
        "Where users of MCP clients sign in",
        "The metadata to which the answer to an MCP client without a token leads, where the app takes tokens of users.",
        (NotFound, InternalError, NotConfigured),
        visible=False,
        answers={200: Answer("The metadata.", schema=ref("McpSignIn"))},
    ),
)
"""The routes, in the documents' order."""
