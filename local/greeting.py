"""What the host prints between its start and its first request."""

import asyncio
import json
import shlex
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from aiohttp import ClientError, ClientSession, ClientTimeout

from local.invocation import Function
from local.model_servers import line_to_start_with
from local.routing import Matched, Route, find

HEALTH_SECONDS = 60


def list_functions(functions: Sequence[Function], routes: Sequence[Route]) -> Iterator[str]:
    """Yield how many functions answer HTTP, and a line for each other: what triggers it."""
    by_http = {route.function for route in routes}
    yield f"Functions: {len(by_http)} by HTTP"
    others = [function for function in functions if function.name not in by_http]
    width = max((len(function.name) for function in others), default=0)
    for function in others:
        yield f"  {function.name:<{width}}  {function.trigger}, {function.source or 'not hosted locally'}"


async def find_problems(base: str, routes: Sequence[Route], prefix: str) -> tuple[Sequence[str], str]:
    """Ask the app's `GET health` how it is, where it has one.

    Args:
        base: the app's address with the prefix.
        routes: all.
        prefix: of `host.json`.

    Returns:
        Sentences, empty when all is well; and the line that starts the app with a language model of this machine, if
        none answers and one is served here.
    """
    if not _has(routes, prefix, "health", "GET"):
        return (), ""
    try:
        async with (
            ClientSession(timeout=ClientTimeout(HEALTH_SECONDS)) as session,
            session.get(f"{base}/health") as got,
        ):
            status, body = got.status, await got.read()
    except (ClientError, TimeoutError, asyncio.IncompleteReadError) as exc:
        return (f"GET health did not answer: {type(exc).__name__}.",), ""
    try:
        parsed: object = json.loads(body)
    except ValueError:
        parsed = None
    # An app that can answer is a 200 even if a part of it cannot be used.
    problems = tuple(_sentences(parsed)) or (() if status < 400 else (f"GET health answers {status}.",))
    return problems, (await line_to_start_with() or "") if _has_built_in_model(parsed) else ""


async def find_page(base: str, routes: Sequence[Route], prefix: str) -> str | None:
    """Return the address of the app's page, if it answers `GET /` with one. The arguments are those of the above."""
    if not isinstance(find(routes, "GET", f"/{prefix}/"), Matched):
        return None
    try:
        async with (
            ClientSession(timeout=ClientTimeout(HEALTH_SECONDS)) as session,
            session.get(f"{base}/") as got,
        ):
            return f"{base}/" if got.status == 200 and got.content_type == "text/html" else None
    except (ClientError, TimeoutError, asyncio.IncompleteReadError):
        return None


def open_page(page: str | None) -> None:
    """Open the app's page in this machine's browser, which `BROWSER` names if it is set; else say why not. Blocks."""
    if page is None:
        print("There is no page to open: the app does not answer with one here.", flush=True)
    elif not webbrowser.open(page):
        print(f"No browser was found here: open {page} in one.", flush=True)


def try_line(base: str, routes: Sequence[Route], prefix: str, question: str) -> str | None:
    """Make a `curl` command that streams an answer, where the app has `POST chat/stream`."""
    if not question or not _has(routes, prefix, "chat/stream", "POST"):
        return None
    body = json.dumps({"messages": [{"role": "user", "content": question}]}, ensure_ascii=False)
    return f"curl -N {base}/chat/stream -H 'content-type: application/json' -d {shlex.quote(body)}"


def _has(routes: Sequence[Route], prefix: str, path: str, method: str) -> bool:
    template = f"{prefix}/{path}" if prefix else path
    return any(route.template == template and (not route.methods or method in route.methods) for route in routes)


def _has_built_in_model(body: object) -> bool:
    """Whether a health answer says that no language model answers."""
    for key in ("parts", "model", "kind"):
        body = cast("Mapping[str, object]", body).get(key) if isinstance(body, dict) else None
    return body == "embedded"


def _sentences(body: object) -> Iterator[str]:
    """Read `error`, and the `detail` of each of `parts` that is not `ok`, out of a health answer."""
    if not isinstance(body, dict):
        return
    answer = cast("Mapping[str, object]", body)
    error = answer.get("error")
    if isinstance(error, str):
        yield error
    parts = answer.get("parts")
    if isinstance(parts, dict):
        for name, part in cast("Mapping[str, object]", parts).items():
            if isinstance(part, dict):
                facts = cast("Mapping[str, object]", part)
                if facts.get("ok") is not True:
                    yield f"{name}: {facts.get('detail', 'not ok')}"
