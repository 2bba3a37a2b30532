"""MCP: `POST /mcp`, and where its clients learn how to sign in. What reads the protocol is imported when one calls."""

from starlette.requests import Request
from starlette.responses import Response

from shared.triggers.door import Call, checked_first


def _prepare(request: Request) -> None:
    from shared.triggers.mcp_messages import prepare

    prepare(request)


@checked_first(_prepare)
async def mcp(call: Call) -> Response:
    """`POST /mcp`: the reply to a message; a tool that it calls is run with the caller's rights."""
    from shared.triggers.mcp_messages import reply

    return await reply(call)


async def mcp_sign_in(request: Request) -> Response:
    """`GET /mcp/oauth-protected-resource`: where users get their tokens. Open to all: nobody has signed in yet."""
    from shared.triggers.mcp_messages import sign_in

    return sign_in(request)
