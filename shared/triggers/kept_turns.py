"""Begins runs: turns that outlive their request, if it asks for that. See `shared/runs/`."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from copy import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import ChatRequest, Json, Role
from shared.errors import BadRequest, Stopped
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Failed
from shared.history import owner_of
from shared.service import Service
from shared.settings import Settings
from shared.triggers.approvals import approval_json
from shared.triggers.door import own_url
from shared.triggers.errors import json_response
from shared.turns.accept import AcceptedRequest, Asker
from shared.turns.begin import acts
from shared.web.streaming import FIRST_PIECE_TIMEOUT_SECONDS
from shared.wire.framing import encode_json
from shared.wire.prefer import read_key, read_preferences
from shared.wire.protocol import Protocol
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS

if TYPE_CHECKING:
    from shared.runs.desk import Runs
    from shared.runs.following import Standing
    from shared.runs.journal import Live

RETRY_AFTER_SECONDS = 5
"""When to ask again for a run that has not ended."""


class Followed(msgspec.Struct, frozen=True):
    """A run as its request reads it, like a running turn."""

    runs: "Runs"
    """The runs of the app."""
    run_id: str
    """The run."""
    owner: str
    """Who reads it."""
    live: "Live | None"
    """The run, if it has begun here with this request."""
    location: str
    """The URL of the run."""
    ends_when_left: bool
    """Whether it stops when its caller leaves, as OpenAI's responses do that are stored and not in the background."""
    begin: tuple[ChatEvent, ...] = ()
    """Events that come before those of the run."""
    number: int | None = 0
    """Number of the run's first event that is read; None: none are."""

    async def settled(self, seconds: float) -> Failed | None:
        """Wait for the first words as a running turn does, if the run has begun here."""
        return await self.live.turn.settled(seconds) if self.live else None

    async def batches(self, heartbeat: float | None) -> AsyncGenerator[list[ChatEvent]]:
        """Yield the run's events, in batches of all that have arrived."""
        if self.begin:
            yield [*self.begin]
        if self.number is not None:
            follow = self.runs.followers.follow
            async with aclosing(follow(self.run_id, self.owner, self.number, heartbeat)) as batches:
                async for batch in batches:
                    yield batch

    async def events(self) -> AsyncGenerator[ChatEvent]:
        """Yield the events one by one."""
        async for batch in self.batches(None):
            for event in batch:
                yield event

    def cancel(self) -> None:
        """Stop the run if it ends with its caller; what has come of it is kept."""
        if self.ends_when_left and self.live:
            self.live.turn.stop(Stopped())


class Route(msgspec.Struct, frozen=True):
    """What the route of a request says of it."""

    team: bool = False
    """Whether the team of agents answers."""
    streams: bool = False
    """Whether the answer is a stream, whatever the body says."""
    single_turn: bool = False
    """Whether to ignore the earlier messages."""


class Kept(msgspec.Struct, frozen=True):
    """What a run keeps of its request."""

    asker: Asker
    """Who asks."""
    body: Body
    """The body."""
    route: Route
    """What the route says of it."""


