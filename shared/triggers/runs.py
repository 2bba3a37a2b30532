"""Runs: answers that outlive their request. They are polled, followed, stopped and deleted here.

One that failed is no 429 or 503, which workflows would take for a poll to send again.
"""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import TYPE_CHECKING, cast

from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import Json
from shared.errors import InternalError, NotAllowed, NotFound
from shared.events import CompletionStarted
from shared.identity import is_among
from shared.settings.derived import callers_named
from shared.triggers.door import Call, checked_first
from shared.triggers.reading_runs import followed, number_of, parts, require_runs
from shared.web.responses import KEEP_ALIVE_SECONDS, json_response, run_response
from shared.wire import framing, request_body, table

if TYPE_CHECKING:
    from shared.runs.registry import Runs

_END = "end"
"""`Last-Event-ID` of a page that has seen the end."""
_MOST_LISTED = 100
"""Maximum runs in one page of a list."""
_END_SECONDS = 30.0
"""How long the end of a turn waits for the result of its run."""


@checked_first(require_runs)
async def get_run(call: Call) -> Response:
    """Get the answer of a run.

    202 until it has ended; then what the request would have been answered with, or the answer's own error.
    """
    _, runs = await parts()
    standing = await runs.find(id_of(call), call.owner)
    return run_response(call.request, call.settings, await runs.followers.report(standing, call.owner))


@checked_first(require_runs)
async def delete_run(call: Call) -> Response:
    """Stop a run and delete it.

    The model's work for it stops within seconds.
    """
    _, runs = await parts()
    await runs.delete(id_of(call), call.owner)
    return Response(status_code=204)


@checked_first(require_runs)
async def follow_run(call: Call) -> Response:
    """Follow a run.

    The answer in the protocol of its request, from its first record or after one that was read.
    """
    _, runs = await parts()
    last = call.request.headers.get("last-event-id") or call.request.query_params.get("starting_after")
    return await followed(call.settings, runs, call.owner, id_of(call), number_of(last), numbered=True)


@checked_first(require_runs)
async def list_runs(call: Call) -> Response:
    """List the kept runs of all that go on, wait for a person or have failed.

    For those whom `OPERATORS` names. They see who asked and how a run stands, and nothing of the chat.
    """
    from shared.runs import operators

    runs, query = await _runs_of_all(call), call.request.query_params
    limit = request_body.read_limit(query, _MOST_LISTED)
    listed, end = await operators.list_runs(runs.store, query.get("state", ""), limit, query.get("after", ""))
    return json_response({"runs": cast("list[Json]", listed), "next": end})


@checked_first(require_runs)
async def stop_run(call: Call) -> Response:
    """Stop a run of anybody.

    For those whom `OPERATORS` names. What has come of it stays.
    """
    await (await _runs_of_all(call)).stop(id_of(call), None)
    return Response(status_code=204)


@checked_first(require_runs)
async def retry_run(call: Call) -> Response:
    """Try a run again that has failed or is stuck.

    For those whom `OPERATORS` names. Calls that had ended are not made again.
    """
    await (await _runs_of_all(call)).retry(id_of(call))
    return Response(status_code=204)


async def _runs_of_all(call: Call) -> "Runs":
    if not is_among(call.caller, callers_named(call.settings.operators)):
        raise NotAllowed("You may not see to the answers of others. OPERATORS says who may.")
    _, runs = await parts()
    return runs


async def resume(call: Call) -> Response:
    """Stream the answer of a chat's last question, or stop it; a 204 if none is made, since a 404 would be an error."""
    runs, protocol = await app.get_runs(), call.request.path_params["protocol"]
    run_id = await runs.running_of(call.owner, call.id, protocol) if runs else None
    if runs and run_id and call.request.method == "GET":
        return await followed(call.settings, runs, call.owner, run_id)
    if runs and run_id:
        await runs.stop(run_id, call.owner)
    return Response(status_code=204)


@checked_first(require_runs)
async def follow_batch(call: Call) -> Response:
    """Follow a batch.

    Each agent's message as it is done: events 'message', and 'end' with the batch's status.
    """
    _, runs = await parts()
    run_id, owner = id_of(call), call.owner
    last = call.request.headers.get("last-event-id", "")
    await runs.find(run_id, owner)
    if last == _END:
        return Response(status_code=204)  # a browser then stops to connect again (HTML Standard, server-sent events)
    await runs.followers.so_far(run_id, owner)  # a journal that is damaged is no stream
    seen = int(last) if last.isascii() and last.isdecimal() and len(last) <= 6 else 0
    headers = {"cache-control": "no-cache", "content-type": "text/event-stream"}
    return StreamingResponse(_messages(runs, owner, run_id, seen), headers=headers)


async def run_batch(message: bytes, since: datetime | None) -> None:
    """Run the run that a message, which has been in the queue since then, names (queue trigger).

    Raises:
        SwitchboardError: the storage cannot be used; the message comes again.
    """
    service, runs = await parts()
    if service.tracing:
        service.tracing.waited(service.settings.batch_queue, since)
    await runs.run(message.decode(errors="replace").strip())


async def sweep() -> None:
    """Let runs go on that nobody works on (timer trigger)."""
    from shared.runs import upkeep

    _, runs = await parts()
    await upkeep.sweep(runs)


async def give_up_batch(message: bytes) -> None:
    """End the run of a message that was given up, as failed (queue trigger of the poison queue)."""
    _, runs = await parts()
    await runs.give_up(message.decode(errors="replace").strip())


def id_of(call: Call) -> str:
    """Return the id of a run that a path names; a UUID, as AG-UI names runs, is one too."""
    return call.id.replace("-", "").lower()


async def _messages(runs: "Runs", owner: str, run_id: str, seen: int) -> AsyncGenerator[bytes]:
    """Yield the events of a team's run after a message. A client that leaves ends this, and not the run."""
    asked, request = await runs.followers.request(run_id)
    protocol, turn, number = table.PROTOCOLS[asked.protocol], CompletionStarted("", 0, "team"), 0
    try:
        async for batch in runs.followers.follow(run_id, owner, heartbeat=KEEP_ALIVE_SECONDS):
            turn = next((event for event in batch if isinstance(event, CompletionStarted)), turn)
            for documents in protocol.said_so_far(request, (turn, *batch)):
                number += 1
                if number > seen:
                    yield _event("message", str(number), documents)
            if not batch:
                yield framing.SSE.keep_alive
        standing = await runs.ended(run_id, owner, _END_SECONDS)
    except NotFound:
        return  # deleted
    except InternalError as error:  # a message is damaged, and stays so
        yield _event("end", _END, {"status": error.status, "error": error.message})
        return
    if standing.result:
        yield _event("end", _END, {"status": standing.result.status})


def _event(kind: str, event_id: str, data: Json) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), kind.encode(), framing.encode_json(data))
