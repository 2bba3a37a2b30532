"""Routes of shared chats: copies that everybody may read who signs in."""

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.documents.own import MINE
from shared.errors import NotAllowed
from shared.history import HistoryStore, owner_of
from shared.history.sharing import read_shared, share, stop_sharing
from shared.triggers.asking import own_url
from shared.triggers.budget import admit
from shared.triggers.errors import answering, json_response
from shared.wire.history_body import shared_json


@answering
async def share_chat(request: Request) -> Response:
    """`POST /chat-history/{id}/share`: let everybody who signs in read the chat as it is now."""
    history, owner = await _history(request)
    link = await share(history, owner, request.path_params["id"], MINE)
    return json_response({"id": link, "url": f"{own_url(request, app.get_settings())}/shared/{link}"}, status=201)


@answering
async def stop_sharing_chat(request: Request) -> Response:
    """`DELETE /chat-history/{id}/share`: let nobody read it any more."""
    history, owner = await _history(request)
    await history.messages(owner, request.path_params["id"], newest=1)  # another's is not found
    await stop_sharing(history, owner, request.path_params["id"])
    return Response(status_code=204)


@answering
async def shared_chat(request: Request) -> Response:
    """`GET /shared/{id}`: a shared chat."""
    history, _ = await _history(request)
    response = json_response(shared_json(*await read_shared(history, request.path_params["id"])))
    response.headers["cache-control"] = "no-store"
    return response


async def _history(request: Request) -> tuple[HistoryStore, str]:
    """Return the history store, and the owner name of the caller's chats.

    Raises:
        NotAllowed: nobody signs in here, so all would be everybody.
    """
    service = await app.get_service()
    caller = await service.identity.caller(request.headers)
    admit(request, service, caller, spends=False)
    if caller.id is None:
        raise NotAllowed("Nobody signs in here, so chats cannot be shared with those who do: set AUTH_MODE.")
    return service.history, owner_of(caller)
