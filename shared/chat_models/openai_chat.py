"""The `ChatModel` for chat completions of OpenAI, Azure OpenAI and compatible services."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

from shared.chat_models import ModelEvent, ModelRequest, ModelText, ToolDefinition
from shared.chat_models.chunk_reader import LONGEST_TEXT, ChunkReader
from shared.chat_types import ImagePart, Json, Message, PartHealth, RequestContext
from shared.errors import SwitchboardError
from shared.outbound.asking import CachedHealth
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import THINKING_WITH_TOOLS, ServedModel
from shared.outbound.openai_service.service import OpenAIService
from shared.reusable_timeout import ReusableTimeout

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger("switchboard.openai")

_LONGEST_ANSWER = ("max_completion_tokens", "max_tokens")
"""Names of the output limit. OpenAI's reasoning models refuse the second, older one; some services lack the first."""
_SETTING_OF_OTHERS = "`model` in AGENTS_FILE"
"""The setting that names a model other than the configured one."""


class OpenAIChatModel:
    """A model behind `POST /chat/completions`."""

    takes_images = True

    def __init__(
        self, service: OpenAIService, reasoning_effort: str | None = None, source_tokens: int = 12_000
    ) -> None:
        self.source_tokens = source_tokens
        self._reasoning_effort = reasoning_effort
        self._service = service
        self._connection = service.connection
        self._model = service.connection.chat_model
        self._unsupported: defaultdict[str, set[str]] = defaultdict(set)
        self._health = CachedHealth(self._ask_health)

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the answer as it comes; events that came together follow without suspending, up to `LONGEST_TEXT`.

        Raises:
            RateLimited, ContentFiltered, BadRequest, Unavailable, TooSlow: see `outbound.faults`.
        """
        await self._service.opened()
        from shared.outbound.openai_service.errors import service_errors

        begun = asyncio.get_running_loop().time()
        model = ServedModel(request.model, _SETTING_OF_OTHERS) if request.model else self._model
        with service_errors(self._connection, model, context.invocation_id), ReusableTimeout() as timer:
            body = self._body(request, model.name)
            limit = min(begun + self._service.timeouts.first, context.deadline)
            response = await self._request(body, model, limit, context.status_due)
            async with aclosing(response), aclosing(response.aiter_raw()) as received:
                reader = ChunkReader(model.name, framing=_framing(response))
                data: bytes | None = b""
                while data is not None:
                    limit = self._limit(reader, begun, context)
                    data = None if reader.is_done else await self._read(received, reader, timer, limit)
                    characters = 0
                    for event in reader.finish() if data is None else reader.feed(data):
                        yield event
                        if type(event) is ModelText and (characters := characters + len(event.text)) >= LONGEST_TEXT:
                            characters = 0
                            await asyncio.sleep(0)  # other requests have their turn
                await self._drain(received)

    async def check(self) -> PartHealth:
        """Check that the service answers and accepts the credentials; at most every 30 seconds."""
        return await self._health.latest()

    async def _request(
        self, body: dict[str, object], model: ServedModel, deadline: float, status_due: float | None
    ) -> "httpx2.Response":
        """Send the request, without the parameters that this model has refused before."""
        import openai

        from shared.outbound.openai_service.errors import fault_of, unsupported_parameter

        left_out = set(self._unsupported[model.name])
        while True:
            sent = _supported(body, left_out)
            try:
                response = await self._service.post("/chat/completions", sent, deadline=deadline, status_due=status_due)
            except openai.APIStatusError as exc:
                name = unsupported_parameter(exc, sent)
                if name is None or name in left_out:
                    if (fault := fault_of(exc)).reason is Reason.NOT_THERE:
                        raise ServiceFault(await self._service.explained(fault, model)) from exc
                    raise
                left_out.add(name)
            else:
                if new := left_out - self._unsupported[model.name]:
                    _log.warning("%s does not support %s: left out from now on", model.name, ", ".join(sorted(new)))
                    self._unsupported[model.name] |= new
                return response

    def _body(self, request: ModelRequest, model: str) -> dict[str, object]:
        official = self._connection.kind != "openai-compatible"
        optional: dict[str, object] = {
            "temperature": request.temperature,
            "seed": request.seed,
            _LONGEST_ANSWER[0 if official else 1]: request.max_tokens,
            "reasoning_effort": self._reasoning_effort,
            "tools": [_tool(tool) for tool in request.tools] or None,
        }
        return {
            "model": model,
            "messages": [_message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _limit(self, reader: ChunkReader, begun: float, context: RequestContext) -> float:
        """Time limit for the next bytes, on the loop's clock. It depends on how far the answer is."""
        now, timeouts = asyncio.get_running_loop().time(), self._service.timeouts
        if reader.is_complete:
            limit = now + timeouts.ending
        else:
            limit = now + timeouts.between if reader.has_content else begun + timeouts.first
        return min(limit, context.deadline)

    async def _read(
        self, received: AsyncGenerator[bytes], reader: ChunkReader, timer: ReusableTimeout, limit: float
    ) -> bytes | None:
        """Wait for the next bytes; None at the end of the answer."""
        try:
            return await timer.until(limit, anext(received))
        except StopAsyncIteration:
            return None
        except Exception as exc:
            import httpx2  # here, where it is rare: an import statement for each token takes time

            # The answer is whole once its finish reason is there, however the connection ends.
            if reader.is_complete and isinstance(exc, httpx2.HTTPError | TimeoutError | ServiceFault):
                return None
            raise

    async def _drain(self, received: AsyncGenerator[bytes]) -> None:
        """Read the rest of the body, so that the connection can be reused."""
        import httpx2

        try:
            async with asyncio.timeout(self._service.timeouts.ending):
                async for _ in received:
                    pass
        except (httpx2.HTTPError, TimeoutError, ServiceFault):
            return

    async def _ask_health(self) -> PartHealth:
        facts: dict[str, Json] = {"host": self._connection.host, "model": self._model.name}
        try:
            await self._service.check()
        except SwitchboardError as error:
            return PartHealth(self._connection.kind, ok=False, detail=error.message, facts=facts)
        detail = f"{self._model.name} at {self._connection.host}"
        return PartHealth(self._connection.kind, ok=True, detail=detail, facts=facts)


