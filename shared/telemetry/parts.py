"""The parts of the app in spans: model calls, searches, embeddings and safety checks."""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, assert_never

from opentelemetry import trace
from opentelemetry.trace import Span, Tracer
from opentelemetry.util.types import AttributeValue

from shared.chat_models import ChatModel, ModelEvent, ModelFinished, ModelRequest, ModelText
from shared.chat_types import PartHealth, RequestContext, ToolCall
from shared.errors import SwitchboardError
from shared.events import CompletionStarted, FilterAnnotation, ReasoningDelta
from shared.guard import AnalysisResult, Buffer, Completion, SafetyEvent, SafetyService, SafetySession
from shared.retrieval import Embedder, Retriever, SearchQuery, SearchResult
from shared.telemetry import names
from shared.telemetry.operation import AnswerRecorder, Peer, callers_trace, documents, failed, operation


class _Traced[Part]:
    """Wraps a part of the app: does what the part does, and records it in spans.

    Args:
        part: The part.
        peer: The service or the index that the part uses.
        tracer: Makes the spans.
        content: Whether to record texts: prompts, answers, queries, and the names of the passages found.
    """

    def __init__(self, part: Part, peer: Peer, tracer: Tracer, *, content: bool = False) -> None:
        self._part = part
        self._peer = peer
        self._tracer = tracer
        self._content = content


class TracedModel(_Traced[ChatModel]):
    """Wraps a `ChatModel`: one span a call, from the request to the end of the answer."""

    def __init__(self, model: ChatModel, peer: Peer, tracer: Tracer, *, content: bool) -> None:
        super().__init__(model, peer, tracer, content=content)
        self.takes_images = model.takes_images
        self.takes_tools = model.takes_tools
        self.room = model.room
        self.check = model.check

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """See `ChatModel.stream`."""
        name = request.model or self._peer.name
        attributes = {names.OPERATION: "chat", **self._peer.attributes, **_options(request, name)}
        span = self._tracer.start_span(f"chat {name}", kind=self._peer.kind, attributes=attributes)
        recorder = _CallRecorder(span, request.messages if self._content else None)
        try:
            async with aclosing(self._part.stream(request, context)) as events:
                async for event in events:
                    recorder.record(event)
                    yield event
        except BaseException as error:
            failed(span, error, context.deadline)
            raise
        finally:
            recorder.end()


def _options(request: ModelRequest, name: str) -> dict[str, AttributeValue]:
    optional: dict[str, AttributeValue | None] = {
        names.REQUEST_TEMPERATURE: request.temperature,
        names.REQUEST_SEED: request.seed,
        names.REQUEST_MAX_TOKENS: request.max_tokens,
    }
    given = {key: value for key, value in optional.items() if value is not None}
    return {names.REQUEST_MODEL: name, names.REQUEST_STREAM: True, **given}


class _CallRecorder(AnswerRecorder):
    """Records the events of one model call in its span."""

    def record(self, event: ModelEvent) -> None:
        match event:
            case ModelText():
                if self.awaits_first:
                    self.record_first()
                if self.content:
                    self.text.append(event.text)
            case CompletionStarted():
                self.span.set_attribute(names.RESPONSE_ID, event.id)
                self.span.set_attribute(names.RESPONSE_MODEL, event.model)
                if event.address:  # of several endpoints the one that answers
                    address = Peer("", "", event.address).attributes
                    self.span.set_attributes({**address, names.ENDPOINT: address[names.SERVER_ADDRESS]})
            case ToolCall():
                self.record_calls([*self.calls, event])
            case ModelFinished():
                self.record_finish(event.reason, event.usage)
            case FilterAnnotation() | ReasoningDelta():
                pass
            case _:
                assert_never(event)

    def end(self, *messages: dict[str, Any]) -> None:
        """Also record an answer that ended early, for whatever reason."""
        if self.reason is None:
            self.span.set_attribute(names.FINISH_REASONS, ["error"])
        super().end(*messages)


