"""Routes of feedback: say what an answer is worth, and read what others said."""

from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from starlette.responses import Response

from shared.chat_types import Json
from shared.errors import NotAllowed, NotFound
from shared.identity import is_among
from shared.settings.derived import callers_named
from shared.triggers.door import Call
from shared.verdicts import VerdictStore
from shared.web.responses import json_response
from shared.wire import feedback_body as bodies
from shared.wire.request_body import JsonReader


async def give_feedback(call: Call) -> Response:
    """Say whether an answer is good.

    The id is `context.answer_id`, or the answer's `id` in OpenAI's protocols, or its message's in AG-UI and the AI SDK.
    A second time replaces the first.
    """
    verdicts = _verdicts(call)
    body = await call.read(partial(JsonReader, example=bodies.FEEDBACK_EXAMPLE))
    answer_id, verdict = bodies.parse_feedback(body.json, datetime.now(UTC))
    is_first = await verdicts.judge(call.owner, answer_id, verdict)
    return json_response(bodies.verdict_json(answer_id, verdict), status=201 if is_first else 200)


async def list_feedback(call: Call) -> Response:
    """List what was said of answers.

    Of the newest answers first, for those whom `FEEDBACK_READERS` names. If there are more, the header `Link` names the
    next page.
    """
    verdicts = _verdicts(call)
    if not is_among(call.caller, callers_named(call.settings.feedback_readers)):
        raise NotAllowed("You may not read what others say of answers. FEEDBACK_READERS says who may.")
    limit, after = bodies.read_verdicts_page(call.request.query_params)
    found = await verdicts.page(limit + 1, after)
    listed: list[Json] = [bodies.judged_json(one) for one in found[:limit]]
    following = urlencode({"limit": limit, "after": found[limit - 1].answer.id}) if len(found) > limit else ""
    return json_response({"feedback": listed}, following=following)


def _verdicts(call: Call) -> VerdictStore:
    """Return the store of verdicts; raise NotFound if there is none."""
    if call.service.verdicts is None:
        raise NotFound("This app keeps no answers, so none can be judged: HISTORY_BACKEND is 'off'.")
    return call.service.verdicts
