"""A folder becomes an index: what is new, changed, gone, and what goes wrong."""

import asyncio
import os
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from urllib.parse import unquote

import pytest

from local.folder import FoundFile
from local.folder.comparison import FolderComparison
from shared.documents import Rights
from shared.documents.file_store import FileStore
from shared.errors import Unavailable, Unreadable
from shared.ingestion import Outcome
from shared.ingestion.changes import write
from shared.ingestion.comparison import comparing
from shared.ingestion.document import Origin
from shared.reading import Page
from shared.retrieval import FileEntry
from tests.ingestion.memory_index import LengthEmbedder, MemoryIndex, Workplace, outcomes, reason
from tests.triggers.test_served_documents import found

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "reading" / "files"


async def test_each_file_is_indexed_copied_and_reported(place: Workplace) -> None:
    place.write("a.md", "---\ndate: 2025-03-01\n---\nRoot text.")
    place.write("leave/b.txt", "Leave text.")
    shutil.copy(FILES / "labelled.pdf", place.docs / "leave" / "three-pages.pdf")
    report = await place.ingest()
    assert outcomes(report) == dict.fromkeys(["a.md", "leave/b.txt", "leave/three-pages.pdf"], "indexed")
    assert place.copies() == set(place.index.files)
    assert place.lines.total == len(place.lines.files) == 3
    assert place.lines.read == ["a.md", "leave/b.txt", "leave/three-pages.pdf"]
    (root,) = place.index.passages("a.md")
    assert (root.content, root.category, root.sourcepage) == ("Root text.", None, "a.md")
    assert (root.date, root.sensitivity) == ("2025-03-01", "")
    pages = place.index.passages("leave/three-pages.pdf")
    assert {(page.category, page.sensitivity) for page in pages} == {("leave", "Vertraulich (ä)")}
    assert {page.sourcepage for page in pages} == {f"leave/three-pages.pdf#page={n}" for n in (1, 2, 3)}
    assert reason(report, "leave/three-pages.pdf") == f"{len(pages)} passages"


async def test_small_files_are_written_together_and_fail_alone(tmp_path: Path) -> None:
    class Counting(MemoryIndex):
        def __init__(self) -> None:
            super().__init__()
            self.together: list[int] = []

        async def replace(self, *entries: FileEntry) -> None:
            self.together.append(len(entries))
            if any(entry.sourcefile == "07.md" for entry in entries):
                raise Unavailable("This one cannot be written.")
            await super().replace(*entries)

    place = Workplace(tmp_path)
    place.index = index = Counting()
    names = [f"{number:02}.md" for number in range(12)]
    for name in names:
        place.write(name, f"Text of {name}.")
    place.write("03.md", b"\x00\x00 ")
    place.write("05.md", "x")
    (place.docs / "05.md").chmod(0)
    place.write("09.md", "")
    place.write("10.html", "<p>Text.</p>")
    report = await place.ingest()
    assert [file.name for file in report.files] == sorted([*names, "10.html"])
    failed = {"03.md", "07.md", "09.md"}
    if os.geteuid():
        failed.add("05.md")
    assert {file.name for file in report.files if file.outcome is Outcome.FAILED} == failed
    assert reason(report, "07.md") == "cannot be indexed now: This one cannot be written."
    assert place.index.writes == [file.name for file in report.files if file.outcome is Outcome.INDEXED]
    assert max(index.together) > 5


