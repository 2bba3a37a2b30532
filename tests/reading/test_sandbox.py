"""Files are read in processes of their own: the same text, within limits, and nothing of the app's in reach."""

import ast
import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from copy import replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import override

import pytest

from shared.errors import Unavailable
from shared.reading import Page, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, UPLOAD_LIMITS, ReadLimitError
from shared.reading.pdf import render_pages
from shared.reading.readers import READERS, read_all_pages
from shared.reading.sandbox import Sandbox
from tests.hostile.files import ENDLESS, ENDS, HOSTILE_FILES, many_pages_pdf, self_drawing_pdf
from tests.hostile.office_files import far_cells_xlsx, package

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in (ROOT / "samples" / "documents", Path(__file__).parent / "files")
    for path in folder.rglob("*")
    if path.suffix in READERS
)
MEBIBYTE = 1024 * 1024
SANDBOX = Sandbox(readers=2, memory=512 * MEBIBYTE, seconds=60)


def server(models: str = "") -> int:
    """The process id of the server that this process has started, or of the one with the models of this module."""
    kind = f"models={models!r}"
    (found,) = [child for child in children(os.getpid()) if is_server(child) and kind in command_line(child)]
    return found


def is_server(process: int) -> bool:
    """Whether this process, or one that it was forked from, is a server of readers."""
    return "sandbox_server" in command_line(process)


def children(parent: int) -> list[int]:
    command = ["pgrep", "-P", str(parent)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:  # it has ended
        return ""


def kill_server() -> None:
    """Kill the server, and wait until it is dead."""
    process = server()
    os.kill(process, signal.SIGKILL)
    with suppress(FileNotFoundError):  # its end has been noticed, too
        while ") Z" not in Path(f"/proc/{process}/stat").read_text():
            time.sleep(0.01)


def wait_for_readers(*, some: bool, models: str = "") -> list[int]:
    """Wait until the server has readers, or has none; return them."""
    while bool(readers := children(server(models))) != some:
        time.sleep(0.01)
    return readers


async def read_here(data: bytes, suffix: str) -> list[Page] | str:
    try:
        return await asyncio.to_thread(read_all_pages, data, suffix)
    except UnreadableError as error:
        return str(error)


async def read_there(data: bytes, suffix: str, sandbox: Sandbox = SANDBOX) -> list[Page] | str:
    try:
        return await sandbox.read(data, suffix)
    except UnreadableError as error:
        return str(error)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
async def test_a_file_reads_as_it_does_in_the_app(file: Path) -> None:
    data = await asyncio.to_thread(file.read_bytes)
    pages = await read_there(data, file.suffix)
    assert pages == await read_here(data, file.suffix)
    if file.suffix == ".pdf" and isinstance(pages, list):
        assert await SANDBOX.render(data, [1]) == await asyncio.to_thread(render_pages, data, [1])


async def test_a_table_is_read_though_its_reader_can_open_no_file() -> None:
    assert await SANDBOX.read(b"a;b\n1;2", ".csv") == [Page("| a | b |\n| --- | --- |\n| 1 | 2 |")]


TEXTS = {
    "cp1252": "Grüße",
    "cp874": "ภาษาไทย",
    "gb18030": "中文文件",
    "koi8-r": "Привет, как дела",
    "mac_roman": "Grüße",
    "shift_jis": "日本語の文書です",
    "utf-16": "Grüße",
}


@pytest.mark.parametrize("charset", TEXTS)
async def test_text_in_any_encoding_is_read(charset: str) -> None:
    data = (TEXTS[charset] * 20).encode(charset)
    assert await SANDBOX.read(data, ".txt", charset) == [Page(TEXTS[charset] * 20)]
    assert await read_there(data, ".txt") == await read_here(data, ".txt")  # the encoding is guessed


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ENDS else pytest.mark.nightly) for name in HOSTILE_FILES],
)
async def test_a_hostile_file_ends_its_reader_and_nothing_else(name: str) -> None:
    data = HOSTILE_FILES[name]()
    assert await SANDBOX.read(b"good", ".txt") == [Page("good")]  # the server runs
    sandbox = Sandbox(readers=2, memory=256 * MEBIBYTE, seconds=3 if name in ENDLESS else 60, limits=UPLOADS)
    before = getrusage(RUSAGE_SELF).ru_maxrss
    hostile = asyncio.create_task(read_there(data, Path(name).suffix, sandbox))
    assert await sandbox.read(b"good", ".txt") == [Page("good")]
    says = await hostile
    assert isinstance(says, str)
    assert ("takes too long" in says) == (name in ENDLESS)
    assert ENDS.get(name, "") in says
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # kibibytes


