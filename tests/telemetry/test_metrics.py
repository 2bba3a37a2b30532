"""The metrics that spans become when they end."""

from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.util.types import AttributeValue

from shared.telemetry.exporting import SpanMetrics

CHAT: dict[str, AttributeValue] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "azure.ai.openai",
    "gen_ai.request.model": "gpt",
    "gen_ai.response.model": "gpt-2026-01-01",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.usage.input_tokens": 700,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.input.messages": "secret",
    "switchboard.invocation_id": "id-1",
    "switchboard.outcome": "stop",
}
KEPT = {key: value for key, value in CHAT.items() if key.endswith(("name", "model", "outcome"))}


class Metrics:
    """What was recorded."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.recorder = SpanMetrics(MeterProvider([self._reader], shutdown_on_exit=False).get_meter("tests"))
        self._spans = TracerProvider(shutdown_on_exit=False)
        self._spans.add_span_processor(self.recorder)

    def span(self, seconds: float, attributes: Mapping[str, AttributeValue]) -> None:
        """A span that took so long."""
        span = self._spans.get_tracer("tests").start_span("a", attributes=attributes, start_time=1_000)
        span.end(1_000 + round(seconds * 1e9))

    @property
    def recorded(self) -> list[tuple[str, str, float, dict[str, Any]]]:
        """Name, unit, sum and attributes of each."""
        data = self._reader.get_metrics_data()
        scopes = [scope for group in data.resource_metrics for scope in group.scope_metrics] if data else []
        found: list[tuple[str, str, float, dict[str, Any]]] = []
        for metric in (metric for scope in scopes for metric in scope.metrics):
            for point in metric.data.data_points:
                assert isinstance(point, HistogramDataPoint)
                found.append((metric.name, metric.unit or "", point.sum, dict(point.attributes or {})))
        return found


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def test_a_model_call_is_its_duration_its_first_words_and_its_tokens_and_nothing_that_was_said(
    metrics: Metrics,
) -> None:
    metrics.span(1.5, CHAT)
    assert sorted(metrics.recorded, key=str) == [
        ("gen_ai.client.operation.duration", "s", 1.5, KEPT),
        ("gen_ai.client.operation.time_to_first_chunk", "s", 0.25, KEPT),
        ("gen_ai.client.token.usage", "{token}", 50, KEPT | {"gen_ai.token.type": "output"}),
        ("gen_ai.client.token.usage", "{token}", 700, KEPT | {"gen_ai.token.type": "input"}),
    ]


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        ("invoke_workflow", "gen_ai.workflow.duration"),
        ("invoke_agent", "gen_ai.invoke_agent.duration"),
        ("embeddings", "gen_ai.client.operation.duration"),
        ("retrieval", "gen_ai.client.operation.duration"),
    ],
)
def test_other_operations_are_durations_only_so_that_tokens_are_counted_once(
    metrics: Metrics, operation: str, named: str
) -> None:
    metrics.span(2, CHAT | {"gen_ai.operation.name": operation, "error.type": "timeout"})
    expected = KEPT | {"gen_ai.operation.name": operation, "error.type": "timeout"}
    assert metrics.recorded == [(named, "s", 2.0, expected)]


def test_a_safety_check_is_none_and_a_call_that_counted_nothing_has_no_tokens(metrics: Metrics) -> None:
    metrics.span(1, {"switchboard.safety.service": "rai"})
    metrics.span(1, {"gen_ai.operation.name": "chat"})
    assert [name for name, *_ in metrics.recorded] == ["gen_ai.client.operation.duration"]


def test_a_wait_in_a_queue_is_counted_by_queue(metrics: Metrics) -> None:
    metrics.recorder.waited("chat-requests", 12.5)
    expected = ("switchboard.queue.wait", "s", 12.5, {"messaging.destination.name": "chat-requests"})
    assert metrics.recorded == [expected]
