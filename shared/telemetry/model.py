"""Model calls as spans."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import assert_never

from opentelemetry.trace import Span, Tracer
from opentelemetry.util.types import AttributeValue

from shared.chat_models import ChatModel, ModelEvent, ModelFinished, ModelRequest, ModelText
from shared.chat_types import PartHealth, RequestContext, ToolCall
from shared.events import CompletionStarted, FilterAnnotation
from shared.telemetry import names
from shared.telemetry.content import input_messages, output_message, output_messages
from shared.telemetry.operation import Peer, failed, with_usage


class TracedModel:
    """A `ChatModel` whose calls are noted, from the request to the end of the answer.

    Args:
        model: What answers.
        peer: Who and where it is.
        tracer: Makes the spans.
        content: Whether to note prompts and answers.
    """

    def __init__(self, model: ChatModel, peer: Peer, tracer: Tracer, *, content: bool) -> None:
        self.takes_images = model.takes_images
        self._model = model
        self._peer = peer
        self._tracer = tracer
        self._content = content

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the model's answer as it comes; see `ChatModel.stream`."""
        name = request.model or self._peer.name
        attributes = {names.OPERATION: "chat", **self._peer.attributes, **_asked(request, name)}
        span = self._tracer.start_span(f"chat {name}", kind=self._peer.kind, attributes=attributes)
        told = _Told(span, request if self._content else None)
        try:
            async with aclosing(self._model.stream(request, context)) as events:
                async for event in events:
                    told.see(event)
                    yield event
        except BaseException as error:
            failed(span, error, context.deadline)
            raise
        finally:
            told.end()

    async def check(self) -> PartHealth:
        """Whether the model can be used now."""
        return await self._model.check()

    async def aclose(self) -> None:
        """Close what the model opened."""
        await self._model.aclose()


def _asked(request: ModelRequest, name: str) -> dict[str, AttributeValue]:
    optional: dict[str, AttributeValue | None] = {
        names.REQUEST_TEMPERATURE: request.temperature,
        names.REQUEST_SEED: request.seed,
        names.REQUEST_MAX_TOKENS: request.max_tokens,
    }
    given = {key: value for key, value in optional.items() if value is not None}
    return {names.REQUEST_MODEL: name, names.REQUEST_STREAM: True, **given}


class _Told:
    """What the events of one call have told of it."""

    def __init__(self, span: Span, request: ModelRequest | None) -> None:
        self._span = span
        self._begun = time.perf_counter()
        self._is_first = True
        self._content = request is not None
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._reason: str | None = None
        if request:
            span.set_attribute(names.INPUT, input_messages(request.messages))

    def see(self, event: ModelEvent) -> None:
        match event:
            case ModelText():
                if self._is_first:
                    self._first()
                if self._content:
                    self._text.append(event.text)
            case CompletionStarted():
                self._span.set_attribute(names.RESPONSE_ID, event.id)
                self._span.set_attribute(names.RESPONSE_MODEL, event.model)
            case ToolCall():
                if self._is_first:
                    self._first()
                self._calls.append(event)
            case ModelFinished():
                self._reason = event.reason
                self._span.set_attribute(names.FINISH_REASONS, [event.reason])
                self._span.set_attribute(names.OUTCOME, event.reason)
                with_usage(self._span, event.usage)
            case FilterAnnotation():
                pass
            case _:
                assert_never(event)

    def end(self) -> None:
        if self._reason is None:
            self._span.set_attribute(names.FINISH_REASONS, ["error"])  # whatever it was that ended the answer early
        if self._content and (self._text or self._calls):
            answer = output_message("".join(self._text), self._reason, self._calls)
            self._span.set_attribute(names.OUTPUT, output_messages(answer))
        self._span.end()

    def _first(self) -> None:
        self._is_first = False
        self._span.set_attribute(names.TIME_TO_FIRST, time.perf_counter() - self._begun)
