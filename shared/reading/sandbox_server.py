"""The processes in which files are read: a server that has imported the parsers, and its forks. See `sandbox`."""

import encodings
import os
import pkgutil
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from copy import replace
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NoReturn

import msgspec

from shared.reading import UnreadableError
from shared.reading import sandbox_messages as messages
from shared.reading.limits import ReadLimitError, ReadLimits
from shared.runtime.features import is_there

_TEXT = (
    "shared.reading.after_reading",
    "shared.reading.chunks",
    "shared.reading.readers",
    *(["shared.retrieval.sqlite.passage_terms"] if is_there("built-in") else ()),
    "striprtf.striprtf",
)
_PDF = ("shared.reading.pdf",)
_OTHERS = (
    *(f"shared.reading.{name}" for name in ("markup", "open_document", "outlook", "slides", "word", "workbooks")),
    "xml.dom.expatbuilder",
)
_MODULES = {
    messages.Parsers.TEXT: _TEXT,
    messages.Parsers.SPLIT: _TEXT,
    messages.Parsers.PDF: (*_TEXT, *_PDF),
    messages.Parsers.ALL: (*_TEXT, *_PDF, *_OTHERS),
}
"""What a reader needs, also what parsers import late, since a reader cannot open files."""
_VOCABULARY_BYTES = 48 * 1024 * 1024
"""Address space of the vocabulary of tokens, which readers inherit and parsers do not use."""


def main(models: str) -> None:
    """Serve the app at the other end of standard input until it goes.

    Args:
        models: The module whose models are loaded at once; empty: none.
    """
    control = socket.socket(fileno=os.dup(0))
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    with suppress(OSError):  # Linux: without memory, the system ends this process and its forks before the app
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets readers that have ended
    if models:
        import_module(models).load()
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not request:
            return
        _load(messages.Parsers(request[0]))
        if os.fork() == 0:
            control.close()
            _serve_one(descriptors[0], devnull)
        os.close(descriptors[0])


@cache
def _load(parsers: messages.Parsers) -> None:
    """Import parsers before the first reader that needs them is forked."""
    if parsers is messages.Parsers.NONE:
        return
    import chardet

    for module in _MODULES[parsers]:
        import_module(module)
    for encoding in pkgutil.iter_modules(encodings.__path__):
        with suppress(ImportError):  # of another platform
            import_module(f"encodings.{encoding.name}")
    chardet.detect("Größe".encode("cp1252"))  # loads its models
    if parsers is messages.Parsers.SPLIT:
        import_module("shared.reading.chunks").load()
    elif parsers is not messages.Parsers.TEXT:
        from PIL import Image

        Image.preinit()


def _serve_one(connection: int, devnull: int) -> NoReturn:
    """Do the one job of this process, and end it."""
    try:
        os.write(connection, os.getpid().to_bytes(8))
        for standard in (1, 2):  # a parser's messages could quote the file
            os.dup2(devnull, standard)
        job = msgspec.msgpack.decode(_receive(connection, int.from_bytes(_receive(connection, 8))), type=messages.Job)
        _restrict(job)
        reply = msgspec.msgpack.encode(_run(job, bytes(_receive(connection, job.size))))
        _send(connection, len(reply).to_bytes(8) + reply)
    finally:
        os._exit(0)


def _restrict(job: messages.Job) -> None:
    """Limit this process for good; in this order, since nothing can be opened afterwards."""
    limits = [
        (resource.RLIMIT_AS, job.memory + _VOCABULARY_BYTES),
        (resource.RLIMIT_CPU, int(time.process_time()) + job.seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 0),  # neither files nor connections, but for the one that is open
    ]
    for limit, most in limits:
        with suppress(OSError, ValueError):  # macOS has no limit of address space
            resource.setrlimit(limit, (most, most))


def _run(job: messages.Job, data: bytes) -> messages.Reply:
    work = messages.WORK[job.work]
    function = getattr(import_module(work.module), work.function)
    arguments = msgspec.msgpack.decode(job.arguments, type=work.arguments)
    return _refusing(lambda: messages.Done(msgspec.Raw(msgspec.msgpack.encode(function(data, *arguments)))))


def _refusing[T](work: Callable[[], T]) -> T | messages.Refused:
    try:
        return work()
    except ReadLimitError as error:
        return messages.Refused(str(error), "limit")
    except UnreadableError as error:
        return messages.Refused(str(error), "unreadable")
    except MemoryError:
        return messages.Refused("takes too much memory to read; split it.", "limit")


def read_api(data: bytes, operations: list[str], without: str | None) -> tuple[list[bytes], list[str]]:
    """Read an OpenAPI document by `read_operations` of `shared.tools.openapi`, which is above this package."""
    try:
        return import_module("shared.tools.openapi").read_operations(data, operations, without)
    except ValueError:
        raise UnreadableError("is no OpenAPI document.") from None


def split_files(
    data: bytes, names: list[str], limit: int, terms: bool, limits: ReadLimits
) -> list[messages.TextsSplit | messages.Refused]:
    """Read files of plain text, a list of them as MessagePack, and split each. See `Sandbox.split_files`."""
    from shared.reading.readers import left_out_of, read_all_pages, with_text

    def split_one(name: str, file: bytes) -> messages.TextsSplit:
        pages = read_all_pages(file, Path(name).suffix.lower(), limits=limits)
        split = _split(name, [page.text for page in with_text(pages)], limit, terms=terms)
        return replace(split, stated=pages[0].stated, left_out=left_out_of(pages))

    files = msgspec.msgpack.decode(data, type=list[bytes])
    return [_refusing(partial(split_one, name, file)) for name, file in zip(names, files, strict=True)]


def split(data: bytes, name: str, limit: int, terms: bool) -> messages.TextsSplit:
    """Split texts, a list of them as MessagePack. See `Sandbox.split`."""
    return _split(name, msgspec.msgpack.decode(data, type=list[str]), limit, terms=terms)


def _split(name: str, texts: list[str], limit: int, *, terms: bool) -> messages.TextsSplit:
    from shared.reading.chunks import chunks_of, title_of

    title, chunks, found = title_of(texts), chunks_of(texts, limit), None
    if terms:
        from shared.retrieval.sqlite.passage_terms import context_of, terms_of_file

        every = chain.from_iterable(chunks)
        found = terms_of_file([(one.table_head + one.text, context_of(name, title, one.headings)) for one in every])
    return messages.TextsSplit(title, chunks, found)


def _receive(connection: int, size: int) -> bytearray:
    received = bytearray()
    while len(received) < size:
        piece = os.read(connection, min(size - len(received), 1024 * 1024))
        if not piece:
            sys.exit()
        received += piece
    return received


def _send(connection: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(connection, view) :]
