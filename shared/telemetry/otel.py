"""Tracing with OpenTelemetry: what is put around the parts of the app, and around its turns."""

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

from opentelemetry.trace import SpanKind, Tracer

from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, RequestContext
from shared.errors import NotConfigured, SwitchboardError
from shared.events import ChatEvent, Usage
from shared.guard import SafetyService
from shared.outbound.openai_service.connection import OpenAIConnection
from shared.retrieval import Embedder, Retriever
from shared.settings import Settings
from shared.telemetry import Telling, names
from shared.telemetry.exporting import tracer_provider
from shared.telemetry.model import TracedModel
from shared.telemetry.operation import Peer, failed, operation, with_usage
from shared.telemetry.retriever import TracedEmbedder, TracedRetriever
from shared.telemetry.safety import TracedSafety
from shared.telemetry.turns import traced_turn

_PROVIDERS = {"openai": "openai", "openai-compatible": "openai", "azure-openai": "azure.ai.openai"}
"""The conventions' names, by the kind of the connection."""


class OtelTracing:
    """A `Tracing` that makes spans.

    Args:
        settings: What the parts are and where.
        tracer: Makes the spans.
    """

    def __init__(self, settings: Settings, tracer: Tracer) -> None:
        self._settings = settings
        self._tracer = tracer
        self._openai = OpenAIConnection.from_settings(settings)
        self._content = settings.telemetry_content

    @classmethod
    def from_settings(cls, settings: Settings) -> "OtelTracing":
        """Trace, and send the spans wherever the settings say.

        Raises:
            NotConfigured: the settings, or OpenTelemetry's own variables, make no sense.
        """
        try:
            provider = tracer_provider(settings)
        except ValueError as exc:
            raise NotConfigured(
                "Traces cannot be set up: check the variables that begin with OTEL_, and "
                "APPLICATIONINSIGHTS_CONNECTION_STRING."
            ) from exc
        return cls(settings, provider.get_tracer("switchboard"))

    def turn(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, workflow: str
    ) -> AsyncGenerator[ChatEvent]:
        """Pass on a turn's events; see `turns.traced_turn`."""
        model, content = self._model_peer, self._content
        return traced_turn(events, request, context, workflow, tracer=self._tracer, model=model, content=content)

    @contextmanager
    def agent(self, name: str) -> Generator[Telling]:
        """Watch an agent while it makes a message."""
        attributes = {names.OPERATION: "invoke_agent", names.AGENT: name}
        with operation(self._tracer, f"invoke_agent {name}", SpanKind.INTERNAL, attributes) as span:

            def tell(usage: Usage | None, error: SwitchboardError | None) -> None:
                with_usage(span, usage)
                span.set_attribute(names.OUTCOME, error.code if error else "ok")
                if error:
                    failed(span, error)

            yield tell

    def model(self, model: ChatModel) -> ChatModel:
        """The same model, traced."""
        return TracedModel(model, self._model_peer, self._tracer, content=self._content)

    def retriever(self, retriever: Retriever) -> Retriever:
        """The same retriever, traced."""
        settings = self._settings
        index = settings.azure_search_knowledge_base or settings.azure_search_index or "embedded"
        peer = Peer("", index, settings.azure_search_endpoint)
        return TracedRetriever(retriever, peer, self._tracer, content=self._content)

    def embedder(self, embedder: Embedder) -> Embedder:
        """The same embedder, traced."""
        return TracedEmbedder(embedder, self._peer_of(embedder.model), self._tracer)

    def safety(self, service: SafetyService) -> SafetyService:
        """The same safety service, traced."""
        settings = self._settings
        at_rai = settings.rai_backend == "rai"
        address = settings.rai_endpoint if at_rai else settings.content_safety_endpoint
        if address and "://" not in address:
            address = f"grpc://{address}"
        return TracedSafety(service, Peer("", settings.rai_backend, address), self._tracer)

    @property
    def _model_peer(self) -> Peer:
        return self._peer_of(self._openai.chat_model.name if self._openai else "extractive")

    def _peer_of(self, model: str) -> Peer:
        openai = self._openai
        return Peer(_PROVIDERS[openai.kind], model, openai.base_url) if openai else Peer("switchboard", model)
