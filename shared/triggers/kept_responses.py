"""Responses of OpenAI's protocol that are kept: how they are read, stopped and deleted."""

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic_core import from_json
from starlette.responses import Response

from shared.chat_types import Json
from shared.errors import BadRequest, NotFound, Stopped
from shared.triggers.door import Call, checked_first
from shared.triggers.reading_runs import followed, no_response, number_of, parts, require_response
from shared.web.responses import json_response

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from shared.runs.following import Standing
    from shared.runs.registry import Runs

_END_SECONDS = 5.0
"""How long a request waits for the end of a response that it stops; another process may store it."""
_PROTOCOL = "openai-responses"


@checked_first(require_response)
async def get_response(call: Call) -> Response:
    """Send a response, or the stream of it."""
    async with _found(call) as (runs, standing):
        if call.request.query_params.get("stream") == "true":
            after = number_of(call.request.query_params.get("starting_after"))
            return await followed(call.settings, runs, call.owner, standing.run_id, after)
        return await _response_of(runs, standing)


@checked_first(require_response)
async def list_input_items(call: Call) -> Response:
    """List the input of a response, newest first unless `order` is `asc`."""
    from shared.wire.openai_responses_references import input_items

    async with _found(call) as (runs, standing):
        _, body = await runs.request(standing.run_id, call.owner)
    items = input_items(body.json, call.id)
    if call.request.query_params.get("order") != "asc":
        items.reverse()
    ids = [item["id"] for item in items]
    ends: dict[str, Json] = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
    return json_response({"object": "list", "data": [*items], **ends, "has_more": False})


@checked_first(require_response)
async def cancel_response(call: Call) -> Response:
    """Stop a response that is made in the background."""
    async with _found(call) as (runs, standing):
        _, asked = await runs.followers.request(standing.run_id)
        if not asked.is_later:
            raise BadRequest("Cannot cancel a synchronous response.")
        if standing.result is None:
            await runs.stop(standing.run_id, call.owner)
        return await _response_of(runs, await runs.ended(standing.run_id, call.owner, _END_SECONDS))


@checked_first(require_response)
async def delete_response(call: Call) -> Response:
    """Stop a response, and delete all that is kept of it."""
    async with _found(call) as (runs, standing):
        await runs.delete(standing.run_id, call.owner)
    return json_response({"id": call.id, "object": "response", "deleted": True})


@asynccontextmanager
async def _found(call: Call) -> "AsyncGenerator[tuple[Runs, Standing]]":
    """Find a response, which may be gone later too. A run in another protocol is none."""
    _, runs = await parts()
    run_id = call.id.removeprefix("resp_")
    try:
        asked, _ = await runs.request(run_id, call.owner)
        if asked.protocol != _PROTOCOL:
            raise no_response(call.id)
        yield runs, await runs.find(run_id, call.owner)
    except NotFound:
        raise no_response(call.id) from None


async def _response_of(runs: "Runs", standing: "Standing") -> Response:
    from shared.wire.openai_responses import unfinished

    result = standing.result
    if result and result.status == 200:
        headers = {"cache-control": "no-store", "content-type": "application/json"}
        return Response(bytes(result.body), headers=headers)
    _, asked = await runs.followers.request(standing.run_id)
    if result is None:
        return json_response(unfinished(asked, "in_progress" if standing.state.runner else "queued"))
    status = "cancelled" if result.status == Stopped.status else "failed"
    return json_response(unfinished(asked, status, from_json(bytes(result.body))))
