"""The command `python -m local.index_command DOCS`, as a process of its own, with the real index."""

import asyncio
import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from azure.storage.blob.aio import ContainerClient

from shared.reading.readers import readable_suffixes
from shared.retrieval.sqlite.index import SqliteIndex
from tests.hostile.files import nested_pdf
from tests.kinds import one_in
from tests.local.fork_server import ForkServer
from tests.reading.test_sandbox import children, is_server
from tests.retrieval.index_contract import marks_of
from tests.stand_ins.azurite import Azurite

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "reading" / "files"
SAMPLES = ROOT / "samples" / "documents"
FORMATS = ", ".join(readable_suffixes(recognized=False))
COMMANDS = ForkServer(sys.executable, "-W", "error", modules=("local.index_command",))


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "local.index_command", *map(str, arguments)]


def environment(data: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "DATA_DIR": str(data), **more}


def run(data: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    elsewhere = data.parent  # where no `local.settings.json` of a developer is
    return COMMANDS.run("local.index_command", *arguments, env=environment(data, **more), folder=elsewhere)


def fingerprints(data: Path) -> dict[str, str]:
    async def read() -> dict[str, str]:
        index = SqliteIndex(data / "index.sqlite")
        try:
            return await marks_of(index)
        finally:
            await index.aclose()

    return asyncio.run(read())


def test_the_samples_are_indexed_once_with_a_line_each(tmp_path: Path) -> None:
    first = run(tmp_path, SAMPLES)
    assert (first.returncode, first.stderr) == (0, "")
    lines = first.stdout.splitlines()
    assert "leave/Urlaubsregelung.md: indexed 2 passages" in lines
    assert lines[-1] == "7 indexed"
    before = fingerprints(tmp_path)
    second = run(tmp_path, SAMPLES)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.splitlines()[-1] == "7 unchanged"
    assert fingerprints(tmp_path) == before
    assert set(before) == {p.relative_to(tmp_path / "content").as_posix() for p in copies(tmp_path)}


def test_two_folders_are_not_indexed_at_once(tmp_path: Path) -> None:
    with (tmp_path / "indexing.lock").open("w") as lock:  # as the first command holds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = run(tmp_path, SAMPLES)
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr.startswith("Another `make index` works on this index")
        assert run(tmp_path, "--first", SAMPLES).returncode == 0
    assert run(tmp_path, SAMPLES).stdout.splitlines()[-1] == "7 indexed"


def copies(data: Path) -> list[Path]:
    return [path for path in (data / "content").rglob("*") if path.is_file()]


@pytest.mark.nightly
async def test_with_a_storage_account_the_documents_go_there_and_without_it_nothing_happens(tmp_path: Path) -> None:
    async with Azurite() as service:
        settings = {"CONTENT_STORAGE": service.connection_string}
        first = await asyncio.to_thread(run, tmp_path, SAMPLES, **settings)
        assert (first.returncode, first.stderr, first.stdout.splitlines()[-1]) == (0, "", "7 indexed")
        second = await asyncio.to_thread(run, tmp_path, SAMPLES, **settings)
        assert (second.returncode, second.stderr, second.stdout.splitlines()[-1]) == (0, "", "7 unchanged")
        async with ContainerClient.from_connection_string(service.connection_string, "content") as container:
            stored = {name async for name in container.list_blob_names()}
    indexed = await asyncio.to_thread(fingerprints, tmp_path)
    assert stored == set(indexed)
    assert not copies(tmp_path)
    third = await asyncio.to_thread(run, tmp_path, SAMPLES, **settings)
    assert (third.returncode, third.stdout) == (1, "")
    assert "CONTENT_STORAGE" in third.stderr
    assert "Traceback" not in third.stderr
    assert await asyncio.to_thread(fingerprints, tmp_path) == indexed


def test_a_long_run_repeats_at_its_end_what_failed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(20):
        (docs / f"{number}.mp3").write_text("ID3")
    shutil.copy(FILES / "protected.pdf", docs)
    *_, told, line, summary = run(tmp_path / "data", docs).stdout.splitlines()
    assert told == "Failed, or not read whole (1):"
    assert line == "  protected.pdf: failed: is protected by a password; save it without one."
    assert summary == "20 skipped, 1 failed"


def test_a_file_that_fails_is_told_at_the_end_by_the_exit_code(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("Good.")
    (docs / "a\x1b[31m.md").write_text("Its name would paint the terminal red.")
    (docs / "a\u202e.md").write_text("Its name would be shown from right to left.")
    (docs / "music.mp3").write_text("ID3")
    (docs / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    shutil.copy(FILES / "protected.pdf", docs)
    done = run(tmp_path / "data", docs)
    assert (done.returncode, done.stderr) == (3, "")
    first, *others = done.stdout.splitlines()
    assert first.startswith("a\\x1b[31m.md: failed: has a name that no link can lead to: with a control character")
    assert others == [
        f"music.mp3: skipped: has no format that can be read ({FORMATS}).",
        "old.doc: skipped: is in the format .doc, which cannot be read; save it as .docx.",
        "a\\u202e.md: indexed 1 passage",
        "good.md: indexed 1 passage",
        "protected.pdf: failed: is protected by a password; save it without one.",
        "2 indexed, 2 skipped, 2 failed",
    ]
    assert set(fingerprints(tmp_path / "data")) == {"good.md", "a\u202e.md"}
    (docs / "good.md").unlink()
    (docs / "a\u202e.md").unlink()
    done = run(tmp_path / "data", docs)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "2 removed, 2 skipped, 2 failed")
    assert "good.md: removed" in done.stdout.splitlines()
    (docs / "a.md").write_text("Good.")
    (docs / "a\x1b[31m.md").unlink()
    (docs / "protected.pdf").unlink()
    done = run(tmp_path / "data", docs)
    assert done.returncode == 0


@pytest.mark.parametrize(("code", "end", "words"), [(0, 0, ""), (1, 2, "Error 1"), (2, 2, "Error 2"), (3, 0, "named")])
def test_make_ends_with_an_error_unless_something_was_indexed(code: int, end: int, words: str) -> None:
    make = ("make", "-s", "-o", "setup", "index", f"PYTHON=sh -c 'exit {code}'", "DOCS=docs")
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, words in done.stdout + done.stderr) == (end, True)


def test_what_cannot_be_a_folder_of_documents_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "empty").mkdir()
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "a.mp3").write_text("ID3")
    (tmp_path / "file.md").write_text("Text.")
    refused = {
        tmp_path / "none": "There is no folder",
        tmp_path / "file.md": "is no folder",
        tmp_path / "empty": "no document that can be read",
        tmp_path / "music": "no document that can be read",
    }
    for folder, words in refused.items():
        done = run(data, folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert f"There is no folder {tmp_path}/none" in run(data, "~/none", HOME=str(tmp_path)).stderr  # as zsh leaves it
    assert run(data).returncode == 2
    assert not data.exists()


def test_the_folder_of_copies_is_no_source(tmp_path: Path) -> None:
    assert run(tmp_path, SAMPLES).returncode == 0
    before = len(copies(tmp_path))
    done = run(tmp_path, tmp_path / "content" / "leave")
    assert done.returncode == 2
    assert "copies" in done.stderr
    assert len(copies(tmp_path)) == before


def test_half_a_configuration_is_named_and_nothing_is_indexed(tmp_path: Path) -> None:
    done = run(tmp_path / "data", SAMPLES, OPENAI_API_KEY="secret")
    assert (done.returncode, done.stdout) == (2, "")
    assert "OPENAI_CHAT_MODEL" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_the_bar_shows_on_a_terminal_only(tmp_path: Path) -> None:
    main, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (25, 80))
    with subprocess.Popen(
        command(SAMPLES), cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=terminal
    ) as process:
        os.close(terminal)
        shown = b""
        try:
            while part := os.read(main, 4096):
                shown += part
        except OSError:  # how Linux tells that the other end is closed
            pass
        out = process.stdout.read() if process.stdout else b""
        assert process.wait(60) == 0
    os.close(main)
    assert re.search(rb"[1-7] of 7 files, [1-9]\d* passages a second, 00:\d\d left", shown)
    assert out.splitlines()[-1] == b"7 indexed"
    assert b"\r" not in out