WORDS = 500
PAGE = WORDS * len("word ")
"""Characters of a page of `many_pages_pdf`."""
UPLOADS, DOCUMENTS = UPLOAD_LIMITS, DOCUMENT_LIMITS
FEW_CHARACTERS = replace(UPLOADS, pdf_characters=UPLOADS.pdf_characters // 10)
"""A tenth of a PDF's characters: all of them take many seconds to read."""
TOO_MUCH = {
    "pages of an upload": (UPLOADS, ".pdf", lambda: many_pages_pdf(UPLOADS.pages + 1, words=1), "500 pages"),
    "pages of a document": (DOCUMENTS, ".pdf", lambda: many_pages_pdf(DOCUMENTS.pages + 1, words=1), "10,000 pages"),
    "characters of an uploaded PDF": (
        FEW_CHARACTERS,
        ".pdf",
        lambda: many_pages_pdf(FEW_CHARACTERS.pdf_characters // PAGE + 1, words=WORDS),
        "100,000 characters",
    ),
    "characters of an upload": (UPLOADS, ".txt", lambda: b"a" * (UPLOADS.characters + 1), "10,485,760 characters"),
    "characters of a document": (DOCUMENTS, ".md", lambda: b"a" * (DOCUMENTS.characters + 1), "20,000,000 characters"),
    "bytes of a text": (UPLOADS, ".txt", lambda: b"a" * (4 * UPLOADS.characters + 1), "41,943,040 bytes of text"),
    "tags of an upload": (UPLOADS, ".html", lambda: b"<br>" * (UPLOADS.tags + 1), "250,000 tags and attributes"),
    "tags of an uploaded Word document": (
        UPLOADS,
        ".docx",
        lambda: package({"word/document.xml": b"<a/>" * (UPLOADS.tags + 1)}),
        "250,000 tags and attributes",
    ),
    "markup of an upload": (UPLOADS, ".htm", lambda: b"a" * (UPLOADS.markup_bytes + 1), "2,097,152 bytes of markup"),
    "cells between two": (UPLOADS, ".xlsx", far_cells_xlsx, "500,000 cells"),
    "cells of an upload": (UPLOADS, ".csv", lambda: b"a,b\n" + b"," * UPLOADS.cells, "500,000 cells"),
    "parts of an upload": (
        UPLOADS,
        ".docx",
        lambda: package({f"word/media/{number}.png": b"" for number in range(UPLOADS.parts + 1)}),
        "2,000 parts",
    ),
    "parts of a document": (
        DOCUMENTS,
        ".docx",
        lambda: package({f"word/media/{number}.png": b"" for number in range(DOCUMENTS.parts + 1)}),
        "20,000 parts",
    ),
}


@pytest.mark.parametrize("case", TOO_MUCH)
async def test_a_file_that_holds_too_much_is_refused_with_its_limit(case: str) -> None:
    limits, suffix, make, says = TOO_MUCH[case]
    sandbox = Sandbox(readers=1, memory=1536 * MEBIBYTE, seconds=120, limits=limits)
    with pytest.raises(ReadLimitError, match=f"^holds more than {says}; split it.$"):
        await sandbox.read(make(), suffix)


async def test_a_file_that_holds_as_much_as_it_may_is_read() -> None:
    sandbox = Sandbox(readers=1, memory=512 * MEBIBYTE, seconds=120, limits=UPLOADS)
    assert len(await sandbox.read(many_pages_pdf(UPLOADS.pages, words=1), ".pdf")) == UPLOADS.pages
    (page,) = await sandbox.read(b"a" * UPLOADS.characters, ".txt")
    assert len(page.text) == UPLOADS.characters


async def test_other_files_wait_for_a_reader_and_are_refused_when_there_is_none() -> None:
    sandbox = Sandbox(readers=1, memory=2048 * MEBIBYTE, seconds=60, max_wait=0)
    hostile = asyncio.create_task(sandbox.read(self_drawing_pdf(), ".pdf"))
    await asyncio.sleep(0)  # the task takes the only reader
    with pytest.raises(Unavailable, match="reads as many files as it can"):
        await sandbox.read(b"good", ".txt")
    hostile.cancel()
    await asyncio.wait([hostile])
    assert await sandbox.read(b"good", ".txt") == [Page("good")]


async def test_a_caller_does_not_take_all_readers() -> None:
    sandbox = Sandbox(readers=2, readers_of_caller=1, memory=2048 * MEBIBYTE, seconds=60, max_wait=0)
    hostile = asyncio.create_task(sandbox.of("one").read(self_drawing_pdf(), ".pdf"))
    await asyncio.sleep(0)  # the task takes the only reader of its caller
    with pytest.raises(Unavailable, match="reads as many files as it can"):
        await sandbox.of("one").read(b"good", ".txt")
    assert await sandbox.of("other").read(b"good", ".txt") == [Page("good")]
    hostile.cancel()
    await asyncio.wait([hostile])
    assert await sandbox.of("one").read(b"good", ".txt") == [Page("good")]


async def test_who_waits_behind_large_files_of_two_callers_is_next() -> None:
    sandbox = Sandbox(readers=2, readers_of_caller=1, memory=2048 * MEBIBYTE, seconds=60)
    large = [asyncio.create_task(sandbox.of(who).read(self_drawing_pdf(), ".pdf")) for who in ("a", "b", "a", "b")]
    third = asyncio.create_task(sandbox.of("c").read(b"good", ".txt"))
    await asyncio.sleep(0)  # the first two take the readers
    large[0].cancel()
    assert await third == [Page("good")]
    assert not any(task.done() for task in large[1:])
    for task in large:
        task.cancel()
    await asyncio.wait(large)


async def test_a_reader_ends_when_nobody_waits_for_it() -> None:
    await SANDBOX.read(b"text", ".txt")
    reading = asyncio.create_task(SANDBOX.read(self_drawing_pdf(), ".pdf"))
    await asyncio.to_thread(wait_for_readers, some=True)
    reading.cancel()
    await asyncio.to_thread(wait_for_readers, some=False)
    await asyncio.wait([reading])
    assert reading.cancelled()


class Threads(ThreadPoolExecutor):
    """Threads that tell when they are given work."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.given = asyncio.Event()

    @override
    def submit[**Given, Result](
        self, fn: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Future[Result]:
        self.given.set()
        return super().submit(fn, *args, **kwargs)


async def test_a_file_that_is_given_up_before_a_thread_is_free_leaves_no_connection_open() -> None:
    await SANDBOX.read(b"text", ".txt")
    free = threading.Event()
    loop = asyncio.get_running_loop()
    with Threads(1) as threads, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loop.set_default_executor(threads)
        blocked = loop.run_in_executor(None, free.wait)
        threads.given.clear()
        try:
            reading = asyncio.create_task(SANDBOX.read(self_drawing_pdf(), ".pdf"))
            await threads.given.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        finally:
            free.set()
        await blocked
        await loop.run_in_executor(None, str)
        gc.collect()
        assert [str(one.message) for one in told] == []


async def test_the_next_file_starts_a_server_when_the_last_one_has_ended() -> None:
    await SANDBOX.read(b"text", ".txt")
    ended = server()
    await asyncio.to_thread(kill_server)
    assert await SANDBOX.read(b"text", ".txt") == [Page("text")]
    assert server() != ended


async def test_a_file_is_read_though_the_server_ends_before_it_starts_the_reader() -> None:
    await SANDBOX.read(b"text", ".txt")
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))  # work in threads is done in order
    os.kill(server(), signal.SIGSTOP)
    reading = asyncio.create_task(SANDBOX.read(b"text", ".txt"))
    await asyncio.sleep(0)  # the task asks the server for a reader, which waits in the connection
    await asyncio.to_thread(kill_server)
    assert await reading == [Page("text")]


async def test_the_time_until_a_reader_has_started_is_none_of_its_files() -> None:
    await SANDBOX.read(b"text", ".txt")
    os.kill(server(), signal.SIGSTOP)
    sandbox = Sandbox(readers=1, memory=512 * MEBIBYTE, seconds=1)
    reading = asyncio.create_task(sandbox.read(b"text", ".txt"))
    await asyncio.wait([reading], timeout=1.1)
    os.kill(server(), signal.SIGCONT)
    assert await reading == [Page("text")]


async def test_readers_are_what_the_system_ends_first_when_it_has_no_memory() -> None:
    await SANDBOX.read(b"text", ".txt")
    assert await asyncio.to_thread(Path(f"/proc/{server()}/oom_score_adj").read_text) == "1000\n"


NO_PROCESS = """
import asyncio, resource
from shared.errors import Unavailable
from shared.reading.sandbox import Sandbox
resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))
try:
    asyncio.run(Sandbox(readers=1, memory=512 * 1024 * 1024, seconds=60).read(b"text", ".txt"))
