"""What all routes do that read runs: find them, and stream one."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.errors import BadRequest, BegunAnew, NotFound
from shared.service import Service
from shared.settings import Settings
from shared.web.responses import KEEP_ALIVE_SECONDS, RecordsResponse
from shared.wire.protocol import stream_bytes
from shared.wire.table import PROTOCOLS

if TYPE_CHECKING:
    from shared.runs.registry import Runs

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
