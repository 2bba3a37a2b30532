"""Spans kept in memory, for tests that watch one part."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer
from opentelemetry.util.types import AttributeValue

from shared.telemetry.exporting import SpanMetrics
from shared.telemetry.operation import Peer
from shared.telemetry.otel import OtelTracing

EXTRACTIVE = Peer("switchboard", "extractive")


@dataclass(slots=True)
class Spans:
    """What a tracer has made."""

    tracer: Tracer = field(init=False)
    """Makes them."""
    _kept: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def __post_init__(self) -> None:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = provider.get_tracer("tests")

    def tracing(self, model: Peer = EXTRACTIVE, *, content: bool = False) -> OtelTracing:
        """A tracing whose spans are kept here."""
        metrics = SpanMetrics(MeterProvider(shutdown_on_exit=False).get_meter("tests"))
        return OtelTracing(self.tracer, model, metrics, content=content)

    @property
    def ended(self) -> list[ReadableSpan]:
        """Those that are over, in the order of their ends."""
        return list(self._kept.get_finished_spans())

    @property
    def last(self) -> Mapping[str, AttributeValue]:
        """The attributes of the one that ended last."""
        return self.ended[-1].attributes or {}
