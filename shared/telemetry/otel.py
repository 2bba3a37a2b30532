"""Tracing with OpenTelemetry: makes the spans of turns and agents, and wraps the parts of the app."""

import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import Any, assert_never

from opentelemetry import trace
from opentelemetry.context import attach, get_current
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from shared import events
from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, RequestContext
from shared.errors import ContentFiltered, NotConfigured, SwitchboardError
from shared.events import ChatEvent, Usage
from shared.guard import SafetyService
from shared.retrieval import Embedder, Retriever
from shared.settings import Settings
from shared.telemetry import RecordMessage, names
from shared.telemetry import operation as spans
from shared.telemetry.exporting import SpanMetrics, providers
from shared.telemetry.parts import TracedEmbedder, TracedModel, TracedRetriever, TracedSafety


class OtelTracing:
    """A `Tracing` that makes spans.

    Args:
        tracer: Makes the spans.
        model: The model that answers, and its address.
        metrics: Records how long messages waited.
        content: Whether to record texts (`TELEMETRY_CONTENT`).
    """

    def __init__(self, tracer: Tracer, model: spans.Peer, metrics: SpanMetrics, *, content: bool) -> None:
        self._tracer = tracer
        self._model = model
        self._metrics = metrics
        self._content = content

    @classmethod
    def from_settings(cls, settings: Settings, model: spans.Peer) -> "OtelTracing":
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

    async def turn(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, workflow: str
    ) -> AsyncGenerator[ChatEvent]:
        """Pass on a turn's events as they come, and record them in a span; see `Tracing.turn`.

        The span names the app's model, unless an agent has another. It ends with the last event, when the trigger has
        long returned. It is the current span of the task that runs the turn, so tasks that the turn starts inherit it.
        It stays current between two events: that task does nothing else, and to set and reset it for each event would
        cost as much as everything else that is done with a token.
        """
        parent = spans.callers_trace(context)
        span = self._tracer.start_span(
            f"invoke_workflow {workflow}",
            parent,
            attributes={
                names.OPERATION: "invoke_workflow",
                names.WORKFLOW: workflow,
                names.REQUEST_MODEL: self._model.name,
                names.INVOCATION: context.invocation_id,
                names.PROTOCOL: context.protocol,
                **({names.PROVIDER: self._model.provider} if self._model.provider else {}),
                **({names.CALLER: context.caller.key} if context.caller.key else {}),
            },
        )
        if request.chat.conversation_id and _UUID.fullmatch(request.chat.conversation_id):
            span.set_attribute(names.CONVERSATION, request.chat.conversation_id)
        recorder = _TurnRecorder(span, request, is_team=workflow == "team", content=self._content)
        outside = get_current()
        attach(trace.set_span_in_context(span, parent))
        try:
            async with aclosing(events):
                async for event in events:
                    recorder.record(event)
                    yield event
        except BaseException as error:
            if not recorder.is_over:
                spans.failed(span, error, context.deadline)
            raise
        finally:
            attach(outside)
            recorder.end()

    @contextmanager
    def agent(self, name: str) -> Generator[RecordMessage]:
        """Make the span of an agent while it makes a message."""
        attributes = {names.OPERATION: "invoke_agent", names.AGENT: name}
        with spans.operation(self._tracer, f"invoke_agent {name}", SpanKind.INTERNAL, attributes) as span:

            def record(usage: Usage | None, error: SwitchboardError | None) -> None:
                spans.with_usage(span, usage)
                span.set_attribute(names.OUTCOME, error.code if error else "ok")
                if error:
                    spans.failed(span, error)

            yield record

    @contextmanager
    def call(self, tool: str, call_id: str, arguments: str) -> Generator[Callable[[str, str], None]]:
        """Make the span of a call of a server's tool."""
        attributes = {names.OPERATION: "execute_tool", names.TOOL: tool, names.TOOL_CALL: call_id}
        if self._content:
            attributes[names.ARGUMENTS] = arguments
        with spans.operation(self._tracer, f"execute_tool {tool}", SpanKind.INTERNAL, attributes) as span:

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

    def retriever(self, retriever: Retriever, peer: spans.Peer) -> Retriever:
        """Wrap the retriever, which searches this index."""
        return TracedRetriever(retriever, peer, self._tracer, content=self._content)

    def embedder(self, embedder: Embedder, peer: spans.Peer) -> Embedder:
        """Wrap the embedder, which asks this service."""
        return TracedEmbedder(embedder, peer, self._tracer)

    def safety(self, service: SafetyService, peer: spans.Peer) -> SafetyService:
        """Wrap the safety service, which is at this address."""
        return TracedSafety(service, peer, self._tracer)


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""Ids of our conversations. Other ids come from the caller and may hold anything, so they are not recorded."""


class _TurnRecorder(spans.AnswerRecorder):
    """Records the events of one turn in its span."""

    def __init__(self, span: Span, request: ChatRequest, *, is_team: bool, content: bool) -> None:
        super().__init__(span, (*request.messages, *request.steps) if content else None)
        self._is_team = is_team
        self._degraded: set[str] = set()
        self._messages: list[Any] = []

    @property
    def is_over(self) -> bool:
        """Whether the last event was seen."""
        return self.reason is not None

    def record(self, event: events.ChatEvent) -> None:  # noqa: C901 (one case an event)
        """Record one event."""
        match event:
            case events.TextDelta():
                if self.awaits_first:
                    self.record_first()
                if self.content:
                    self.text.append(event.text)
            case events.ToolsCalled():
                self.record_calls(event.calls)
            case events.Retrieved():
                self._record_sources(event)
            case events.CompletionStarted():
                self._record_start(event)
            case events.ThoughtsAdded():
                self._record_degraded(event.thoughts)
            case events.AgentMessage():
                self._record_message(event)
            case events.Finished():
                self.record_finish(event.reason, event.usage)
                if event.reason == "content_filter":
                    self.span.set_attribute(names.FILTERED, True)
            case events.ToolStarted() | events.ToolEnded() | events.ConsentAsked():
                pass  # each call has a span of its own
            case events.AgentWork() | events.FilterAnnotation() | events.ReasoningDelta() | events.Failed():
                pass  # `Failed` is made outside of this wrapper, from an exception that `failed` records
            case _:
                assert_never(event)

    def end(self, *messages: dict[str, Any]) -> None:
        """Also record what the turn had to do without."""
        if self._degraded:
            self.span.set_attribute(names.DEGRADED, sorted(self._degraded))
        super().end(*self._messages, *messages)

    def _record_start(self, event: events.CompletionStarted) -> None:
        self.span.set_attribute(names.RESPONSE_ID, event.id)
        if not self._is_team:
            self.span.set_attribute(names.RESPONSE_MODEL, event.model)

    def _record_sources(self, event: events.Retrieved) -> None:
        self.span.set_attribute(names.SOURCES, len(event.data_points))
        if event.prompt_version:
            self.span.set_attribute(names.PROMPT_VERSION, event.prompt_version)
        self._record_degraded(event.thoughts)

    def _record_message(self, message: events.AgentMessage) -> None:
        self._record_degraded(message.thoughts)
        if message.error:
            self._degraded.add("agents")
        elif self.awaits_first:
            self.record_first()
        if isinstance(message.error, ContentFiltered):
            self.span.set_attribute(names.FILTERED, True)
        if self.content:
            reason = message.finished.reason if message.finished else None
            self._messages.append(spans.output_message(message.text, reason, author=message.agent))

    def _record_degraded(self, thoughts: Iterable[events.Thought]) -> None:
        self._degraded |= {thought.degraded for thought in thoughts if thought.degraded}
