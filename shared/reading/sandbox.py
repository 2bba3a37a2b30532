"""Reading files in processes of their own: a hostile file ends its process, not the app.

A parser of PDF or Word files can crash, fill the memory or never end when a file makes it, and a thread cannot be ended
from outside. So each file is read by a process that has limits, and is killed when it exceeds one or nobody waits any
more:

    the app ── socket ──▶ the server, started with the first file ── fork ──▶ a reader, one for each file

The server (`sandbox_server`) has imported the parsers and has a single thread, so that it can be forked, which takes a
few milliseconds; the app has many threads and is never forked. A reader serves one file: one that a file has taken over
meets no other caller's. It has no secret in its environment and cannot open files or connections. Only small files of
plain text, which no parser reads, share a reader where an administrator indexes a folder of them. Texts are split into
chunks in such processes too: some take minutes.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from weakref import WeakValueDictionary

import msgspec

from shared.errors import Unavailable
from shared.reading import Page, UnreadableError, sandbox_processes
from shared.reading import sandbox_messages as messages
from shared.reading.limits import DOCUMENT_LIMITS, UPLOAD_LIMITS, ReadLimitError, ReadLimits

ERRORS = {"unreadable": UnreadableError, "limit": ReadLimitError}
"""The error of each kind of refusal."""
PLAIN_TEXT = frozenset({*messages.MARKDOWN, ".txt"})
"""Formats that no parser reads: their bytes are decoded."""


class Sandbox:
    """Reads files and splits their text, a limited number at a time, each within limits.

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
        self.limits = limits
        """What a file may hold."""
        self._caller = ""
        self._free = asyncio.Semaphore(readers)
        self._readers_of_caller = readers_of_caller or readers
        self._free_of_caller: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """By caller, for as long as files of theirs are read or wait."""

    def of(self, caller: str) -> "Sandbox":
        """Return the same sandbox for the files of a caller, who may not use all readers; empty: of nobody's."""
        same = copy(self)
        same._caller = caller  # noqa: SLF001 (its own)
        return same

    async def read(self, data: bytes, suffix: str, charset: str | None = None) -> list[Page]:
        """Read all pages of a file, with or without text.

        Args:
            data: The bytes of the file.
            suffix: The suffix of its name, such as `.pdf`, in lower case: a key of `readers.READERS`.
            charset: The encoding that the sender of plain text declared; None if unknown.

        Raises:
            UnreadableError: the file is damaged, protected, empty or too large.
            ReadLimitError: it holds too much, or reading it takes too much time or memory.
            Unavailable: too many files are read now, or no process can be started.
        """
        has_files = suffix == ".pdf" and b"/EmbeddedFile" in data  # of any format
        work = "read" if has_files else messages.READS.get(suffix, "read")
        return await self.run(list[Page], work, data, suffix, charset, self.limits)

    async def split(self, name: str, texts: Sequence[str], limit: int, *, terms: bool = False) -> messages.TextsSplit:
        """Split texts into chunks.

        Args:
            name: The name of the document.
            texts: As for `chunks_of`.
            limit: As for `chunks_of`.
            terms: Whether the terms of the chunks are made as well.

        Raises:
            UnreadableError: there are more chunks.
            ReadLimitError, Unavailable: as in `read`.
        """
        data = msgspec.msgpack.encode(texts)
        return await self.run(messages.TextsSplit, "split", data, name, limit, terms)

    async def render(self, data: bytes, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Render pages of a PDF as JPEG: arguments and result of `pdf.render_pages`, errors of `read`."""
        return await self.run(list[tuple[int, bytes]], "render", data, numbers)

    async def read_api(self, data: bytes, operations: list[str], without: str | None) -> tuple[list[bytes], list[str]]:
        """Read an OpenAPI document: arguments and result of `tools.openapi.read_operations`, errors of `read`."""
        return await self.run(tuple[list[bytes], list[str]], "read api", data, operations, without)

    async def run[T](self, kind: type[T], work: str, data: bytes, *arguments: object) -> T:
        """Have a reader do some work, of which the result is of this kind."""
        packed = msgspec.Raw(msgspec.msgpack.encode(arguments))
        job = messages.Job(work, packed, len(data), self._memory, int(self._seconds) + 1)
        async with self._free_reader():
            try:
                async with sandbox_processes.reader(messages.WORK[work]) as connection, asyncio.timeout(self._seconds):
                    reply = await sandbox_processes.serve(connection, job, data)
            except TimeoutError:
                raise ReadLimitError("takes too long to read; split it.") from None
        if isinstance(reply, messages.Refused):
            raise ERRORS[reply.kind](reply.reason)
        try:
            return msgspec.msgpack.decode(reply.result, type=kind)
        except msgspec.DecodeError:  # a hostile file has led the reader astray
            raise UnreadableError("is damaged, or not of the format that its name says.") from None

    @asynccontextmanager
    async def _free_reader(self) -> AsyncGenerator[None]:
        """Wait until another file may be read, and count it while the block runs."""
        of_caller = self._free_of_caller.setdefault(self._caller, asyncio.Semaphore(self._readers_of_caller))
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
        readers=3,  # with their memory they fit an instance of 2 GiB beside the app
        readers_of_caller=2,
        memory=512 * 1024 * 1024,
        seconds=10.0,
        max_wait=10.0,
        limits=UPLOAD_LIMITS,
    )


def sandbox_for_own_documents() -> Sandbox:
    """Make a sandbox for the documents that people add for themselves: each has one reader at a time."""
    return Sandbox(
        readers=2,
        readers_of_caller=1,
        memory=512 * 1024 * 1024,
        seconds=20.0,
        limits=UPLOAD_LIMITS,
    )


def sandbox_for_documents() -> Sandbox:
    """Make a sandbox for the documents that administrators index, which may be larger and may take longer."""
    return Sandbox(readers=os.process_cpu_count() or 1, memory=1536 * 1024 * 1024, seconds=300.0)
