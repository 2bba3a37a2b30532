"""The `ChatModel` for chat completions of OpenAI, Azure OpenAI and compatible services."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing, suppress
from copy import replace
from math import inf
from typing import TYPE_CHECKING, Literal

import msgspec

from shared.chat_models import ModelEvent, ModelRequest, ModelText, ToolDefinition
from shared.chat_models.chunk_reader import LONGEST_TEXT, ChunkReader
from shared.chat_types import ImagePart, Json, JsonForm, Message, PartHealth, RequestContext
from shared.errors import RateLimited, TooSlow, Unavailable
from shared.outbound.asking import CachedHealth
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import THINKING_WITH_TOOLS, ServedModel
from shared.outbound.openai_service.endpoint import Answering, Endpoint
from shared.outbound.openai_service.service import OpenAIService
from shared.runtime.reusable_timeout import ReusableTimeout

if TYPE_CHECKING:
    import aiohttp

_log = logging.getLogger("switchboard.openai")

_LONGEST_ANSWER = ("max_completion_tokens", "max_tokens")
"""Names of the output limit. OpenAI's reasoning models refuse the second, older one; some services lack the first."""
_EFFORT = "reasoning_effort"
"""Its values differ by model, so that a model that refuses one may take another."""
_LARGEST_ANSWER = 64 * 1024 * 1024
"""Maximum size of an answer in bytes. The longest that models write, 128,000 tokens, has 500 for each."""
_SETTING_OF_OTHERS = "`model` in AGENTS_FILE"
"""The setting that names a model other than the configured one."""


