"""Runs as operators see them: what goes on, waits or has failed, whoever asked. Nothing of a chat is shown."""

import asyncio
import time
from contextlib import suppress
from itertools import batched

from shared.chat_types import Json
from shared.errors import BadRequest, InternalError
from shared.history import owner_of
from shared.runs import ObjectStore, records
from shared.runs.approvals import run_of, waiting_calls
from shared.runs.claim import FAILED, GOING, read_request, read_result, read_state
from shared.tools.calls import KeptCall
from shared.wire.run_body import utc

STATES = ("queued", "running", "stuck", "waiting", "failed")
"""How a run of the list can stand; `stuck`: nobody works on it, though somebody should."""
_AT_ONCE = 16
"""How many runs are read at a time."""


async def list_runs(store: ObjectStore, state: str, limit: int, after: str) -> tuple[list[dict[str, Json]], str | None]:
    """Return a page of the runs in a state (empty: in any), the oldest of the page first, and where it ends.

    Pages are in the order of the ids, and begin `after` the end of the page before; None: it is the last.

    Raises:
        BadRequest: there is no such state, or no page ends there.
    """
    if state not in ("", *STATES) or (after and not records.is_run_id(after)):
        raise BadRequest(f"state: should be one of {', '.join(STATES)}; after: the `next` of the page before.")
    folders = {"failed": (FAILED,), "waiting": ("open/",)}.get(state, (FAILED, "open/", GOING))
    names = [name for folder in folders async for name in store.names(folder)]
    ids = {await run_of(store, name[-32:]) if name.startswith("open/") else name.rpartition("/")[2] for name in names}
    found, end = list[dict[str, Json]](), None
    for some in batched(sorted(run_id for run_id in ids if run_id and run_id > after), _AT_ONCE, strict=False):
        read = await asyncio.gather(*(_read(store, run_id) for run_id in some))
        found += [one for one in read if one and state in ("", one["state"])]
        if len(found) > limit:
            found, end = found[:limit], str(found[limit - 1]["id"])
            break
    return sorted(found, key=lambda one: str(one["created"])), end


async def _read(store: ObjectStore, run_id: str) -> dict[str, Json] | None:
    """Read a run; None: it has ended otherwise than with a fault, or is gone."""
    state, result, now = await read_state(store, run_id), await read_result(store, run_id), time.time()
    if state is None or not state.is_readable(now) or (result and result.status < 500):
        return None
    how = "failed" if result else "stuck" if state.is_stale(now) else "waiting" if state.waits else ""
    wire, owner, calls = "", "", dict[str, KeptCall]()
    with suppress(InternalError):  # it cannot be read: its run fails
        request, _ = await read_request(store, run_id)
        wire, owner = request.protocol, owner_of(request.caller)
        calls = await waiting_calls(store, run_id) if how == "waiting" else calls
    return {
        "id": run_id,
        "state": how or ("running" if state.runner else "queued"),
        "wire": wire,
        "owner": owner,
        "created": utc(state.created),
        "updated": utc(max(state.beat, state.created)),
        "age": round(now - state.created),
        "waits_for": [f"{call.server}.{call.tool}" for call in calls.values()],
    }
