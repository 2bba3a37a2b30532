"""Which files of a folder are read: links, names, rights, and what is no document."""

import asyncio
import os
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from local.folder import list_folder
from local.folder.ingest import ingest_folder
from tests.ingestion.memory_index import Workplace, followed, outcomes, reason


async def test_links_out_are_skipped_and_links_within_are_read(place: Workplace, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("Secret.")
    (tmp_path / "elsewhere").mkdir()
    place.write("leave/a.md", "Text.")
    for name, target in {
        "out.md": tmp_path / "secret.md",
        "up.md": Path("../secret.md"),
        "folder-out": tmp_path / "elsewhere",
        "folder-in": Path("leave"),
        "nowhere.md": Path("none.md"),
        "loop.md": Path("loop.md"),
        "in.md": Path("leave/a.md"),
    }.items():
        (place.docs / name).symlink_to(target)
    report = await place.ingest()
    assert set(place.index.files) == place.copies() == {"leave/a.md", "in.md"}
    assert not (place.content / "in.md").is_symlink()
    for name in ("out.md", "up.md", "folder-out"):
        assert reason(report, name) == "is a link that leads out of the folder."
    assert "indexed where it is" in reason(report, "folder-in")
    assert reason(report, "nowhere.md") == reason(report, "loop.md") == "is a link that leads nowhere."


async def test_hidden_files_are_ignored_and_unknown_formats_are_skipped(place: Workplace) -> None:
    place.write("a.MD", "Text.")
    place.write(".hidden.md", "Text.")
    place.write("~$a.docx", "A lock file of Office.")
    place.write("Thumbs.db", "Small pictures of Windows.")
    place.write(".git/b.md", "Text.")
    place.write("music.mp3", "ID3")
    os.mkfifo(place.docs / "pipe.txt")
    report = await place.ingest()
    assert outcomes(report) == {"music.mp3": "skipped", "pipe.txt": "skipped", "a.MD": "indexed"}
    assert ".pdf" in reason(report, "music.mp3")


async def test_its_own_copies_are_no_documents(place: Workplace) -> None:
    place.content = place.docs / "data" / "content"
    place.write("a.md", "Text.")
    for _ in range(2):
        await place.ingest()
    assert set(place.index.files) == {"a.md"}


async def test_names_are_composed_and_twins_are_told(place: Workplace) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Übersicht.md") for form in ("NFC", "NFD"))
    place.write(decomposed, "Text.")
    assert outcomes(await place.ingest()) == {composed: "indexed"}
    assert place.copies() == {composed}
    place.write(composed, "Other text.")
    report = await place.ingest()
    assert sorted(file.outcome.value for file in report.files) == ["failed", "unchanged"]
    assert set(place.index.files) == {composed}


async def test_names_that_differ_only_by_case_are_two_files(place: Workplace) -> None:
    place.write("plan.md", "One.")
    place.write("Plan.md", "Two.")
    await place.ingest()
    assert place.index.passages("plan.md")[0].id != place.index.passages("Plan.md")[0].id
    assert (place.content / "Plan.md").read_text() == "Two."


async def test_a_name_that_is_not_unicode_is_told(place: Workplace) -> None:
    place.write(os.fsdecode(b"f\xfcr.md"), "Text.")
    report = await place.ingest()
    assert outcomes(report) == {"f\ufffdr.md": "failed"}
    assert "not Unicode" in reason(report, "f\ufffdr.md")


@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\u2028"])
async def test_a_name_with_a_control_character_is_told(place: Workplace, character: str) -> None:
    name = f"leave{character}days/a{character}b.md"
    place.write(name, "Text.")
    place.write("good.md", "Text.")
    report = await place.ingest()
    assert outcomes(report) == {name: "failed", "good.md": "indexed"}
    assert "control character such as a line break" in reason(report, name)
    assert place.copies() == {"good.md"}


@contextmanager
def ordinary_user(folder: str) -> Generator[None]:
    """Be a user whom permissions apply to, unlike root, and whose folder this is."""
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


async def test_what_may_not_be_opened_is_told_and_stays_in_the_index() -> None:
    with TemporaryDirectory() as folder:  # every user gets there, unlike to `tmp_path`
        place = Workplace(Path(folder))
        place.write("a.md", "Text.")
        place.write("closed/b.md", "Text.")
        await place.ingest()  # by whom whatever is imported now may be read
        place.write("a.md", "New text.").chmod(0)
        (place.docs / "closed").chmod(0)
        with ordinary_user(folder):
            report = await place.ingest()
        (place.docs / "closed").chmod(0o700)
        assert outcomes(report) == {"closed": "failed", "a.md": "failed"}
        assert "Permission denied" in reason(report, "a.md")
        assert set(place.index.files) == place.copies() == {"a.md", "closed/b.md"}


async def test_files_of_a_folder_that_may_only_be_listed_are_told_and_stay_in_the_index() -> None:
    with TemporaryDirectory() as folder:
        place = Workplace(Path(folder))
        place.write("a.md", "Text.")
        place.write("listed/b.md", "Text.")
        await place.ingest()
        (place.docs / "listed").chmod(0o444)  # its files can be neither described nor opened
        with ordinary_user(folder):
            report = await place.ingest()
        (place.docs / "listed").chmod(0o700)
        assert outcomes(report) == {"a.md": "unchanged", "listed/b.md": "failed"}
        assert reason(report, "listed/b.md") == "cannot be indexed now: Permission denied."
        assert set(place.index.files) == place.copies() == {"a.md", "listed/b.md"}


async def test_a_file_that_vanishes_is_told_and_the_others_are_indexed(place: Workplace) -> None:
    paths = [place.write(name, "Text.") for name in ("a.md", "b.md", "c.md")]
    target = place.target()
    listing = await asyncio.to_thread(lambda: list(list_folder(place.docs, (), target.formats)))
    paths[1].unlink()
    report = await followed(partial(ingest_folder, listing, target))
    assert outcomes(report) == {"a.md": "indexed", "b.md": "failed", "c.md": "indexed"}
    assert reason(report, "b.md") == "cannot be indexed now: No such file or directory."


async def test_a_file_over_the_limit_is_told(place: Workplace) -> None:
    with place.write("huge.txt", "Text.").open("r+b") as file:
        file.truncate(100 * 1024 * 1024 + 1)
    assert reason(await place.ingest(), "huge.txt") == "is larger than 100 MiB; split it."
