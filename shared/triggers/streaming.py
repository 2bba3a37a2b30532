"""What handlers that answer while a turn goes on share: the stream, and the turn's end when the caller leaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from azurefunctions.extensions.http.fastapi import Request, StreamingResponse
from starlette.types import Receive, Scope, Send

from shared.core.running_turn import RunningTurn

FIRST_WORDS_SECONDS = 2.0
"""How long the status waits for what begins an answer."""
HEARTBEAT_SECONDS = 15.0
"""A stream that is silent for longer carries a keep-alive: Azure cuts what stays idle."""


class TurnResponse[Event](StreamingResponse):
    """A turn as a stream. Owns the turn: however sending ends, the turn ends too."""

    def __init__(self, body: AsyncGenerator[bytes], content_type: str, turn: RunningTurn[Event]) -> None:
        super().__init__(body, headers={"content-type": content_type, "cache-control": "no-cache"})
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; when the caller leaves, the turn ends, and with it the stream."""
        del scope
        watcher = asyncio.create_task(_cancel_when_caller_leaves(receive, self._turn))
        try:
            await self.stream_response(send)
        finally:
            watcher.cancel()
            self._turn.cancel()


@asynccontextmanager
async def cancelled_when_caller_leaves[Event](request: Request, turn: RunningTurn[Event]) -> AsyncGenerator[None]:
    """Until the response takes over, nobody else sees the caller go."""
    watcher = asyncio.create_task(_cancel_when_caller_leaves(request.receive, turn))
    try:
        yield
    except BaseException:
        turn.cancel()  # a turn that nobody waits for any more must not go on until its deadline
        raise
    finally:
        watcher.cancel()


async def _cancel_when_caller_leaves[Event](receive: Receive, turn: RunningTurn[Event]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    turn.cancel()
