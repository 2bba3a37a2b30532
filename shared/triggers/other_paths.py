"""What the app answers where no other route matches: the playground's page, and errors that name the nearest route."""

import asyncio
import logging

from starlette.requests import Request
from starlette.responses import Response

from shared.errors import NotFound
from shared.triggers.errors import error_response
from shared.triggers.playground import playground_page
from shared.wire.table import protocol_below

_log = logging.getLogger("switchboard.routes")


async def other_path(request: Request) -> Response:
    """`GET /`: the playground. Any other path or method: 404, or 405 if the path takes other methods."""
    path = str(request.path_params.get("path") or "").strip("/")
    if not path and request.method in ("GET", "HEAD"):
        return await playground_page(request)
    _log.info("no route: %s %.200s", request.method, ascii(path))
    first = path.partition("/")[0].lower()
    if protocol := protocol_below(first):
        request.state.protocol = protocol
    sentence, methods = await asyncio.to_thread(_describe_miss, request, path)
    response = error_response(NotFound(sentence), request)
    if methods:
        response.status_code = 405
        response.headers["allow"] = ", ".join(methods)
    return response


def _describe_miss(request: Request, path: str) -> tuple[str, tuple[str, ...]]:
    """Import the description of the routes late: it takes a while, and few requests need it."""
    from shared.description.nearest import describe_miss

    return describe_miss(request.state.table, request.method, path)
