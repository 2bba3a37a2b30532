"""A `PassageIndex` and an `Embedder` in memory, which tell what was asked of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from local.folder import list_folder
from local.folder.ingest import ingest_folder
from shared.chat_types import Passage
from shared.documents.failures import FAILED, failures_in
from shared.documents.file_store import FileStore
from shared.errors import SwitchboardError
from shared.ingestion import Counted, FileReport, Outcome, Reporter
from shared.ingestion.document import Target
from shared.ingestion.page_images import PageImages
from shared.reading.readers import TextRecognition
from shared.reading.sandbox import sandbox_for_documents
from shared.retrieval import FileEntry


class MemoryIndex:
    def __init__(self) -> None:
        self.files: dict[str, tuple[str, tuple[Passage, ...]]] = {}
        self.vectors: dict[str, Sequence[Sequence[float]] | None] = {}
        self.image_vectors: dict[str, Sequence[Sequence[float] | None] | None] = {}
        self.writes: list[str] = []
        self.fault: SwitchboardError | None = None
        self.stores_terms = False

    async def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
        for name, (mark, _) in [*self.files.items()]:
            if sourcefile in (None, name):
                yield name, mark

    async def replace(self, *entries: FileEntry) -> None:
        if self.fault:
            raise self.fault
        for entry in entries:
            name = entry.sourcefile
            self.writes.append(name)
            self.files[name] = (entry.fingerprint, tuple(entry.passages))
            self.vectors[name] = entry.vectors
            self.image_vectors[name] = entry.image_vectors

    async def remove(self, sourcefile: str) -> None:
        self.writes.append(sourcefile)
        self.files.pop(sourcefile, None)

    async def aclose(self) -> None:
        """Nothing was opened."""

    def passages(self, sourcefile: str) -> tuple[Passage, ...]:
        return self.files[sourcefile][1]


class LengthEmbedder:
    """Embeds a text as its length."""

    part_size: int | None = None

    def __init__(self, model: str = "length-1") -> None:
        self.model = model
        self.batches: list[int] = []
        self.running = 0
        self.most_running = 0
        self.fault: SwitchboardError | None = None

    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        self.batches.append(len(texts))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if self.fault:
            raise self.fault
        return [[float(len(text))] for text in texts]

    async def aclose(self) -> None:
        """Nothing was opened."""


class Lines:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.total = 0
        self.read: list[str] = []
        self.files: list[FileReport] = []

    def started(self, total: int) -> None:
        self.total = total

    def reading(self, name: str) -> None:
        self.read.append(name)

    def finished(self, file: FileReport) -> None:
        self.files.append(file)

    def counts(self) -> Counter[Outcome]:
        return Counter(file.outcome for file in self.files)


async def ingest(folder: Path, target: Target, leave_out: Collection[Path] = ()) -> Lines:
    """List a folder and ingest it, as the command does."""
    return await followed(partial(ingest_folder, list_folder(folder, leave_out, target.formats), target))


async def followed(work: Callable[[Reporter], Awaitable[Counted]]) -> Lines:
    """Return what an ingestion has told."""
    lines = Lines()
    report = await work(lines)
    assert report.counts == lines.counts()
    assert report.counts.total() == lines.total
    return lines


class Workplace:
    """A folder of documents, and the index that it goes to."""

    def __init__(self, root: Path) -> None:
        self.docs = root / "docs"
        self.docs.mkdir()
        self.content = root / "data" / "content"
        self.index = MemoryIndex()
        self.embedder: LengthEmbedder | None = None
        self.pages: PageImages | None = None
        self.recognition: TextRecognition | None = None
        self.sandbox = sandbox_for_documents()
        self.lines = Lines()

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def ingest(self) -> Lines:
        self.index.writes.clear()
        self.lines = await ingest(self.docs, self.target(), [self.content])
        return self.lines

    def target(self) -> Target:
        return Target(self.index, self.embedder, FileStore(self.content), self.pages, self.recognition, self.sandbox)

    def copies(self) -> set[str]:
        names = (path.relative_to(self.content).as_posix() for path in self.content.rglob("*") if path.is_file())
        return {name for name in names if not name.startswith(FAILED)}

    async def failures(self) -> dict[str, str]:
        """What is noted of files that could not be indexed."""
        return {one.name: one.detail for one in await failures_in("", FileStore(self.content), None)}


def outcomes(report: Lines) -> dict[str, str]:
    return {file.name: file.outcome.value for file in report.files}


def reason(report: Lines, name: str) -> str:
    return next(file.detail for file in report.files if file.name == name)
