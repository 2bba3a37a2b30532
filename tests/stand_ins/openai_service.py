"""A local HTTP server that stands in for OpenAI: it follows the REST reference and can be scripted.

    async with OpenAIStandIn() as service:
        service.reply("Hello", " world")          # for the next request, first come, first served
        service.fail(429, headers={"Retry-After": "1"})
        with service.to("You are Critic"):        # for a prompt or a question with these words only
            service.hang()
        ...point the app at service.base_url with service.api_key, service.model...
        assert service.requests[0].body["stream"]

Without a script it calls the first tool that it is offered, once, and cites the first source of the prompt. The app
under test may run in the same loop or in another process.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from pydantic import TypeAdapter

from shared.chat_types import Json
from tests.stand_ins.local_server import LocalServer
from tests.stand_ins.openai_answers import (
    USAGE,
    chunk,
    completion,
    default_arguments,
    default_text,
    event,
    models,
    vectors,
)
from tests.stand_ins.openai_requests import (
    ChatBody,
    EmbeddingsBody,
    Refusal,
    check_chat,
    check_reasoning,
    read_body,
    text_of,
)

type Step = str | bytes | dict[str, Json] | asyncio.Event
"""A piece of an answer: text, raw bytes, a whole chunk, or an event to wait for."""

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
MODELS = "/models"


@dataclass(slots=True)
class Received:
    """A request that came in."""

    path: str
    """Below the base URL."""
    headers: Mapping[str, str]
    """As sent; names in any case."""
    body: dict[str, Json]
    """The parsed body; empty if there was none or it was no JSON object."""
    client_port: int
    """Tells connections apart."""
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client leaves before the answer is complete."""
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the answer is complete."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set in either case."""

    @property
    def form(self) -> Any:
        """The form of the answer that was asked for."""
        return self.body.get("response_format")


type Reply = Callable[["Exchange"], Awaitable[web.StreamResponse]]
type Scripts = defaultdict[str, deque[Reply]]


@dataclass(slots=True)
class Exchange:
    """What a scripted reply works with."""

    request: web.Request
    chat: ChatBody | None = None
    embeddings: EmbeddingsBody | None = None


