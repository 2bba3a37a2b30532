"""Streams the response of a running turn, and cancels the turn when the caller disconnects."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

FIRST_PIECE_TIMEOUT_SECONDS = 2.0
"""Longest wait for the first piece of an answer before the status is sent, in seconds."""
KEEP_ALIVE_SECONDS = 15.0
"""Time without a record after which a stream sends a keep-alive, in seconds: Azure closes idle responses."""


class _Cancellable(Protocol):
    """A turn or a task."""

    def cancel(self) -> object:
        """Ask it to end."""
        ...


class TurnResponse(StreamingResponse):
    """Streams a turn and owns it: the turn is cancelled when sending ends for any reason."""

    def __init__(self, body: AsyncGenerator[bytes], headers: Mapping[str, str], turn: _Cancellable) -> None:
        super().__init__(body, headers={"cache-control": "no-cache", **headers})
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream. When the caller disconnects, cancel the turn, which ends the stream."""
        del scope
        watcher = asyncio.create_task(_cancel_on_disconnect(receive, self._turn))
        try:
            await self.stream_response(send)
        finally:
            watcher.cancel()
            self._turn.cancel()


@asynccontextmanager
async def cancelled_on_disconnect(request: Request, work: _Cancellable) -> AsyncGenerator[None]:
    """Cancel a turn, or a task, if the caller disconnects before the response starts."""
    watcher = asyncio.create_task(_cancel_on_disconnect(request.receive, work))
    try:
        yield
    except BaseException:
        work.cancel()  # else a turn would run until its deadline
        raise
    finally:
        watcher.cancel()


async def until_disconnected[Result](request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Await a coroutine; it is cancelled if the caller disconnects.

    Raises:
        ClientDisconnect: the caller has disconnected.
    """
    task = asyncio.create_task(work)
    async with cancelled_on_disconnect(request, task):
        await asyncio.wait([task])
    if task.cancelled():
        raise ClientDisconnect
    return task.result()


async def _cancel_on_disconnect(receive: Receive, work: _Cancellable) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()
