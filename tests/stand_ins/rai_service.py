"""A local gRPC server that stands in for the RAI service and does what a test tells it to.

    async with RaiStandIn() as rai:
        rai.find("unsafe")                                  # every session blocks this word, clears all else
        rai.script(cleared(Side.PROMPT), b"garbage")      # the next session: clear the prompt, then break
        ...point the app at rai.endpoint, or give it rai.settings...
        session = await rai.session_number(1)
        assert session.texts == {Place(Side.PROMPT, "0", 0): "Hello"}

A script's steps are done in order; at its end the stream ends well, with no `Completion` unless one was a step:

    SafetyEvent                 is sent, whatever nonsense it is
    bytes                       are sent as a message
    float                       seconds to wait
    asyncio.Event               to wait for; one that nobody sets is silence
    Callable[[Session], bool]   waits until it is true of what has come in
    cleared(source)             answers as without a script, until that source is committed and answered for
    grpc.StatusCode             ends the stream with this status, and details that nobody may see

Sessions without a script answer for all that they are sent: watermarks `lag` bytes behind the text, and to its end when
the source is committed or the client is done; results where a word of `find` is, and those of `told` at the beginning
of each text (in prompts those of `told_of_prompts`, if there are any); `Completion` in the end. Each event comes
`delay` seconds after the one before, as the bytes that `encode` makes of it; `noise` may
change what is said at once. A server that is `deaf` takes in nothing,
and one with `released` ends no session before that is set.
The app under test may run in the same loop or in another process.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Self, assert_never

import grpc
import grpc.aio

from local.rai_service.wire import decode_request, encode_response
from shared.guard import AnalysisResult, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.payloads import PayloadReader
from shared.guard.rai.wire import (
    METHOD,
    SERVICE,
    ClientMessage,
    Commit,
    PolicyName,
)
from tests.stand_ins.rai_clearing import Clearing

DONE = Completion("END_REASON_END_OF_STREAM")
"""How a session ends in which all went well."""
DETAILS = "details that quote the secret words of a user"
"""Comes with each status of a script."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """A step: answer for what comes in."""

    until: Side | None
    """Until this source is committed; None: until the client is done."""


def cleared(until: Side | None = None) -> Cleared:
    """Answer as without a script, until this source is committed or the client is done."""
    return Cleared(until)


@dataclass(slots=True)
class Session:
    """What came in on one stream."""

    metadata: dict[str, str]
    """What the client sent along with the call."""
    peer: str
    """The client's address; tells connections apart."""
    messages: list[ClientMessage] = field(default_factory=list[ClientMessage])
    """Everything it sent, in order."""
    half_closed: bool = False
    """Whether the client has said that nothing more will come."""
    left: bool = False
    """Whether the client ended the call before it was over."""
    completed: bool = False
    """Whether it was told that the analysis is over. It may then end the call sooner than the server has noticed that
    this went out."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the session is over, however that came."""
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def policy(self) -> PolicyName | None:
        """The first message, if it is a policy, as it has to be."""
        first = self.messages[0] if self.messages else None
        return first if isinstance(first, PolicyName) else None

    @property
    def buffers(self) -> list[Buffer]:
        """The payloads."""
        return [message for message in self.messages if isinstance(message, Buffer)]

    @property
    def commits(self) -> list[Side]:
        """The sources that were committed, in order."""
        sources: list[Side] = []
        last = Side.PROMPT
        for message in self.messages:
            if isinstance(message, Buffer):
                last = message.side
            elif isinstance(message, Commit):
                sources.append(last)
        return sources

    @property
    def texts(self) -> dict[Place, str]:
        """All text that came in, by its place."""
        reader, texts = PayloadReader(), dict[Place, str]()
        for piece in (piece for buffer in self.buffers for piece in reader.read(buffer)):
            texts[piece.place] = texts.get(piece.place, "") + piece.text
        return texts

    async def until(self, condition: Callable[["Session"], bool]) -> None:
        """Wait until this is true of what has come in."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: condition(self))

    async def as_they_come(self) -> AsyncIterator[ClientMessage]:
        """Yield every message, to the client's last."""
        for number in count():
            await self.until(lambda session, number=number: len(session.messages) > number or session.half_closed)
            if len(self.messages) == number:
                return
            yield self.messages[number]

    async def receive(self, requests: AsyncIterator[bytes]) -> None:
        """Take in what the client sends, to the end."""
        async for data in requests:
            async with self._arrived:
                self.messages.append(decode_request(data))
                self._arrived.notify_all()
        async with self._arrived:
            self.half_closed = True
            self._arrived.notify_all()


type Encode = Callable[[SafetyEvent], bytes]
type Step = SafetyEvent | bytes | float | asyncio.Event | Callable[[Session], bool] | Cleared | grpc.StatusCode


