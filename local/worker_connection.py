"""One request to the worker's HTTP server and its answer, on a connection of its own.

The bytes of the answer's body go from this connection straight to the caller's: no task runs for a token. The body's
framing is passed on unchanged, but for callers of HTTP/1.0, who know no chunks.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Self, cast, override

from multidict import CIMultiDict

CONNECT_SECONDS = 10

_CONTINUE = 100
_BODILESS = (204, 304)


class BrokenOff(ConnectionResetError):
    """The worker closed the connection before the end of its answer."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers of an answer."""

    status: int
    """The HTTP status."""
    reason: str
    """The text after the status; may be empty."""
    headers: list[tuple[bytes, bytes]]
    """Names and values in their order, as sent."""


class WorkerConnection(asyncio.Protocol):
    """Sends one request and receives its answer.

    To be called in this order: `connect`, `send_head`, `send_body` if there is one, in a task, `head`, `relay`, and in
    any case `abort`.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._method = ""
        self._sizes_wanted = True
        self._received = b""
        self._head: asyncio.Future[Head] = self._loop.create_future()
        self._body_wanted = asyncio.Event()
        self._writable = asyncio.Event()
        self._body = Body(0)
        self._caller: asyncio.Transport | None = None
        self._change: asyncio.Future[None] | None = None

    @classmethod
    async def connect(cls, host: str, port: int) -> Self:
        """Connect to the worker.

        Raises:
            OSError: Nothing accepts there, or not within `CONNECT_SECONDS`.
        """
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await asyncio.get_running_loop().create_connection(cls, host, port)
        return connection

    def send_head(self, line: str, headers: CIMultiDict[str], *, sizes_wanted: bool) -> None:
        """Send the request line and the headers.

        Args:
            line: The request line, of HTTP/1.1.
            headers: With `Expect: 100-continue` if there is a body.
            sizes_wanted: Whether `relay` writes chunks with their sizes, or only their contents.
        """
        self._method = line.partition(" ")[0]
        self._sizes_wanted = sizes_wanted
        self._write("\r\n".join([line, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode())

    async def send_body(self, parts: AsyncIterator[bytes], *, chunked: bool) -> None:
        """Send the request's body once the worker asks for it, which it need not do.

        Args:
            parts: The body.
            chunked: Whether it goes in chunks, because its length is not known before.
        """
        await self._body_wanted.wait()
        async for part in parts:
            await self._writable.wait()
            self._write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
        if chunked:
            self._write(b"0\r\n\r\n")

    async def head(self) -> Head:
        """Wait for the head of the answer.

        Raises:
            BrokenOff: It did not come.
        """
        return await self._head

    async def relay(self, caller: asyncio.Transport, drain: Callable[[], Awaitable[None]]) -> None:
        """Write the body to a caller as it comes, but for the empty chunk that ends a body in chunks.

        Args:
            caller: The caller's connection.
            drain: Waits until the caller has taken most of what was written.

        Raises:
            BrokenOff: The body is not complete.
        """
        self._caller = caller
        self._pass_on(self._received, caller)
        while not self._body.is_complete:
            if self._transport is None:
                raise BrokenOff
            self._change = self._loop.create_future()
            self._transport.resume_reading()
            await self._change
            await drain()

    def abort(self) -> None:
        """Close the connection at once, whatever is still on its way. Harmless when it is closed."""
        if self._transport:
            self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._writable.set()

    @override
    def data_received(self, data: bytes) -> None:
        if self._caller:
            self._pass_on(data, self._caller)
        else:
            self._received += data
            self._read_heads()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._body.end()
        if not self._head.done():
            self._head.set_exception(BrokenOff(str(exc or "closed")))
            self._head.exception()  # Where nobody waits for it, asyncio would report it.
        self._wake_relay()

    @override
    def pause_writing(self) -> None:
        self._writable.clear()

    @override
    def resume_writing(self) -> None:
        self._writable.set()

    def _write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    def _read_heads(self) -> None:
        """Read the head of `100 Continue`, if any, and of the answer; the rest waits for `relay`."""
        while not self._head.done() and b"\r\n\r\n" in self._received:
            raw, _, self._received = self._received.partition(b"\r\n\r\n")
            head = _parse_head(raw)
            if head.status == _CONTINUE:
                self._body_wanted.set()
            else:
                self._body = _find_body(head, self._method, sizes_wanted=self._sizes_wanted)
                self._head.set_result(head)
                self._pause_reading()

    def _pass_on(self, data: bytes, caller: asyncio.Transport) -> None:
        """Write a part of the body, and stop reading at its end or when the caller is slow; `relay` goes on then."""
        part = self._body.take(data)
        if part and not caller.is_closing():
            caller.write(part)
        if self._body.is_complete or caller.get_write_buffer_size() > caller.get_write_buffer_limits()[1]:
            self._pause_reading()
            self._wake_relay()

    def _pause_reading(self) -> None:
        if self._transport:
            self._transport.pause_reading()

    def _wake_relay(self) -> None:
        if self._change and not self._change.done():
            self._change.set_result(None)


class Body:
    """Finds where a body ends.

    Args:
        length: In bytes; None for one in chunks; infinite for one that ends with the connection.
        sizes_wanted: Whether to pass on chunks with their sizes.
    """

    def __init__(self, length: float | None, *, sizes_wanted: bool = True) -> None:
        self._chunked = length is None
        self._sizes_wanted = sizes_wanted
        self._left: float = length or 0
        """Bytes to the next size line; without chunks, to the end."""
        self._held: bytes = b""
        """The beginning of a size line."""
        self.is_complete = length == 0
        """Whether the end has come."""

    def take(self, data: bytes) -> bytes:
        """Return the bytes that can be passed on, without the last, empty chunk."""
        if not self._chunked:
            self._left -= len(data)
            self.is_complete = self._left <= 0
            return data
        data = self._held + data
        at = int(self._left)
        contents = [data[: max(0, at - 2)]]
        while at < len(data) and (line_end := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:line_end].partition(b";")[0], 16)
            if not size:
                self.is_complete = True
                break
            at = line_end + size + 4  # the line breaks of the size line and of the chunk
            contents.append(data[line_end + 2 : at - 2])
        self._held = data[at:]
        self._left = max(0, at - len(data))
        return data[:at] if self._sizes_wanted else b"".join(contents)

    def end(self) -> None:
        """Take the end of the connection."""
        self.is_complete = self.is_complete or self._left == math.inf


def _parse_head(raw: bytes) -> Head:
    first, *lines = raw.split(b"\r\n")
    _, status, reason = first.split(b" ", 2)
    pairs = [line.partition(b":") for line in lines]
    return Head(int(status), reason.decode("latin-1"), [(name, value.strip()) for name, _, value in pairs])


def _find_body(head: Head, method: str, *, sizes_wanted: bool) -> Body:
    if method == "HEAD" or head.status in _BODILESS:
        return Body(0)
    fields = {name.lower(): value for name, value in head.headers}
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        return Body(None, sizes_wanted=sizes_wanted)
    return Body(int(fields[b"content-length"]) if b"content-length" in fields else math.inf)
