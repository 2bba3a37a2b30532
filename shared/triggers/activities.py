"""Activities: `POST /messages`, where Azure Bot Service sends what is said to the bot. What reads them comes late."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shared.errors import InternalError, NotAllowed, NotFound, NotSignedIn, RateLimited, Unavailable
from shared.wire.described import BODY_ERRORS, Answer, Description, describes

_ERRORS = (*BODY_ERRORS, NotFound, NotSignedIn, NotAllowed, RateLimited, InternalError, Unavailable)


@describes(
    Description(
        {
            200: Answer("What is said, where the activity wants it in the response, or the result of an invoke.", Any),
            202: Answer("It is taken. What is said is sent to the conversation."),
        },
        errors=_ERRORS,
        tag="chat",
        visible=False,
        body="ActivityMessage",
    )
)
async def take_activity(request: Request) -> Response:
    """Take an activity of Azure Bot Service.

    For Teams, Microsoft 365 Copilot and other channels, with the service's own token. A question is answered in its
    conversation.
    """
    from shared.triggers.activity_messages import take

    return await take(request)