class OpenAIChatModel:
    """A model behind `POST /chat/completions`."""

    takes_images = True
    takes_tools = True

    def __init__(
        self, service: OpenAIService, reasoning_effort: str | None = None, source_tokens: int = 12_000
    ) -> None:
        self.source_tokens = source_tokens
        self._reasoning_effort = reasoning_effort
        self._service = service
        self._model = service.connection.chat_model
        self._unsupported: defaultdict[tuple[Endpoint, str], set[str]] = defaultdict(set)
        self._health = CachedHealth(self._ask_health)

    def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """See `ChatModel.stream`. Events that came together follow without suspending, up to `LONGEST_TEXT`."""
        is_held = context.is_whole and self._service.is_spread
        return self._whole(request, context) if is_held else self._streamed(request, context)

    async def _whole(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the answer once all of it is there. If it breaks off or hangs, another endpoint is asked."""
        loop, events = asyncio.get_running_loop(), list[ModelEvent]()
        for left in range(len(self._service.endpoints), 0, -1):
            events.clear()
            silence = (context.deadline - loop.time()) / left if left > 1 else None
            try:
                async for event in self._streamed(request, context, silence):
                    events.append(event)
                break
            except (RateLimited, TooSlow, Unavailable):
                if not (events and left > 1 and loop.time() < context.deadline):
                    raise
        for event in events:
            yield event

    async def _streamed(
        self, request: ModelRequest, context: RequestContext, silence: float | None = None
    ) -> AsyncGenerator[ModelEvent]:
        """Yield the answer as it comes.

        Args:
            request: The call.
            context: The context of the request.
            silence: Seconds for each further piece, if they are fewer than the service's time limit.
        """
        await self._service.opened()
        from shared.outbound.openai_service.errors import service_errors

        model = ServedModel(request.model, _SETTING_OF_OTHERS) if request.model else self._model
        with ReusableTimeout() as timer:

            async def attempt(endpoint: Endpoint, until: float) -> _Begun:
                return await self._begin(endpoint, self._body(endpoint, request, model.name), model, timer, until)

            loop = asyncio.get_running_loop()
            limit = min(loop.time() + self._service.timeouts.first, context.deadline)
            begun = await self._service.ask(
                attempt,
                model,
                deadline=limit,
                chat=context.chat or context.invocation_id,
                status_due=context.status_due,
                invocation_id=context.invocation_id,
            )
            with (
                service_errors(begun.endpoint.connection, model, context.invocation_id),
                Answering(begun.endpoint, context.deadline) as answering,
            ):
                async with aclosing(begun):
                    received, reader, events = begun.received, begun.reader, begun.events
                    data = None if begun.is_over else b""
                    while True:
                        characters = 0
                        for event in events:
                            yield event
                            if (
                                type(event) is ModelText
                                and (characters := characters + len(event.text)) >= LONGEST_TEXT
                            ):
                                characters = 0
                                await asyncio.sleep(0)  # other requests have their turn
                        if data is None:
                            break
                        answering.silent_since = now = loop.time()
                        until = min(self._limit(reader, limit), context.deadline, now + (silence or inf))
                        data = None if reader.is_done else await self._read(received, reader, timer, until)
                        answering.silent_since = None
                        events = reader.finish() if data is None else reader.feed(data)
                        answering.is_complete = reader.is_complete
                    await self._drain(received)

    async def check(self) -> PartHealth:
        """Check that the service answers and accepts the credentials; at most every 30 seconds.

        Of several endpoints it also says how many requests each has answered.
        """
        health = await self._health.latest()
        if not self._service.is_spread:
            return health
        answers: dict[str, Json] = {one.connection.host: one.answers for one in self._service.endpoints}
        return replace(health, facts={**health.facts, "answers": answers})

    async def _begin(
        self, endpoint: Endpoint, body: dict[str, object], model: ServedModel, timer: ReusableTimeout, until: float
    ) -> "_Begun":
        """Ask one endpoint, and if there are others wait for the first piece of its answer.

        If it does not answer, an error of the client, TimeoutError or ServiceFault is raised; nothing is left open.
        """
        from shared.outbound.bounded import pieces

        response = await self._request(endpoint, body, model, until)
        received, data, events = pieces(response, _LARGEST_ANSWER), b"", list[ModelEvent]()
        try:
            reader = ChunkReader(model.name, framing=_framing(response), address=endpoint.connection.base_url)
            while self._service.is_spread and not (reader.has_content or data is None):
                limit = self._limit(reader, until)
                data = None if reader.is_done else await self._read(received, reader, timer, limit)
                events += reader.finish() if data is None else reader.feed(data)
        except BaseException:
            await received.aclose()
            response.close()
            raise
        return _Begun(endpoint, response, received, reader, events, is_over=data is None)

    async def _request(
        self, endpoint: Endpoint, body: dict[str, object], model: ServedModel, until: float
    ) -> "aiohttp.ClientResponse":
        """Send the request, without the parameters that this model has refused before."""
        from shared.outbound.openai_service.errors import unsupported_parameter
        from shared.outbound.openai_service.sender import Refused

        known = self._unsupported[endpoint, model.name]
        left_out = set(known)
        while True:
            sent = _supported(body, left_out)
            try:
                response = await endpoint.post("/chat/completions", sent, until)
            except Refused as exc:
                name = unsupported_parameter(exc, sent)
                name = f"{name}={sent[name]}" if name == _EFFORT else name
                if name is None or name in left_out:
                    if exc.fault.reason is Reason.NOT_THERE:
                        raise ServiceFault(await endpoint.explained(exc.fault, model)) from exc
                    raise
                left_out.add(name)
            else:
                if new := left_out - known:
                    _log.warning("%s does not support %s: left out from now on", model.name, ", ".join(sorted(new)))
                    known |= new
                return response

    def _body(self, endpoint: Endpoint, request: ModelRequest, model: str) -> dict[str, object]:
        official = endpoint.connection.kind != "openai-compatible"
        optional: dict[str, object] = {
            "temperature": request.temperature,
            "seed": request.seed,
            _LONGEST_ANSWER[0 if official else 1]: request.max_tokens,
            _EFFORT: request.reasoning_effort or self._reasoning_effort,
            **_tools(request),
            "response_format": _response_format(request.form) if request.form else None,
        }
        return {
            "model": model,
            "messages": [_message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _limit(self, reader: ChunkReader, first: float) -> float:
        """Return until when the next bytes have to come, on the loop's clock; `first` counts for the first piece."""
        now, timeouts = asyncio.get_running_loop().time(), self._service.timeouts
        if reader.is_complete:
            return now + timeouts.ending
        return now + timeouts.between if reader.has_content else first

    async def _read(
        self, received: AsyncGenerator[bytes], reader: ChunkReader, timer: ReusableTimeout, limit: float
    ) -> bytes | None:
        """Wait for the next bytes; None at the end of the answer."""
        try:
            return await timer.until(limit, anext(received))
        except StopAsyncIteration:
            return None
        except Exception as exc:
            from shared.outbound.openai_service.errors import SDK

            # The answer is whole once its finish reason is there, however the connection ends.
            if reader.is_complete and isinstance(exc, SDK.raises):
                return None
            raise

    async def _drain(self, received: AsyncGenerator[bytes]) -> None:
        """Read the rest of the body, so that the connection can be reused."""
        from shared.outbound.openai_service.errors import SDK

        with suppress(*SDK.raises):
            async with asyncio.timeout(self._service.timeouts.ending):
                async for _ in received:
                    pass

    async def _ask_health(self) -> PartHealth:
        """Usable is the model if one endpoint is."""
        faults = await self._service.check()
        kind, name = self._service.connection.kind, self._model.name
        hosts = [endpoint.connection.host for endpoint in self._service.endpoints]
        facts: dict[str, Json] = {"host": ", ".join(hosts), "model": name}
        well = [host for host, fault in zip(hosts, faults, strict=True) if fault is None]
        detail = [f"{name} at {', '.join(well)}"] if well else []
        for host, fault in zip(hosts, faults, strict=True):
            if fault:
                detail.append(f"{host}: {fault.message}" if self._service.is_spread else fault.message)
        return PartHealth(kind, ok=bool(well), detail=". ".join(detail), facts=facts)


class _Begun(msgspec.Struct, frozen=True):
    """An answer that has begun: the rest comes from the same endpoint."""

    endpoint: Endpoint
    """Endpoint that the answer comes from."""
    response: "aiohttp.ClientResponse"
    """The response, whose body is read by `received`."""
    received: AsyncGenerator[bytes]
    """Its bytes."""
    reader: ChunkReader
    """Makes events of them."""
    events: list[ModelEvent]
    """The events that came with its beginning."""
    is_over: bool
    """Whether all of it has been read."""

    async def aclose(self) -> None:
        """Close the connection, or free it for others if all of the body has been read."""
        await self.received.aclose()
        self.response.close()


def _supported(body: dict[str, object], left_out: Collection[str]) -> dict[str, object]:
    """Remove the parameters that the model does not support; a refused output limit gets its other name."""
    sent = {name: value for name, value in body.items() if name not in left_out}
    if f"{_EFFORT}={body.get(_EFFORT)}" in left_out:
        del sent[_EFFORT]
    if THINKING_WITH_TOOLS in left_out and "tools" in body:
        sent[_EFFORT] = "none"
    for name, other in zip(_LONGEST_ANSWER, reversed(_LONGEST_ANSWER), strict=True):
        if name in body and name in left_out and other not in left_out:
            sent[other] = body[name]
    return sent


def _framing(response: "aiohttp.ClientResponse") -> Literal["sse", "json"]:
    """Framing of the answer: some services send one JSON document although a stream was requested."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "text/html":
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, status=response.status))
    return "json" if content_type == "application/json" else "sse"


def _tools(request: ModelRequest) -> dict[str, object]:
    if not request.tools:
        return {}
    choice = request.tool_choice
    named = {"type": "function", "function": {"name": choice.named}} if choice.named else None
    return {
        "tools": [_tool(tool) for tool in request.tools],
        "tool_choice": named or ("required" if choice.must_call else None),
        "parallel_tool_calls": choice.parallel,
    }


def _tool(tool: ToolDefinition) -> Json:
    described: dict[str, Json] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if tool.strict is not None:
        described["strict"] = tool.strict
    return {"type": "function", "function": described}


def _response_format(form: JsonForm) -> Json:
    if form.schema is None:
        return {"type": "json_object"}
    named: dict[str, Json] = {"name": form.name, "schema": form.schema}
    optional: dict[str, Json] = {"strict": form.strict, "description": form.description}
    given = {key: value for key, value in optional.items() if value is not None}
    return {"type": "json_schema", "json_schema": named | given}


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
