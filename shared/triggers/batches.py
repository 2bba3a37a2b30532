"""Batches that outlive their request (`Prefer: respond-async`): they are accepted, polled, followed and deleted here.

A pending batch is always a 202 with the same headers, and one that has ended never is: workflows of Logic Apps poll by
the first, and end at anything else. So one that failed is no 429 or 503 either, which they would take for a poll to
send again.
"""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.accepting import accept
from shared.chat_types import Json
from shared.errors import InternalError, NotConfigured, NotFound
from shared.history import owner_of
from shared.service import Service
from shared.settings import Settings
from shared.triggers.budget import admit
from shared.triggers.chat import answer_team, asker_of, own_url, resolved
from shared.triggers.errors import answering, deadline_of
from shared.triggers.receiving import read_body
from shared.triggers.streaming import KEEP_ALIVE_SECONDS
from shared.wire.framing import encode_json
from shared.wire.prefer import Preferences, read_key, read_preferences
from shared.wire.request_body import Body, BodyReader

if TYPE_CHECKING:
    from shared.batches.desk import Batches, Look, Standing

RETRY_AFTER_SECONDS = 5
"""When to ask for a pending batch again."""
_LOOK_SECONDS = 0.5
"""How often a batch is looked at for those who follow it."""
_END = "end"
"""`Last-Event-ID` of a page that has seen the end."""


@answering
async def team_batch(request: Request) -> Response:
    """`POST /multi-agent-chat/batch`: the messages of all agents, now, or later if the caller prefers that."""
    wanted = read_preferences(request.headers.getlist("prefer"))
    batches = await app.get_batches() if wanted.respond_async else None
    selected = resolved(request, unless_pinned="semantic-kernel")
    if batches is None or selected.protocol.answer is None:  # a protocol that only streams has nothing to poll
        response = await answer_team(request)
    else:
        response = await _accepted(request, batches, wanted)
    response.headers["vary"] = "Prefer"
    return response


@answering
async def batch(request: Request) -> Response:
    """`GET /multi-agent-chat/batches/{id}`: how a batch stands, or its answer."""
    service, batches, owner = await _counted(request)
    standing = await batches.find(request.path_params["id"], owner)
    return await _shown(request, service, batches, standing)


@answering
async def delete_batch(request: Request) -> Response:
    """`DELETE /multi-agent-chat/batches/{id}`: stop a batch, and delete all that is kept of it."""
    _, batches, owner = await _counted(request)
    await batches.delete(request.path_params["id"], owner)
    return Response(status_code=204)


@answering
async def batch_stream(request: Request) -> Response:
    """`GET /multi-agent-chat/batches/{id}/stream`: each message of a batch as it is done, then its end (SSE)."""
    _, batches, owner = await _counted(request)
    batch_id = request.path_params["id"]
    last = request.headers.get("last-event-id", "")
    if last == _END:
        await batches.find(batch_id, owner)
        return Response(status_code=204)  # a browser then stops to connect again (HTML Standard, server-sent events)
    first = int(last) if last.isascii() and last.isdecimal() and len(last) <= 6 else 0
    look = await batches.look(batch_id, owner, first)
    headers = {"cache-control": "no-cache", "content-type": "text/event-stream"}
    return StreamingResponse(_followed(batches, owner, look, first), headers=headers)


def queue_of(environment: Mapping[str, str]) -> str | None:
    """Return the queue whose trigger runs batches, if any. With invalid settings none does: messages stay in it."""
    try:
        settings = Settings.read(environment)
    except NotConfigured:
        return None
    return settings.batch_queue if settings.batches == "queue" else None


async def run_batch(message: bytes, since: datetime | None) -> None:
    """Run the batch that a message, which has been in the queue since then, names (queue trigger).

    Raises:
        SwitchboardError: the storage cannot be used; the message comes again.
    """
    service, batches = await _parts()
    if service.tracing:
        service.tracing.waited(service.settings.batch_queue, since)
    await batches.run(message.decode(errors="replace").strip())


async def give_up_batch(message: bytes) -> None:
    """End the batch of a message that was given up, as failed (queue trigger of the poison queue)."""
    _, batches = await _parts()
    await batches.give_up(message.decode(errors="replace").strip())


