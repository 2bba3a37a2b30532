"""Routes of the bot: `POST /messages`, where Azure Bot Service sends what is said to it, and Direct Line for Web Chat.

Direct Line needs no bot service: a client polls it. Its token is the client's own one for this app, as on all routes,
and its conversations are its own. What reads activities is imported late. `tools/description/own_routes.py` describes
the routes.

Source: Microsoft, 'Direct Line API 3.0'; `botframework-directlinejs` 0.15.8.
"""

from secrets import token_hex

from starlette.requests import Request
from starlette.responses import Response

from shared.chat_types import Json
from shared.errors import BadRequest, NotFound
from shared.triggers.door import Call, checked_first
from shared.triggers.reading_runs import parts, require_runs
from shared.web.responses import json_response

_TOKEN_SECONDS = 1800


async def take_activity(request: Request) -> Response:
    """Take an activity of Azure Bot Service, with the service's own token."""
    from shared.triggers.activity_messages import take

    return await take(request)


async def give_token(call: Call, conversation: str = "", status: int = 200) -> Response:
    """Give a client of Direct Line the token that it has sent, for its conversation or a new one."""
    sent = call.request.headers.get("authorization", "").partition(" ")[2]
    name = conversation or call.request.path_params.get("id") or token_hex(16)
    told: Json = {"conversationId": name, "token": sent or "none", "expires_in": _TOKEN_SECONDS}
    return json_response(told, status=status)


@checked_first(require_runs)
async def begin_conversation(call: Call) -> Response:
    """Begin a conversation of Direct Line."""
    from shared.triggers.activity_messages import welcome

    conversation = token_hex(16)
    await welcome(call, conversation)
    return await give_token(call, conversation, 201)


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


@checked_first(require_runs)
async def post_activity(call: Call) -> Response:
    """Say something in a conversation of Direct Line."""
    from shared.triggers.activity_messages import post

    return await post(call)
