"""Streams the response of a running turn, and cancels the turn when the caller disconnects."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from azurefunctions.extensions.http.fastapi import Request, StreamingResponse
from starlette.types import Receive, Scope, Send

from shared.core.running_turn import RunningTurn

FIRST_PIECE_TIMEOUT_SECONDS = 2.0
"""Longest wait for the first piece of an answer before the status is sent, in seconds."""
KEEP_ALIVE_SECONDS = 15.0
"""Time without a record after which a stream sends a keep-alive, in seconds: Azure closes idle responses."""


class TurnResponse[Event](StreamingResponse):
    """Streams a turn and owns it: the turn is cancelled when sending ends for any reason."""

    def __init__(self, body: AsyncGenerator[bytes], content_type: str, turn: RunningTurn[Event]) -> None:
        super().__init__(body, headers={"content-type": content_type, "cache-control": "no-cache"})
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
async def cancelled_on_disconnect[Event](request: Request, turn: RunningTurn[Event]) -> AsyncGenerator[None]:
    """Cancel the turn if the caller disconnects before the response starts."""
    watcher = asyncio.create_task(_cancel_on_disconnect(request.receive, turn))
    try:
        yield
    except BaseException:
        turn.cancel()  # else the turn would run until its deadline
        raise
    finally:
        watcher.cancel()


async def _cancel_on_disconnect[Event](receive: Receive, turn: RunningTurn[Event]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    turn.cancel()
