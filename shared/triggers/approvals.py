"""Approvals: the calls of tools that wait for a person's consent, for who asked and for approvers.

An approver, a queue or a workflow decides here; who asked can decide in the chat as well (`consent`).
"""

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Decision, Json
from shared.errors import BadRequest
from shared.identity import is_among
from shared.settings.derived import callers_named
from shared.tools.calls import no_such_approval
from shared.triggers.door import Call, checked_first
from shared.triggers.reading_runs import parts, require_runs
from shared.web.responses import json_response
from shared.wire import run_body as bodies
from shared.wire.request_body import JsonReader, read_limit

if TYPE_CHECKING:
    from shared.runs.approvals import Approval as KeptApproval
    from shared.runs.approvals import Decider
    from shared.runs.registry import Runs


def _to_page(request: Request) -> Response | None:
    """Redirect a browser to the playground's page of an approval, if the playground is on."""
    if app.get_settings().page != "off" and _is_browser(request):
        headers = {"location": f"../#/approvals/{quote(_id_of(request), safe='')}", "vary": "Accept"}
        return Response(status_code=303, headers=headers)
    return require_runs(request)


@checked_first(require_runs)
async def list_approvals(call: Call) -> Response:
    """List the calls of tools that wait for consent.

    Those that the caller has asked for; for approvers (`APPROVERS`) those of all.
    """
    from shared.runs.approvals import MOST_LISTED, list_approvals

    runs, decider = await _parts(call)
    query = call.request.query_params
    limit, after, state = read_limit(query, MOST_LISTED), query.get("after", ""), query.get("state", "open")
    if state not in ("open", "decided"):
        raise BadRequest("state: should be open or decided.")
    listed, end = await list_approvals(runs.consents.store, decider, limit, after, decided=state == "decided")
    return json_response({"approvals": [_json_of(one) for one in listed], "next": end})


@checked_first(_to_page)
async def get_approval(call: Call) -> Response:
    """Get an approval.

    How it stands, and what has come of the call.
    """
    from shared.runs.approvals import find_approval

    runs, decider = await _parts(call)
    return json_response(_json_of(await find_approval(runs.consents.store, _id_of(call.request), decider)))


@checked_first(require_runs)
async def decide_approval(call: Call) -> Response:
    """Agree to a call of a tool, or refuse it.

    The answer that waits for it goes on. The same decision again changes nothing; another is a 409.
    """
    runs, decider = await _parts(call)
    body = await call.read(partial(JsonReader, bodies.LONGEST_DECISION, bodies.DECISION_EXAMPLE))
    decided = bodies.ApprovalDecision.read(body.json)
    decision = Decision(decided.approved, approval_id=_id_of(call.request), reason=decided.reason)
    approval = await runs.consents.decide(decision, decider, here=False)
    if approval is None:
        raise no_such_approval()
    return json_response(_json_of(approval))


async def _parts(call: Call) -> "tuple[Runs, Decider]":
    from shared.runs.approvals import Decider
    from shared.runs.records import digest

    _, runs = await parts()
    is_approver = is_among(call.caller, callers_named(call.settings.approvers))
    return runs, Decider(digest(call.owner), call.owner, is_approver=is_approver)


def _id_of(request: Request) -> str:
    return request.path_params["id"].replace("-", "").lower()


def _is_browser(request: Request) -> bool:
    """Whether a person opens the address: a link in a message leads to it, and carries no sign-in."""
    return request.headers.get("accept", "").lower().startswith("text/html")


def _json_of(approval: "KeptApproval") -> dict[str, Json]:
    """Write an approval. An approver who has not asked sees the call and the asker, and nothing else of the chat."""
    call = approval.call
    shown: dict[str, Json] = {
        **bodies.approval_json(call),
        "asker": approval.asker,
        "decided_by": call.decided_by or None,
        "reason": call.reason or None,
    }
    if approval.is_own:
        shown["run"], shown["result"] = approval.run_id, call.result.text if call.result else None
    return shown
