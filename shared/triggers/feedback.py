"""Routes of feedback: say what an answer is worth, and read what others said."""

from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from starlette.responses import Response

from shared.chat_types import Json
from shared.errors import NotAllowed, NotFound
from shared.identity import may_read_verdicts
from shared.triggers.door import Call
from shared.triggers.errors import json_response
from shared.verdicts import VerdictStore
from shared.wire import feedback_body as bodies
from shared.wire.request_body import JsonReader


async def give_feedback(call: Call) -> Response:
    """`POST /feedback`: keep what the caller says of an answer, in place of what the caller said before."""
    verdicts = _verdicts(call)
    body = await call.read(partial(JsonReader, example=bodies.FEEDBACK_EXAMPLE))
    answer_id, verdict = bodies.parse_feedback(body.json, datetime.now(UTC))
    is_first = await verdicts.judge(call.owner, answer_id, verdict)
    return json_response(bodies.verdict_json(answer_id, verdict), status=201 if is_first else 200)


async def list_feedback(call: Call) -> Response:
    """`GET /feedback`: what callers said of answers, the newest answers first, a page at a time."""
    verdicts = _verdicts(call)
    if not may_read_verdicts(call.caller, call.settings):
        raise NotAllowed("You may not read what others say of answers. FEEDBACK_READERS says who may.")
    limit, after = bodies.read_verdicts_page(call.request.query_params)
    found = await verdicts.page(limit + 1, after)
    listed: list[Json] = [bodies.judged_json(one) for one in found[:limit]]
    response = json_response({"feedback": listed})
    if len(found) > limit:
        following = urlencode({"limit": limit, "after": found[limit - 1].answer.id})
        response.headers["link"] = f'<?{following}>; rel="next"'
    return response


def _verdicts(call: Call) -> VerdictStore:
    """Return the store of verdicts.

    Raises:
        NotFound: there is none.
    """
    if call.service.verdicts is None:
        raise NotFound("This app keeps no answers, so none can be judged: HISTORY_BACKEND is 'off'.")
    return call.service.verdicts
