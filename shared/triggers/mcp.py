"""MCP: `POST /mcp`, and where its clients learn how to sign in. What reads the protocol is imported when one calls."""

from starlette.requests import Request
from starlette.responses import Response

from shared.triggers.door import Call, checked_first


def _prepare(request: Request) -> None:
    from shared.triggers.mcp_messages import prepare

    prepare(request)


@checked_first(_prepare)
async def mcp(call: Call) -> Response:
    """Reply to a message of the Model Context Protocol."""
    from shared.triggers.mcp_messages import reply

    return await reply(call)


async def get_mcp_sign_in(request: Request) -> Response:
    """Say where users of MCP clients sign in."""
    from shared.triggers.mcp_messages import sign_in

    return sign_in(request)
