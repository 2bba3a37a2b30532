"""Routes of shared chats: copies that everybody may read who signs in."""

from starlette.responses import Response

from shared.documents.own import MINE
from shared.errors import NotAllowed
from shared.history import HistoryStore
from shared.history.sharing import read_shared, share, stop_sharing
from shared.triggers.door import Call
from shared.triggers.errors import json_response
from shared.wire.history_body import shared_json


async def share_chat(call: Call) -> Response:
    """`POST /chat-history/{id}/share`: let everybody who signs in read the chat as it is now."""
    link = await share(_history(call), call.owner, call.id, MINE)
    return json_response({"id": link, "url": f"{call.own_url}/shared/{link}"}, status=201)


async def stop_sharing_chat(call: Call) -> Response:
    """`DELETE /chat-history/{id}/share`: let nobody read it any more."""
    history = _history(call)
    await history.messages(call.owner, call.id, newest=1)  # another's is not found
    await stop_sharing(history, call.owner, call.id)
    return Response(status_code=204)


async def shared_chat(call: Call) -> Response:
    """`GET /shared/{id}`: a shared chat."""
    return json_response(shared_json(*await read_shared(_history(call), call.id)))


def _history(call: Call) -> HistoryStore:
    """Return the history store.

    Raises:
        NotAllowed: nobody signs in here, so all would be everybody.
    """
    if call.caller.id is None:
        raise NotAllowed("Nobody signs in here, so chats cannot be shared with those who do: set AUTH_MODE.")
    return call.service.history
