"""The chat routes. Each resolves the protocol, reads and checks the body, begins a run, and answers with it."""

from collections.abc import Mapping
from contextlib import suppress
from copy import replace
from functools import partial
from typing import cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import ChatRequest, Json
from shared.errors import NotFound
from shared.runs.begin import Arrival
from shared.settings import Settings
from shared.triggers.door import Call, Check, checked_first
from shared.triggers.reading_runs import parts
from shared.turns.accept import RouteOptions, accept
from shared.verdicts import answer_id_of, new_turn_id
from shared.web.receiving import read_preferences
from shared.web.responses import FIRST_PIECE_TIMEOUT_SECONDS, respond, run_response, run_url, until_disconnected
from shared.wire.ai_chat import AI_CHAT
from shared.wire.protocol import Protocol
from shared.wire.table import Resolved, resolve

_END_SECONDS = 5.0
"""How long a request waits for the end of an answer that it refers to; another process may store it."""


class _Earlier:
    """The caller's kept runs, for requests that refer to them (`EarlierAnswers`).

    Args:
        owner: Who asks.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def request(self, run_id: str, protocol: str) -> Mapping[str, Json] | None:
        """Return the JSON of a run's request; None: there is no such run in the protocol of this name."""
        _, runs = await parts()
        with suppress(NotFound):
            request, body = await runs.request(run_id, self._owner)
            return body.json if request.protocol == protocol else None
        return None

    async def answer(self, run_id: str) -> Json:
        """Return the whole answer of a run: an empty object if it failed or waits for a person, null if it goes on."""
        _, runs = await parts()
        try:
            standing = await runs.ended(run_id, self._owner, _END_SECONDS)
        except NotFound:
            return None
        result = standing.result
        if not standing.has_stopped:
            return None
        return cast("Json", msgspec.json.decode(result.body)) if result and result.status == 200 else {}


def _resolves(options: RouteOptions) -> Check:
    """Make what resolves the protocol, and chooses the shape of errors, before the caller signs in."""

    def resolve_protocol(request: Request) -> None:
        headers = request.headers
        agent = headers.get("x-ms-useragent") or headers.get("user-agent", "")  # browsers let no page set the second
        named, content_type = request.path_params.get("protocol"), headers.get("content-type", "")
        settings = app.valid_settings()
        selected = resolve(named, content_type, settings.chat_default_protocol if settings else AI_CHAT.name, agent)
        request.state.selected = selected
        request.state.protocol = selected.telling_errors(selected.protocol, settings.messages_for if settings else ())
        request.state.asked = _unread(selected.protocol, options)

    return resolve_protocol


_WHOLE, _STREAM, _ALONE = RouteOptions(), RouteOptions(streams=True), RouteOptions(single_turn=True)
_TEAM, _TEAM_STREAM = RouteOptions(team=True), RouteOptions(team=True, streams=True)


@checked_first(_resolves(_WHOLE))
async def chat(call: Call) -> Response:
    """Answer a conversation.

    Answers the last message of a conversation, with citations.
    """
    return await _answered(call, _WHOLE)


@checked_first(_resolves(_STREAM))
async def chat_stream(call: Call) -> Response:
    """Stream an answer to a conversation.

    The answer comes in records while it is made. A failure after the first record is sent as the last record.
    """
    return await _answered(call, _STREAM)


@checked_first(_resolves(_ALONE))
async def ask(call: Call) -> Response:
    """Answer a single question.

    Answers the last message and ignores earlier ones.
    """
    return await _answered(call, _ALONE)


@checked_first(_resolves(_TEAM))
async def multi_agent_chat(call: Call) -> Response:
    """Let a team of agents answer.

    The messages of all agents, in one array. A failed agent sends the reason; the others still answer.
    """
    return await _answered(call, _TEAM)


@checked_first(_resolves(_TEAM_STREAM))
async def multi_agent_chat_stream(call: Call) -> Response:
    """Stream the answers of a team of agents.

    Each agent's message is sent as a whole, as soon as it is complete.
    """
    return await _answered(call, _TEAM_STREAM)


async def _answered(call: Call, options: RouteOptions) -> Response:
    """Read and check the request, begin its run, and answer it."""
    request, settings = call.request, call.settings
    selected: Resolved = request.state.selected
    deadline = call.arrived + _seconds(settings, selected.protocol, options)
    kept = None if settings.batches == "off" else _Earlier(call.owner)
    body = await call.read(selected.reader, deadline)
    prefers = read_preferences(request.headers.getlist("prefer"))
    protocol = selected.telling_errors(selected.of(body.json), settings.messages_for)
    request.state.protocol = protocol
    if protocol.completed:
        body = await protocol.completed(body, kept)
    accepted = accept(protocol, body, call.asker, settings, options)
    request.state.asked = asked = accepted.request
    is_later = prefers.respond_async and protocol.answer is not None  # what only streams has nothing to poll
    arrival = Arrival(
        asker=call.asker,
        until=call.arrived + settings.agents_deadline_seconds if accepted.team else deadline,
        status_within=FIRST_PIECE_TIMEOUT_SECONDS if asked.stream else None,
        options=options,
        protocol=accepted.protocol,
        path=request.url.path,
        keys=request.headers.getlist("idempotency-key"),
        is_told_later=is_later or asked.is_later,
        is_waited_for=not (is_later or (asked.is_later and not asked.stream)),
        while_connected=partial(until_disconnected, request),
    )
    beginning = app.begin(accepted, arrival, body)
    del body  # its texts hold the files once more
    followed = await beginning
    followed.hold(call.held.pop_all().close)
    if protocol.unfinished and not followed.is_new:  # requests to come refer to it
        followed = replace(followed, request=replace(asked, turn_id=followed.run_id, is_kept=True))
    headers = {"location": run_url(request, settings, followed.run_id)} if followed.run_id else {}
    if followed.report and not (protocol.unfinished and followed.request.is_later):
        response = run_response(request, settings, await followed.report(prefers.wait or 0))
        headers = {"preference-applied": prefers.applied}
    else:
        response = await respond(request, protocol, followed, team=options.team)
    response.headers.update({"vary": "Prefer", **headers})
    return response


def _seconds(settings: Settings, protocol: Protocol, options: RouteOptions) -> float:
    """Return how long an answer may take, as far as it is known before the body is read."""
    if options.team:
        return settings.agents_deadline_seconds
    if protocol.waits_briefly and not options.streams:
        return min(settings.chat_deadline_seconds, settings.agents_deadline_seconds)
    return settings.chat_deadline_seconds


def _unread(protocol: Protocol, options: RouteOptions) -> ChatRequest:
    """Make what stands for a request until its body is understood, for errors that are told in an answer."""
    streams = options.streams or protocol.answer is None
    return ChatRequest((), stream=streams, team=options.team, answer_id=answer_id_of(new_turn_id()))
