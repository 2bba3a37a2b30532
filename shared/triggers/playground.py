"""The playground: its page, and the files that the page loads."""

import asyncio
from urllib.parse import urlsplit

from azurefunctions.extensions.http.fastapi import Request, Response

from shared import app
from shared.agents.definitions import Pattern, as_yaml
from shared.errors import NotFound
from shared.playground import static_files
from shared.playground.static_files import StaticFile
from shared.settings import Settings
from shared.triggers.errors import answering, json_response

_OFF = "The playground is off here: PLAYGROUND=on turns it on."
_SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "vary": "Accept-Encoding"}


async def playground_page(request: Request) -> Response:
    """`GET /`: the page. Its address ends with a slash, since all that it loads is relative to it.

    Raises:
        NotFound: the playground is off.
    """
    settings = _require_on()
    path = request.url.path
    if not path.endswith("/"):
        return Response(status_code=307, headers={"location": f"{path.rpartition('/')[2]}/"})
    about = static_files.about_json(
        {
            "auth_mode": settings.auth_mode,
            "client_id": settings.auth_client_id,
            "authority": f"{settings.auth_authority}/{settings.auth_tenant_id}",
        }
    )
    page = await asyncio.to_thread(static_files.page, about)
    response = _response(request, page)
    response.headers["content-security-policy"] = _policy(settings)
    response.headers["cache-control"] = "no-cache"
    return response


@answering
async def playground_file(request: Request) -> Response:
    """`GET /playground/{digest}/{path}`: a file that the page loads."""
    _require_on()
    found = None
    if request.path_params["digest"] == await asyncio.to_thread(static_files.digest):
        found = await asyncio.to_thread(static_files.find, str(request.path_params.get("path") or ""))
    if found is None:
        raise NotFound("The playground has no such file. Reload the page: it may be of an earlier version.")
    response = _response(request, found)
    response.headers["cache-control"] = "public, max-age=31536000, immutable"
    return response


@answering
async def playground_agents(request: Request) -> Response:
    """`GET /playground/team`: the team as it is defined, with its instructions, for callers who may ask it."""
    _require_on()
    service = await app.get_service()
    await service.identity.caller(request.headers)
    team = service.agents
    response = json_response(
        {
            **team.model_dump(mode="json"),
            "patterns": [pattern.value for pattern in Pattern],
            "yaml": await asyncio.to_thread(as_yaml, team),
        }
    )
    response.headers["cache-control"] = "no-store"
    return response


def _require_on() -> Settings:
    settings = app.get_settings()
    if not settings.shows_playground:
        raise NotFound(_OFF)
    return settings


def _response(request: Request, file: StaticFile) -> Response:
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.gzipped, headers={**_SAFE, "content-encoding": "gzip"}, media_type=file.media_type)
    return Response(file.data, headers=_SAFE, media_type=file.media_type)


def _policy(settings: Settings) -> str:
    """What the page may load and do (Content Security Policy, level 3; Trusted Types): nothing from elsewhere."""
    authority = urlsplit(settings.auth_authority)
    sign_in = f" {authority.scheme}://{authority.netloc}" if settings.auth_mode == "bearer" else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
        f"connect-src 'self'{sign_in}; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types dompurify playground"
    )