class OpenAIStandIn(LocalServer):
    """The server, as an async context manager; every method may be called at any time."""

    api_key = "sk-stand-in-0123456789"
    model = "gpt-stand-in"
    other_model = "gpt-stand-in-large"
    reasoning_model = "gpt-stand-in-thinking"
    embedding_model = "embedding-stand-in"
    dimensions = 256

    def __init__(self, *, prefix: str = "/v1") -> None:
        """Make a server that is not listening yet; Azure's prefix is `/openai/v1`."""
        super().__init__()
        self.requests: list[Received] = []
        """What was sent to it."""
        self.looked_up: list[str] = []
        """The paths of what was only looked up: its models, and what servers of other kinds have."""
        self._prefix = prefix
        self._scripts: Scripts = defaultdict(deque)
        self._scripts_by_words: dict[str, Scripts] = {}
        self._arrivals = asyncio.Condition()

    @property
    def base_url(self) -> str:
        """What the paths of requests are below."""
        return self.endpoint + self._prefix

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at this server."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": self.api_key,
            "OPENAI_CHAT_MODEL": self.model,
            "OPENAI_EMBEDDING_MODEL": self.embedding_model,
        }

    @property
    def chats(self) -> list[Received]:
        """The requests for chat completions."""
        return [request for request in self.requests if request.path == CHAT]

    async def request_number(self, count: int, *, within: float = 60.0) -> Received:
        """Wait until so many requests have come in, and return the last of them."""
        async with asyncio.timeout(within), self._arrivals:
            await self._arrivals.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def settled(self, *, within: float = 60.0) -> None:
        """Wait until each request so far is answered or given up by its client."""
        async with asyncio.timeout(within):
            await self.caught_up()
            for request in self.requests:
                await request.ended.wait()

    def forget_scripts(self) -> dict[str, int]:
        """Drop the scripts that no request has taken; return how many there were for each address and `to`."""
        everyone = {"": self._scripts} | self._scripts_by_words
        self._scripts, self._scripts_by_words = defaultdict(deque), {}
        return {
            f"{path} {words}".strip(): len(replies)
            for words, scripts in everyone.items()
            for path, replies in scripts.items()
            if replies
        }

    @contextmanager
    def to(self, words: str) -> Generator[None]:
        """Script for chats whose system message or last question has these words; they go before all other scripts."""
        others, self._scripts = self._scripts, self._scripts_by_words.setdefault(words, defaultdict(deque))
        try:
            yield
        finally:
            self._scripts = others

    def reply(self, *steps: Step, finish_reason: str | None = "stop", usage: bool = True, done: bool = True) -> None:
        """Answer the next chat with these text deltas; a step may also be a chunk, bytes, or an event to await."""

        async def send(exchange: Exchange) -> web.StreamResponse:
            if exchange.chat and not exchange.chat.stream:
                text = "".join(step for step in steps if isinstance(step, str))
                return web.json_response(completion(self.model, text, finish_reason))
            ending: list[Step] = [self.chunk({}, finish_reason)] if finish_reason else []
            if usage and exchange.chat and exchange.chat.stream_options:
                ending.append({**self.chunk({}), "choices": [], "usage": USAGE})
            ending += [b"data: [DONE]\n\n"] if done else []
            return await self._stream(exchange, [self.chunk({"role": "assistant", "content": ""}), *steps, *ending])

        self._scripts[CHAT].append(send)

    def chunk(self, delta: dict[str, Json], finish_reason: str | None = None) -> dict[str, Json]:
        """A chunk as the service would send it."""
        return chunk(self.model, delta, finish_reason)

    def call_tool(self, name: str, arguments: dict[str, Json] | str, *, call_id: str = "call_1") -> None:
        """Answer the next request with one tool call, its arguments in two pieces as OpenAI sends them."""
        whole = arguments if isinstance(arguments, str) else json.dumps(arguments)
        pieces: list[Json] = [
            {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}},
            {"index": 0, "function": {"arguments": whole[: len(whole) // 2]}},
            {"index": 0, "function": {"arguments": whole[len(whole) // 2 :]}},
        ]
        self.reply(*(self.chunk({"tool_calls": [piece]}) for piece in pieces), finish_reason="tool_calls")

    def reply_raw(
        self,
        *steps: bytes | asyncio.Event,
        content_type: str = "text/event-stream",
        encoding: str = "identity",
        cut: bool = False,
        on: str = CHAT,
    ) -> None:
        """Answer the next request with these very bytes, each written on its own; `cut` breaks the connection off."""

        async def send(exchange: Exchange) -> web.StreamResponse:
            return await self._stream(exchange, steps, content_type=content_type, encoding=encoding, cut=cut)

        self._scripts[on].append(send)

    def fail(
        self,
        status: int,
        *,
        code: str | None = None,
        error: Json = None,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        times: int = 1,
        on: str = CHAT,
    ) -> None:
        """Answer the next requests with an error; `error` replaces the error object, `raw` the whole body."""
        whole: Json = error or {"message": "scripted", "type": "scripted_error", "param": None, "code": code}

        async def send(_: Exchange) -> web.StreamResponse:
            body = raw if raw is not None else json.dumps({"error": whole}).encode()
            return web.Response(body=body, status=status, headers=headers, content_type="application/json")

        self._scripts[on].extend([send] * times)

    def hang(self, *, on: str = CHAT) -> None:
        """Never answer the next request."""

        async def send(_: Exchange) -> web.StreamResponse:
            await asyncio.Event().wait()
            raise AssertionError

        self._scripts[on].append(send)

    def hang_up(self, *, times: int = 1, on: str = CHAT) -> None:
        """Close the connection of the next requests without an answer."""

        async def send(exchange: Exchange) -> web.StreamResponse:
            if exchange.request.transport:
                exchange.request.transport.abort()
            await asyncio.Event().wait()
            raise AssertionError

        self._scripts[on].extend([send] * times)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        received = Received(
            request.path.removeprefix(self._prefix), request.headers.copy(), _parsed(raw), _port(request)
        )
        if request.method == "GET" or request.path.startswith("/api/"):
            self.looked_up.append(received.path)
        else:
            self.requests.append(received)
        async with self._arrivals:
            self._arrivals.notify_all()
        try:
            response = await self._answer(request, received.path, raw)
        except Refusal as refusal:
            response = web.json_response({"error": refusal.error}, status=refusal.status)
        except (asyncio.CancelledError, ConnectionError):
            received.disconnected.set()
            raise
        finally:
            received.ended.set()
        received.answered.set()
        return response

    async def _answer(self, request: web.Request, path: str, raw: bytes) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.api_key}":
            raise Refusal(401, "Incorrect API key provided.", code="invalid_api_key")
        if path != MODELS and self._scripts[path] and path not in (CHAT, EMBEDDINGS):
            return await self._scripts[path].popleft()(Exchange(request))
        match request.method, path:
            case "GET", "/models":
                exchange = Exchange(request)
            case "POST", "/chat/completions":
                exchange = Exchange(request, chat=read_body(ChatBody, raw))
            case "POST", "/embeddings":
                exchange = Exchange(request, embeddings=read_body(EmbeddingsBody, raw))
            case method, _:
                raise Refusal(404, f"Invalid URL ({method} {request.path})")
        if exchange.chat:
            self._check_model(exchange.chat.model, self.model, self.other_model, self.reasoning_model)
            check_reasoning(exchange.chat, model_reasons=exchange.chat.model == self.reasoning_model)
            check_chat(exchange.chat)
        if exchange.embeddings:
            self._check_model(exchange.embeddings.model, self.embedding_model)
        script = self._script(path, exchange.chat)
        return await (script.popleft() if script else self._reply_by_default)(exchange)

    def _script(self, path: str, chat: ChatBody | None) -> deque[Reply]:
        messages = chat.messages if chat else []
        system = next((text_of(message) for message in messages if message.role == "system"), "")
        question = next((text_of(message) for message in reversed(messages) if message.role == "user"), "")
        scripted = self._scripts_by_words.items()
        own = (scripts[path] for words, scripts in scripted if words in system or words in question)
        return next((script for script in own if script), self._scripts[path])

    async def _reply_by_default(self, exchange: Exchange) -> web.StreamResponse:
        if exchange.embeddings:
            return web.json_response(vectors(exchange.embeddings, self.dimensions))
        if exchange.chat is None:
            return web.json_response(models(self.model, self.embedding_model))
        has_results = exchange.chat.messages[-1].role == "tool"
        if exchange.chat.tools and exchange.chat.tool_choice != "none" and not has_results:
            self.call_tool(exchange.chat.tools[0].function.name, default_arguments(exchange.chat))
        else:
            self.reply(*default_text(exchange.chat))
        return await self._scripts[CHAT].pop()(exchange)

    def _check_model(self, asked: str, *served: str) -> None:
        if asked not in served:
            raise Refusal(404, f"The model `{asked}` does not exist.", param="model", code="model_not_found")

    async def _stream(
        self,
        exchange: Exchange,
        steps: Sequence[Step],
        *,
        content_type: str = "text/event-stream",
        encoding: str = "identity",
        cut: bool = False,
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type, "x-request-id": "req_stand_in"})
        if encoding != "identity":
            response.headers["Content-Encoding"] = encoding
        await response.prepare(exchange.request)
        for step in steps:
            match step:
                case asyncio.Event():
                    await step.wait()
                case bytes():
                    await response.write(step)
                case str():
                    await response.write(event(self.chunk({"content": step})))
                case dict():
                    await response.write(event(step))
        if cut and exchange.request.transport:
            exchange.request.transport.close()
        else:
            await response.write_eof()
        return response


def _port(request: web.Request) -> int:
    peer = request.get_extra_info("peername")
    return int(peer[1]) if peer else 0


def _parsed(raw: bytes) -> dict[str, Json]:
    try:
        return TypeAdapter(dict[str, Json]).validate_json(raw)
    except ValueError:
        return {}
