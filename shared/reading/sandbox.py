"""Reading files in processes of their own: a hostile file ends its process, not the app.

A parser of PDF or Word files can crash, fill the memory or never end when a file makes it, and a thread cannot be ended
from outside. So each file is read by a process that has limits, and is killed when it exceeds one or nobody waits any
more:

    the app ── socket ──▶ the server, started with the first file ── fork ──▶ a reader, one for each file

The server (`sandbox_server`) has imported the parsers and has a single thread, so that it can be forked, which takes a
few milliseconds; the app has many threads and is never forked. A reader serves one file: one that a file has taken over
meets no other caller's. It has no secret in its environment and cannot open files or connections.
"""

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from threading import Lock
from typing import Literal
from weakref import WeakValueDictionary

import msgspec

from shared.errors import Unavailable
from shared.reading import Page, UnreadableError
from shared.reading.limits import (
    DOCUMENT_LIMITS,
    MAX_CALLER_READERS,
    MAX_DOCUMENT_MEMORY_BYTES,
    MAX_DOCUMENT_READ_SECONDS,
    MAX_UPLOAD_MEMORY_BYTES,
    MAX_UPLOAD_READ_SECONDS,
    MAX_UPLOAD_READERS,
    MAX_UPLOAD_WAIT_SECONDS,
    UPLOAD_LIMITS,
    ReadLimitError,
    ReadLimits,
)

_CHUNK_BYTES = 1024 * 1024
_START_TRIES = 2
"""How often a reader is started when the server ends meanwhile."""
_SERVER_CODE = "from shared.reading.sandbox_server import main; main()"


class ReadTask(msgspec.Struct, tag=True, frozen=True):
    """Read the text of a file."""

    suffix: str
    """The suffix of its name, such as `.pdf`: a key of `READERS`."""
    charset: str | None
    """The encoding that the sender of plain text declared; None if unknown."""
    limits: ReadLimits
    """What the file may hold."""


class RenderTask(msgspec.Struct, tag=True, frozen=True):
    """Render pages of a PDF."""

    numbers: list[int]
    """Page numbers, from 1."""


class Job(msgspec.Struct, frozen=True):
    """What the app sends to a reader; the bytes of the file follow."""

    task: ReadTask | RenderTask
    size: int
    """Bytes of the file."""
    memory: int
    """Bytes of address space that the reader may take."""
    seconds: int
    """CPU time that the reader may take."""


class PagesRead(msgspec.Struct, tag=True, frozen=True):
    """The pages of a file."""

    pages: list[Page]


class PagesRendered(msgspec.Struct, tag=True, frozen=True):
    """Page numbers, each with its image as JPEG."""

    images: list[tuple[int, bytes]]


class Refused(msgspec.Struct, tag=True, frozen=True):
    """Why the file cannot be read, as the end of the sentence 'the file …'."""

    reason: str
    kind: Literal["unreadable", "limit"]
    """Names the error that the app raises."""


type Reply = PagesRead | PagesRendered | Refused

_decoder = msgspec.msgpack.Decoder[Reply](PagesRead | PagesRendered | Refused)
_ERRORS = {"unreadable": UnreadableError, "limit": ReadLimitError}