async def begin_run(
    request: Request, service: Service, protocol: Protocol, accepted: AcceptedRequest, kept: Kept
) -> tuple[ChatRequest, Followed] | Response | None:
    """Begin a run if a request asks for one.

    Returns:
        What to answer from, or the answer of a run that goes on elsewhere; None: the request asks for no run.
    """
    prefers = read_preferences(request.headers.getlist("prefer"))
    asked, settings = accepted.request, service.settings
    is_later = prefers.respond_async and protocol.answer is not None  # what only streams has nothing to poll
    goes_on = is_later or asked.is_later or asked.overrides.resumable or settings.chat_runs == "always"
    has_tools = acts(service, accepted)
    is_run = goes_on or has_tools or (asked.wants_kept and settings.history_backend != "off")
    runs = await app.get_runs() if is_run and not asked.is_task else None
    if runs is None:
        if asked.is_later:
            raise BadRequest("background: should be false: no answers are kept here (BATCH_BACKEND).")
        return None
    from shared.runs.desk import NewRun
    from shared.runs.records import Asked, as_run
    from shared.wire.openai_responses import unfinished

    key = read_key(request.headers.getlist("idempotency-key"))
    asker, owner = kept.asker, owner_of(kept.asker.caller)
    new = NewRun(
        Asked(
            protocol=protocol.name,
            route=request.url.path,
            **msgspec.structs.asdict(asker),
            **msgspec.structs.asdict(kept.route),
        ),
        kept.body,
        owner,
        named=asked.run_id,
        key=None if key is None else f"{asker.budget_key} {key}",
        chat=chat_of(asked) if has_tools else asked.chat.name,
    )
    if asked.is_later and not asked.stream:
        run_id = await runs.accept(new)
        return json_response(unfinished(as_run(accepted).request, "queued"))
    if is_later:
        run_id = await runs.accept(new)
        response = await shown(request, runs, await runs.ended(run_id, owner, prefers.wait or 0), owner)
        response.headers.update({"preference-applied": prefers.applied, "vary": "Prefer"})
        return response
    run_id, live = await runs.begin(new, as_run(accepted), FIRST_PIECE_TIMEOUT_SECONDS if asked.stream else None)
    address = address_of(request, settings, run_id)
    followed = Followed(runs, run_id, owner, live, address, ends_when_left=not goes_on)
    return live.asked if live else (await runs.followers.request(run_id, settings))[1], followed


def chat_of(asked: ChatRequest) -> str:
    """Return what all turns of a chat have in common: its name, or else its first question."""
    first = next((message.content for message in asked.messages if message.role is Role.USER), "")
    return asked.chat.name or f"first: {first}"


def address_of(request: Request, settings: Settings, run_id: str) -> str:
    """Return the URL of a run. Those of the team's batch routes have theirs below the name that is known there."""
    path = "multi-agent-chat/batches" if "/multi-agent-chat/batch" in request.url.path else "runs"
    return f"{own_url(request, settings)}/{path}/{run_id}"


async def shown(request: Request, runs: "Runs", standing: "Standing", owner: str) -> Response:
    """Show a run: its answer if it has ended, else how it stands.

    A run that has not ended is always a 202 with the same headers, and one that has ended never is: workflows of Logic
    Apps poll by the first, and end at anything else.
    """
    headers = {"cache-control": "no-store", "content-type": "application/json"}
    if standing.result:
        return Response(bytes(standing.result.body), standing.result.status, headers)
    settings = app.get_settings()
    headers |= {
        "location": address_of(request, settings, standing.run_id),
        "retry-after": str(RETRY_AFTER_SECONDS),
    }
    created = datetime.fromtimestamp(standing.state.created, UTC).isoformat(timespec="seconds")
    record: Json = {
        "id": standing.run_id,
        "status": "waiting" if standing.state.waits else "running" if standing.state.runner else "queued",
        "created": created.replace("+00:00", "Z"),
        "messages": [item for said in await _said(runs, standing.run_id, owner, settings) for item in said],
    }
    if standing.state.waits:
        from shared.runs.approvals import waiting_calls

        calls = await waiting_calls(runs.consents.store, standing.run_id)
        record["approvals"] = [cast("Json", approval_json(call)) for call in calls.values()]
    return Response(encode_json(record), 202, headers)


async def _said(runs: "Runs", run_id: str, owner: str, settings: Settings) -> list[list[Json]]:
    """Return the agents' messages so far, each in the protocol of the request."""
    events = await runs.followers.so_far(run_id, owner)
    if not any(isinstance(event, AgentMessage) for event in events):
        return []
    asked, request = await runs.followers.request(run_id, settings)
    return [*documents_of(PROTOCOLS[asked.protocol], request, events)]


def documents_of(protocol: Protocol, request: ChatRequest, events: Iterable[ChatEvent]) -> Iterator[list[Json]]:
    """Yield each agent's message as the documents of a protocol. Which message is the last one shows at the end."""
    turn = CompletionStarted("", 0, "team")
    for event in events:
        if isinstance(event, CompletionStarted):
            turn = event
        elif isinstance(event, AgentMessage):
            yield protocol.agent_documents(request, replace(event, total_usage=None), turn)