class RaiStandIn:
    """The server, as an async context manager; every method may be called at any time."""

    def __init__(
        self,
        *,
        port: int = 0,
        credentials: grpc.ServerCredentials | None = None,
        metadata: tuple[tuple[str, str], ...] = (),
        streams: int = 1_000_000,
    ) -> None:
        """Make a server that is not listening yet; with credentials it speaks TLS only, as `localhost`.

        `metadata` goes out at the beginning of each answer. A connection may have so many `streams` at once.
        """
        self.sessions: list[Session] = []
        self.lag = 0
        self.delay = 0.0
        self.deaf = False
        self.port = port
        self.words: dict[bytes, Finding] = {}
        self.told: tuple[Finding, ...] = ()
        self.told_of_prompts: tuple[Finding, ...] = ()
        self.encode: Encode = encode_response
        self.noise: Callable[[list[SafetyEvent]], Iterable[SafetyEvent]] = iter
        self._credentials = credentials
        self._metadata = metadata
        self._streams = streams
        self.released: asyncio.Event | None = None
        self._scripts: deque[tuple[Step, ...]] = deque()
        self._begun = asyncio.Condition()
        self._server: grpc.aio.Server | None = None

    async def __aenter__(self) -> Self:
        limits = [("grpc.so_reuseport", 0), ("grpc.max_concurrent_streams", self._streams)]
        self._server = server = grpc.aio.server(options=limits)
        handlers = {METHOD: grpc.stream_stream_rpc_method_handler(self._serve, _as_it_is, _as_it_is)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        address = f"127.0.0.1:{self.port}"
        if self._credentials:
            self.port = server.add_secure_port(address, self._credentials)
        else:
            self.port = server.add_insecure_port(address)
        await server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Break off every session and listen no longer."""
        server, self._server = self._server, None
        if server:
            await server.stop(None)

    @property
    def endpoint(self) -> str:
        """What to set `RAI_ENDPOINT` to."""
        return f"https://localhost:{self.port}" if self._credentials else f"127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """The environment that has the app enforce what this server says."""
        return {"RAI_MODE": "enforce", "RAI_ENDPOINT": self.endpoint}

    def find(self, word: str, category: str = "HATE", severity: int = 6, *, blocking: bool = True) -> None:
        """Report this wherever it is said in a session without a script; nothing behind what blocks is cleared."""
        risk = "HIGH" if severity > 4 else "MEDIUM" if severity > 1 else "LOW"
        self.words[word.encode()] = Finding("HARM_CATEGORY", category, True, severity, risk, blocking)

    def script(self, *steps: Step) -> None:
        """Do this in the next session that has no script yet, first come, first served."""
        self._scripts.append(steps)

    async def session_number(self, number: int, *, within: float = 60.0) -> Session:
        """Wait until so many sessions have begun, and return the last of them."""
        async with asyncio.timeout(within), self._begun:
            await self._begun.wait_for(lambda: len(self.sessions) >= number)
        return self.sessions[number - 1]

    async def _serve(self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        metadata = {key: str(value) for key, value in context.invocation_metadata() or ()}
        session = Session(metadata, context.peer())
        steps = self._scripts.popleft() if self._scripts else (cleared(), DONE)
        receiving = asyncio.create_task(asyncio.Event().wait() if self.deaf else session.receive(requests))
        async with self._begun:
            self.sessions.append(session)
            self._begun.notify_all()
        try:
            await context.send_initial_metadata(self._metadata)
            for step in steps:
                if self.released and step is DONE:
                    await self.released.wait()
                await self._do(step, session, context)
        except asyncio.CancelledError:
            session.left = not session.completed
            raise
        finally:
            session.ended.set()
            receiving.cancel()
            # What it raises when the stream is over is of no interest.
            await asyncio.gather(receiving, return_exceptions=True)

    async def _do(self, step: Step, session: Session, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        match step:
            case grpc.StatusCode():
                await context.abort(step, DETAILS)
            case bytes():
                await context.write(step)
            case float() | int():
                await asyncio.sleep(step)
            case asyncio.Event():
                await step.wait()
            case Cleared(until):
                await self._clear(session, until, context)
            case AnalysisResult() | Watermark() | Completion():
                session.completed = isinstance(step, Completion)
                await context.write(self.encode(step))
            case _ if callable(step):
                await session.until(step)
            case _:
                assert_never(step)

    async def _clear(
        self, session: Session, until: Side | None, context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        clearing = Clearing(self.words, self.lag, self.told, self.told_of_prompts or self.told)
        async for message in session.as_they_come():
            await self._send(clearing.answer(message), context)
            if isinstance(message, Commit) and clearing.side is until:
                return
        await self._send(clearing.end(), context)

    async def _send(self, events: Iterator[SafetyEvent], context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        for event in self.noise([*events]):
            await asyncio.sleep(self.delay)
            await context.write(self.encode(event))


def _as_it_is(message: bytes) -> bytes:
    return message
