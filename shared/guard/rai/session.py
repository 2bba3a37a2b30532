"""One stream to the RAI service, as a `SafetySession`. Imports `grpc`: import it late."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, cast

import grpc
import grpc.aio
from grpc import StatusCode

from shared.chat_types import RequestContext
from shared.errors import BadRequest, SwitchboardError, TooLarge
from shared.guard import AnalysisResult, Buffer, Completion, SafetyEvent
from shared.guard.clearance import MOST_NAMED, Coverage
from shared.guard.rai.wire import ClientMessage, Commit, MalformedMessage, decode_response, encode_request
from shared.outbound.faults import Fault, Reason, errors_of

_log = logging.getLogger("switchboard.rai")

LARGEST_MESSAGE = 4 * 1024 * 1024
"""Bytes of a message; the default limit of gRPC servers."""
_STATUS_SECONDS = 0.5
"""Time to wait for the status of a stream that has ended."""

ERRORS = errors_of("safety")
"""The service's own text is never shown: it may quote what was analysed."""

REASONS = {StatusCode[code]: reason for code, reason in ERRORS.codes.items()}
"""By the gRPC status that ends the stream. The service reports `OK` although the analysis is not complete."""

type RaiCall = grpc.aio.StreamStreamCall[bytes, bytes]


class Known:
    """What sessions have learned of the service."""

    def __init__(self) -> None:
        self.name = ""
        """Its name in the metadata of its answers, under `x-rai-service`."""
        self.without_model: set[str] = set()
        """Tasks of the policy for which it has no model. Each is logged once."""
        self.changed = False
        """Whether its health should be checked again: a session failed, or named another such task."""

    def take_in(self, result: AnalysisResult) -> None:
        """Note the tasks of a result that have no model."""
        coverage = Coverage()
        coverage.take_in(result)
        if new := sorted(coverage.missing - self.without_model)[: MOST_NAMED - len(self.without_model)]:
            self.without_model.update(new)
            self.changed = True
            _log.warning("The RAI service has no model for %s: nobody looks for what the policy says of it", new)


class RaiSession:
    """One stream to the service. After the first fault every method raises that fault, by the table in `ERRORS`.

    gRPC ends the whole call when a wait for it is cancelled, so a wait that takes too long ends the session.

    Args:
        call: The stream; its owner cancels it in the end.
        timeout: Seconds to wait for the service to take a message.
        context: The request's context, for its id in the log.
        known: Takes in what the session learns of the service.
    """

    def __init__(self, call: RaiCall, timeout: float, context: RequestContext, known: Known) -> None:
        self._known = known
        self._call = call
        self._timeout = timeout
        self._context = context
        self._sending = asyncio.Lock()
        self._fault: SwitchboardError | None = None

    async def begin(self, policy: ClientMessage, late: Callable[[], Awaitable[Reason]]) -> None:
        """Wait for the connection, and send the policy. `late` finds out why there is none in time."""
        await self._write(encode_request(policy), late)

    async def send(self, buffer: Buffer) -> None:
        """Send a payload, unchanged.

        Raises:
            BadRequest, TooLarge: it cannot be sent; the session can still be used.
            SwitchboardError: by the table in `ERRORS`.
        """
        try:
            data = encode_request(buffer)
        except MalformedMessage:
            raise BadRequest("A text has half of a character (a lone surrogate): leave it out.") from None
        if len(data) > LARGEST_MESSAGE:
            size, largest = len(data) / 1024**2, LARGEST_MESSAGE // 1024**2
            raise TooLarge(
                f"This is too large for the safety service: {size:.1f} MB of at most {largest} MB. Send less text, or "
                "send it in pieces."
            )
        await self._write(data)

    async def commit(self) -> None:
        """Say that the side which was sent last is complete."""
        await self._write(encode_request(Commit()))

    async def finish(self) -> None:
        """Say that nothing more will be sent. Does nothing if the service has ended the stream already."""
        async with self._sending:
            with suppress(grpc.aio.InternalError):
                await self._bounded(self._call.done_writing())

    async def events(self) -> AsyncGenerator[SafetyEvent]:
        """Yield the results as they come. Results that came before a fault are yielded before its error is raised."""
        # Not `call.read`: it returns nothing more once the status has come, even if results are waiting.
        async with aclosing(cast("AsyncGenerator[bytes]", aiter(self._call))) as responses:
            while (data := await self._translated(anext(responses, None))) is not None:
                try:
                    event = decode_response(data)
                except MalformedMessage as malformed:
                    raise self._failed(Reason.NOT_AN_ANSWER, why=str(malformed)) from None
                if not self._known.name:
                    self._known.name = str(dict(await self._call.initial_metadata()).get("x-rai-service", ""))
                if isinstance(event, AnalysisResult):
                    self._known.take_in(event)
                yield event
                if isinstance(event, Completion):
                    self._known.changed |= not event.whole
                    return
            self._known.changed = True

    async def _write(self, data: bytes, late: Callable[[], Awaitable[Reason]] | None = None) -> None:
        async with self._sending:
            try:
                await self._bounded(self._put(data), late)
            except grpc.aio.InternalError:
                status = await self._status()
                raise self._failed(REASONS[status], status) from None

    async def _status(self) -> grpc.StatusCode:
        """Status with which the stream has ended; OK if it does not come in time.

        gRPC gives the status only when all results are read, and it may be that nothing reads them now.
        """
        try:
            async with asyncio.timeout(_STATUS_SECONDS):
                return await self._translated(self._call.code())
        except TimeoutError:
            return grpc.StatusCode.OK

    async def _put(self, data: bytes) -> None:
        """Send a message as `call.write` does, but keep the stream's status, which says why the service refused us."""
        await self._call.wait_for_connection()
        # `call.write` would replace the status by INTERNAL if the stream has ended (docs/decisions/0009).
        core = cast("Any", self._call)._cython_call  # noqa: SLF001
        try:
            await core.send_serialized_message(data)
        except asyncio.CancelledError:
            self._call.cancel()
            raise

    async def _bounded(self, waiting: Awaitable[None], late: Callable[[], Awaitable[Reason]] | None = None) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await self._translated(waiting)
        except TimeoutError:
            raise self._failed(await late() if late else Reason.TOO_SLOW) from None

    async def _translated[T](self, waiting: Awaitable[T]) -> T:
        """Wait for the call, and translate errors of gRPC into ours."""
        try:
            return await waiting
        except grpc.aio.AioRpcError as exc:
            # `from None`, since the text of gRPC's error is the service's, and may quote what was analysed.
            raise self._failed(REASONS[exc.code()], exc.code()) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # This task was not cancelled. Another wait of the session was, and gRPC ended the call with it.
            raise self._failed(Reason.CUT_OFF) from None

    def _failed(
        self, reason: Reason, status: grpc.StatusCode | None = None, why: str = "no status"
    ) -> SwitchboardError:
        """Return the session's first fault, which caused the later ones; log it when it happens."""
        if self._fault is None:
            self._fault = ERRORS.error(Fault(reason))
            self._known.changed = True
            _log.warning(
                "The RAI service failed: %s (%s), invocation %s",
                reason.name,
                status.name if status else why,
                self._context.invocation_id,
            )
        return self._fault
