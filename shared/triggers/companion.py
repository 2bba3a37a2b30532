"""Companion routes: forward texts and payloads to the safety service, and return its events."""

from collections.abc import AsyncGenerator
from functools import partial

from starlette.responses import Response

from shared.chat_types import RequestContext
from shared.core.running_turn import RunningTurn
from shared.errors import NotConfigured
from shared.events import Failed
from shared.guard import SafetyEvent as Event
from shared.guard.companion import analyse
from shared.triggers.door import Call
from shared.web import responses
from shared.wire import rai_body as bodies
from shared.wire.protocol import error_record
from shared.wire.request_body import JsonReader


async def analyze_safety(call: Call) -> Response:
    """Analyze a text or a conversation for harm.

    Forwards it to the safety service, and returns whether anything is blocked, and all results.
    """
    analysis = await _start_analysis(call)
    events: list[Event] = []
    async with responses.cancelled_on_disconnect(call.request, analysis):
        async for event in analysis.events():
            if isinstance(event, Failed):
                raise event.error
            events.append(event)
    return responses.json_response(bodies.analysis_json(events))


async def analyze_safety_stream(call: Call) -> Response:
    """Stream an analysis for harm.

    The events of the safety service as they arrive. A failure after the first event is sent as the last record.
    """
    analysis = await _start_analysis(call)
    async with responses.cancelled_on_disconnect(call.request, analysis):
        failure = await analysis.settled(responses.FIRST_PIECE_TIMEOUT_SECONDS)
    if failure:
        raise failure.error
    return responses.TurnResponse(_lines(analysis), {"content-type": bodies.ANALYSIS_LINES.content_type}, analysis)


async def _start_analysis(call: Call) -> RunningTurn[Event]:
    """Read and check the request, and start to forward it to the safety service."""
    reader = partial(JsonReader, example=bodies.ANALYSIS_EXAMPLE, list_key=bodies.EVENTS)
    buffers = bodies.parse_analysis((await call.read(reader)).json, call.settings.model_name)
    safety = call.service.safety
    if safety is None:
        raise NotConfigured(
            "No safety service is configured: set RAI_ENDPOINT, or RAI_BACKEND=content-safety and "
            "CONTENT_SAFETY_ENDPOINT. On a laptop RAI_MODE=annotate starts the reference service."
        )
    trace_parent = call.request.headers.get("traceparent", "")
    context = RequestContext(call.invocation_id, call.deadline, call.caller, trace_parent=trace_parent)
    blind = call.settings.rai_without_model == "allow"
    events = analyse(buffers, safety, context, call.settings.rai_timeout_seconds, blind=blind)
    analysis = RunningTurn(events, context, begins=lambda event: not isinstance(event, Failed))
    analysis.when_ended(call.held.pop_all().close)
    return analysis


async def _lines(analysis: RunningTurn[Event]) -> AsyncGenerator[bytes]:
    """Yield the events as JSON lines, one chunk of bytes per batch; a failure is the last line."""
    async for batch in analysis.batches(responses.KEEP_ALIVE_SECONDS):
        records = [
            error_record(event.error, event.invocation_id) if isinstance(event, Failed) else bodies.event_json(event)
            for event in batch
        ]
        yield b"".join(map(bodies.ANALYSIS_LINES.frame, records)) or bodies.ANALYSIS_LINES.keep_alive
