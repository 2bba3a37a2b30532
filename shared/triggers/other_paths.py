"""What the app answers where no other route matches: its front page, and errors that name the nearest route."""

import asyncio
import logging
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from azurefunctions.extensions.http.fastapi import Request, Response

from shared.errors import NotFound
from shared.triggers.errors import answering, error_response
from shared.wire.table import NAMES

_log = logging.getLogger("switchboard.routes")
_PAGE = Path(__file__).parents[1] / "page" / "index.html"


@answering
async def other_path(request: Request) -> Response:
    """`GET /`: the front page. Any other path or method: 404, or 405 if the path takes other methods."""
    path = str(request.path_params.get("path") or "").strip("/")
    if not path and request.method in ("GET", "HEAD"):
        page, headers = await asyncio.to_thread(_front_page)
        return Response(page, headers=headers, media_type="text/html; charset=utf-8")
    _log.info("no route: %s %.200s", request.method, ascii(path))
    first = path.partition("/")[0].lower()
    if protocol := NAMES.get("openai" if first == "v1" else first):
        request.state.protocol = protocol
    sentence, methods = await asyncio.to_thread(_describe_miss, request.method, path)
    response = error_response(NotFound(sentence), request)
    if methods:
        response.status_code = 405
        response.headers["allow"] = ", ".join(methods)
    return response


def _describe_miss(method: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Import the description of the routes late: it takes a while, and few requests need it."""
    from shared.description.nearest import describe_miss

    return describe_miss(method, path)


@cache
def _front_page() -> tuple[bytes, dict[str, str]]:
    """Read the page, and make the headers that let nothing run in it but its own script."""
    page = _PAGE.read_bytes()
    script, style = (_hash_of(element, page) for element in (b"script", b"style"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, {
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
    }


def _hash_of(element: bytes, page: bytes) -> str:
    """The source expression of the page's one inline element of a kind (Content Security Policy, 2.3.1)."""
    [text] = re.findall(b"<%b>(.*?)</%b>" % (element, element), page, re.DOTALL)
    return f"'sha256-{b64encode(sha256(text).digest()).decode()}'"
