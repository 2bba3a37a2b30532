"""Readers that are kept for many documents: the same text and chunks, and no document can harm another."""

import asyncio
import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.folder.bundles import split_files
from shared.reading import Chunk, Page, UnreadableError
from shared.reading.chunks import chunks_of
from shared.reading.limits import ReadLimitError
from shared.reading.readers import READERS
from shared.reading.sandbox import PLAIN_TEXT, Sandbox
from tests.hostile.files import self_drawing_pdf
from tests.reading.test_sandbox import FILES, MEBIBYTE, children, read_here, read_there, server, wait_for_readers

TEXT = "# Title\n\n" + "\n\n".join(f"Paragraph {number} of a text about nothing at all." for number in range(400))


@pytest.fixture
async def kept() -> AsyncGenerator[Sandbox]:
    sandbox = Sandbox(readers=1, memory=512 * MEBIBYTE, seconds=60, keeps_readers=True)
    yield sandbox
    await sandbox.aclose()


def another_than(process: int) -> int:
    """Wait for another reader than this one."""
    while not (others := {*children(server())} - {process}):
        time.sleep(0.01)
    return others.pop()


async def reader(sandbox: Sandbox) -> int:
    """The process that is kept, as soon as those of an earlier test have ended."""
    await sandbox.read(b"text", ".txt")
    return await asyncio.to_thread(_only_child)


def _only_child() -> int:
    while len(found := children(server())) != 1:
        time.sleep(0.01)
    return found.pop()


async def test_files_read_and_split_as_they_do_in_the_app(kept: Sandbox) -> None:
    for file in FILES:
        data = await asyncio.to_thread(file.read_bytes)
        pages = await read_there(data, file.suffix, kept)
        assert pages == await read_here(data, file.suffix)
        if isinstance(pages, list):
            texts = [page.text for page in pages]
            assert (await kept.split("a.md", texts, 100)).chunks == chunks_of(texts, 100)


async def test_what_was_left_out_of_a_text_is_known_as_of_other_files(kept: Sandbox) -> None:
    (found,) = await split_files(kept, [("a.md", b'Call {{ site.phone }}.\n\n{% custom "secret" %}')], 100)
    assert not isinstance(found, UnreadableError)
    assert found.left_out == "template tags"


async def test_one_process_reads_and_splits_one_text_after_another(kept: Sandbox) -> None:
    process = await reader(kept)
    texts = [f"text {number}" for number in range(20)]
    assert await asyncio.gather(*(kept.read(text.encode(), ".md") for text in texts)) == [
        [Page(text)] for text in texts
    ]
    assert (await kept.split("a.md", [TEXT, "text"], 100)).chunks == chunks_of([TEXT, "text"], 100)
    assert await reader(kept) == process
    await kept.aclose()
    await asyncio.to_thread(wait_for_readers, some=False)


async def test_a_parser_never_runs_in_a_kept_process(kept: Sandbox) -> None:
    readers = [READERS[suffix] for suffix in PLAIN_TEXT]
    assert {getattr(one, "func", one) for one in readers} == {READERS[".txt"]}
    process = await reader(kept)
    reading = asyncio.create_task(kept.read(self_drawing_pdf(), ".pdf"))
    os.kill(await asyncio.to_thread(another_than, process), signal.SIGKILL)
    with pytest.raises(ReadLimitError, match="is damaged"):
        await reading
    assert await reader(kept) == process


async def test_the_job_of_a_process_that_is_killed_is_done_by_the_next_one(kept: Sandbox) -> None:
    process = await reader(kept)
    os.kill(process, signal.SIGKILL)
    assert await kept.read(b"text", ".txt") == [Page("text")]
    process = await reader(kept)
    os.kill(process, signal.SIGSTOP)
    splitting = asyncio.create_task(kept.split("a.md", [TEXT], 100))
    await asyncio.sleep(0)  # the task takes the process
    os.kill(process, signal.SIGKILL)
    assert (await splitting).chunks == chunks_of([TEXT], 100)


async def test_a_text_that_takes_too_much_fails_alone(kept: Sandbox) -> None:
    with pytest.raises(UnreadableError, match="holds more than 3 passages of text; split it"):
        await kept.split("a.md", [TEXT], 3)
    small = Sandbox(readers=1, memory=160 * MEBIBYTE, seconds=60, keeps_readers=True)
    with pytest.raises(ReadLimitError, match="memory"):
        await small.read(b"word " * 30_000_000, ".txt")
    assert await small.read(b"text", ".txt") == [Page("text")]
    await small.aclose()
    large, *others = await split_files(
        kept, [(f"{file[:1]}.md", file) for file in (b"word " * 20_000_000, b"text", b" ", TEXT.encode())], 3
    )
    assert isinstance(large, ReadLimitError)
    assert [str(one) if isinstance(one, UnreadableError) else one.chunks for one in others] == [
        [[Chunk("text")]],
        "holds no text; scans and pictures need text recognition (OCR) first.",
        "holds more than 3 passages of text; split it.",
    ]


async def test_a_job_that_takes_too_long_ends_its_process_and_no_other_job(kept: Sandbox) -> None:
    process = await reader(kept)
    kept._seconds = 0.5  # pyright: ignore[reportPrivateUsage]
    os.kill(process, signal.SIGSTOP)
    with pytest.raises(ReadLimitError, match="takes too long"):
        await kept.read(b"text", ".txt")
    await asyncio.to_thread(wait_for_readers, some=False)
    kept._seconds = 60  # pyright: ignore[reportPrivateUsage]
    assert await kept.read(b"text", ".txt") == [Page("text")]


async def test_a_process_that_has_read_much_is_replaced(kept: Sandbox) -> None:
    process = await reader(kept)
    for _ in range(2):
        await kept.read(b"word " * 3_400_000, ".txt")
    assert await reader(kept) != process


async def test_a_file_that_is_given_up_before_a_thread_is_free_leaves_no_connection_open(kept: Sandbox) -> None:
    await reader(kept)
    began, free = threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as threads, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loop.set_default_executor(threads)
        blocked = loop.run_in_executor(None, lambda: began.set() or free.wait())
        while not began.is_set():  # noqa: ASYNC110 (a thread sets it)
            await asyncio.sleep(0)
        reading = asyncio.create_task(kept.read(self_drawing_pdf(), ".pdf"))
        while not threads._work_queue.qsize():  # noqa: ASYNC110  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        free.set()
        await blocked
        await loop.run_in_executor(None, str)
        gc.collect()
        assert [str(one.message) for one in told] == []