def _supported(body: dict[str, object], left_out: Collection[str]) -> dict[str, object]:
    """Remove the parameters that the model does not support; a refused output limit gets its other name."""
    sent = {name: value for name, value in body.items() if name not in left_out}
    if THINKING_WITH_TOOLS in left_out and "tools" in body:
        sent["reasoning_effort"] = "none"
    for name, other in zip(_LONGEST_ANSWER, reversed(_LONGEST_ANSWER), strict=True):
        if name in body and name in left_out and other not in left_out:
            sent[other] = body[name]
    return sent


def _framing(response: "httpx2.Response") -> Literal["sse", "json"]:
    """Framing of the answer: some services send one JSON document although a stream was requested."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "text/html":
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, status=response.status_code))
    return "json" if content_type == "application/json" else "sse"


def _tool(tool: ToolDefinition) -> Json:
    described: dict[str, Json] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": described}


def _message(message: Message) -> dict[str, object]:
    wire: dict[str, object] = {"role": message.role.value, "content": message.text}
    if message.images:
        images = [part for image in message.images for part in _image(image)]
        wire["content"] = [*images, {"type": "text", "text": message.text}]
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _image(image: ImagePart) -> list[object]:
    """The parts of an image: its name, if it has one, and the image, whose `data:` URL is made when it is sent."""
    name: list[object] = [{"type": "text", "text": f"{image.name}:"}] if image.name else []
    return [*name, {"type": "image_url", "image_url": {"url": image}}]
