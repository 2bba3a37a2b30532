"""What all spans share: the peer, the caller's trace, the tokens, and how an operation failed.

A span never holds an exception, because its message may hold what a user said. It holds the kind of the error.
"""

import asyncio
import math
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from shared.chat_types import Message, RequestContext, Role, ToolCall
from shared.errors import ContentFiltered, SwitchboardError
from shared.events import Usage
from shared.telemetry import names

_PROPAGATOR = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class Peer:
    """The service or the index that a part of the app uses, as spans name it."""

    provider: str
    """The provider of a model, in the conventions' words; empty for all but models."""
    name: str
    """The name of the model or the index, or the kind of the service."""
    address: str | None = None
    """Its URL; None: it runs in this process."""

    @property
    def kind(self) -> SpanKind:
        """`CLIENT` if calls leave the process, else `INTERNAL`."""
        return SpanKind.CLIENT if self.address else SpanKind.INTERNAL

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """The attributes for the provider and the address."""
        found: dict[str, AttributeValue] = {names.PROVIDER: self.provider} if self.provider else {}
        if self.address:
            url = urlsplit(self.address)
            port = url.port or (80 if url.scheme == "http" else 443)
            found |= {names.SERVER_ADDRESS: url.hostname or "", names.SERVER_PORT: port}
        return found


def callers_trace(context: RequestContext) -> Context:
    """Return the trace that the caller's `traceparent` names; a new trace if it is missing or malformed."""
    return _PROPAGATOR.extract({"traceparent": context.trace_parent}, get_current())


def with_usage(span: Span, usage: Usage | None) -> None:
    """Record the tokens, if they were counted."""
    if usage:
        span.set_attribute(names.INPUT_TOKENS, usage.prompt_tokens)
        span.set_attribute(names.OUTPUT_TOKENS, usage.completion_tokens)


def failed(span: Span, error: BaseException, deadline: float = math.inf) -> None:
    """Record that an operation failed, timed out at its deadline, or was cancelled."""
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
    """Make a span around a block; spans that the block starts become its children."""
    with tracer.start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            failed(span, error, deadline)
            raise


class AnswerRecorder:
    """Records an answer in its span: the time to its first piece, its end, and its text if `content` is set.

    Args:
        span: The span.
        prompt: The prompt, which is recorded with the text; None: record neither.
    """

    def __init__(self, span: Span, prompt: Iterable[Message] | None) -> None:
        self.span = span
        self.content = prompt is not None
        self.awaits_first = True
        self.text: list[str] = []
        self.calls: Sequence[ToolCall] = ()
        self.reason: str | None = None
        """The finish reason; None before the end."""
        self._started_at = time.perf_counter()
        if prompt is not None:
            span.set_attribute(names.INPUT, input_messages(prompt))

    def record_first(self) -> None:
        """Record how long the first piece took."""
        self.awaits_first = False
        self.span.set_attribute(names.TIME_TO_FIRST, time.perf_counter() - self._started_at)

    def record_calls(self, calls: Sequence[ToolCall]) -> None:
        """Record the calls that the answer consists of."""
        if self.awaits_first:
            self.record_first()
        self.calls = calls

    def record_finish(self, reason: str, usage: Usage | None) -> None:
        """Record the end of the answer."""
        self.reason = reason
        self.span.set_attribute(names.FINISH_REASONS, [reason])
        self.span.set_attribute(names.OUTCOME, reason)
        with_usage(self.span, usage)

    def end(self, *messages: dict[str, Any]) -> None:
        """Record the text and the calls, after these other messages, and end the span."""
        if self.content and (self.text or self.calls):
            messages = (*messages, output_message("".join(self.text), self.reason, self.calls))
        if messages:
            self.span.set_attribute(names.OUTPUT, output_messages(*messages))
        self.span.end()


def input_messages(messages: Iterable[Message]) -> str:
    """Encode a prompt. Images are reduced to their media types.

    Source: OpenTelemetry's GenAI semantic conventions, 'Input messages' and 'Output messages' JSON schemas.
    """
    return _json([{"role": message.role.value, "parts": _parts(message)} for message in messages])


def output_message(
    text: str, reason: str | None, calls: Sequence[ToolCall] = (), author: str | None = None
) -> dict[str, Any]:
    """Make the record of one answer; no reason means that the answer was cut off."""
    ended = "tool_call" if reason == "tool_calls" else reason or "error"
    message = {"role": "assistant", "parts": [*_texts(text), *map(_call, calls)], "finish_reason": ended}
    return {**message, "name": author} if author else message


def output_messages(*messages: dict[str, Any]) -> str:
    """Encode the answers of a model or a team."""
    return _json(list(messages))


def documents(found: Iterable[tuple[str, float | None]]) -> str:
    """Encode the names and scores of the passages found."""
    return _json([{"id": name, "score": score} for name, score in found])


def _parts(message: Message) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}]
    images = [{"type": "image", "mime_type": image.media_type} for image in message.images]
    return [*images, *_texts(message.text), *map(_call, message.tool_calls)]


def _texts(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "content": text}] if text else []


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
