"""`make index`, which reads and splits in processes beside the one that writes, against the same work in one process.

Each indexes a folder of Markdown files from nothing, as a command of its own. A file has one passage, as notes and
tickets have, or 40, as a handbook has: files cost something, too.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial
from itertools import batched, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.passages import texts
from bench.processes import ROOT
from bench.rounds import Comparison, by_turns
from shared.documents import Rights
from shared.ingestion.passages import passages_of
from shared.reading import Page
from shared.reading.chunks import chunks_of
from shared.reading.limits import DOCUMENT_LIMITS
from shared.reading.readers import read_all_pages
from shared.retrieval import FileEntry
from shared.retrieval.sqlite.index import SqliteIndex

_PASSAGES = 4_000
_PASSAGES_IN_FILE = (1, 40)
_PARAGRAPHS = 6
"""In a passage: some 1,600 characters."""
_ROUNDS = 3


async def report() -> list[Comparison]:
    """Compare for each size of files."""
    return [await compare(_PASSAGES, in_file, _ROUNDS) for in_file in _PASSAGES_IN_FILE]


async def compare(passages: int, in_file: int, rounds: int) -> Comparison:
    """Index so many passages, with so many in a file."""
    with TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        _write(docs, passages, in_file)
        commands = {"make index": ("local.index_command", str(docs)), "one process": ("bench.indexing", str(docs))}
        measures = {name: partial(_seconds, command) for name, command in commands.items()}
        what = f"Indexing {passages:,} passages, {in_file} in a file"
        return Comparison(what, "seconds", await by_turns(measures, rounds), ("one process",))


def _write(docs: Path, passages: int, in_file: int) -> None:
    docs.mkdir()
    paragraphs = islice(texts(), passages * _PARAGRAPHS)
    sections = map("\n\n".join, batched(paragraphs, _PARAGRAPHS, strict=True))
    for number, file in enumerate(batched(sections, in_file, strict=False)):
        (docs / f"{number}.md").write_text("\n\n".join(f"## Part {part}\n\n{text}" for part, text in enumerate(file)))


async def _seconds(command: Sequence[str]) -> float:
    """How long a command takes that fills a new index, on all cores."""
    loop = asyncio.get_running_loop()
    with TemporaryDirectory() as data:
        begun = loop.time()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *command,
            cwd=data,  # where no `local.settings.json` is
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "DATA_DIR": data},
            stdout=asyncio.subprocess.DEVNULL,
        )
        if sys.platform == "linux":  # this process keeps to one of them
            os.sched_setaffinity(process.pid, range(os.cpu_count() or 1))
        if await process.wait():
            raise RuntimeError(f"{command[0]} has failed")
        return loop.time() - begun


async def _index_in_one_process(files: Sequence[Path]) -> None:
    index = SqliteIndex(Path(os.environ["DATA_DIR"]) / "index.sqlite")
    for file in files:
        pages: list[Page] = read_all_pages(file.read_bytes(), ".md", None, DOCUMENT_LIMITS)
        chunks = chunks_of([page.text for page in pages], 10_000)
        await index.replace(FileEntry(file.name, "1", passages_of(file.name, "", [None], chunks, Rights())))
    await index.aclose()


if __name__ == "__main__":
    asyncio.run(_index_in_one_process(sorted(Path(sys.argv[1]).iterdir())))
