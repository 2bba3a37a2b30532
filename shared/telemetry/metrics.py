"""Metrics, recorded as each span ends, and how long messages waited in a queue.

Source: OpenTelemetry's GenAI semantic conventions ('Metrics', status Development). Metrics that these do not define
begin with `switchboard.`.
"""

from collections.abc import Mapping
from typing import Final

from opentelemetry.metrics import Histogram, Meter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.util.types import AttributeValue

from shared.telemetry import names

_KIND_OF_TOKENS: Final = "gen_ai.token.type"
_QUEUE: Final = "messaging.destination.name"
_KEPT: Final = (
    *(names.OPERATION, names.PROVIDER, names.REQUEST_MODEL, names.RESPONSE_MODEL, names.SERVER_ADDRESS),
    *(names.SERVER_PORT, names.WORKFLOW, names.AGENT, names.DATA_SOURCE, names.ERROR, names.OUTCOME),
)
"""The attributes of spans that metrics have too: those with few values."""
_SECONDS: Final = [0.01 * 2**power for power in range(14)]
_TOKENS: Final = [4.0**power for power in range(14)]
"""The boundaries that the conventions ask for."""


class SpanMetrics(SpanProcessor):
    """Records durations, tokens and times to the first chunk of the spans that end.

    Args:
        meter: Makes the metrics.
    """

    def __init__(self, meter: Meter) -> None:
        self._first = _seconds(meter, "gen_ai.client.operation.time_to_first_chunk")
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=_TOKENS
        )
        calls = _seconds(meter, "gen_ai.client.operation.duration")
        self._durations = {
            **dict.fromkeys(("chat", "embeddings", "retrieval"), calls),
            "invoke_workflow": _seconds(meter, "gen_ai.workflow.duration"),
            "invoke_agent": _seconds(meter, "gen_ai.invoke_agent.duration"),
        }
        self._waits = _seconds(meter, "switchboard.queue.wait")

    def on_end(self, span: ReadableSpan) -> None:
        """Record the metrics of a span."""
        said = span.attributes or {}
        operation = said.get(names.OPERATION)
        duration = self._durations.get(operation) if isinstance(operation, str) else None
        if duration is None:  # a safety check, for which the conventions have no name
            return
        kept: dict[str, AttributeValue] = {name: said[name] for name in _KEPT if name in said}
        duration.record(((span.end_time or 0) - (span.start_time or 0)) / 1e9, kept)
        if operation == "chat":
            self._record_answer(said, kept)

    def waited(self, queue: str, seconds: float) -> None:
        """Record how long a message was in a queue."""
        self._waits.record(seconds, {_QUEUE: queue})

    def _record_answer(self, said: Mapping[str, AttributeValue], kept: dict[str, AttributeValue]) -> None:
        first = said.get(names.TIME_TO_FIRST)
        if isinstance(first, float):
            self._first.record(first, kept)
        for kind, name in (("input", names.INPUT_TOKENS), ("output", names.OUTPUT_TOKENS)):
            count = said.get(name)
            if isinstance(count, int):
                self._tokens.record(count, {**kept, _KIND_OF_TOKENS: kind})


def _seconds(meter: Meter, name: str) -> Histogram:
    return meter.create_histogram(name, "s", explicit_bucket_boundaries_advisory=_SECONDS)
