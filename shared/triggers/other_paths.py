"""What the app answers where no other route matches: the playground's page, and errors that name the nearest route."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from shared.errors import NotFound
from shared.runtime.host_file import ROUTE_PREFIX
from shared.triggers.door import Open, Route
from shared.triggers.errors import error_response
from shared.triggers.playground import playground_page
from shared.wire.table import DEMO_NAMES, NAMES, protocol_below

_log = logging.getLogger("switchboard.routes")
_LONGEST = 100
"""Characters of a path that are compared; no route has more."""
_NOT_SPOKEN: dict[str, str] = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
"""Paths of protocols that are not spoken, as regular expressions, and what to do instead.

Sources: the API references of OpenAI and Anthropic; Open Responses; Ollama, docs/api.md; LangGraph, server API; Gemini
API; sample-app-aoai-chatGPT, frontend/src/api/api.ts."""


async def other_path(request: Request) -> Response:
    """`GET /`: the playground. Any other path or method: 404, or 405 if the path takes other methods."""
    path = str(request.path_params.get("path") or "").strip("/")
    if not path and request.method in ("GET", "HEAD"):
        return await playground_page(request)
    _log.info("no route: %s %.200s", request.method, ascii(path))
    first = path.partition("/")[0].lower()
    if protocol := protocol_below(first):
        request.state.protocol = protocol
    sentence, methods = await asyncio.to_thread(_describe_miss, request.state.table, request.method, path)
    response = error_response(NotFound(sentence), request)
    if methods:
        response.status_code = 405
        response.headers["allow"] = ", ".join(methods)
    return response


def _describe_miss(table: Sequence[Route | Open], method: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Say what a request most likely meant that no route matched, and which methods its path takes, if any."""
    from difflib import get_close_matches

    prefix = f"/{ROUTE_PREFIX}".rstrip("/")
    for foreign, sentence in _NOT_SPOKEN.items():
        if len(path) <= _LONGEST and re.fullmatch(foreign, path, re.IGNORECASE):
            return f"There is no such route. {sentence} GET {prefix}/openapi.json lists all.", ()
    routes = _methods_by_path(table)
    for known, methods in routes.items():
        if _pattern(known).fullmatch(path):
            return f"{method} is not possible here: send {' or '.join(methods)} {prefix}/{known}.", methods
    near = get_close_matches(path[:_LONGEST].lower(), routes, 1) if len(path) <= _LONGEST else []
    nearest = f"The nearest is {' or '.join(routes[near[0]])} {prefix}/{near[0]}. " if near else ""
    return f"There is no such route. {nearest}GET {prefix}/openapi.json lists all.", ()


@cache
def _methods_by_path(table: Sequence[Route | Open]) -> Mapping[str, tuple[str, ...]]:
    """The methods of each path, with the name of each protocol in the routes that pin one."""
    found: dict[str, tuple[str, ...]] = {"": ("GET", "HEAD")}
    for route in table:
        methods = route.methods.split()
        for name in _protocols_of(route) if methods else ():
            path = route.path.replace("{protocol}", name)
            found[path] = (*found.get(path, ()), *methods)
    return found


def _protocols_of(route: Route | Open) -> tuple[str, ...]:
    """The names of protocols that a path may have; an empty one if it names none."""
    if not route.path.startswith("{protocol}/"):
        return ("",)
    return tuple(DEMO_NAMES if "demo" in route.name else NAMES)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parameters = {r"\{\*\w+\}": ".*", r"\{\w+\}": "[^/]+"}
    pattern = re.sub(r"[^{}*\w/]", lambda mark: re.escape(mark[0]), template)
    for parameter, values in parameters.items():
        pattern = re.sub(parameter, values, pattern)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
