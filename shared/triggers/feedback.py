"""Routes of feedback: say what an answer is worth, and read what others said."""

from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Caller, Json
from shared.errors import NotAllowed, NotFound
from shared.history import owner_of
from shared.identity import may_read_verdicts
from shared.service import Service
from shared.triggers.budget import admit
from shared.triggers.errors import answering, deadline_of, json_response
from shared.verdicts import VerdictStore
from shared.web.receiving import read_body
from shared.wire import feedback_body as bodies
from shared.wire.request_body import JsonReader


@answering
async def give_feedback(request: Request) -> Response:
    """`POST /feedback`: keep what the caller says of an answer, in place of what the caller said before."""
    service, caller, verdicts = await _verdicts(request)
    with ExitStack() as held:
        deadline = deadline_of(request, service.settings.chat_deadline_seconds)
        body = await read_body(request, partial(JsonReader, example=bodies.FEEDBACK_EXAMPLE), deadline, held)
        answer_id, verdict = bodies.parse_feedback(body.json, datetime.now(UTC))
    is_first = await verdicts.judge(owner_of(caller), answer_id, verdict)
    return json_response(bodies.verdict_json(answer_id, verdict), status=201 if is_first else 200)


@answering
async def list_feedback(request: Request) -> Response:
    """`GET /feedback`: what callers said of answers, the newest answers first, a page at a time."""
    service, caller, verdicts = await _verdicts(request)
    if not may_read_verdicts(caller, service.settings):
        raise NotAllowed("You may not read what others say of answers. FEEDBACK_READERS says who may.")
    limit, after = bodies.read_verdicts_page(request.query_params)
    found = await verdicts.page(limit + 1, after)
    listed: list[Json] = [bodies.judged_json(one) for one in found[:limit]]
    response = json_response({"feedback": listed})
    if len(found) > limit:
        following = urlencode({"limit": limit, "after": found[limit - 1].answer.id})
        response.headers["link"] = f'<?{following}>; rel="next"'
    return response


async def _verdicts(request: Request) -> tuple[Service, Caller, VerdictStore]:
    """Return the service, the caller, and the store of verdicts.

    Raises:
        NotFound: there is none.
    """
    service = await app.get_service()
    caller = await service.identity.caller(request.headers)
    admit(request, service, caller, spends=False)
    if service.verdicts is None:
        raise NotFound("This app keeps no answers, so none can be judged: HISTORY_BACKEND is 'off'.")
    return service, caller, service.verdicts
