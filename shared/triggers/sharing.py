"""Routes of shared chats: copies that everybody may read who signs in."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field
from starlette.responses import Response

from shared.documents.own import MINE
from shared.errors import BadRequest, NotAllowed, NotFound, TooLarge
from shared.history import HistoryStore
from shared.history.sharing import read_shared, share, stop_sharing
from shared.triggers.chat_history import CHAT_ID, of_history
from shared.triggers.door import Call
from shared.web.responses import json_response
from shared.wire.described import Answer, Parameter, Time, describes
from shared.wire.history_body import shared_json


class ChatLink(TypedDict):
    """Where a shared chat is."""

    id: str
    url: Annotated[str, Field(description="The address of its copy.")]


class SharedMessage(TypedDict):
    """A message of a shared chat."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: str
    citations: Annotated[list[str], Field(description="The sources that it cites, without documents of one's own.")]
    agentName: NotRequired[str]
    finishReason: NotRequired[str]


class SharedChat(TypedDict):
    """A copy of a chat, as it was when it was shared."""

    id: str
    title: Annotated[str, Field(description="The beginning of its first question.")]
    shared: Time
    messages: list[SharedMessage]


_ERRORS = (BadRequest, NotFound, NotAllowed, TooLarge)


@describes(of_history({201: Answer("The link.", ChatLink)}, (CHAT_ID,), errors=_ERRORS))
async def share_chat(call: Call) -> Response:
    """Share a chat.

    Makes a copy of the chat as it is now, which everybody who signs in can read who has its link. A second time brings
    the copy up to date; its link stays.
    """
    link = await share(_history(call), call.owner, call.id, MINE)
    return json_response({"id": link, "url": f"{call.own_url}/shared/{link}"}, status=201)


@describes(of_history({204: Answer("The chat is not shared.")}, (CHAT_ID,), errors=_ERRORS))
async def stop_sharing_chat(call: Call) -> Response:
    """Stop sharing a chat.

    Deletes the copy. The chat stays, and has another link if it is shared again.
    """
    history = _history(call)
    await history.messages(call.owner, call.id, newest=1)  # another's is not found
    await stop_sharing(history, call.owner, call.id)
    return Response(status_code=204)


@describes(
    of_history(
        {200: Answer("The copy.", SharedChat)}, (Parameter("path", "id", "The id of its link."),), errors=_ERRORS
    )
)
async def get_shared_chat(call: Call) -> Response:
    """Read a shared chat.

    Also one that another caller has shared.
    """
    return json_response(shared_json(*await read_shared(_history(call), call.id)))


def _history(call: Call) -> HistoryStore:
    """Return the history store; raise NotAllowed if nobody signs in here, so that all would be everybody."""
    if call.caller.id is None:
        raise NotAllowed("Nobody signs in here, so chats cannot be shared with those who do: set AUTH_MODE.")
    return call.service.history