async def _counted(request: Request) -> "tuple[Service, Batches, str]":
    """Return the parts and whose batches the caller may see, and count the request: reading a batch costs storage."""
    service, batches = await _parts()
    caller = await service.identity.caller(request.headers)
    admit(request, service, caller, spends=False)  # who has used up the tokens may still read what they were used for
    return service, batches, owner_of(caller)


async def _parts() -> "tuple[Service, Batches]":
    batches = await app.get_batches()
    if batches is None:
        raise NotFound("There are no batches here: BATCH_BACKEND is 'off'.")
    return await app.get_service(), batches


async def _accepted(request: Request, batches: "Batches", wanted: Preferences) -> Response:
    """Check a request as if it was answered now, and keep it; answer it here if that takes no longer than `wait`."""
    from shared.batches.records import Asked

    selected = resolved(request, unless_pinned="semantic-kernel")
    request.state.protocol = selected.protocol
    service = await app.get_service()
    settings = service.settings
    key = read_key(request.headers.getlist("idempotency-key"))
    asker = await asker_of(request, service)
    owner = owner_of(asker.caller)
    admit(request, service, asker.caller)
    with ExitStack() as held:
        reader: list[_Keeping] = []

        def keeping() -> BodyReader:
            reader.append(_Keeping(selected.reader()))
            return reader[0]

        body = await read_body(request, keeping, deadline_of(request, settings.chat_deadline_seconds), held)
        request.state.protocol = protocol = selected.of(body.json)
        accept(protocol, body, asker, settings, team=True)
        kept = Asked(
            protocol=protocol.name,
            content_type=request.headers.get("content-type", ""),
            route=request.url.path,
            **structs.asdict(asker),
        )
        unique = None if key is None else f"{asker.budget_key} {key}"
        batch_id = await batches.accept(kept, bytes(reader[0].read), owner, unique)
    standing = await batches.ended(batch_id, owner, wanted.wait or 0)
    response = await _shown(request, service, batches, standing)
    response.headers["preference-applied"] = wanted.applied
    return response


async def _shown(request: Request, service: Service, batches: "Batches", standing: "Standing") -> Response:
    """Show a batch: its answer if it has ended, else how it stands."""
    if standing.result:
        headers = {"cache-control": "no-store", "content-type": "application/json"}
        return Response(bytes(standing.result.body), standing.result.status, headers)
    location = f"{own_url(request, service.settings)}/multi-agent-chat/batches/{standing.batch_id}"
    headers = {
        "cache-control": "no-store",
        "content-type": "application/json",
        "location": location,
        "retry-after": str(RETRY_AFTER_SECONDS),
    }
    messages = [item async for kept in batches.messages(standing.batch_id) for item in kept.documents]
    return Response(encode_json(_record(standing, messages)), 202, headers)


def _record(standing: "Standing", messages: list[Json]) -> Json:
    """Make the body of a pending batch."""
    created = datetime.fromtimestamp(standing.state.created, UTC).isoformat(timespec="seconds")
    return {
        "id": standing.batch_id,
        "status": "running" if standing.state.runner else "queued",
        "created": created.replace("+00:00", "Z"),
        "messages": messages,
    }


async def _followed(batches: "Batches", owner: str, look: "Look", number: int) -> AsyncGenerator[bytes]:
    """Yield the events of a batch from a message on. A client that leaves ends this, and not the batch."""
    standing, messages = look
    sent = time.monotonic()
    while True:
        for kept in messages:
            number += 1
            yield _event("message", str(number), kept.documents)
        if standing.result:
            yield _event("end", _END, {"status": standing.result.status})
            return
        if messages:
            sent = time.monotonic()
        elif time.monotonic() - sent >= KEEP_ALIVE_SECONDS:
            sent = time.monotonic()
            yield b": keep-alive\n\n"
        try:
            standing, messages = await batches.look(standing.batch_id, owner, number, pause=_LOOK_SECONDS)
        except NotFound:
            return  # deleted
        except InternalError as error:  # a message is damaged, and stays so
            yield _event("end", _END, {"status": error.status, "error": error.message})
            return


def _event(kind: str, event_id: str, data: Json) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), kind.encode(), encode_json(data))


class _Keeping:
    """A `BodyReader` that keeps the bytes as well."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader
        self.read = bytearray()
        """The bytes so far."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._reader.feed(chunk)
        self.read += chunk

    def finish(self) -> Body:
        """Return the body."""
        return self._reader.finish()