async def test_a_folder_is_compared_without_holding_all_of_it() -> None:
    count, gone = 4_000, 600

    class Large(MemoryIndex):
        async def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
            assert sourcefile is None
            for number in range(0, count + 2 * gone, 2):
                yield f"{number:05}.md", f"folder:{number:064}:{number:064}"

    async def compared() -> int:
        """Bytes at most, of all threads of this process."""
        tracemalloc.start()
        try:
            async with comparing(Large(), FolderComparison) as comparison:
                listing = (FoundFile(Path(f"/{number}"), f"{number:05}.md", 1) for number in range(count))
                await comparison.run(lambda: comparison.add_files(listing))
                total = await comparison.total(Origin.FOLDER)
                removed = sum([1 async for _ in comparison.gone(Origin.FOLDER)])
                known = [found.known is not None async for found in comparison.files()]
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (total, removed) == (count + gone, gone)
        assert known == [True, False] * (count // 2)
        return most

    # What an earlier test has left to its threads may be done during one of them.
    assert min([await compared() for _ in range(3)]) < 600_000


async def test_a_second_run_touches_nothing(place: Workplace) -> None:
    place.embedder = LengthEmbedder()
    place.write("a.md", "Text.")
    await place.ingest()
    before = (place.content / "a.md").stat()
    place.embedder.batches.clear()
    report = await place.ingest()
    assert outcomes(report) == {"a.md": "unchanged"}
    assert place.index.writes == []
    assert place.embedder.batches == []
    after = (place.content / "a.md").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


async def test_a_changed_file_replaces_its_passages_and_its_copy(place: Workplace) -> None:
    place.write("a.md", "Old.")
    place.write("b.md", "Same.")
    await place.ingest()
    place.write("a.md", "New.")
    assert outcomes(await place.ingest()) == {"a.md": "indexed", "b.md": "unchanged"}
    assert [passage.content for passage in place.index.passages("a.md")] == ["New."]
    assert (place.content / "a.md").read_text() == "New."


async def test_another_embedding_model_indexes_everything_again(place: Workplace) -> None:
    place.write("a.md", "Text.")
    await place.ingest()
    assert place.index.vectors["a.md"] is None
    for model in ("one", "two"):
        place.embedder = LengthEmbedder(model)
        assert outcomes(await place.ingest()) == {"a.md": "indexed"}
    assert place.index.vectors["a.md"] == [[5.0]]


async def test_what_is_gone_is_removed_with_its_copy_and_empty_folders(place: Workplace) -> None:
    place.write("a.md", "Text.")
    place.write("leave/deep/b.md", "Text.")
    await place.ingest()
    shutil.rmtree(place.docs / "leave")
    assert outcomes(await place.ingest()) == {"leave/deep/b.md": "removed", "a.md": "unchanged"}
    assert set(place.index.files) == place.copies() == {"a.md"}
    assert not (place.content / "leave").exists()


async def test_a_folder_may_become_a_file_and_a_file_a_folder(place: Workplace) -> None:
    place.write("a.md", "File.")
    place.write("b.md/inner.md", "Inner.")
    await place.ingest()
    (place.docs / "a.md").unlink()
    shutil.rmtree(place.docs / "b.md")
    place.write("a.md/inner.md", "Inner.")
    place.write("b.md", "File.")
    await place.ingest()
    assert place.copies() == set(place.index.files) == {"a.md/inner.md", "b.md"}


async def test_a_lost_copy_of_an_unchanged_file_is_restored(place: Workplace) -> None:
    place.write("a.md", "Text.")
    await place.ingest()
    (place.content / "a.md").unlink()
    assert outcomes(await place.ingest()) == {"a.md": "unchanged"}
    assert place.copies() == {"a.md"}


async def test_copies_that_the_index_does_not_know_are_removed(place: Workplace) -> None:
    place.write("a.md", "Text.")
    await place.ingest()
    (place.content / "leave").mkdir()
    (place.content / "leave" / "left-by-an-interruption.md").write_text("Text.")
    assert outcomes(await place.ingest()) == {"a.md": "unchanged"}
    assert place.copies() == {"a.md"}
    assert not (place.content / "leave").exists()


async def test_each_citation_leads_to_its_document(place: Workplace) -> None:
    for name in ("leave/Über uns (neu) & mehr.md", "50% [old] c#?.md", "a+b=c;d.md"):
        place.write(name, name)
    place.write("c#/three pages.pdf", (FILES / "three-pages.pdf").read_bytes())
    await place.ingest()
    for name in place.index.files:
        for passage in place.index.passages(name):
            for path in (passage.sourcepage, unquote(passage.sourcepage.partition("#")[0])):
                assert (await found(FileStore(place.content), path)).name == name


BAD_FILES = {
    "protected.pdf": "password",
    "damaged.pdf": "damaged",
    "scanned.pdf": "no text",
}


async def test_a_file_that_cannot_be_read_is_told_and_the_others_are_indexed(place: Workplace) -> None:
    for name in BAD_FILES:
        shutil.copy(FILES / name, place.docs)
    place.write("empty.txt", "")
    place.write("blank.md", " \n\n ")
    place.write("not-a-zip.docx", "Not a zip.")
    place.write("old.docx", b"\xd0\xcf\x11\xe0" + bytes(100))
    place.write("picture.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4)
    place.write("good.md", "Good.")
    report = await place.ingest()
    assert report.counts() == {Outcome.FAILED: 8, Outcome.INDEXED: 1}
    reasons = {file.name: file.detail for file in report.files}
    for name, words in BAD_FILES.items():
        assert words in reasons[name]
    assert reasons["empty.txt"] == "is empty."
    assert "no text" in reasons["blank.md"]
    assert "damaged" in reasons["not-a-zip.docx"]
    assert "password" in reasons["old.docx"]
    assert "not text" in reasons["picture.txt"]
    assert place.copies() == {"good.md"}
    assert await place.failures() == {name: f"The document {why}" for name, why in reasons.items() if name != "good.md"}


async def test_a_noted_failure_goes_when_the_file_is_indexed_or_gone(place: Workplace) -> None:
    broken = b"%PDF-1.7 nothing"
    for name in ("mended.pdf", "gone.pdf", "still.pdf"):
        place.write(name, broken)
    await place.ingest()
    with pytest.raises(Unreadable):
        await write("sent.pdf", broken, None, Rights(), place.target())
    place.write("mended.pdf", (FILES / "three-pages.pdf").read_bytes())
    (place.docs / "gone.pdf").unlink()
    await place.ingest()
    assert set(await place.failures()) == {"still.pdf", "sent.pdf"}  # what was sent is in no folder


async def test_a_file_that_has_become_unreadable_leaves_the_index(place: Workplace) -> None:
    place.write("a.pdf", (FILES / "three-pages.pdf").read_bytes())
    await place.ingest()
    place.write("a.pdf", (FILES / "damaged.pdf").read_bytes())
    assert outcomes(await place.ingest()) == {"a.pdf": "failed"}
    assert place.index.files == {}
    assert place.copies() == set()


async def test_a_passage_is_embedded_in_parts_of_whole_sentences_where_the_model_wants_it(place: Workplace) -> None:
    place.embedder = LengthEmbedder()
    place.embedder.part_size = 20
    sentences = ["It opens at nine.", "It is free.", "Bring a lamp, as it is dark inside.", "Go."]
    place.write("a.md", " ".join(sentences))
    await place.ingest()
    assert place.index.vectors["a.md"] == [[float(len(" ".join(sentences)))]], "a service has one vector a passage"
    place.index.stores_terms = True
    place.embedder.model = "length-2"
    await place.ingest()
    assert place.index.vectors["a.md"] == [[17.0], [11.0], [35.0], [3.0]]


async def test_a_fault_of_the_embedding_service_keeps_what_the_index_had(place: Workplace) -> None:
    place.embedder = LengthEmbedder()
    place.write("a.md", "Old.")
    await place.ingest()
    place.write("a.md", "New.")
    place.embedder.fault = Unavailable("The embedding service is down.")
    report = await place.ingest()
    assert reason(report, "a.md") == "cannot be indexed now: The embedding service is down."
    assert place.index.passages("a.md")[0].content == "Old."
    assert (place.content / "a.md").read_text() == "Old."
    place.embedder.fault = None
    assert outcomes(await place.ingest()) == {"a.md": "indexed"}


async def test_a_fault_of_the_disk_keeps_what_the_index_had(place: Workplace) -> None:
    place.write("leave/a.md", "Old.")
    await place.ingest()
    (place.content / "leave" / "a.md").unlink()
    (place.content / "leave" / "a.md").mkdir()  # in the way
    place.write("leave/a.md", "New.")
    report = await place.ingest()
    assert reason(report, "leave/a.md").startswith("cannot be indexed now: ")
    assert place.index.passages("leave/a.md")[0].content == "Old."


async def test_passages_are_built_in_in_batches_a_few_at_a_time(place: Workplace) -> None:
    place.embedder = LengthEmbedder()
    words = "one two three four five six seven eight nine ten " * 40
    place.write("long.md", "\n\n".join(f"# Part {number}\n\n{words}" for number in range(400)))
    await place.ingest()
    passages = place.index.passages("long.md")
    assert max(place.embedder.batches) == 64
    assert sum(place.embedder.batches) == len(passages) >= 400
    assert 1 < place.embedder.most_running <= 4
    assert place.index.vectors["long.md"] == [[float(len(passage.content))] for passage in passages]


async def test_an_interruption_leaves_whole_files_and_the_next_run_does_the_rest(place: Workplace) -> None:
    class Stuck(LengthEmbedder):
        async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
            if "stuck" in texts[0]:
                reached.set()
                await asyncio.Event().wait()
            return await super().embed(texts)

    reached = asyncio.Event()
    place.embedder = Stuck()
    place.write("a.md", "First.")
    place.write("b.md", "Here it gets stuck.")
    run = asyncio.create_task(place.ingest())
    await asyncio.wait_for(reached.wait(), 60)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert set(place.index.files) == place.copies() == {"a.md"}
    place.embedder = LengthEmbedder()
    assert outcomes(await place.ingest()) == {"a.md": "unchanged", "b.md": "indexed"}


class Together:
    """A text recognition that reads no file before two are there to be read."""

    model = "together"

    def __init__(self) -> None:
        self.now = self.most = 0
        self.two = asyncio.Event()

    async def read(self, data: bytes, pages: Sequence[int] = ()) -> list[Page]:  # noqa: ARG002 (of the boundary)
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == 2:
            self.two.set()
        await self.two.wait()
        self.now -= 1
        if data == b"odd":
            raise ValueError("no library should")
        return [Page(f"Text of {data!r}.", 1)]

    async def aclose(self) -> None: ...


async def test_a_few_files_are_read_at_the_same_time_and_indexed_in_order(place: Workplace) -> None:
    place.recognition = together = Together()
    names = [f"{number}.png" for number in range(10)]
    for name in names:
        place.write(name, name)
    report = await place.ingest()
    assert outcomes(report) == dict.fromkeys(names, "indexed")
    assert [file.name for file in report.files] == place.index.writes == place.lines.read == names
    assert 2 <= together.most <= 4


async def test_an_error_that_nobody_foresaw_is_the_failure_of_its_file(place: Workplace) -> None:
    place.recognition = Together()
    for name in ("a.png", "b.png", "c.png"):
        place.write(name, "odd" if name == "b.png" else name)
    report = await place.ingest()
    assert outcomes(report) == {"a.png": "indexed", "b.png": "failed", "c.png": "indexed"}
    assert reason(report, "b.png") == "cannot be indexed because of a defect of the app or a library (ValueError)."


def test_importing_the_package_loads_no_reader() -> None:
    code = "import sys, shared.ingestion.ingest; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "shared.ingestion.ingest" in loaded
    assert not loaded & {"pypdfium2", "mammoth", "bs4", "markdownify", "semantic_text_splitter", "chardet"}
