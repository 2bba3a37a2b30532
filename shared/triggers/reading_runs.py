"""What all routes do that read runs: find them, show how one stands, and stream one."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Json
from shared.errors import BadRequest, BegunAnew, NotFound
from shared.service import Service
from shared.settings import Settings
from shared.triggers.door import own_url
from shared.web.responses import KEEP_ALIVE_SECONDS, RecordsResponse
from shared.wire.framing import encode_json
from shared.wire.protocol import stream_bytes
from shared.wire.run_body import approval_json, utc
from shared.wire.table import PROTOCOLS

if TYPE_CHECKING:
    from shared.runs.following import Report
    from shared.runs.registry import Runs

RETRY_AFTER_SECONDS = 5
"""When to ask again for a run that has not ended."""
NO_RUNS = "No answers are kept here: BATCH_BACKEND is 'off'."
"""What a route of runs answers where there are none."""


async def parts() -> "tuple[Service, Runs]":
    """Return the parts of the app, and its runs.

    Raises:
        NotFound: there are none.
    """
    runs = await app.get_runs()
    if runs is None:
        raise NotFound(NO_RUNS)
    return await app.get_service(), runs


def require_runs(_request: Request) -> None:
    """Raise NotFound if no answers are kept here."""
    if app.get_settings().batches == "off":
        raise NotFound(NO_RUNS)


def require_response(request: Request) -> None:
    """Raise NotFound, as OpenAI words it, if no answers are kept here."""
    if app.get_settings().batches == "off":
        raise no_response(request.path_params["id"])


def no_response(response_id: str) -> NotFound:
    """Return the error of a response that is not there."""
    return NotFound(f"Response with id '{response_id[:100]}' not found.")


def number_of(text: str | None) -> int:
    """Return the number of the last record that a client has read; -1: it has read none.

    Raises:
        BadRequest: it is no number.
    """
    if not text:
        return -1
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise BadRequest("starting_after: should be the number of a record, from 0.")
    return int(text)


async def followed(
    settings: Settings, runs: "Runs", owner: str, run_id: str, after: int = -1, *, numbered: bool = False
) -> Response:
    """Stream a run in its own protocol.

    Args:
        settings: The settings.
        runs: The runs of the app.
        owner: Who reads it.
        run_id: The run.
        after: Number of the last record that was read, from 0; -1: none was.
        numbered: Whether server-sent events get the numbers of their records as ids.

    Raises:
        BegunAnew: it begins anew, so that what was read of it does not count.
        SwitchboardError: it cannot be read.
    """
    standing = await runs.find(run_id, owner)
    if after >= 0 and standing.state.journal:
        raise BegunAnew
    await runs.followers.so_far(run_id, owner)
    asked, request = await runs.followers.request(run_id)
    protocol = PROTOCOLS[asked.protocol].with_errors_in(settings.messages_for)
    events = runs.followers.follow(run_id, owner, heartbeat=KEEP_ALIVE_SECONDS)
    headers = {"cache-control": "no-cache", "content-type": protocol.framing.content_type, **protocol.stream_headers}
    lines = stream_bytes(protocol, request, events, after=after, numbered=numbered)
    return RecordsResponse(lines, headers=headers)


def address_of(request: Request, settings: Settings, run_id: str) -> str:
    """Return the URL of a run. Those of the team's batch routes have theirs below the name that is known there."""
    path = "multi-agent-chat/batches" if "/multi-agent-chat/batch" in request.url.path else "runs"
    return f"{own_url(request, settings)}/{path}/{run_id}"


def shown(request: Request, settings: Settings, report: "Report") -> Response:
    """Show a run: its answer if it has ended, else how it stands.

    A run that has not ended is always a 202 with the same headers, and one that has ended never is: workflows of Logic
    Apps poll by the first, and end at anything else.
    """
    headers = {"cache-control": "no-store", "content-type": "application/json"}
    state, result, run_id = report.standing.state, report.standing.result, report.standing.run_id
    if result:
        return Response(bytes(result.body), result.status, headers)
    headers |= {"location": address_of(request, settings, run_id), "retry-after": str(RETRY_AFTER_SECONDS)}
    record: Json = {
        "id": run_id,
        "status": "waiting" if state.waits else "running" if state.runner else "queued",
        "created": utc(state.created),
        "messages": report.messages,
    }
    if state.waits:
        record["approvals"] = [approval_json(call) for call in report.calls]
    return Response(encode_json(record), 202, headers)