except Unavailable as error:
    print(error.message)
"""


def test_a_process_that_cannot_be_started_is_a_fault_of_the_moment() -> None:
    command = [sys.executable, "-c", NO_PROCESS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert "no process to read files" in done.stdout, done.stderr


async def test_many_files_at_once_are_each_read() -> None:
    texts = [f"text {number}" for number in range(50)]
    pages = await asyncio.gather(*(SANDBOX.read(text.encode(), ".txt") for text in texts))
    assert pages == [[Page(text)] for text in texts]


async def test_a_file_of_many_megabytes_goes_both_ways() -> None:
    text = "word " * 4_000_000
    (page,) = await SANDBOX.read(text.encode(), ".txt")
    assert page.text == text.rstrip()


async def test_more_text_than_a_reader_may_hold_is_refused() -> None:
    sandbox = Sandbox(readers=1, memory=160 * MEBIBYTE, seconds=60)
    with pytest.raises(ReadLimitError, match="memory"):
        await sandbox.read(b"word " * 30_000_000, ".txt")


async def test_no_secret_is_in_a_readers_environment() -> None:
    os.environ["CHAT_KEY"] = "of the app"
    await SANDBOX.read(b"text", ".txt")
    await asyncio.to_thread(kill_server)
    await SANDBOX.read(b"text", ".txt")
    del os.environ["CHAT_KEY"]
    environment = await asyncio.to_thread(Path(f"/proc/{server()}/environ").read_text)
    assert "PYTHONPATH=" in environment
    assert {entry.partition("=")[0] for entry in environment.split("\0") if entry} <= {"PYTHONPATH", "LC_CTYPE"}


async def test_parsers_are_loaded_with_the_first_file_that_needs_them() -> None:
    """By the libraries that the server has mapped: they take memory and a part of a second."""

    def loaded() -> set[str]:
        mapped = Path(f"/proc/{server()}/maps").read_text()
        return {library for library in ("pdfium", "lxml") if library in mapped}

    await SANDBOX.read(b"text", ".txt")
    await asyncio.to_thread(kill_server)
    for suffix, libraries in ((".md", set[str]()), (".pdf", {"pdfium"}), (".docx", {"pdfium", "lxml"})):
        assert await read_there(b"Gr\xf6\xdfe", suffix)
        assert await asyncio.to_thread(loaded) == libraries


IN_READERS = {
    *("pypdfium2", "PIL", "mammoth", "bs4", "lxml", "zipfile", "xml", "chardet"),
    *("compressed_rtf", "olefile", "pptx", "python_calamine", "striprtf"),
}
"""Modules that parse files of others."""
PARSERS = {
    *("markup.py", "pdf.py", "pdf_forms.py", "pdf_rules.py", "plain_text.py", "sandbox_server.py"),
    *("after_reading.py", "mail.py", "office_parts.py", "open_document.py", "packages.py", "slides.py", "word.py"),
    *("outlook.py", "workbooks.py"),
}
ENTRANCES = {
    *("read_all_pages", "render_pages", "date_of", "label_of", "losses"),
    *(f"read_{what}" for what in ("pdf", "docx", "html", "delimited", "epub", "mail", "rtf", "slides", "workbook")),
    *("read_open_document", "read_outlook"),
}


def test_no_parser_is_reached_but_through_a_reader() -> None:
    for file in [*(ROOT / "shared").rglob("*.py"), *(ROOT / "local").rglob("*.py")]:
        is_parser = file.parent.name == "reading" and file.name in PARSERS
        is_parser |= file.name == "recognition.py"  # which a reader runs
        is_parser |= file.name == "person_command.py"  # it writes a package, and reads none
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules, names = {alias.name for alias in node.names}, set[str]()
            elif isinstance(node, ast.ImportFrom):
                modules, names = {node.module or ""}, {alias.name for alias in node.names}
            else:
                continue
            packages = {module.partition(".")[0] for module in modules}
            assert is_parser or not packages & IN_READERS, file
            assert is_parser or file.name == "readers.py" or not names & ENTRANCES, file


RESTRICTED = """
import os, socket, subprocess, sys
from msgspec import Raw
from shared.reading.sandbox_messages import Job
from shared.reading.sandbox_server import _restrict
_restrict(Job("render", Raw(b""), 0, 512 * 1024 * 1024, 5))
def attempt(name, work):
    try:
        work()
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__, file=sys.stderr)
    else:
        print(name, "works", file=sys.stderr)
attempt("read", lambda: open("/proc/self/environ"))
attempt("write", lambda: open("never-written", "w"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", 9)))
attempt("memory", lambda: bytearray(1024 * 1024 * 1024))
"""


def test_a_reader_cannot_open_files_or_connections_nor_take_more_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RESTRICTED], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr.splitlines() == ["read OSError", "write OSError", "connect OSError", "memory MemoryError"]


async def test_splitting_is_done_by_a_reader_within_its_limits() -> None:
    with pytest.raises(ReadLimitError, match="takes too long"):
        await Sandbox(readers=1, memory=512 * MEBIBYTE, seconds=0.001).split("a.md", ["One. " * 200_000], 10_000)
    with pytest.raises(ReadLimitError, match=r"too much (memory|text)"):
        await Sandbox(readers=1, memory=1, seconds=60).split("a.md", ["One."], 10_000)
    assert (await SANDBOX.split("a.md", ["# One\n\nTwo."], 10, terms=True)).title == "One"