def test_without_a_terminal_the_progress_is_plain_lines(tmp_path: Path) -> None:
    often = "import sys, local.index_command as it; it._SECONDS_BETWEEN_LINES = 0; sys.exit(it.main())"
    done = subprocess.run(
        [sys.executable, "-c", often, SAMPLES],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "7 indexed")
    lines = done.stderr.splitlines()
    assert all(re.fullmatch(r"[1-7] of 7 files, \d+ passages a second, 00:\d\d left", line) for line in lines)
    assert (len(lines), lines[-1][-10:]) == (7, "00:00 left")


@pytest.mark.parametrize("interrupted_after", one_in(2, ["indexed", "unchanged"]))
def test_ctrl_c_ends_it_with_130_and_the_next_run_goes_on(tmp_path: Path, interrupted_after: str) -> None:
    docs, data = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    long = "x" * 200  # a line for each is more than a pipe holds: who writes them waits until they are read
    (docs / "000.md").write_text("Text.")
    if interrupted_after == "unchanged":
        assert run(data, docs).returncode == 0
    for number in range(1, 400):
        (docs / f"{number:03}-{long}.md").write_text(f"# Part {number}\n\n" + "Some words for this part. " * 400)
    process = subprocess.Popen(
        command(docs), cwd=tmp_path, env=environment(data), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert interrupted_after in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, complaint = process.communicate()
    assert (process.returncode, complaint) == (130, "Interrupted. What was finished is kept; run it again to go on.\n")
    assert "unchanged, " not in out
    done = fingerprints(data)
    assert 1 <= len(done) < 400
    assert set(re.findall(r"^(.+): indexed ", out, re.MULTILINE)) <= set(done)
    assert {path.name for path in copies(data)} >= set(done)
    assert run(data, docs).returncode == 0
    assert len(fingerprints(data)) == len(copies(data)) == 400


def test_a_kill_leaves_a_whole_index_and_no_process_and_the_next_run_goes_on(tmp_path: Path) -> None:
    docs, data = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    for number in range(200):
        text = f"# Part {number:03} {'x' * 200}\n\n" + "Some words for this part. " * 400
        (docs / f"{number:03}-{'x' * 200}.md").write_text(text)
    process = subprocess.Popen(command(docs), cwd=tmp_path, env=environment(data), stdout=subprocess.PIPE, text=True)
    assert process.stdout
    printed = process.stdout.readline()
    assert "indexed" in printed
    (server,) = [child for child in children(process.pid) if is_server(child)]
    while len(started := [server, *children(server)]) == 1:  # between the readers of two files there is none
        assert process.poll() is None
        printed += process.stdout.readline()
    process.kill()
    out, _ = process.communicate()
    while any(is_server(one) for one in started):
        time.sleep(0.01)
    done = fingerprints(data)
    assert 1 <= len(done) < 200
    assert set(re.findall(r"^(.+): indexed ", printed + out, re.MULTILINE)) <= set(done)
    assert run(data, docs).returncode == 0
    whole = fingerprints(data)
    assert len(whole) == len(copies(data)) == 200
    assert done.items() <= whole.items()


def test_a_reader_of_the_lines_who_leaves_gets_no_trace(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as nobody:  # noqa: PTH123 (it has no path)
        done = subprocess.run(
            command(SAMPLES),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=nobody,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_setting_with_a_misspelt_name_stops_make_run_before_it_serves_without_the_setting(tmp_path: Path) -> None:
    misspelt = run(tmp_path, "--first", SAMPLES, RAI_MOD="enforce")
    assert (misspelt.returncode, misspelt.stderr) == (2, "RAI_MOD is no setting: did you mean RAI_MODE?\n")
    wrong = run(tmp_path, "--first", SAMPLES, RAI_MODE="enforced")
    assert (wrong.returncode, wrong.stderr) == (0, "")  # the app tells it, and serves its health


COUNT_OPENS = """
import os, sys
from collections import Counter

docs = os.path.realpath(sys.argv[-1])
counts = Counter()

def count(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], (str, os.PathLike)):
        path = os.path.realpath(arguments[0])
        if path.startswith(docs):
            counts[event, os.path.relpath(path, docs)] += 1

sys.addaudithook(count)
from local.index_command import main

code = main()
print(*(f"{event} {path}: {number}" for (event, path), number in sorted(counts.items())), sep="\\n", file=sys.stderr)
sys.exit(code)
"""
"""Runs the command and tells how often it opened each file below the folder, and listed each folder."""


@pytest.mark.parametrize("arguments", one_in(2, [[], ["--first"]]))
def test_each_file_is_opened_once_and_each_folder_is_listed_once(tmp_path: Path, arguments: list[str]) -> None:
    docs = tmp_path / "docs"
    (docs / "leave").mkdir(parents=True)
    (docs / "a.md").write_text("Text.")
    shutil.copy(FILES / "three-pages.pdf", docs / "leave")
    shutil.copy(FILES / "rules.docx", docs / "leave")
    done = subprocess.run(
        [sys.executable, "-c", COUNT_OPENS, *arguments, str(docs)],
        cwd=tmp_path,
        env=environment(tmp_path / "data", PAGE_IMAGES="true"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 indexed")
    assert done.stderr.splitlines() == [
        "open a.md: 1",
        "open leave/rules.docx: 1",
        "open leave/three-pages.pdf: 1",
        "os.scandir .: 1",
        "os.scandir leave: 1",
    ]


@pytest.mark.timeout(300)
def test_a_hostile_file_is_its_own_failure_and_the_rest_is_indexed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The first one.")
    (docs / "b.pdf").write_bytes(nested_pdf(12, 10))
    (docs / "c.md").write_text("The last one.")
    done = subprocess.run(
        command(docs), cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 3
    failed, *_ = [line for line in done.stdout.splitlines() if line.startswith("b.pdf: failed")]
    assert "takes too" in failed
    assert {"a.md", "c.md"} == set(fingerprints(tmp_path))
