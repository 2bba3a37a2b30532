"""The gRPC server: a session's messages in, its events out."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import grpc
import grpc.aio

from local.rai_service.analysis import SessionAnalysis
from local.rai_service.faults import NONE, Faults
from local.rai_service.policy import Policy
from local.rai_service.wire import Received, decode_request, encode_response
from shared.errors import BadRequest
from shared.guard import Buffer, Completion, SafetyEvent
from shared.guard.rai.wire import (
    METHOD,
    SERVICE,
    Commit,
    MalformedMessage,
    PolicyName,
    Stop,
)

WHAT_IT_IS = (("x-rai-service", "reference stand-in"),)
"""Initial metadata of every session, which tells this service from the real one."""
LOOPBACK = "127.0.0.1"
_GRACE_SECONDS = 0.5
_LAST_PORT = 65_535
_GARBAGE = b"\xff\xff\xff\xff"

_log = logging.getLogger("switchboard.rai_reference")

type _Context = grpc.aio.ServicerContext[bytes, bytes]
type _Queue = asyncio.Queue[tuple[float, SafetyEvent | None]]


class CannotListen(OSError):
    """The server cannot listen on the port."""


class _Refused(Exception):
    """Ends a session with a status."""

    def __init__(self, status: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.status = status
        self.details = details


class ReferenceService:
    """Answers sessions by its policies.

    Args:
        policies: Those that a session may name.
        faults: Faults of every session.
    """

    def __init__(self, policies: Sequence[Policy], faults: Faults) -> None:
        self._policies: Mapping[str, Policy] = {policy.name: policy for policy in policies}
        self._faults = faults

    async def analyze(self, requests: AsyncIterator[bytes], context: _Context) -> AsyncIterator[bytes]:
        """Serve one session (`AnalyzeBySafetyPolicy`)."""
        await context.send_initial_metadata(WHAT_IT_IS)
        if self._faults.status:
            await context.abort(self._faults.status, "This fault was asked for.")
        queue: _Queue = asyncio.Queue()
        reading = asyncio.create_task(self._read(requests, queue))
        reading.add_done_callback(lambda _: queue.put_nowait((0, None)))
        try:
            async for data in self._write(queue):
                yield data
            if reading.done():  # else a fault ends the stream, whatever the client may still send
                reading.result()
        except _Refused as refused:
            await context.abort(refused.status, refused.details)
        finally:
            reading.cancel()

    async def _read(self, requests: AsyncIterator[bytes], queue: _Queue) -> None:
        """Analyse messages as they come, and queue each event with the time at which it is due."""
        loop = asyncio.get_running_loop()
        async for event in self._events(requests):
            queue.put_nowait((loop.time() + self._faults.delay, event))

    async def _events(self, requests: AsyncIterator[bytes]) -> AsyncIterator[SafetyEvent]:
        analysis: SessionAnalysis | None = None
        async for data in requests:
            message = _decoded(data)
            if isinstance(message, Stop):
                yield Completion("END_REASON_STOPPED")
                return
            if isinstance(message, PolicyName):
                if analysis:
                    raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, "A session has one policy, at its beginning.")
                analysis = SessionAnalysis(self._policy(message))
            elif analysis is None:
                raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, "The first message should be a policy.")
            else:
                for event in _analysed(analysis, message):
                    yield event
        for event in analysis.finish() if analysis else ():
            yield event
        yield Completion("END_REASON_END_OF_STREAM")

    def _policy(self, message: PolicyName) -> Policy:
        if message.name not in self._policies:
            known = ", ".join(self._policies)
            raise _Refused(grpc.StatusCode.NOT_FOUND, f"There is no policy of this name; there are: {known}.")
        return self._policies[message.name]

    async def _write(self, queue: _Queue) -> AsyncIterator[bytes]:
        """Yield the events when they are due, until a fault or the end."""
        loop, sent, faults = asyncio.get_running_loop(), 0, self._faults
        while True:
            due, event = await queue.get()
            if sent == faults.silent_after:
                continue
            if event is None or sent == faults.stop_after:
                return
            await asyncio.sleep(due - loop.time())
            yield _GARBAGE if sent == faults.garbage_after else encode_response(event)
            sent += 1


def _decoded(data: bytes) -> Received:
    try:
        return decode_request(data)
    except MalformedMessage as exc:
        raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, str(exc)) from exc


def _analysed(analysis: SessionAnalysis, message: Buffer | Commit) -> Iterator[SafetyEvent]:
    if isinstance(message, Commit):
        yield from analysis.commit()
        return
    try:
        yield from analysis.read(message)
    except BadRequest as exc:
        raise _Refused(grpc.StatusCode.INVALID_ARGUMENT, exc.message) from exc


@asynccontextmanager
async def serving(policies: Sequence[Policy], *, faults: Faults = NONE, port: int = 0) -> AsyncGenerator[int]:
    """Serve on loopback, and yield the port.

    Args:
        policies: One policy or more.
        faults: Faults of every session.
        port: Port to listen on; 0 for any that is free.

    Raises:
        CannotListen: the port cannot be used.
    """
    if not 0 <= port <= _LAST_PORT:
        raise CannotListen(f"The port should be a number from 0 to {_LAST_PORT}, not {port}.")
    service = ReferenceService(policies, faults)
    # Without this option two services could listen on the same port, and each would get some of the sessions.
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        METHOD: grpc.stream_stream_rpc_method_handler(service.analyze)
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, methods)])
    try:
        port = server.add_insecure_port(f"{LOOPBACK}:{port}")
    except RuntimeError as exc:
        raise CannotListen(f"Port {port} cannot be used.") from exc
    await server.start()
    _log.info("A stand-in for the RAI service, not a safety product, listens on %s:%d", LOOPBACK, port)
    try:
        yield port
    finally:
        await server.stop(_GRACE_SECONDS)
