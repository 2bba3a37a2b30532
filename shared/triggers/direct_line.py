"""Direct Line for Web Chat, without Azure Bot Service: the routes that a client needs who polls.

The token of a client is its own one for this app, as on all routes, and its conversations are its own.

Source: Microsoft, 'Direct Line API 3.0'; `botframework-directlinejs` 0.15.8.
"""

from functools import partial
from secrets import token_hex
from typing import Any

from starlette.responses import Response

from shared.chat_types import Json
from shared.errors import BadRequest, NotFound, Unavailable
from shared.triggers.door import Call, checked_first
from shared.triggers.reading_runs import parts, require_runs
from shared.web.responses import json_response
from shared.wire.described import BODY_ERRORS, Answer, Description, Parameter, describes

_TOKEN_SECONDS = 1800
_ID = Parameter("path", "id", "The conversation's id.")
_describes = partial(Description, tag="chat", visible=False)


@describes(_describes({200: Answer("A token and a conversation.", dict[str, Any])}))
async def give_token(call: Call) -> Response:
    """Get a token for Direct Line.

    It is the one that the caller has sent.
    """
    return _token(call, token_hex(16))


@describes(_describes({200: Answer("The same token.", dict[str, Any])}))
async def refresh_token(call: Call) -> Response:
    """Get the token for Direct Line again: it is valid as long as the caller's own."""
    return _token(call, "")


@describes(_describes({201: Answer("The conversation.", dict[str, Any])}, errors=(*BODY_ERRORS, NotFound, Unavailable)))
@checked_first(require_runs)
async def begin_conversation(call: Call) -> Response:
    """Begin a conversation of Direct Line.

    The app welcomes the user in it.
    """
    from shared.triggers.activity_messages import welcome

    conversation = token_hex(16)
    await welcome(call, conversation)
    return _token(call, conversation, 201)


@describes(_describes({200: Answer("The conversation.", dict[str, Any])}, (_ID,)))
async def find_conversation(call: Call) -> Response:
    """Go on with a conversation of Direct Line."""
    return _token(call, call.id)


@describes(
    _describes(
        {200: Answer("The activities, and the `watermark` for the next request.", dict[str, Any])},
        (_ID, Parameter("query", "watermark", "Where the activities begin: that of the response before.")),
        errors=(BadRequest, NotFound, Unavailable),
    )
)
@checked_first(require_runs)
async def get_activities(call: Call) -> Response:
    """Get what was said in a conversation of Direct Line."""
    from shared.runs.direct_line import DirectLine

    watermark = call.request.query_params.get("watermark") or "0"
    if not (watermark.isdecimal() and len(watermark) < 10):
        raise BadRequest("watermark: should be that of the response before.")
    _, runs = await parts()
    found, number = await DirectLine(runs.store, call.owner, call.id).since(int(watermark))
    if not (found or number):
        raise NotFound("There is no such conversation, or it was a day ago.")
    return json_response({"activities": [*found], "watermark": str(number)})


@describes(
    _describes(
        {200: Answer("The id of the activity.", dict[str, Any])},
        (_ID,),
        errors=(*BODY_ERRORS, NotFound, Unavailable),
        body="ActivityMessage",
    )
)
@checked_first(require_runs)
async def post_activity(call: Call) -> Response:
    """Say something in a conversation of Direct Line.

    The answer comes with the activities of the conversation.
    """
    from shared.triggers.activity_messages import post

    return await post(call)


def _token(call: Call, conversation: str, status: int = 200) -> Response:
    sent = call.request.headers.get("authorization", "").partition(" ")[2]
    told: Json = {"conversationId": conversation, "token": sent or "none", "expires_in": _TOKEN_SECONDS}
    return json_response(told, status=status)
