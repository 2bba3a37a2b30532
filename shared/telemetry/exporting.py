"""Sends spans and metrics to Application Insights, or to any OpenTelemetry collector, in background threads.

Our providers are not the process-wide ones, so spans that libraries make, some of them with prompts, are not sent.
What cannot be delivered is dropped, with at most one log entry a minute. No turn waits for a delivery, and
nothing is kept on disk.
"""

import atexit
import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry.metrics import Histogram, Meter
from opentelemetry.resource.detector.azure.functions import AzureFunctionsResourceDetector
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased
from opentelemetry.util.types import AttributeValue

from shared.settings import Settings
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
    """Records durations, tokens and times to the first chunk of the spans that end, and how long messages waited.

    Source: OpenTelemetry's GenAI semantic conventions ('Metrics', status Development). Metrics that these do not
    define begin with `switchboard.`.

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


_log = logging.getLogger("switchboard.telemetry")

_DELAY_MILLISECONDS = 1_000
"""How long spans wait to be sent together: Azure may freeze the process as soon as it has no request."""
_SHUTDOWN_TIMEOUT_SECONDS = 2.0
"""How long the end of the process may wait for the last spans and metrics."""
_RETRIES = 2
"""Retries of a delivery to Application Insights; the exporter's default of ten would take a quarter of an hour."""
_LOG_INTERVAL_SECONDS = 60.0
"""Between two log entries on spans that cannot be delivered."""

_OURS_ONLY = (
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL",
    "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED",
    "APPLICATIONINSIGHTS_OPENTELEMETRY_RESOURCE_METRIC_DISABLED",
)
"""Variables that turn off the exporter's own usage statistics, its remote configuration and its own metrics."""


def providers(settings: Settings) -> tuple[TracerProvider, SpanMetrics]:
    """Make the provider of our spans, which sends them and their metrics to the receivers in the settings.

    It also reads OpenTelemetry's standard variables: `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`, `OTEL_METRIC_EXPORT_…`,
    `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_…`.

    Raises:
        ValueError: one of these variables, or the connection string, is malformed.
    """
    # Record also when the caller's `traceparent` says 'not sampled': else any caller could switch our traces off.
    sampler = (
        None if os.environ.get("OTEL_TRACES_SAMPLER") else ParentBased(ALWAYS_ON, remote_parent_not_sampled=ALWAYS_ON)
    )
    # The operator's variables take precedence over Azure's.
    known = Resource({SERVICE_NAME: "switchboard"}).merge(AzureFunctionsResourceDetector().detect())
    resource = Resource.create(known.merge(OTELResourceDetector().detect()).attributes)
    spans = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
    delay = None if os.environ.get("OTEL_BSP_SCHEDULE_DELAY") else _DELAY_MILLISECONDS
    readers: list[PeriodicExportingMetricReader] = []
    for exporter, metric_exporter in _exporters(settings):
        spans.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=delay))
        readers.append(PeriodicExportingMetricReader(metric_exporter))
    logging.getLogger("opentelemetry.sdk.metrics").setLevel(logging.CRITICAL)  # spans have said it
    meters = MeterProvider(readers, resource, AlwaysOffExemplarFilter(), shutdown_on_exit=False)
    metrics = SpanMetrics(meters.get_meter("switchboard"))
    spans.add_span_processor(metrics)
    atexit.register(_finish, spans, meters)
    return spans, metrics


def _exporters(settings: Settings) -> Iterator[tuple[SpanExporter, MetricExporter]]:
    if settings.applicationinsights_connection_string:
        spans, metrics = _to_application_insights(settings)
        yield _Exporter(spans, "Application Insights", "APPLICATIONINSIGHTS_CONNECTION_STRING"), metrics
    if endpoint := settings.otel_exporter_otlp_endpoint:
        host = urlsplit(endpoint).hostname or "the collector"
        spans, metrics = _to_collector(endpoint)
        yield _Exporter(spans, host, "OTEL_EXPORTER_OTLP_ENDPOINT"), metrics


def _to_application_insights(settings: Settings) -> tuple[SpanExporter, MetricExporter]:
    for name in _OURS_ONLY:
        os.environ.setdefault(name, "true")
    from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter

    logging.getLogger("azure.monitor.opentelemetry.exporter").setLevel(logging.CRITICAL)
    logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
    logging.getLogger("azure.identity").setLevel(logging.WARNING)
    connection = settings.applicationinsights_connection_string
    options: dict[str, Any] = {
        "connection_string": connection.get_secret_value() if connection else "",
        "credential": _credential(settings.applicationinsights_authentication_string or ""),
        "disable_offline_storage": True,
        "retry_total": _RETRIES,
    }
    return AzureMonitorTraceExporter(**options), AzureMonitorMetricExporter(**options)


def _credential(authentication: str) -> object:
    """Make the credential for `Authorization=AAD;ClientId=…`; None if the instrumentation key is enough."""
    if not authentication:
        return None
    from azure.identity import DefaultAzureCredential

    client_id = re.search(r"ClientId=([^;]+)", authentication, re.IGNORECASE)
    return DefaultAzureCredential(managed_identity_client_id=client_id[1] if client_id else None)


def _to_collector(endpoint: str) -> tuple[SpanExporter, MetricExporter]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    logging.getLogger("opentelemetry.exporter.otlp").setLevel(logging.CRITICAL)
    base = endpoint.rstrip("/")
    spans = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or f"{base}/v1/traces"
    metrics = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") or f"{base}/v1/metrics"
    return OTLPSpanExporter(endpoint=spans), OTLPMetricExporter(endpoint=metrics)


class _Exporter(SpanExporter):
    """Wraps an exporter: logs its failures in our words, with the setting to check, and not each of them."""

    def __init__(self, exporter: SpanExporter, receiver: str, setting: str) -> None:
        self._exporter = exporter
        self._receiver = receiver
        self._setting = setting
        self._silent_until = 0.0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans, or drop them."""
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001 (a fault of the exporter must not stop a turn)
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS and time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + _LOG_INTERVAL_SECONDS
            _log.warning("traces are dropped: %s does not take them; check %s", self._receiver, self._setting)
        return result

    def shutdown(self) -> None:
        """Close the exporter."""
        self._exporter.shutdown()


def _finish(spans: TracerProvider, meters: MeterProvider) -> None:
    """Send the last spans and metrics, but do not wait long for a slow receiver: the process has to end."""
    until = time.monotonic() + _SHUTDOWN_TIMEOUT_SECONDS
    last = [threading.Thread(target=provider.shutdown, daemon=True) for provider in (spans, meters)]
    for thread in last:
        thread.start()
    for thread in last:
        thread.join(max(0.0, until - time.monotonic()))