class Sandbox:
    """Reads files, a limited number at a time, each within limits.

    Args:
        readers: Files that are read at the same time; others wait.
        readers_of_caller: How many of them may be of one caller; None: all.
        memory: Bytes of address space that one reader may take; the parsers alone take some 100 MB.
        seconds: How long reading one file may take.
        max_wait: Seconds that a file may wait for another to be read; None: without an end.
        limits: What a file may hold.
    """

    def __init__(
        self,
        *,
        readers: int,
        readers_of_caller: int | None = None,
        memory: int,
        seconds: float,
        max_wait: float | None = None,
        limits: ReadLimits = DOCUMENT_LIMITS,
    ) -> None:
        self._memory = memory
        self._seconds = seconds
        self._max_wait = max_wait
        self._limits = limits
        self._free = asyncio.Semaphore(readers)
        self._readers_of_caller = readers_of_caller or readers
        self._free_of_caller: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """By caller, for as long as files of theirs are read or wait."""

    async def read(self, data: bytes, suffix: str, charset: str | None = None, *, caller: str = "") -> list[Page]:
        """Read all pages of a file, with or without text.

        Args:
            data: The bytes of the file.
            suffix: The suffix of its name, such as `.pdf`, in lower case: a key of `readers.READERS`.
            charset: The encoding that the sender of plain text declared; None if unknown.
            caller: Identifies who sent the file; files of the same caller share that caller's readers.

        Raises:
            UnreadableError: the file is damaged, protected, empty or too large.
            ReadLimitError: it holds too much, or reading it takes too much time or memory.
            Unavailable: too many files are read now, or no process can be started.
        """
        reply = await self._run(ReadTask(suffix, charset, self._limits), data, caller)
        return reply.pages if isinstance(reply, PagesRead) else []

    async def render(self, data: bytes, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Render pages of a PDF as JPEG: arguments and result of `pdf.render_pages`, errors of `read`."""
        reply = await self._run(RenderTask([*numbers]), data, "")
        return reply.images if isinstance(reply, PagesRendered) else []

    async def _run(self, task: ReadTask | RenderTask, data: bytes, caller: str) -> Reply:
        job = Job(task, len(data), self._memory, int(self._seconds) + 1)
        async with self._free_reader(caller):
            try:
                async with asyncio.timeout(self._seconds), _reader() as connection:
                    reply = await _serve(connection, job, data)
            except TimeoutError:
                raise ReadLimitError("takes too long to read; split it.") from None
        if isinstance(reply, Refused):
            raise _ERRORS[reply.kind](reply.reason)
        return reply

    @asynccontextmanager
    async def _free_reader(self, caller: str) -> AsyncGenerator[None]:
        """Wait until another file may be read, and count it while the block runs."""
        of_caller = self._free_of_caller.setdefault(caller, asyncio.Semaphore(self._readers_of_caller))
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._max_wait):
                    await held.enter_async_context(of_caller)
                    await held.enter_async_context(self._free)
            except TimeoutError:
                raise Unavailable("The app reads as many files as it can. Try again in a moment.") from None
            yield


def sandbox_for_uploads() -> Sandbox:
    """Make a sandbox for files that callers send."""
    return Sandbox(
        readers=MAX_UPLOAD_READERS,
        readers_of_caller=MAX_CALLER_READERS,
        memory=MAX_UPLOAD_MEMORY_BYTES,
        seconds=MAX_UPLOAD_READ_SECONDS,
        max_wait=MAX_UPLOAD_WAIT_SECONDS,
        limits=UPLOAD_LIMITS,
    )


def sandbox_for_documents() -> Sandbox:
    """Make a sandbox for the documents that are indexed, which may be larger and may take longer."""
    return Sandbox(
        readers=os.process_cpu_count() or 1, memory=MAX_DOCUMENT_MEMORY_BYTES, seconds=MAX_DOCUMENT_READ_SECONDS
    )


class _Server:
    """The process whose forks are the readers: one for the app, started when it is needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start_reader(self, connection: socket.socket) -> None:
        """Start a reader at this end of a connection, which is closed here. Blocks while the server starts.

        Raises:
            OSError: no process can be started now.
        """
        with self._lock, connection:
            try:
                socket.send_fds(self._start(), [b"r"], [connection.fileno()])
            except OSError:  # the server has ended: the next one may live
                self._end()
                socket.send_fds(self._start(), [b"r"], [connection.fileno()])

    def end(self) -> None:
        """End the server; the next file starts another."""
        with self._lock:
            self._end()

    def _start(self) -> socket.socket:
        """The connection to the server, which is started if it does not run."""
        if self._control:
            return self._control
        self._control, theirs = socket.socketpair()
        paths = os.pathsep.join(entry for entry in sys.path if entry)
        with theirs:
            # Its own session: Ctrl-C in a terminal is the app's to handle. It ends when its connection to the app does.
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", _SERVER_CODE],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={"PYTHONPATH": paths},
                start_new_session=True,
            )
        return self._control

    def _end(self) -> None:
        if self._control:
            self._control.close()
        if self._process:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


_SERVER = _Server()
atexit.register(_SERVER.end)


@asynccontextmanager
async def _reader() -> AsyncGenerator[socket.socket]:
    """Start a reader, which has ended when the block is left, and yield the connection to it.

    Raises:
        Unavailable: no process can be started now.
    """
    for _ in range(_START_TRIES):
        try:
            ours, theirs = socket.socketpair()
        except OSError:
            break
        with closing(ours):
            ours.setblocking(False)
            try:
                await asyncio.to_thread(_SERVER.start_reader, theirs)
                process = int.from_bytes(await _receive(ours, 8))
            except (OSError, EOFError):  # the server has ended before it could start the reader
                continue
            with _ended(process):
                yield ours
            return
    raise Unavailable("The app can start no process to read files now. Try again in a moment.")


async def _serve(connection: socket.socket, job: Job, data: bytes) -> Reply:
    """Send a job to a reader, and wait for its reply.

    Raises:
        ReadLimitError: the reader has ended without a reply, or replies with too much.
    """
    loop = asyncio.get_running_loop()
    try:
        header = msgspec.msgpack.encode(job)
        await loop.sock_sendall(connection, len(header).to_bytes(8) + header)
        view = memoryview(data)
        for start in range(0, len(data), _CHUNK_BYTES):
            await loop.sock_sendall(connection, view[start : start + _CHUNK_BYTES])
        size = int.from_bytes(await _receive(connection, 8))
        if size > job.memory:
            raise ReadLimitError("holds too much text to be read; split it.")
        return _decoder.decode(await _receive(connection, size))
    except (ConnectionError, EOFError, msgspec.DecodeError):
        # A parser that gets no memory ends its process, and so does one that a damaged file has led astray.
        raise ReadLimitError("takes too much memory to read, or is damaged.") from None


async def _receive(connection: socket.socket, size: int) -> bytes:
    """Receive so many bytes.

    Raises:
        EOFError: the other end is closed before.
    """
    received = bytearray()
    while len(received) < size:
        piece = await asyncio.get_running_loop().sock_recv(connection, min(size - len(received), _CHUNK_BYTES))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)


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
