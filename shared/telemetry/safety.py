"""Safety checks as spans: one for each session with the service."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager

from opentelemetry import trace
from opentelemetry.trace import Span, Tracer

from shared.chat_types import PartHealth, RequestContext
from shared.errors import SwitchboardError
from shared.guard import AnalysisResult, Buffer, Completion, SafetyEvent, SafetyService, SafetySession
from shared.telemetry import names
from shared.telemetry.operation import Peer, callers_trace, failed


class TracedSafety:
    """A `SafetyService` whose sessions are noted: how they ended, and whether something was found that is forbidden.

    Args:
        service: What checks.
        peer: Who and where it is.
        tracer: Makes the spans.
    """

    def __init__(self, service: SafetyService, peer: Peer, tracer: Tracer) -> None:
        self._service = service
        self._peer = peer
        self._tracer = tracer

    @asynccontextmanager
    async def session(self, context: RequestContext) -> AsyncGenerator[SafetySession]:
        """Open a session; see `SafetyService.session`. The companion function's belong to no turn."""
        in_turn = trace.get_current_span().get_span_context().is_valid
        span = self._tracer.start_span(
            f"safety {self._peer.name}",
            None if in_turn else callers_trace(context),
            kind=self._peer.kind,
            attributes={names.SAFETY: self._peer.name, names.BLOCKED: False, **self._peer.attributes},
        )
        traced: _TracedSession | None = None
        try:
            async with self._service.session(context) as session:
                yield (traced := _TracedSession(session, span, context.deadline))
        except BaseException as error:
            if not (traced and traced.is_over):
                failed(span, error, context.deadline)
            raise
        finally:
            span.end()

    async def check(self) -> PartHealth:
        """Whether the service can be used now."""
        return await self._service.check()

    async def aclose(self) -> None:
        """Close what the service opened."""
        await self._service.aclose()


class _TracedSession:
    """A session, whose faults are noted here: who uses it may end it with nothing raised."""

    def __init__(self, session: SafetySession, span: Span, deadline: float) -> None:
        self._session = session
        self._span = span
        self._deadline = deadline
        self.is_over = False
        """Whether its end is noted."""

    async def send(self, buffer: Buffer) -> None:
        with self._noting_faults():
            await self._session.send(buffer)

    async def commit(self) -> None:
        with self._noting_faults():
            await self._session.commit()

    async def finish(self) -> None:
        with self._noting_faults():
            await self._session.finish()

    async def events(self) -> AsyncGenerator[SafetyEvent]:
        with self._noting_faults():
            async with aclosing(self._session.events()) as events:
                async for event in events:
                    if isinstance(event, AnalysisResult) and event.blocking:
                        self._span.set_attribute(names.BLOCKED, True)
                    if isinstance(event, Completion):
                        self._span.set_attribute(names.OUTCOME, "ok" if event.whole else "incomplete")
                        self.is_over = True
                    yield event

    @contextmanager
    def _noting_faults(self) -> Generator[None]:
        try:
            yield
        except SwitchboardError as error:
            failed(self._span, error, self._deadline)
            self.is_over = True
            raise
