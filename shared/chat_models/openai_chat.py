"""The `ChatModel` for chat completions of OpenAI, Azure OpenAI and compatible services."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from copy import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Literal

import msgspec

from shared.chat_models import HISTORY_TOKENS, ModelEvent, ModelRequest, ModelText, Room, openai_request
from shared.chat_models.chunk_reader import LONGEST_TEXT, ChunkReader
from shared.chat_models.written_calls import ThinkingMarks, WrittenCalls
from shared.chat_types import Json, JsonForm, PartHealth, RequestContext
from shared.errors import RateLimited, TooSlow, Unavailable
from shared.outbound.asking import CachedHealth
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import ServedModel
from shared.outbound.openai_service.endpoint import Answering, Endpoint
from shared.outbound.openai_service.service import OpenAIService
from shared.runtime.reusable_timeout import ReusableTimeout

if TYPE_CHECKING:
    import aiohttp

_log = logging.getLogger("switchboard.openai")

_MOST_SOURCE_TOKENS = 5_000
"""Of sources in a prompt: nine of ten questions are answered by what is found first."""
_LEAST_SOURCE_TOKENS = 300
_RULES_TOKENS = 400
"""Tokens of the instructions of an answer, with those for its options."""
_ANSWER_PART = 4
"""A quarter of a window is for the answer."""
_WINDOW_SECONDS, _UNSURE_SECONDS = 600.0, 20.0
"""How long the window that a service has told counts, and how soon one that has told none is asked again."""
_SMALL, _SMALL_SOURCE_TOKENS = 2.0, 900
"""Billions of parameters of the largest model that answers better as JSON, from few sources.

With 1.5 and llama.cpp, of 23 questions: 17 right and every citation real; with 1,236 tokens of sources 14; as text 11.
"""
_LEAST_CUT, _CUT_SHARE, _CUT_MARGIN = 1_000, 0.7, 32
"""A prompt was cut if the service counts so few of its tokens, which end at a window's usual size."""
_LARGEST_ANSWER = 64 * 1024 * 1024
"""Maximum size of an answer in bytes. The longest that models write, 128,000 tokens, has 500 for each."""
_END_SECONDS = 0.2
"""How long the end of an answer waits for the connection to be free: a service that has said all may keep it open."""
_SETTING_OF_OTHERS = "`model` in AGENTS_FILE"
"""The setting that names a model other than the configured one."""


