"""MCP: `POST /mcp`, and where its clients learn how to sign in. What reads the protocol is imported when one calls."""

from starlette.requests import Request
from starlette.responses import Response

from shared.errors import InternalError, NotConfigured, NotFound
from shared.triggers.door import Call, checked_first
from shared.wire.described import Answer, Description, describes

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


def _prepare(request: Request) -> None:
    from shared.triggers.mcp_messages import prepare

    prepare(request)


@describes(
    Description(
        {
            200: Answer("The response.", "McpResult | McpError"),
            202: Answer("A notification was taken."),
            **{status: Answer(meaning, "McpError") for status, meaning in _ERRORS.items()},
        },
        tag="mcp",
        visible=False,
        body="McpMessage",
    )
)
@checked_first(_prepare)
async def mcp(call: Call) -> Response:
    """Send a message of the Model Context Protocol.

    Tools for agents: search the documents, read one, ask a question. A tool that fails is a result with isError.
    """
    from shared.triggers.mcp_messages import reply

    return await reply(call)


@describes(
    Description(
        {200: Answer("The metadata.", "McpSignIn")}, errors=(NotFound, InternalError, NotConfigured), visible=False
    )
)
async def get_mcp_sign_in(request: Request) -> Response:
    """Where users of MCP clients sign in.

    The metadata to which the answer to an MCP client without a token leads, where the app takes tokens of users.
    """
    from shared.triggers.mcp_messages import sign_in

    return sign_in(request)
