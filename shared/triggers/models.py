"""Routes that list what OpenAI's clients take for models: the app, and its team of agents."""

from azurefunctions.extensions.http.fastapi import Request, Response

from shared import app
from shared.chat_types import Json
from shared.triggers.errors import answering, json_response
from shared.wire.openai import OPENAI
from shared.wire.openai_body import MODELS, check_model


@answering
async def models(request: Request) -> Response:
    """`GET /v1/models`: all that a request may name as its `model`."""
    await _let_in(request)
    return json_response({"object": "list", "data": [_model(name) for name in MODELS]})


@answering
async def model(request: Request) -> Response:
    """`GET /v1/models/{id}`: one of them."""
    await _let_in(request)
    name = request.path_params["id"]
    check_model(name)
    return json_response(_model(name))


async def _let_in(request: Request) -> None:
    """Raise NotSignedIn if callers have to sign in and this one has not."""
    request.state.protocol = OPENAI
    service = await app.get_service()
    await service.identity.caller(request.headers)


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1, "owned_by": "switchboard"}