class OpenAIChatModel:
    """A model behind `POST /chat/completions`.

    Args:
        service: Its service.
        reasoning_effort: How long it thinks, unless a call says otherwise; None: as it does by itself.
        source_tokens: Tokens of sources in a prompt; None: what the model's window has room for.
        longest_answer: Tokens of an answer; None: as a call says, and what the window has room for.
        answers_json: Whether it answers as JSON that the app takes apart; None: if it is small.
    """

    takes_images = True
    takes_tools = True

    def __init__(
        self,
        service: OpenAIService,
        reasoning_effort: str | None = None,
        source_tokens: int | None = None,
        longest_answer: int | None = None,
        answers_json: bool | None = None,
    ) -> None:
        self._answers_json = answers_json
        self._is_small = False
        self._source_tokens = source_tokens
        self._longest_answer = longest_answer
        self._window: int | None = None
        self._asks_window_at = -inf
        self._thinks_first: set[str] = set()
        self._reasoning_effort = reasoning_effort
        self._service = service
        self._model = service.connection.chat_model
        self._unsupported: defaultdict[tuple[Endpoint, str], set[str]] = defaultdict(set)
        self._health = CachedHealth(self._ask_health)

    async def room(self) -> Room:
        """See `ChatModel.room`. A compatible service is asked for the window of its model, now and then."""
        endpoint, now = self._service.endpoints[0], asyncio.get_running_loop().time()
        if self._is_compatible and now >= self._asks_window_at and None in (self._source_tokens, self._answers_json):
            found = await endpoint.window(self._model)
            self._asks_window_at = now + (_WINDOW_SECONDS if found and found.is_lasting else _UNSURE_SECONDS)
            if self._source_tokens is None and found:
                self._window = found.tokens
            self._is_small = bool(found and found.billions and found.billions <= _SMALL)
        most = self._source_tokens or (_SMALL_SOURCE_TOKENS if self._is_small else _MOST_SOURCE_TOKENS)
        as_json = self._is_small if self._answers_json is None else self._answers_json
        if self._window is None:
            return Room(most, answers_json=as_json)
        # A third is left for instructions and the question, and as estimates of tokens are too low for some languages.
        left = (self._window - self._window // _ANSWER_PART) * 2 // 3 - _RULES_TOKENS
        sources = self._source_tokens or max(_LEAST_SOURCE_TOKENS, min(most, left * 3 // 4))
        return Room(sources, max(0, min(left - sources, HISTORY_TOKENS)), as_json)

    @property
    def _is_compatible(self) -> bool:
        return self._service.connection.kind == "openai-compatible"

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
                body = self._body(endpoint, request, model.name)
                make = partial(self._reader, endpoint, request, context, model)
                return await self._begin(endpoint, body, model, make, timer, until)

            loop = asyncio.get_running_loop()
            limit = context.deadline
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
                    self._learn(request, model.name, reader)
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
        self,
        endpoint: Endpoint,
        body: dict[str, object],
        model: ServedModel,
        make_reader: Callable[[Literal["sse", "json"]], ChunkReader],
        timer: ReusableTimeout,
        until: float,
    ) -> "_Begun":
        """Ask one endpoint, and if there are others wait for the first piece of its answer.

        If it does not answer, an error of the client, TimeoutError or ServiceFault is raised; nothing is left open.
        """
        from shared.outbound.bounded import pieces

        response = await self._request(endpoint, body, model, until)
        received, data, events = pieces(response, _LARGEST_ANSWER), b"", list[ModelEvent]()
        try:
            reader = make_reader(_framing(response))
            while self._service.is_spread and not (reader.has_content or data is None):
                limit = self._limit(reader, until)
                data = None if reader.is_done else await self._read(received, reader, timer, limit)
                events += reader.finish() if data is None else reader.feed(data)
        except BaseException:
            await received.aclose()
            response.close()
            raise
        return _Begun(endpoint, response, received, reader, events, is_over=data is None)

    def _reader(
        self,
        endpoint: Endpoint,
        request: ModelRequest,
        context: RequestContext,
        model: ServedModel,
        framing: Literal["sse", "json"],
    ) -> ChunkReader:
        """Make what reads an answer; with a service that may be a local one, also in the ways of small models."""
        return ChunkReader(
            model.name,
            framing=framing,
            address=endpoint.connection.base_url,
            names_model=not self._is_compatible,
            marks=ThinkingMarks(is_in=model.name in self._thinks_first, is_held=context.is_whole),
            written=WrittenCalls(request.tools if self._is_compatible else (), is_arguments=self._asks_json(request)),
        )

    def _asks_json(self, request: ModelRequest) -> bool:
        """Whether search queries are asked for as JSON of their schema: small models keep to that, and call no tool."""
        return self._is_compatible and len(request.tools) == 1 and request.tools[0].takes_queries

    def _learn(self, request: ModelRequest, model: str, reader: ChunkReader) -> None:
        """Note what a whole answer tells of the model: where it thinks, and whether its service has cut the prompt."""
        if reader.has_lone_end or reader.marks.begins_in:
            self._thinks_first.add(model)
        else:
            self._thinks_first.discard(model)
        # By characters, not bytes: of Russian or Hindi a token holds three times as many bytes as of English.
        sent = sum(len(message.text) for message in request.messages) // 4
        read = reader.usage.prompt_tokens if reader.usage and self._is_compatible else 0  # the others refuse it
        if _LEAST_CUT <= read < sent * _CUT_SHARE and -read % 1024 <= _CUT_MARGIN:
            self._window = read + -read % 1024
            _log.warning(
                "%s has read %d tokens of some %d: its service cut the prompt. Prompts are shorter from now on",
                *(model, read, sent),
            )

    async def _request(
        self, endpoint: Endpoint, body: dict[str, object], model: ServedModel, until: float
    ) -> "aiohttp.ClientResponse":
        """Send the request, without the parameters that this model has refused before."""
        from shared.outbound.openai_service.errors import unsupported_parameter
        from shared.outbound.openai_service.sender import Refused

        known = self._unsupported[endpoint, model.name]
        left_out = set(known)
        while True:
            sent = openai_request.supported(body, left_out)
            try:
                response = await endpoint.post("/chat/completions", sent, until)
            except Refused as exc:
                self._window = exc.fault.window or self._window
                name = unsupported_parameter(exc, sent)
                name = f"{name}={sent[name]}" if name == openai_request.EFFORT else name
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
        service = None if official else openai_request.sender(endpoint.connection.base_url, model)
        asked = request.tools[0] if self._asks_json(request) else None
        form = JsonForm("", asked.name, asked.parameters) if asked else request.form
        optional: dict[str, object] = {
            "temperature": request.temperature,
            "seed": request.seed,
            openai_request.LONGEST_ANSWER[0 if official else 1]: self._longest(request),
            openai_request.EFFORT: request.reasoning_effort or self._reasoning_effort,
            **({} if self._asks_json(request) else openai_request.tools_of(request)),
            "response_format": openai_request.response_format(form) if form else None,
        }
        return {
            "model": model,
            "messages": [openai_request.message_of(message, service) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _longest(self, request: ModelRequest) -> int | None:
        if self._window is None or self._longest_answer or request.max_tokens is None:
            return request.max_tokens
        return min(request.max_tokens, self._window // _ANSWER_PART)

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
            async with asyncio.timeout(_END_SECONDS):
                async for _ in received:
                    pass

    async def _ask_health(self) -> PartHealth:
        """Usable is the model if one endpoint is."""
        faults = await self._service.check()
        kind, name = self._service.connection.kind, self._model.name
        hosts = [endpoint.connection.host for endpoint in self._service.endpoints]
        facts: dict[str, Json] = {"host": ", ".join(hosts), "model": name}
        if self._is_compatible:
            room = await self.room()
            facts |= {"window": self._window, "source tokens": room.sources}
        well = [host for host, fault in zip(hosts, faults, strict=True) if fault is None]
        detail = [f"{name} at {', '.join(well)}"] if well else []
        for host, fault in zip(hosts, faults, strict=True):
            if fault:
                detail.append(f"{host}: {fault.message}" if self._service.is_spread else fault.message)
        if well and self._window:
            detail.append(f"It reads {self._window:,} tokens with its answer, {facts['source tokens']:,} of sources")
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


def _framing(response: "aiohttp.ClientResponse") -> Literal["sse", "json"]:
    """Framing of the answer: some services send one JSON document although a stream was requested."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "text/html":
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, status=response.status))
    return "json" if content_type == "application/json" else "sse"
