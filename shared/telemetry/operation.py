"""What all spans have in common: how they begin, and how they say that something did not end well.

A span never carries an exception: its message may hold what a user said. Its kind is enough, and the log has the rest.
"""

import asyncio
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from shared.chat_types import RequestContext
from shared.errors import ContentFiltered, SwitchboardError
from shared.events import Usage
from shared.telemetry import names

_PROPAGATOR = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class Peer:
    """What a part of the app works with."""

    provider: str
    """Who offers a model; empty for what is none."""
    name: str
    """The model, the index."""
    address: str | None = None
    """Where it is, as a URL; None: in this process."""

    @property
    def kind(self) -> SpanKind:
        """Whether calls leave the process."""
        return SpanKind.CLIENT if self.address else SpanKind.INTERNAL

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """Who and where it is."""
        found: dict[str, AttributeValue] = {names.PROVIDER: self.provider} if self.provider else {}
        if self.address:
            url = urlsplit(self.address)
            port = url.port or (80 if url.scheme == "http" else 443)
            found |= {names.SERVER_ADDRESS: url.hostname or "", names.SERVER_PORT: port}
        return found


def callers_trace(context: RequestContext) -> Context:
    """The trace that the caller's request belongs to; a new one if its `traceparent` is none or is wrong."""
    return _PROPAGATOR.extract({"traceparent": context.trace_parent}, get_current())


def with_usage(span: Span, usage: Usage | None) -> None:
    """Note what was counted."""
    if usage:
        span.set_attribute(names.INPUT_TOKENS, usage.prompt_tokens)
        span.set_attribute(names.OUTPUT_TOKENS, usage.completion_tokens)


def failed(span: Span, error: BaseException, deadline: float = math.inf) -> None:
    """Note how an operation did not end well: stopped by its deadline, or by others, or by which kind of error."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        if asyncio.get_running_loop().time() < deadline:
            span.set_attribute(names.CANCELLED, True)
            span.set_attribute(names.OUTCOME, "cancelled")
            return
        kind = "timeout"
    else:
        kind = error.code if isinstance(error, SwitchboardError) else type(error).__qualname__
    if isinstance(error, ContentFiltered):
        span.set_attribute(names.FILTERED, True)
    span.set_attribute(names.ERROR, kind)
    span.set_attribute(names.OUTCOME, kind)
    span.set_status(StatusCode.ERROR)


@contextmanager
def operation(
    tracer: Tracer, name: str, kind: SpanKind, attributes: Mapping[str, AttributeValue], deadline: float = math.inf
) -> Generator[Span]:
    """A span around what one coroutine does, and the parent of what it starts."""
    span = tracer.start_span(name, kind=kind, attributes=attributes)
    try:
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield span
    except BaseException as error:
        failed(span, error, deadline)
        raise
    finally:
        span.end()
