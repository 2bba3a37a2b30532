"""Responses of OpenAI's protocol that are kept: what requests refer to, and how they are read, stopped and deleted."""

import asyncio
import re
from typing import TYPE_CHECKING, cast

from pydantic_core import from_json
from starlette.responses import Response

from shared import app
from shared.chat_types import Json
from shared.errors import BadRequest, NotFound, Stopped
from shared.service import Service
from shared.triggers.door import Call
from shared.triggers.errors import json_response
from shared.triggers.reading_runs import followed, no_response, number_of, parts
from shared.wire.openai_responses import OPENAI_RESPONSES, unfinished
from shared.wire.openai_responses_body import decisions_in
from shared.wire.openai_responses_references import completed, items_of, referred
from shared.wire.request_body import Body

if TYPE_CHECKING:
    from shared.runs.following import Standing
    from shared.runs.registry import Runs

_END_SECONDS = 5.0
"""How long a request waits for the end of a response that it stops or continues; another process may store it."""
_NO_PREVIOUS = "previous_response_id: Previous response with id"
"""As OpenAI words it, after the key."""
_ITEM = re.compile("^(msg|fc|mcp)_")
"""What the ids of items begin with."""
_MOST_RESPONSES = 50
"""Responses that the items of a request may be of."""


async def with_kept_items(body: Body, owner: str) -> Body:
    """Put what a body refers to into its input.

    Raises:
        BadRequest, NotFound: it is not there, or not the caller's.
        Unavailable, TooSlow: it cannot be read.
    """
    if decisions_in(body.json):
        return body  # what goes on is kept: nothing that is sent with the answer counts
    refers = referred(body.json)
    runs = await app.get_runs() if refers.response or refers.items else None
    if runs is None:
        if refers.response:
            raise BadRequest("previous_response_id: should be left out: no answers are kept here (BATCH_BACKEND).")
        return body
    earlier = await _conversation(runs, owner, refers.response) if refers.response else []
    run_of = {one: _ITEM.sub("", one.rpartition("_")[0]) for one in refers.items}
    ids = dict.fromkeys(run_of.values())
    if len(ids) > _MOST_RESPONSES:
        raise BadRequest(f"input: its items may be of at most {_MOST_RESPONSES} responses. Send the others themselves.")
    outputs = dict(zip(ids, await asyncio.gather(*(_output(runs, owner, run_id) for run_id in ids)), strict=True))
    found = {str(item["id"]): cast("Json", item) for output in outputs.values() for item in output or ()}
    # An answer that has waited for consent may have ended with other items than it had, or with none.
    if missing := next((one for one, run_id in run_of.items() if one not in found and outputs[run_id] is None), None):
        raise NotFound(
            f"input: Item with id '{missing[:100]}' not found. Items are not persisted when `store` is set to false."
        )
    return Body(completed(body.json, earlier, found), body.files, body.size)


async def _conversation(runs: "Runs", owner: str, response_id: str) -> list[Json]:
    """Return the items of a response: those that were asked, and those of its answer, unless it failed."""
    try:
        asked, body = await runs.request(run_id := _run_id(response_id), owner)
    except NotFound:
        raise BadRequest(f"{_NO_PREVIOUS} '{response_id[:100]}' not found.") from None
    if asked.protocol != OPENAI_RESPONSES.name:
        raise BadRequest(f"{_NO_PREVIOUS} '{response_id[:100]}' not found.")
    output = await _output(runs, owner, run_id)
    if output is None:
        raise BadRequest(f"{_NO_PREVIOUS} '{response_id[:100]}' has no answer yet.")
    return [*items_of(body.json), *output]


async def _output(runs: "Runs", owner: str, run_id: str) -> list[dict[str, Json]] | None:
    """Return the items of a response's answer: empty if it failed or waits for consent, None if it has not ended."""
    try:
        standing = await runs.ended(run_id, owner, _END_SECONDS)
    except NotFound:
        return None
    result = standing.result
    if not standing.has_stopped:
        return None
    match cast("Json", from_json(bytes(result.body))) if result and result.status == 200 else None:
        case {"output": list(output)}:
            return [item for item in output if isinstance(item, dict)]
        case _:
            return []


async def get_response(call: Call) -> Response:
    """Send a response, or the stream of it."""
    service, runs = await parts()
    try:
        standing = await _find(runs, call)
        if call.request.query_params.get("stream") == "true":
            after = number_of(call.request.query_params.get("starting_after"))
            return await followed(call.settings, runs, call.owner, standing.run_id, after)
        return await _shown(service, runs, standing)
    except NotFound:
        raise no_response(call.id) from None


async def cancel_response(call: Call) -> Response:
    """Stop a response that is made in the background."""
    service, runs = await parts()
    run_id, owner = _run_id(call.id), call.owner
    try:
        standing = await _find(runs, call)
        _, asked = await runs.followers.request(run_id, service.settings)
        if not asked.is_later:
            raise BadRequest("Cannot cancel a synchronous response.")
        if standing.result is None:
            await runs.stop(run_id, owner)
        return await _shown(service, runs, await runs.ended(run_id, owner, _END_SECONDS))
    except NotFound:
        raise no_response(call.id) from None


async def delete_response(call: Call) -> Response:
    """Stop a response, and delete all that is kept of it."""
    _, runs = await parts()
    try:
        await runs.delete((await _find(runs, call)).run_id, call.owner)
    except NotFound:
        raise no_response(call.id) from None
    return json_response({"id": call.id, "object": "response", "deleted": True})


async def _find(runs: "Runs", call: Call) -> "Standing":
    """Find a response. A run in another protocol is none."""
    asked, _ = await runs.request(run_id := _run_id(call.id), call.owner)
    if asked.protocol != OPENAI_RESPONSES.name:
        raise no_response(call.id)
    return await runs.find(run_id, call.owner)


async def _shown(service: Service, runs: "Runs", standing: "Standing") -> Response:
    result = standing.result
    if result and result.status == 200:
        headers = {"cache-control": "no-store", "content-type": "application/json"}
        return Response(bytes(result.body), headers=headers)
    _, asked = await runs.followers.request(standing.run_id, service.settings)
    if result is None:
        return json_response(unfinished(asked, "in_progress" if standing.state.runner else "queued"))
    status = "cancelled" if result.status == Stopped.status else "failed"
    return json_response(unfinished(asked, status, from_json(bytes(result.body))))


def _run_id(response_id: str) -> str:
    return response_id.removeprefix("resp_")
