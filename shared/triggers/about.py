"""Routes about the app itself: health, OpenAPI and Swagger documents, and what OpenAI's clients take for models."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Json
from shared.description import openapi_json, swagger_json
from shared.errors import NotConfigured, NotFound
from shared.runtime.features import is_there
from shared.settings import Settings
from shared.triggers.budget import address_of
from shared.triggers.door import Call
from shared.web.public_url import known_url
from shared.web.responses import json_response
from shared.wire.table import PROTOCOLS


async def get_health(request: Request) -> Response:
    """Get the health of the app.

    Whether the app can answer, and which part cannot.
    """
    try:
        service = await app.get_service()
    except NotConfigured as error:
        return json_response({"status": "unavailable", "error": error.message, "parts": {}}, status=error.status)
    parts = await service.check()
    if service.settings.batches == "queue" and (runs := await app.get_runs()):
        parts["batches"] = await runs.check()
    header = service.settings.address_header
    usable = all(part.ok for part in parts.values() if part.needed)
    whole = all(part.ok for part in parts.values())
    body: dict[str, Json] = {
        "status": "ok" if whole else "degraded" if usable else "unavailable",
        "protocols": list[Json](PROTOCOLS),
        "caller": {"address": address_of(request, header), "header": header or ""},
        "parts": {
            name: {"kind": part.kind, "ok": part.ok, "detail": part.detail, **part.facts}
            for name, part in parts.items()
        },
    }
    return json_response(body, status=200 if usable else 503)


async def get_openapi(request: Request) -> Response:  # noqa: ARG001 (the same for all)
    """This description in OpenAPI 3.1.

    What the app offers, for tools.
    """
    document = await asyncio.to_thread(openapi_json, _auth_mode(app.valid_settings()))
    return Response(document, media_type="application/json")


async def get_swagger(request: Request) -> Response:  # noqa: ARG001 (the same for all)
    """This description in Swagger 2.0.

    What the app offers, for tools.
    """
    settings = app.valid_settings()
    # The host is named only if it is known for certain; a request header could be forged.
    url = known_url(settings.public_url if settings else None)
    document = await asyncio.to_thread(swagger_json, _auth_mode(settings), url)
    return Response(document, media_type="application/json")


def _auth_mode(settings: Settings | None) -> str:
    """`AUTH_MODE`; `none` if the settings are invalid, so that the documents are still served."""
    return settings.auth_mode if settings else "none"


async def list_models(call: Call) -> Response:
    """List all that a request may name as its `model`."""
    names = _models(call)
    return json_response({"object": "list", "data": [_model(name) for name in names]})


async def get_model(call: Call) -> Response:
    """Get one of them."""
    names, name = _models(call), call.id
    if name not in names:
        raise NotFound(f"model: there is none of that name here. There are: {', '.join(names)}.")
    return json_response(_model(name))


def _models(call: Call) -> list[str]:
    """Return the names of the models."""
    from shared.wire.openai_request import models_of

    return models_of([agent.name for agent in call.service.agents.agents] if is_there("agents") else [])


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1, "owned_by": "switchboard"}
