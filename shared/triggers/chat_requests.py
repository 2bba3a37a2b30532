"""Queue in, queue out: a message of `CHAT_REQUESTS_QUEUE` is a request, and its answer goes to `CHAT_ANSWERS_QUEUE`.

    {"id": "42", "route": "chat", "protocol": "ai-chat", "body": {"messages": […]}}    in
    {"id": "42", "status": 200, "body": {"message": …}}                                out

Queues deliver at least once. A message is a run that is kept, whose reply goes to the queue of answers: a message that
comes again repeats no finished call of a model or a tool, and gets the same answer again. What another try may mend is
raised, so that the platform tries again; the last try answers with the error instead. A message that ends the process
each time goes to the poison queue.
"""

import asyncio
import logging
from base64 import b64decode
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from shared import app
from shared.chat_types import Caller, ChatRequest, Json
from shared.core.fold import Answer
from shared.errors import BadRequest, InternalError, SwitchboardError, log_fault
from shared.runs.begin import Arrival
from shared.runtime.host_file import most_tries
from shared.service import Service
from shared.settings import Settings
from shared.turns.accept import Asker, RouteOptions, accept
from shared.web.public_url import base_url
from shared.wire import framing, table
from shared.wire.ai_chat import AI_CHAT
from shared.wire.protocol import Protocol
from shared.wire.request_body import Body, BodyModel, JsonReader

_log = logging.getLogger("switchboard.queue")

_EXAMPLE = '{"id": "1", "body": {"messages": [{"role": "user", "content": "…"}]}}'


class _Message(BodyModel):
    """A message of the queue."""

    id: Annotated[str, Field(min_length=1, max_length=256)]
    """The sender's name for it, which the answer has too."""
    route: Literal["chat", "ask", "multi-agent-chat/batch"] = "chat"
    """The route that answers."""
    protocol: str | None = None
    """The protocol of the body and of the answer; None: the one that the route and the body select."""
    body: dict[str, Any]
    """The body of the request."""


class _Work(msgspec.Struct):
    """One delivery of a message, and what is known of it so far."""

    id: str
    """The id for the answer: the message's own until the request's is read."""
    run_id: str
    """The run of the message, the same at each delivery."""
    invocation_id: str
    """The platform's id."""
    since: datetime | None
    """When it came into the queue."""
    tries_left: int
    """How often it is delivered again if this try fails."""
    protocol: Protocol = AI_CHAT
    """The protocol that an error is told in."""


async def answer(
    message: bytes, message_id: str, receipt: str, tries: int, invocation_id: str, since: datetime | None
) -> None:
    """Answer a message of the queue.

    Args:
        message: JSON in UTF-8, or that in base64.
        message_id: The queue's id of it.
        receipt: The right to change it.
        tries: How often it has been delivered, with this time.
        invocation_id: The platform's id of this invocation.
        since: When it came into the queue.

    Raises:
        SwitchboardError: it cannot be answered now, and there is another try.
    """
    from shared.runs.records import digest, is_temporary

    run_id = digest("queue message", message_id)[:32]
    work = _Work(message_id, run_id, invocation_id, since, max(0, most_tries() - tries))
    try:
        answers = await app.get_answers()
        # After the last try the platform moves the message, for which nobody else may have changed it.
        async with answers.held(message_id, receipt) if work.tries_left else nullcontext():
            try:
                status, body = 200, await _answered(message, work)
            except SwitchboardError as error:
                if is_temporary(error) and work.tries_left:
                    raise
                status, body = error.status, work.protocol.error(error, invocation_id)
            await answers.send(work.id, status, framing.encode_json(body), run_id)
        _log.info("message of invocation %s: answered with %d, try %d", invocation_id, status, tries)
    except SwitchboardError as error:
        _log.warning("message %s: try %d failed: %s", message_id, tries, error.code)
        raise error.with_traceback(None) from None  # frames and causes hold what was asked


async def _answered(message: bytes, work: _Work) -> Json:
    """Answer the request of a message; raise a SwitchboardError if there is no answer."""
    try:
        return await _run(_read(message, work), work)
    except SwitchboardError:
        raise
    except Exception as error:  # noqa: BLE001 (the outer edge: it is logged, and the sender gets one clean error)
        log_fault(error, work.invocation_id)
        raise InternalError from None


def _read(message: bytes, work: _Work) -> _Message:
    """Read a message, and its id even if something else in it is wrong: that raises BadRequest or TooLarge."""
    text = message.strip()
    if not text.startswith((b"{", b"[")):
        with suppress(ValueError):
            text = b64decode(text, validate=True)
    reader = JsonReader(example=_EXAMPLE)
    reader.feed(text)
    read = reader.finish().json
    match read.get("id"):
        case str(named) if 1 <= len(named) <= 256:
            work.id = named
        case _:
            pass
    return _Message.read(read)


async def _run(asked: _Message, work: _Work) -> Json:
    service = await app.get_service()
    settings = service.settings
    if service.tracing:
        service.tracing.waited(settings.chat_requests_queue or "", work.since)
    caller = Caller(key=f"queue {settings.chat_requests_queue}")  # no API key has a name with a space
    asker = Asker(
        caller=caller,
        budget_key=caller.id or "",
        invocation_id=work.invocation_id,
        base_url=base_url(settings.public_url, "", ""),
    )
    encode, body = _encoder(asked, work, settings), Body(asked.body)
    options = RouteOptions(team=asked.route == "multi-agent-chat/batch", single_turn=asked.route == "ask")
    accepted = accept(work.protocol, body, asker, settings, options, begins_chat=False)
    deadline = asyncio.get_running_loop().time() + settings.batch_deadline_seconds
    await _admit(service, asker, deadline)
    arrival = Arrival(
        asker=asker,
        until=deadline,
        options=options,
        protocol=work.protocol.name,
        run_id=work.run_id,
        is_kept=True,
        outlives=True,
        queued_as=asked.id,
        tries_left=work.tries_left,
    )
    followed = await app.begin(accepted, arrival, body)
    return encode(followed.request, await followed.answer(filter_ends=work.protocol.filter_ends))


def _encoder(asked: _Message, work: _Work, settings: Settings) -> Callable[[ChatRequest, Answer], Json]:
    """Find the protocol of a message, and return what makes JSON of the answer; raise BadRequest or NotFound."""
    unless_named = {"ask": "rag-chat", "multi-agent-chat/batch": "semantic-kernel"}.get(asked.route)
    resolved = table.resolve(asked.protocol or unless_named, "", settings.chat_default_protocol)
    work.protocol = protocol = resolved.of(asked.body)
    if protocol.answer is None:
        raise BadRequest(f"protocol: '{protocol.name}' has only streams, which no queue can hold. Name another.")
    return protocol.team_answer if asked.route == "multi-agent-chat/batch" else protocol.answer


async def _admit(service: Service, asker: Asker, deadline: float) -> None:
    """Count the request in the queue's budget, and wait for room in it: a queue loses nothing by being slow.

    Raises RateLimited if there is none before the deadline.
    """
    now = asyncio.get_running_loop().time
    while service.ledger and (refusal := service.ledger.admit(asker.budget_key).refusal):
        if now() + refusal.retry_after >= deadline:
            raise refusal
        await asyncio.sleep(refusal.retry_after)
