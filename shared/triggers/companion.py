"""Companion routes: forward texts and payloads to the safety service, and return its events."""

from collections.abc import AsyncGenerator
from functools import partial

from starlette.responses import Response

from shared.chat_types import RequestContext
from shared.core.running_turn import RunningTurn
from shared.errors import NotConfigured
from shared.events import Failed
from shared.guard import SafetyEvent
from shared.guard.companion import analyse
from shared.triggers.door import Call
from shared.triggers.errors import json_response
from shared.web.streaming import (
    FIRST_PIECE_TIMEOUT_SECONDS,
    KEEP_ALIVE_SECONDS,
    TurnResponse,
    cancelled_on_disconnect,
)
from shared.wire.protocol import error_record
from shared.wire.rai_body import ANALYSIS_EXAMPLE, ANALYSIS_LINES, EVENTS, analysis_json, event_json, parse_analysis
from shared.wire.request_body import JsonReader


async def rai_analyze(call: Call) -> Response:
    """`POST /rai/analyze`: return whether anything is blocked, and all events of the safety service."""
    analysis = await _start_analysis(call)
    events: list[SafetyEvent] = []
    async with cancelled_on_disconnect(call.request, analysis):
        async for event in analysis.events():
            if isinstance(event, Failed):
                raise event.error
            events.append(event)
    return json_response(analysis_json(events))


async def rai_analyze_stream(call: Call) -> Response:
    """`POST /rai/analyze/stream`: stream each event as soon as it arrives."""
    analysis = await _start_analysis(call)
    async with cancelled_on_disconnect(call.request, analysis):
        failure = await analysis.settled(FIRST_PIECE_TIMEOUT_SECONDS)
    if failure:
        raise failure.error
    return TurnResponse(_lines(analysis), {"content-type": ANALYSIS_LINES.content_type}, analysis)


async def _start_analysis(call: Call) -> RunningTurn[SafetyEvent]:
    """Read and check the request, and start to forward it to the safety service."""
    reader = partial(JsonReader, example=ANALYSIS_EXAMPLE, list_key=EVENTS)
    buffers = parse_analysis((await call.read(reader)).json)
    safety = call.service.safety
    if safety is None:
        raise NotConfigured(
            "No safety service is configured: set RAI_ENDPOINT, or RAI_BACKEND=content-safety and "
            "CONTENT_SAFETY_ENDPOINT. On a laptop RAI_MODE=annotate starts the reference service."
        )
    trace_parent = call.request.headers.get("traceparent", "")
    context = RequestContext(call.invocation_id, call.deadline, call.caller, trace_parent=trace_parent)
    analysis = RunningTurn(
        analyse(buffers, safety, context, call.settings.rai_timeout_seconds), context, begins=_is_result
    )
    analysis.when_ended(call.held.pop_all().close)
    return analysis


def _is_result(event: SafetyEvent | Failed) -> bool:
    return not isinstance(event, Failed)


async def _lines(analysis: RunningTurn[SafetyEvent]) -> AsyncGenerator[bytes]:
    """Yield the events as JSON lines, one chunk of bytes per batch; a failure is the last line."""
    async for batch in analysis.batches(KEEP_ALIVE_SECONDS):
        records = [
            error_record(event.error, event.invocation_id) if isinstance(event, Failed) else event_json(event)
            for event in batch
        ]
        yield b"".join(map(ANALYSIS_LINES.frame, records)) or ANALYSIS_LINES.keep_alive
