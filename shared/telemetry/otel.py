"""Tracing with OpenTelemetry: makes the spans of turns and agents, and wraps the parts of the app."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from opentelemetry.trace import SpanKind, StatusCode, Tracer

from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, RequestContext
from shared.errors import NotConfigured, SwitchboardError
from shared.events import ChatEvent, Usage
from shared.guard import SafetyService
from shared.retrieval import Embedder, Retriever
from shared.settings import Settings
from shared.telemetry import RecordMessage, names
from shared.telemetry.exporting import providers
from shared.telemetry.metrics import SpanMetrics
from shared.telemetry.operation import Peer, failed, operation, with_usage
from shared.telemetry.parts import TracedEmbedder, TracedModel, TracedRetriever, TracedSafety
from shared.telemetry.turns import traced_turn


class OtelTracing:
    """A `Tracing` that makes spans.

    Args:
        tracer: Makes the spans.
        model: The model that answers, and its address.
        metrics: Records how long messages waited.
        content: Whether to record texts (`TELEMETRY_CONTENT`).
    """

    def __init__(self, tracer: Tracer, model: Peer, metrics: SpanMetrics, *, content: bool) -> None:
        self._tracer = tracer
        self._model = model
        self._metrics = metrics
        self._content = content

    @classmethod
    def from_settings(cls, settings: Settings, model: Peer) -> "OtelTracing":
        """Make spans, and send them to the receivers that the settings name.

        Raises:
            NotConfigured: the settings, or OpenTelemetry's own variables, are wrong.
        """
        try:
            provider, metrics = providers(settings)
        except ValueError as exc:
            raise NotConfigured(
                "Traces cannot be set up: check the variables that begin with OTEL_, and "
                "APPLICATIONINSIGHTS_CONNECTION_STRING."
            ) from exc
        return cls(provider.get_tracer("switchboard"), model, metrics, content=settings.telemetry_content)

    def turn(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, workflow: str
    ) -> AsyncGenerator[ChatEvent]:
        """Pass on a turn's events; see `turns.traced_turn`."""
        model, content = self._model, self._content
        return traced_turn(events, request, context, workflow, tracer=self._tracer, model=model, content=content)

    @contextmanager
    def agent(self, name: str) -> Generator[RecordMessage]:
        """Make the span of an agent while it makes a message."""
        attributes = {names.OPERATION: "invoke_agent", names.AGENT: name}
        with operation(self._tracer, f"invoke_agent {name}", SpanKind.INTERNAL, attributes) as span:

            def record(usage: Usage | None, error: SwitchboardError | None) -> None:
                with_usage(span, usage)
                span.set_attribute(names.OUTCOME, error.code if error else "ok")
                if error:
                    failed(span, error)

            yield record

    @contextmanager
    def call(self, tool: str, call_id: str, arguments: str) -> Generator[Callable[[str, str], None]]:
        """Make the span of a call of a server's tool."""
        attributes = {names.OPERATION: "execute_tool", names.TOOL: tool, names.TOOL_CALL: call_id}
        if self._content:
            attributes[names.ARGUMENTS] = arguments
        with operation(self._tracer, f"execute_tool {tool}", SpanKind.INTERNAL, attributes) as span:

            def record(status: str, result: str) -> None:
                span.set_attribute(names.OUTCOME, "ok" if status == "done" else status)
                if status != "done":
                    span.set_attribute(names.ERROR, status)
                    span.set_status(StatusCode.ERROR)
                if self._content:
                    span.set_attribute(names.RESULT, result)

            yield record

    def waited(self, queue: str, since: datetime | None) -> None:
        """Record how long a message was in a queue."""
        if since:
            self._metrics.waited(queue, max(0.0, (datetime.now(UTC) - since).total_seconds()))

    def model(self, model: ChatModel) -> ChatModel:
        """Wrap the model."""
        return TracedModel(model, self._model, self._tracer, content=self._content)

    def retriever(self, retriever: Retriever, peer: Peer) -> Retriever:
        """Wrap the retriever, which searches this index."""
        return TracedRetriever(retriever, peer, self._tracer, content=self._content)

    def embedder(self, embedder: Embedder, peer: Peer) -> Embedder:
        """Wrap the embedder, which asks this service."""
        return TracedEmbedder(embedder, peer, self._tracer)

    def safety(self, service: SafetyService, peer: Peer) -> SafetyService:
        """Wrap the safety service, which is at this address."""
        return TracedSafety(service, peer, self._tracer)
