"""The routes of the app itself: its health and its description."""

import asyncio

from azurefunctions.extensions.http.fastapi import Request, Response

from shared import app
from shared.chat_types import Json
from shared.description.documents import openapi_json, swagger_json
from shared.errors import NotConfigured
from shared.triggers.errors import answering, json_response
from shared.triggers.warm_up import warm_up_soon
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
    return Response(await asyncio.to_thread(openapi_json), media_type="application/json")


@answering
async def swagger(_request: Request) -> Response:
    """`GET /swagger.json`: the same in Swagger 2.0."""
    return Response(await asyncio.to_thread(swagger_json), media_type="application/json")
