"""A caller that only counts: when each token of a streamed answer came, over a connection that is kept.

It reads raw bytes, so that it costs a fraction of what the servers do, and shares a core with the model.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from bench.upstream import MARK

_END = b"0\r\n\r\n"
"""How a chunked answer ends; no protocol's own lines end in it."""


@dataclass(slots=True)
class Answer:
    """What came of one request, on the event loop's clock."""

    begun: float
    """When it was sent."""
    arrivals: list[float] = field(default_factory=list[float])
    """When each mark came; those that came together have the same time."""


class Connection(asyncio.Protocol):
    """One connection; `ask` on it as often as needed, one at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._ended: asyncio.Future[None] | None = None
        self._answer = Answer(0.0)
        self._begins = b""
        self._tail = b""

    @classmethod
    async def to(cls, address: str) -> Self:
        """Connect to the server at a URL."""
        url = urlsplit(address)
        _, connection = await asyncio.get_running_loop().create_connection(cls, str(url.hostname), url.port or 80)
        return connection

    async def ask(self, request: bytes) -> Answer:
        """Send a request and read its whole answer.

        Raises:
            ConnectionError: the answer broke off, or its status is not 200.
        """
        if self._transport is None:
            raise ConnectionError
        self._ended = self._loop.create_future()
        self._begins = self._tail = b""
        self._answer = Answer(self._loop.time())
        self._transport.write(request)
        await self._ended
        return self._answer

    def close(self) -> None:
        """Hang up."""
        if self._transport:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.WriteTransport):
            raise TypeError
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if marks := data.count(MARK):
            self._answer.arrivals.extend([self._loop.time()] * marks)
        if len(self._begins) < len(b"HTTP/1.1 200"):
            self._begins += data[:100]
            if not b"HTTP/1.1 200".startswith(self._begins[:12]):
                self.connection_lost(ConnectionError(data.decode()))
        self._tail = (self._tail + data)[-len(_END) :] if len(data) < len(_END) else data[-len(_END) :]
        if self._tail == _END and self._ended and not self._ended.done():
            self._ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._ended and not self._ended.done():
            self._ended.set_exception(exc or ConnectionError("The answer broke off."))