class TracedRetriever(_Traced[Retriever]):
    """Wraps a `Retriever`: one span a search."""

    def __init__(self, retriever: Retriever, peer: Peer, tracer: Tracer, *, content: bool) -> None:
        super().__init__(retriever, peer, tracer, content=content)
        self.may_see, self.extent = retriever.may_see, retriever.extent
        self.read, self.check = retriever.read, retriever.check

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "retrieval",
            names.DATA_SOURCE: self._peer.name,
            names.RETRIEVAL_TOP: query.top,
            **self._peer.attributes,
        }
        if self._content:
            attributes[names.QUERY] = query.text
        name = f"retrieval {self._peer.name}"
        with operation(self._tracer, name, self._peer.kind, attributes, context.deadline) as span:
            found = await self._part.search(query, context)
            span.set_attribute(names.OUTCOME, "ok")
            span.set_attribute(names.SOURCES, len(found.passages))
            span.set_attribute(names.SEARCH_MODE, found.mode.value)
            if found.note:
                span.set_attribute(names.DEGRADED, ["search"])
            if self._content:
                named = [(passage.sourcepage, passage.score) for passage in found.passages]
                span.set_attribute(names.DOCUMENTS, documents(named))
            return found


class TracedEmbedder(_Traced[Embedder]):
    """Wraps an `Embedder`: one span a call."""

    def __init__(self, embedder: Embedder, peer: Peer, tracer: Tracer) -> None:
        super().__init__(embedder, peer, tracer)
        self.model, self.part_size, self.aclose = embedder.model, embedder.part_size, embedder.aclose

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:
        """See `Embedder.embed`."""
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "embeddings",
            names.REQUEST_MODEL: self.model,
            names.TEXTS: len(texts),
            **self._peer.attributes,
        }
        with operation(self._tracer, f"embeddings {self.model}", self._peer.kind, attributes) as span:
            vectors = await self._part.embed(texts, questions=questions)
            span.set_attribute(names.OUTCOME, "ok")
            return vectors


class TracedSafety(_Traced[SafetyService]):
    """Wraps a `SafetyService`: one span a session, with its end and whether it found something forbidden."""

    @asynccontextmanager
    async def session(self, context: RequestContext) -> AsyncGenerator[SafetySession]:
        """Open a session; see `SafetyService.session`. The companion function opens sessions outside of a turn."""
        in_turn = trace.get_current_span().get_span_context().is_valid
        span = self._tracer.start_span(
            f"safety {self._peer.name}",
            None if in_turn else callers_trace(context),
            kind=self._peer.kind,
            attributes={names.SAFETY: self._peer.name, names.BLOCKED: False, **self._peer.attributes},
        )
        traced: _TracedSession | None = None
        try:
            async with self._part.session(context) as session:
                yield (traced := _TracedSession(session, span, context.deadline))
        except BaseException as error:
            if not (traced and traced.is_over):
                failed(span, error, context.deadline)
            raise
        finally:
            span.end()

    async def check(self) -> PartHealth:
        """See `SafetyService.check`."""
        return await self._part.check()


class _TracedSession:
    """Wraps a session to record its faults: its user handles them, so the block above may end without an exception."""

    def __init__(self, session: SafetySession, span: Span, deadline: float) -> None:
        self._session = session
        self._span = span
        self._deadline = deadline
        self.is_over = False
        """Whether the end of the session is recorded."""

    async def send(self, buffer: Buffer) -> None:
        with self._recording_faults():
            await self._session.send(buffer)

    async def commit(self) -> None:
        with self._recording_faults():
            await self._session.commit()

    async def finish(self) -> None:
        with self._recording_faults():
            await self._session.finish()

    async def events(self) -> AsyncGenerator[SafetyEvent]:
        with self._recording_faults():
            async with aclosing(self._session.events()) as events:
                async for event in events:
                    if isinstance(event, AnalysisResult) and event.blocking:
                        self._span.set_attribute(names.BLOCKED, True)
                    if isinstance(event, Completion):
                        self._span.set_attribute(names.OUTCOME, "ok" if event.whole else "incomplete")
                        self.is_over = True
                    yield event

    @contextmanager
    def _recording_faults(self) -> Generator[None]:
        try:
            yield
        except SwitchboardError as error:
            failed(self._span, error, self._deadline)
            self.is_over = True
            raise
