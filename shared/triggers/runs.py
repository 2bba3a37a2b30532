"""Runs: answers that outlive their request. They are polled, followed, stopped and deleted here.

One that failed is no 429 or 503, which workflows would take for a poll to send again.
"""

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import Json
from shared.errors import InternalError, NotConfigured, NotFound
from shared.events import CompletionStarted
from shared.settings import Settings
from shared.triggers.door import Call, checked_first
from shared.triggers.reading_runs import documents_of, followed, number_of, parts, require_response, require_runs, shown
from shared.web.streaming import KEEP_ALIVE_SECONDS
from shared.wire.framing import SSE, encode_json
from shared.wire.table import PROTOCOLS

if TYPE_CHECKING:
    from shared.runs.registry import Runs

_END = "end"
"""`Last-Event-ID` of a page that has seen the end."""
_END_SECONDS = 30.0
"""How long the end of a turn waits for the result of its run."""


@checked_first(require_runs)
async def run(call: Call) -> Response:
    """`GET /runs/{id}`: how a run stands, or its answer."""
    _, runs = await parts()
    return await shown(call.request, runs, await runs.find(id_of(call), call.owner), call.owner)


@checked_first(require_runs)
async def delete_run(call: Call) -> Response:
    """`DELETE /runs/{id}`: stop a run, and delete all that is kept of it."""
    _, runs = await parts()
    await runs.delete(id_of(call), call.owner)
    return Response(status_code=204)


@checked_first(require_runs)
async def run_stream(call: Call) -> Response:
    """`GET /runs/{id}/stream`: a run in its own protocol, from its first record on or after one."""
    _, runs = await parts()
    last = call.request.headers.get("last-event-id") or call.request.query_params.get("starting_after")
    return await followed(call.settings, runs, call.owner, id_of(call), number_of(last), numbered=True)


@checked_first(require_response)
async def response(call: Call) -> Response:
    """`GET` and `DELETE /v1/responses/{id}`, and `POST …/cancel`: a run in the words of OpenAI."""
    from shared.triggers.kept_responses import HANDLERS

    return await HANDLERS[call.request.method](call)


async def resume(call: Call) -> Response:
    """`GET /ai-sdk/chat/{id}/stream`: the answer that a chat's last question gets, or 204. A 404 would be an error."""
    runs, protocol = await app.get_runs(), call.request.path_params["protocol"]
    run_id = await runs.running_of(call.owner, call.id, protocol) if runs else None
    if runs is None or run_id is None:
        return Response(status_code=204)
    return await followed(call.settings, runs, call.owner, run_id)


@checked_first(require_runs)
async def batch_stream(call: Call) -> Response:
    """`GET /multi-agent-chat/batches/{id}/stream`: each message of a team as it is done, then the end (SSE)."""
    _, runs = await parts()
    run_id, owner = id_of(call), call.owner
    last = call.request.headers.get("last-event-id", "")
    await runs.find(run_id, owner)
    if last == _END:
        return Response(status_code=204)  # a browser then stops to connect again (HTML Standard, server-sent events)
    await runs.followers.so_far(run_id, owner)  # a journal that is damaged is no stream
    seen = int(last) if last.isascii() and last.isdecimal() and len(last) <= 6 else 0
    headers = {"cache-control": "no-cache", "content-type": "text/event-stream"}
    return StreamingResponse(_messages(call.settings, runs, owner, run_id, seen), headers=headers)


def queue_of(environment: Mapping[str, str]) -> str | None:
    """Return the queue whose trigger runs batches, if any. With invalid settings none does: messages stay in it."""
    try:
        settings = Settings.read(environment)
    except NotConfigured:
        return None
    return settings.batch_queue if settings.batches == "queue" else None


async def run_batch(message: bytes, since: datetime | None) -> None:
    """Run the run that a message, which has been in the queue since then, names (queue trigger).

    Raises:
        SwitchboardError: the storage cannot be used; the message comes again.
    """
    service, runs = await parts()
    if service.tracing:
        service.tracing.waited(service.settings.batch_queue, since)
    await runs.run(message.decode(errors="replace").strip())


async def give_up_batch(message: bytes) -> None:
    """End the run of a message that was given up, as failed (queue trigger of the poison queue)."""
    _, runs = await parts()
    await runs.give_up(message.decode(errors="replace").strip())


def id_of(call: Call) -> str:
    """Return the id of a run that a path names; a UUID, as AG-UI names runs, is one too."""
    return call.id.replace("-", "").lower()


async def _messages(settings: Settings, runs: "Runs", owner: str, run_id: str, seen: int) -> AsyncGenerator[bytes]:
    """Yield the events of a team's run after a message. A client that leaves ends this, and not the run."""
    asked, request = await runs.followers.request(run_id, settings)
    protocol, turn, number = PROTOCOLS[asked.protocol], CompletionStarted("", 0, "team"), 0
    try:
        async for batch in runs.followers.follow(run_id, owner, heartbeat=KEEP_ALIVE_SECONDS):
            turn = next((event for event in batch if isinstance(event, CompletionStarted)), turn)
            for documents in documents_of(protocol, request, (turn, *batch)):
                number += 1
                if number > seen:
                    yield _event("message", str(number), documents)
            if not batch:
                yield SSE.keep_alive
        standing = await runs.ended(run_id, owner, _END_SECONDS)
    except NotFound:
        return  # deleted
    except InternalError as error:  # a message is damaged, and stays so
        yield _event("end", _END, {"status": error.status, "error": error.message})
        return
    if standing.result:
        yield _event("end", _END, {"status": standing.result.status})


def _event(kind: str, event_id: str, data: Json) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), kind.encode(), encode_json(data))
