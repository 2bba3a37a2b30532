"""The playground: its page, the page of the API, and the files that both load."""

import asyncio
import os
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

from shared import app
from shared.agents.definitions import Agents, Pattern, as_yaml
from shared.chat_types import Json, RequestContext
from shared.errors import NotConfigured, NotFound, TooSlow
from shared.identity import access_of
from shared.playground import static_files
from shared.playground.static_files import StaticFile
from shared.retrieval.topics import topics_of
from shared.settings import Settings
from shared.triggers.door import Call, checked_first
from shared.triggers.errors import deadline_of, json_response
from shared.web.byte_ranges import is_known

_OFF = "The playground is off here: PLAYGROUND=on turns it on."
_SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "vary": "Accept-Encoding"}
_PATIENCE = 10.0
"""Seconds for what there is to ask about."""
_STRICT = "; require-trusted-types-for 'script'; trusted-types dompurify playground"


def _require_on() -> Settings:
    try:
        settings = app.get_settings()
    except NotConfigured:
        # The page then says what is wrong; only whether it is on still has to be known.
        decisive = ("PLAYGROUND", "WEBSITE_SITE_NAME")
        settings = Settings.read({name: os.environ[name] for name in decisive if name in os.environ})
    if not settings.shows_playground:
        raise NotFound(_OFF)
    return settings


def _check_on(_request: Request) -> None:
    """Raise NotFound if the playground is off."""
    _require_on()


async def playground_page(request: Request) -> Response:
    """`GET /`: the page. Its address ends with a slash, since all that it loads is relative to it.

    Raises:
        NotFound: the playground is off.
    """
    return await _page(request, "index.html", _STRICT)


async def api_page(request: Request) -> Response:
    """`GET /docs`: the OpenAPI document as a page.

    Swagger UI writes HTML without Trusted Types. It is given nothing but this app's own document.
    """
    return await _page(request, "docs.html")


async def _page(request: Request, name: str, more_policy: str = "") -> Response:
    """Answer with a page.

    Args:
        request: For its path, its `If-None-Match` and what it accepts.
        name: The page's file.
        more_policy: What its security policy says beside what both pages' say.
    """
    settings = _require_on()
    path = request.url.path
    if path.endswith("/") == (name != "index.html"):
        last = path.rstrip("/").rpartition("/")[2]
        return Response(status_code=307, headers={"location": f"../{last}" if path.endswith("/") else f"{last}/"})
    about = static_files.about_json(
        {
            "auth_mode": settings.auth_mode,
            "quotes_only": not (settings.openai_chat_model or settings.azure_openai_chat_deployment),
            "client_id": settings.auth_client_id,
            "authority": f"{settings.auth_authority.rstrip('/')}/{settings.auth_tenant_id}",
        }
    )
    page = await asyncio.to_thread(static_files.page, name, about)
    response = _response(request, page)
    response.headers["content-security-policy"] = _policy(settings) + more_policy
    response.headers["cache-control"] = "no-cache"
    return response


async def playground_file(request: Request) -> Response:
    """`GET /playground/{digest}/{path}`: a file that a page loads."""
    _require_on()
    found = None
    if request.path_params["digest"] == await asyncio.to_thread(static_files.digest):
        found = await asyncio.to_thread(static_files.find, str(request.path_params.get("path") or ""))
    if found is None:
        raise NotFound("The playground has no such file. Reload the page: it may be of an earlier version.")
    response = _response(request, found)
    response.headers["cache-control"] = "public, max-age=31536000, immutable"
    return response


@checked_first(_check_on)
async def playground_agents(call: Call) -> Response:
    """`GET /playground/team`: the team as it is defined, with its instructions, for callers who may ask it."""
    # What is behind the agents is for whoever runs the app: addresses, and the names of settings.
    team = Agents(team=call.service.agents.team, agents=call.service.agents.agents)
    return json_response(
        {
            **team.model_dump(mode="json"),
            "patterns": [pattern.value for pattern in Pattern],
            "yaml": await asyncio.to_thread(as_yaml, team),
        }
    )


@checked_first(_check_on)
async def playground_begin(call: Call) -> Response:
    """`GET /playground/begin`: topics of the documents that the caller may see, how many there are, and who answers."""
    service, settings = call.service, call.settings
    deadline = deadline_of(call.request, _PATIENCE)
    context = RequestContext(call.invocation_id, deadline, call.caller, access_of(call.caller, settings))
    try:
        async with asyncio.timeout_at(context.deadline):
            topics = await topics_of(service.documents, service.retriever, context)
            facts = (await service.retriever.check()).facts
    except TimeoutError as exc:
        raise TooSlow("The documents took too long to read. Try again.") from exc
    return json_response(
        {
            "topics": list[Json](topics),
            "documents": None if context.access else facts.get("documents"),
            "model": settings.azure_openai_chat_deployment or settings.openai_chat_model,
        }
    )


def _response(request: Request, file: StaticFile) -> Response:
    is_gzipped = parse_accept_header(request.headers.get("accept-encoding"), Accept)["gzip"] > 0
    tag = f'"{file.digest}{"-gzip" if is_gzipped else ""}"'
    headers = {**_SAFE, "etag": tag}
    if is_known(request.headers, tag):
        return Response(status_code=304, headers=headers)
    if is_gzipped:
        headers["content-encoding"] = "gzip"
    return Response(file.gzipped if is_gzipped else file.data, headers=headers, media_type=file.media_type)


def _policy(settings: Settings) -> str:
    """What a page may load and do (Content Security Policy, level 3; Trusted Types): nothing from elsewhere."""
    authority = urlsplit(settings.auth_authority)
    sign_in = f" {authority.scheme}://{authority.netloc}" if settings.auth_mode == "bearer" else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
        f"connect-src 'self'{sign_in}; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
