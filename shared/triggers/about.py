"""The routes of the app itself: its health and its description."""

import asyncio
import os
from functools import cache

from azurefunctions.extensions.http.fastapi import Request, Response

from shared import app
from shared.chat_types import Json
from shared.errors import NotConfigured
from shared.triggers.errors import answering, json_response
from shared.triggers.warm_up import warm_up_soon
from shared.wire.framing import encode_json
from shared.wire.table import PROTOCOLS


@answering
async def health(_request: Request) -> Response:
    """`GET /health`: 200 when every part that answers need can be used, else 503; the body says which and why."""
    try:
        service = await app.get_service()
    except NotConfigured as error:
        return json_response({"status": "unavailable", "error": error.message, "parts": {}}, status=error.status)
    parts = await service.check()
    warm_up_soon()
    usable = all(part.ok for part in parts.values() if part.needed)
    whole = all(part.ok for part in parts.values())
    body: dict[str, Json] = {
        "status": "ok" if whole else "degraded" if usable else "unavailable",
        "protocols": list[Json](PROTOCOLS),
        "parts": {
            name: {"kind": part.kind, "ok": part.ok, "detail": part.detail, **part.facts}
            for name, part in parts.items()
        },
    }
    return json_response(body, status=200 if usable else 503)


@answering
async def openapi(_request: Request) -> Response:
    """`GET /openapi.json`: what the app offers, in OpenAPI 3.1."""
    return Response(await asyncio.to_thread(_openapi_json, _callers_sign_in()), media_type="application/json")


@answering
async def swagger(_request: Request) -> Response:
    """`GET /swagger.json`: the same in Swagger 2.0."""
    return Response(await asyncio.to_thread(_swagger_json, _callers_sign_in()), media_type="application/json")


def _callers_sign_in() -> bool:
    """Whether callers have to sign in. The documents are there even where the settings are wrong: then no."""
    try:
        return app.get_settings().auth_mode != "none"
    except NotConfigured:
        return False


@cache
def _openapi_json(signed_in: bool) -> bytes:
    """The OpenAPI document, built once. That takes a while: call it in a thread."""
    from shared.description.openapi import build_openapi

    return encode_json(build_openapi(signed_in=signed_in))


@cache
def _swagger_json(signed_in: bool) -> bytes:
    """The Swagger document, built once. Its host is `WEBSITE_HOSTNAME`, which the platform sets and no caller can."""
    from shared.description.openapi import build_openapi
    from shared.description.swagger import to_swagger

    return encode_json(to_swagger(build_openapi(signed_in=signed_in), os.environ.get("WEBSITE_HOSTNAME")))
