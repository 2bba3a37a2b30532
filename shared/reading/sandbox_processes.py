"""The app's end of the processes that read files: starts the server and readers, and talks to them. See `sandbox`."""

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import cache
from threading import Lock

import msgspec

from shared.errors import Unavailable
from shared.reading import sandbox_messages as messages
from shared.reading.limits import ReadLimitError

_CHUNK_BYTES = 1024 * 1024
_SHORT_BYTES = 64 * 1024
"""Bytes that are sent or received with the length that comes before them."""
_START_TRIES = 2
"""How often a reader is started when the server ends meanwhile."""
_SLOWEST_START = 60.0
"""Seconds in which a reader starts: the first one waits until the parsers are loaded."""
_SERVER_CODE = "from shared.reading.sandbox_server import main; main(models={!r})"

_decoder = msgspec.msgpack.Decoder[messages.Reply](messages.Reply.__value__)


class _Server:
    """The process whose forks are the readers: one for the app, started when it is needed.

    Args:
        models: The module whose models its forks need; empty: none.
    """

    def __init__(self, models: str) -> None:
        self._code = _SERVER_CODE.format(models)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start_reader(self, connection: socket.socket, parsers: messages.Parsers) -> None:
        """Start a reader with these parsers at this end of a connection, which is closed here.

        Blocks while the server starts.

        Raises:
            OSError: no process can be started now.
        """
        with self._lock, connection:
            try:
                self._ask(connection, parsers)
            except OSError:  # the server has ended: the next one may live
                self.end()
                self._ask(connection, parsers)

    def _ask(self, connection: socket.socket, parsers: messages.Parsers) -> None:
        socket.send_fds(self._start(), [bytes([parsers])], [connection.fileno()])

    def _start(self) -> socket.socket:
        """The connection to the server, which is started if it does not run."""
        if self._control:
            return self._control
        self._control, theirs = socket.socketpair()
        paths = os.pathsep.join(entry for entry in sys.path if entry)
        with theirs:
            # Its own session: Ctrl-C in a terminal is the app's to handle. It ends when its connection to the app does.
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", self._code],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={"PYTHONPATH": paths},
                start_new_session=True,
            )
        return self._control

    def end(self) -> None:
        """End the server; the next file starts another."""
        if self._control:
            self._control.close()
        if self._process:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


@cache
def _server_with(models: str) -> _Server:
    server = _Server(models)
    atexit.register(server.end)
    return server


@asynccontextmanager
async def reader(work: messages.Work) -> AsyncGenerator[socket.socket]:
    """Start a reader for some work, which has ended when the block is left, and yield the connection to it.

    Raises:
        Unavailable: no process can be started now.
    """
    loop = asyncio.get_running_loop()
    for _ in range(_START_TRIES):
        try:
            ours, theirs = socket.socketpair()
        except OSError:
            break
        with closing(ours):
            ours.setblocking(False)
            try:
                # Shielded: a call that is cancelled before a thread is free would never close its end.
                start_reader = _server_with(work.models).start_reader
                async with asyncio.timeout(_SLOWEST_START):
                    await asyncio.shield(loop.run_in_executor(None, start_reader, theirs, work.parsers))
                    process = int.from_bytes(await _receive(ours, 8))
            except (OSError, EOFError):  # the server has ended before it could start the reader, or takes too long
                continue
            with _ended(process):
                yield ours
            return
    raise Unavailable("The app can start no process to read files now. Try again in a moment.")


async def serve(connection: socket.socket, job: messages.Job, data: bytes) -> messages.Reply:
    """Send a job to a reader, and wait for its reply.

    Raises:
        ReadLimitError: the reader has ended without a reply, or replies with too much.
    """
    loop = asyncio.get_running_loop()
    try:
        header, view = msgspec.msgpack.encode(job), memoryview(data)
        # What is short goes in one piece, and so does its reply: most documents are, and each piece wakes a process.
        await loop.sock_sendall(connection, b"".join((len(header).to_bytes(8), header, view[:_SHORT_BYTES])))
        for start in range(_SHORT_BYTES, len(data), _CHUNK_BYTES):
            await loop.sock_sendall(connection, view[start : start + _CHUNK_BYTES])
        received = await _receive(connection, 8, _SHORT_BYTES)
        size = int.from_bytes(received[:8])
        if size > job.memory:
            raise ReadLimitError("holds too much text to be read; split it.")
        received = await _receive(connection, size + 8, before=received)
        return _decoder.decode(memoryview(received)[8:])  # a copy of what is long would hold the event loop
    except (ConnectionError, EOFError, msgspec.DecodeError):
        # A parser that gets no memory ends its process, and so does one that a damaged file has led astray.
        raise ReadLimitError("takes too much memory to read, or is damaged.") from None


async def _receive(connection: socket.socket, least: int, most: int = 0, before: bytes | bytearray = b"") -> bytearray:
    """Receive at least so many bytes, with those before, and up to `most` if they are there.

    Raises EOFError if the other end closes.
    """
    received = bytearray(before)
    while len(received) < least:
        wanted = max(least, most) - len(received)
        piece = await asyncio.get_running_loop().sock_recv(connection, min(wanted, _CHUNK_BYTES))
        if not piece:
            raise EOFError
        received += piece
    return received


@contextmanager
def _ended(pid: int) -> Generator[None]:
    """End the process with this id when the block is left, and never another that has got the same id since."""
    descriptor: int | None = None
    if sys.platform == "linux":
        with suppress(OSError):  # it has ended, or the system has no such call
            descriptor = os.pidfd_open(pid)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            if descriptor is None:
                os.kill(pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        if descriptor is not None:
            os.close(descriptor)
